//! What is wrong with a plan, where, why, and what to write instead.

use std::fmt;

/// One problem of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Dotted path, such as `load.rate`.
    pub path: String,
    /// Line and column, from 1, where the text has a place for it.
    pub place: Option<(usize, usize)>,
    /// What is wrong, why, and what to write instead.
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
