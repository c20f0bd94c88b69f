//! The problems of a plan: what is wrong, where, why, and what to write instead.

use std::fmt;

/// One problem of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Dotted path, such as `load.rate`.
    pub path: String,
    /// Line and column, from 1, if the problem has a place in the text.
    pub place: Option<(usize, usize)>,
    /// The problem, its reason, and what to write instead.
    pub message: String,
}

/// Every problem of a plan, in the file's order. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}: ")?;
        }
        if self.path.is_empty() {
            write!(f, "{}", self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
