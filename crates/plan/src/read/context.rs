//! One reading of one text: its problems, its remarks, its files.

use crate::read::node::{self, Node, Twice};
use crate::read::source::Source;
use crate::{Problem, Problems, Sha256};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// More would help nobody, and a machine may write a plan with a problem in each of a million bytes.
const MAX_PROBLEMS: usize = 200;

/// One reading of one text.
pub(crate) struct Context<'a> {
    text: &'a str,
    /// With their byte offsets, where they have one.
    problems: RefCell<Vec<(Option<usize>, Problem)>>,
    beyond: Cell<usize>,
    notes: RefCell<Vec<String>>,
    source: &'a dyn Source,
}

impl<'a> Context<'a> {
    pub(crate) fn new(text: &'a str, source: &'a dyn Source) -> Context<'a> {
        let (problems, notes) = (RefCell::default(), RefCell::default());
        Context { text, problems, beyond: Cell::new(0), notes, source }
    }

    /// The text as a tree; `None` where it is no TOML.
    pub(crate) fn tree(&self) -> Option<Node> {
        match toml_edit::Document::parse(self.text) {
            Ok(document) => {
                let (root, twice) = node::tree(&document);
                twice.into_iter().for_each(|twice| self.given_twice(&twice));
                Some(root)
            }
            Err(error) => {
                self.problem("", error.span().map(|span| span.start), format!("not TOML: {}", error.message()));
                None
            }
        }
    }

    fn given_twice(&self, twice: &Twice) {
        let (line, column) = self.place(twice.first);
        let message = format!("given twice, first at {line}:{column}; remove one of them");
        self.problem(&twice.path, Some(twice.second), message);
    }

    pub(crate) fn problem(&self, path: &str, at: Option<usize>, message: String) {
        self.problem_with(path, at, || message);
    }

    /// As [`Context::problem`], for a message that takes work: it is not made where there are too many to show.
    pub(crate) fn problem_with(&self, path: &str, at: Option<usize>, message: impl FnOnce() -> String) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() >= MAX_PROBLEMS {
            self.beyond.set(self.beyond.get() + 1);
            return;
        }
        problems.push((at, Problem { path: path.to_owned(), place: at.map(|at| self.place(at)), message: message() }));
    }

    pub(crate) fn note(&self, text: String) {
        self.notes.borrow_mut().push(text);
    }

    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Content of the file `name`, whose hash may be known; the error says why there is none.
    pub(crate) fn content(&self, name: &str, known: Option<Sha256>) -> Result<Arc<[u8]>, String> {
        self.source.content(name, known)
    }

    pub(crate) fn list(&self, folder: &str) -> Result<Vec<String>, String> {
        self.source.list(folder)
    }

    /// `value` where nothing is wrong, else every problem in the file's order.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Problems> {
        let mut problems = self.problems.into_inner();
        if problems.is_empty() {
            return Ok(value.expect("a part of a plan is missing only where a problem says why"));
        }
        problems.sort_by_key(|(at, _)| at.unwrap_or(usize::MAX));
        let mut problems: Vec<Problem> = problems.into_iter().map(|(_, problem)| problem).collect();
        if self.beyond.get() > 0 {
            let message = format!("{} more problems are not shown", self.beyond.get());
            problems.push(Problem { path: String::new(), place: None, message });
        }
        Err(Problems(problems))
    }

    /// Line and column, in characters, from 1.
    fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_begins = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_begins..].chars().count() + 1)
    }
}
