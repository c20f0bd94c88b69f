//! Regular expressions that take a text out of another one, in a time that is linear in it.

use crate::PatternError;
use crate::pattern::states;
use regex_automata::nfa::thompson::pikevm;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A regular expression over bytes, with or without a group, in the syntax of the crate `regex`.
#[derive(Clone)]
pub struct Capturer {
    text: String,
    /// Shared, since every request of every variant may have it.
    machine: Arc<pikevm::PikeVM>,
}

/// The memory of a search.
#[derive(Debug, Clone)]
pub struct CapturerMemory(pikevm::Cache);

impl Capturer {
    /// Compiles `text`.
    ///
    /// # Errors
    /// Fails if it is no regular expression, or needs more than 1 MiB.
    pub fn new(text: &str) -> Result<Capturer, PatternError> {
        let machine = pikevm::PikeVM::new_from_nfa(states(text)?);
        Ok(Capturer {
            text: text.to_owned(),
            machine: Arc::new(machine.map_err(|_| PatternError::Unsupported)?),
        })
    }

    /// The expression as the plan writes it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The memory that its searches need.
    #[must_use]
    pub fn memory(&self) -> CapturerMemory {
        CapturerMemory(self.machine.create_cache())
    }

    /// Finds the first text in `body` from byte `from` on: where it is, and where the match ends.
    pub fn find(
        &self,
        memory: &mut CapturerMemory,
        body: &[u8],
        from: usize,
    ) -> Option<(Range<usize>, usize)> {
        let mut found = self.machine.create_captures();
        let input = regex_automata::Input::new(body).span(from..body.len());
        self.machine.search(&mut memory.0, &input, &mut found);
        let whole = found.get_match()?;
        let group = if found.group_len() > 1 { 1 } else { 0 };
        let text = found.get_group(group)?;
        Some((text.start..text.end, whole.end()))
    }
}

impl PartialEq for Capturer {
    fn eq(&self, other: &Capturer) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Capturer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capturer({:?})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Capturer;

    fn texts(expression: &str, body: &str) -> Vec<String> {
        let capturer = Capturer::new(expression).expect("a regular expression");
        let mut memory = capturer.memory();
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some((text, end)) = capturer.find(&mut memory, body.as_bytes(), from) {
            found.push(body[text].to_owned());
            from = end.max(from + 1);
            if from > body.len() {
                break;
            }
        }
        found
    }

    #[test]
    fn the_first_group_is_taken_or_else_the_match() {
        let page = r#"<input name="csrf" value="a1"> <input name="csrf" value="b2">"#;
        assert_eq!(texts(r#"name="csrf" value="([^"]*)""#, page), ["a1", "b2"]);
        assert_eq!(texts("[ab][0-9]", page), ["a1", "b2"]);
        assert_eq!(texts("(a)(1)", page), ["a"]);
        assert_eq!(texts("z", page), Vec::<String>::new());
    }
}
