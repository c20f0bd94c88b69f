//! Problems found in readings of one text, collected to be shown.

use crate::{Problem, Problems};
use std::collections::HashMap;

/// Further ones would not help the user, and a generated plan can have a problem in each of a
/// million bytes.
pub(crate) const MAX_PROBLEMS: usize = 200;

/// A problem whose line and column are only computed when it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FoundProblem {
    /// Byte offset, if it has one.
    pub(crate) at: Option<usize>,
    pub(crate) path: String,
    pub(crate) message: String,
}

/// The problems found, up to [`MAX_PROBLEMS`].
#[derive(Debug, Default)]
pub(crate) struct FoundProblems {
    all: Vec<FoundProblem>,
    beyond: usize,
}

impl FoundProblems {
    pub(crate) fn add(&mut self, finding: impl FnOnce() -> FoundProblem) {
        if self.all.len() < MAX_PROBLEMS {
            self.all.push(finding())
        } else {
            self.beyond += 1
        }
    }

    pub(crate) fn number(&self) -> usize {
        self.all.len() + self.beyond
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn add_beyond(&mut self, beyond: usize) {
        self.beyond += beyond;
    }

    /// The problems in the order in which they were found, and how many more there were.
    pub(crate) fn into_each(self) -> (Vec<FoundProblem>, usize) {
        (self.all, self.beyond)
    }

    /// The problems in the file's order, with their places in `text`.
    pub(crate) fn into_problems(mut self, text: &str) -> Problems {
        self.all
            .sort_by_key(|finding| finding.at.unwrap_or(usize::MAX));
        let problem = |FoundProblem { at, path, message }| Problem {
            path,
            place: at.map(|at| place(text, at)),
            message,
        };
        let mut problems: Vec<Problem> = self.all.into_iter().map(problem).collect();
        if self.beyond > 0 {
            let message = format!("at least {} more problems are not shown", self.beyond);
            problems.push(Problem {
                path: String::new(),
                place: None,
                message,
            });
        }
        Problems(problems)
    }
}

/// Line and column of a byte offset, in characters, from 1.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_begins = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[line_begins..].chars().count() + 1,
    )
}

/// Findings in the variants of one text, each once, with the variants that have it.
#[derive(Debug)]
pub(crate) struct Merged<T> {
    said: Vec<(T, Vec<usize>)>,
    index: HashMap<T, usize>,
}

impl<T: Clone + Eq + std::hash::Hash> Merged<T> {
    pub(crate) fn new() -> Merged<T> {
        Merged {
            said: Vec::new(),
            index: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.said.len()
    }

    pub(crate) fn add(&mut self, variant: usize, thing: T) {
        let next = self.said.len();
        let index = *self.index.entry(thing.clone()).or_insert(next);
        if index == next {
            self.said.push((thing, Vec::new()));
        }
        let variants = &mut self.said[index].1;
        if variants.last() != Some(&variant) {
            variants.push(variant);
        }
    }

    /// Each finding with its variants, ascending.
    pub(crate) fn each(self) -> impl Iterator<Item = (T, Vec<usize>)> {
        self.said.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{Merged, place};

    #[test]
    fn each_thing_is_kept_once_with_who_said_it() {
        let mut merged = Merged::new();
        for (variant, thing) in [
            (0, "y"),
            (0, "x"),
            (0, "y"),
            (1, "x"),
            (1, "z"),
            (2, "x"),
            (2, "y"),
        ] {
            merged.add(variant, thing);
        }
        assert_eq!(
            merged.each().collect::<Vec<_>>(),
            [("y", vec![0, 2]), ("x", vec![0, 1, 2]), ("z", vec![1])]
        );
    }

    #[test]
    fn places_are_in_characters() {
        assert_eq!(
            [0, 3, 5].map(|at| place("äb\ncd", at)),
            [(1, 1), (1, 3), (2, 2)]
        );
    }
}
