//! Regular expressions of a plan, compiled to automata whose time is linear in the text.

use regex_automata::dfa::dense::{self, DFA};
use regex_automata::dfa::{Automaton, StartKind};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use std::fmt;
use std::sync::Arc;

/// Largest automaton of a pattern, in bytes. Repetitions of repetitions can take any number of
/// them; ordinary patterns take some KiB.
const MAX_AUTOMATON_BYTES: usize = 1 << 20;

/// A regular expression over bytes, in the syntax of the crate `regex`. Classes such as `\w`, and
/// `(?i)`, are those of ASCII.
///
/// It is a deterministic automaton: a search takes one step per byte, whatever the text, and can
/// stop and go on between any two bytes.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    /// Shared, since every request of every variant may have it.
    automaton: Arc<DFA<Vec<u32>>>,
}

/// A text is not a [`Pattern`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is no regular expression.
    #[error("is no regular expression: {0}; write one such as \"order-[0-9]+\"")]
    Syntax(String),
    /// It has a class of characters beyond ASCII.
    #[error(
        "has a class of Unicode, and bytes are searched; write the characters or their bytes, such \
         as \"(?:ä|ö)\" or \"[\\x80-\\xff]\""
    )]
    Unicode,
    /// Its automaton would be too large.
    #[error(
        "needs an automaton of more than 1 MiB; write smaller counts in its repetitions, or \
         several patterns"
    )]
    TooLarge,
    /// It has an assertion that an automaton of bytes cannot have.
    #[error("has an assertion that cannot be searched for in bytes; write \\b, ^ or $")]
    Unsupported,
}

impl Pattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// Fails if it is no regular expression, or needs more than 1 MiB.
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        let states = states(text)?;
        let limits = dense::Config::new()
            .start_kind(StartKind::Unanchored)
            .dfa_size_limit(Some(MAX_AUTOMATON_BYTES))
            .determinize_size_limit(Some(2 * MAX_AUTOMATON_BYTES));
        let automaton = dense::Builder::new()
            .configure(limits)
            .build_from_nfa(&states)
            .map_err(|error| match error.is_size_limit_exceeded() {
                true => PatternError::TooLarge,
                false => PatternError::Unsupported,
            })?;
        Ok(Pattern {
            text: text.to_owned(),
            automaton: Arc::new(automaton),
        })
    }

    /// The expression as the plan writes it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Begins a search at the beginning of a text.
    #[must_use]
    pub fn begin(&self) -> PatternState {
        let state = self.automaton.start_state(&start::Config::new());
        PatternState(state.expect("an unanchored search may begin, and no byte makes it give up"))
    }

    /// Searches the next piece of a text. Returns whether there is a match once that is known:
    /// what follows cannot change it.
    pub fn feed(&self, at: &mut PatternState, piece: &[u8]) -> Option<bool> {
        let mut state = at.0;
        for &byte in piece {
            state = self.automaton.next_state(state, byte);
            if self.automaton.is_special_state(state) {
                if self.automaton.is_match_state(state) {
                    return Some(true);
                }
                if self.automaton.is_dead_state(state) {
                    return Some(false);
                }
            }
        }
        at.0 = state;
        None
    }

    /// Whether there is a match now that the text has ended.
    #[must_use]
    pub fn end(&self, at: PatternState) -> bool {
        let last = self.automaton.next_eoi_state(at.0);
        self.automaton.is_match_state(last)
    }

    /// Whether `text` has a match.
    #[must_use]
    pub fn is_in(&self, text: &[u8]) -> bool {
        let mut state = self.begin();
        self.feed(&mut state, text)
            .unwrap_or_else(|| self.end(state))
    }
}

/// Compiles a regular expression over bytes, as far as all of its searches need it.
pub(crate) fn states(text: &str) -> Result<NFA, PatternError> {
    let syntax = syntax::Config::new().unicode(false).utf8(false);
    let expression = syntax::parse_with(text, &syntax).map_err(|error| {
        // The last line says why; those above show the pattern.
        let shown = error.to_string();
        let reason = shown.lines().next_back().unwrap_or_default();
        if reason.contains("Unicode") {
            return PatternError::Unicode;
        }
        PatternError::Syntax(reason.trim_start_matches("error: ").to_owned())
    })?;
    let states = thompson::Config::new()
        .utf8(false)
        .nfa_size_limit(Some(MAX_AUTOMATON_BYTES));
    thompson::Compiler::new()
        .configure(states)
        .build_from_hir(&expression)
        .map_err(|_| PatternError::TooLarge)
}

/// Where a search for a [`Pattern`] is in a text that comes in pieces; none of them is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternState(StateID);

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_found_however_the_text_is_cut() {
        let cases: [(&str, &[u8], bool); 12] = [
            ("order-[0-9]+", b"<p>order-12</p>", true),
            ("order-[0-9]+", b"<p>order-</p>", false),
            ("^HIT", b"HIT from cache", true),
            ("^HIT", b"no HIT", false),
            ("end$", b"the end", true),
            ("end$", b"the end.", false),
            (r"\bcart\b", b"the cart!", true),
            (r"\bcart\b", b"carts", false),
            ("(?i)welcome", b"WelCome", true),
            ("a.c", b"a\xffc", true),
            ("^$", b"", true),
            ("\u{e9}t\u{e9}", "en été".as_bytes(), true),
        ];
        for (pattern, text, expected) in cases {
            let pattern = Pattern::new(pattern).unwrap();
            assert_eq!(pattern.is_in(text), expected, "{pattern:?} in {text:?}");
            for cut in 0..=text.len() {
                let mut state = pattern.begin();
                let known = pattern.feed(&mut state, &text[..cut]);
                let known = known.or_else(|| pattern.feed(&mut state, &text[cut..]));
                let is_in = known.unwrap_or_else(|| pattern.end(state));
                assert_eq!(is_in, expected, "{pattern:?} in {text:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn search_ends_at_the_last_byte_that_matters() {
        let known = |pattern: &str, text: &[u8]| {
            let pattern = Pattern::new(pattern).unwrap();
            pattern.feed(&mut pattern.begin(), text)
        };
        assert_eq!(known("ab", b"xxaby"), Some(true));
        assert_eq!(known("^ab", b"xy"), Some(false));
        assert_eq!(known("ab", b"xxa"), None);
    }

    #[test]
    fn wrong_and_huge_patterns_are_told_apart() {
        let error = |text: &str| Pattern::new(text).unwrap_err();
        assert_eq!(
            error("a(b"),
            PatternError::Syntax("unclosed group".to_owned())
        );
        assert_eq!(error("[ab].{20}c"), PatternError::TooLarge);
        assert_eq!(error("(a{1000}){1000}"), PatternError::TooLarge);
    }
}
