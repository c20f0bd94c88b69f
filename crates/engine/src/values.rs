//! Where the text of a placeholder comes from. Templates know nothing else of it.

use crate::live_operation::LiveOperation;
use data::{DataTable, Escape, TableCell};
use measure::Period;
use plan::{DataColumn, RowSource, RowSources};
use std::io::Write as _;
use std::sync::Arc;

/// A source of text that differs between operations.
#[derive(Debug, Clone)]
pub(crate) enum Placeholder {
    /// The number of the virtual user, or of an open loop's connection.
    User,
    /// The number of the operation in the cluster.
    Seq,
    /// The operation's random number.
    Random,
    /// A cell of a data file.
    Column(Arc<ColumnSource>),
}

/// A column of a data file, and which of its rows an operation takes.
#[derive(Debug)]
pub(crate) struct ColumnSource {
    table: DataTable,
    column: usize,
    escape: Escape,
    rows: Arc<RowSource>,
}

impl ColumnSource {
    /// The source of `column`; `rows` has one for each file of the plan.
    pub(crate) fn new(column: &DataColumn, rows: &RowSources) -> ColumnSource {
        ColumnSource {
            table: column.file.table.clone(),
            column: column.index,
            escape: column.escape,
            rows: Arc::clone(&rows[&column.file.name]),
        }
    }

    /// The text of the row that an operation takes.
    pub(crate) fn text(&self, values: &Values) -> Vec<u8> {
        let mut text = Vec::new();
        self.cell(values).put(self.escape, &mut text);
        text
    }

    /// The number of the first row, from 1, whose cell does not do as `is_right` asks.
    pub(crate) fn find_wrong(&self, is_right: impl FnMut(&[u8]) -> bool) -> Option<u64> {
        let found = self.table.find_wrong(self.column, is_right);
        found.map(|(row, _)| row + 1)
    }

    #[inline]
    fn cell(&self, values: &Values) -> TableCell<'_> {
        let row = self.rows.row(values.number_in_part(), values.user);
        self.table.cell(row, self.column)
    }
}

/// What an operation is known by: the text of each placeholder follows from it. An upload keeps a
/// copy until its body has gone out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Values {
    pub(crate) user: u64,
    pub(crate) seq: u64,
    pub(crate) random: u64,
}

impl Values {
    /// `{seq}` of the warm-up starts here. How many operations the warm-up will have is unknown,
    /// and no two operations of a run may have the same number.
    const WARM_UP_FROM: u64 = 9_000_000_000_000_000_000;

    /// Says by what an operation of `user` is known.
    pub(crate) fn new(user: u64, operation: &LiveOperation) -> Values {
        let seq = match operation.id.period {
            Period::WarmUp => operation.seq.wrapping_add(Values::WARM_UP_FROM),
            Period::Measured => operation.seq,
        };
        Values {
            user,
            seq,
            random: operation.random,
        }
    }

    /// The operation's number in its part of the run, by which it takes its rows.
    #[inline]
    pub(crate) fn number_in_part(&self) -> u64 {
        self.seq
            .checked_sub(Values::WARM_UP_FROM)
            .unwrap_or(self.seq)
    }
}

impl Placeholder {
    /// Bytes of the text.
    pub(crate) fn length(&self, values: &Values) -> usize {
        match self {
            Placeholder::User => digits(values.user),
            Placeholder::Seq => digits(values.seq),
            Placeholder::Random => 16,
            Placeholder::Column(source) => source.cell(values).length(source.escape),
        }
    }

    /// Appends the text to `out`.
    pub(crate) fn put(&self, values: &Values, out: &mut Vec<u8>) {
        // Writing to a `Vec` cannot fail.
        let _ = match self {
            Placeholder::User => write!(out, "{}", values.user),
            Placeholder::Seq => write!(out, "{}", values.seq),
            Placeholder::Random => write!(out, "{:016x}", values.random),
            Placeholder::Column(source) => {
                source.cell(values).put(source.escape, out);
                Ok(())
            }
        };
    }

    /// Appends at most `most` bytes of the text, starting at its byte `from`, to `out`.
    pub(crate) fn put_part(&self, values: &Values, from: usize, most: usize, out: &mut Vec<u8>) {
        // Most of them are short, and a row has its limit: written whole, and then cut.
        let before = out.len();
        self.put(values, out);
        out.truncate(before + from.saturating_add(most));
        out.drain(before..out.len().min(before + from));
    }
}

/// Decimal digits of `number`.
pub(crate) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_counts_decimal_places() {
        assert_eq!(
            [0, 9, 10, 99, 100, u64::MAX].map(digits),
            [1, 1, 2, 2, 3, 20]
        );
    }

    #[test]
    fn lengths_are_those_of_the_text() {
        let values = Values {
            user: 12_345,
            seq: 0,
            random: 0xabcd,
        };
        for placeholder in [Placeholder::User, Placeholder::Seq, Placeholder::Random] {
            let mut text = Vec::new();
            placeholder.put(&values, &mut text);
            assert_eq!(placeholder.length(&values), text.len(), "{placeholder:?}");
        }
    }
}
