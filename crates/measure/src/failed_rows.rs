//! Which rows of data files failed: the first ones of each file in the file's order.

use crate::Failure;
use crate::pieces::{entry_bytes, map_bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A row of one of the plan's data files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowId {
    /// Place of the file in the plan.
    pub file: u16,
    /// Number of the row, from 0.
    pub row: u64,
}

/// How the measured operations of a row failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRow {
    /// Line of the file in which the row begins, from 1.
    pub line: u64,
    /// Operations by failure.
    pub failures: BTreeMap<Failure, u64>,
}

/// The first rows of each file, in the file's order, whose measured operations failed.
///
/// Sums are exact however they are merged: a row that is left out of one part has
/// [`FailedRows::ROWS_MAX`] failed rows before it, and so it is left out of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedRows(BTreeMap<RowId, FailedRow>);

impl FailedRows {
    /// Most rows of a file that are kept.
    pub const ROWS_MAX: usize = 20;

    /// Counts operations of a row that failed in one way.
    pub fn count(&mut self, id: RowId, line: u64, failure: Failure, number: u64) {
        if let Some(row) = self.row(id, line) {
            let count = row.failures.entry(failure).or_default();
            *count = count.saturating_add(number);
        }
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &FailedRows) {
        for (&id, row) in &other.0 {
            for (&failure, &number) in &row.failures {
                self.count(id, row.line, failure, number);
            }
        }
    }

    /// The rows in order, by file.
    pub fn iter(&self) -> impl Iterator<Item = (&RowId, &FailedRow)> {
        self.0.iter()
    }

    /// The rows of one file, in order.
    pub fn of_file(&self, file: u16) -> impl Iterator<Item = (u64, &FailedRow)> {
        let first = RowId { file, row: 0 };
        let last = RowId {
            file,
            row: u64::MAX,
        };
        self.0.range(first..=last).map(|(id, row)| (id.row, row))
    }

    /// Whether no row failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The place of a row, which another one may leave for it; `None` if enough come before it.
    fn row(&mut self, id: RowId, line: u64) -> Option<&mut FailedRow> {
        if !self.0.contains_key(&id) {
            let rows = self.of_file(id.file);
            let (number, last) = rows.fold((0, 0), |(number, _), (row, _)| (number + 1, row));
            if number >= FailedRows::ROWS_MAX {
                if last < id.row {
                    return None;
                }
                self.0.remove(&RowId {
                    file: id.file,
                    row: last,
                });
            }
        }
        let fresh = || FailedRow {
            line,
            failures: BTreeMap::new(),
        };
        Some(self.0.entry(id).or_insert_with(fresh))
    }
}

/// About how much memory a row takes, in bytes.
pub(crate) fn row_bytes(row: &FailedRow) -> usize {
    entry_bytes::<RowId, FailedRow>() + map_bytes(&row.failures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailureStage, Kind, SplitMix};

    fn status(status: u16) -> Failure {
        Failure {
            stage: FailureStage::Http,
            kind: Kind::Status(status),
        }
    }

    /// Failures that workers and agents may find in any order, of two files with 60 rows each.
    fn found() -> Vec<(RowId, Failure)> {
        let one = |nth: u64| {
            let bits = SplitMix::nth(5, nth);
            let file = (bits & 1) as u16;
            let row = (bits >> 8) % 60;
            (RowId { file, row }, status(500 + (bits >> 32) as u16 % 3))
        };
        (0..500).map(one).collect()
    }

    fn sum<'a>(found: impl IntoIterator<Item = &'a (RowId, Failure)>) -> FailedRows {
        let mut rows = FailedRows::default();
        for &(id, failure) in found {
            rows.count(id, id.row + 2, failure, 1);
        }
        rows
    }

    #[test]
    fn first_rows_of_each_file_are_kept_with_all_their_failures() {
        let found = found();
        let rows = sum(&found);
        for file in [0, 1] {
            let all: BTreeMap<u64, usize> = found.iter().filter(|(id, _)| id.file == file).fold(
                BTreeMap::new(),
                |mut all, (id, _)| {
                    *all.entry(id.row).or_default() += 1;
                    all
                },
            );
            let expected: Vec<_> = all.into_iter().take(FailedRows::ROWS_MAX).collect();
            let kept: Vec<_> = rows
                .of_file(file)
                .map(|(row, failed)| (row, failed.failures.values().sum::<u64>() as usize))
                .collect();
            assert_eq!(kept, expected);
        }
    }

    #[test]
    fn sum_is_the_same_however_it_is_parted() {
        let found = found();
        let whole = sum(&found);
        for parts in [2, 3, 7, 100] {
            let mut forward = FailedRows::default();
            let chunks: Vec<FailedRows> = found.chunks(parts).map(sum).collect();
            chunks.iter().for_each(|part| forward.merge(part));
            let mut backward = FailedRows::default();
            chunks.iter().rev().for_each(|part| backward.merge(part));
            assert_eq!((&forward, &backward), (&whole, &whole), "{parts}");
        }
        assert_eq!(
            whole
                .of_file(0)
                .next()
                .map(|(row, failed)| failed.line - row),
            Some(2)
        );
    }
}
