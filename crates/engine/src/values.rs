//! What the texts of placeholders follow from, and cells of data files.

use crate::clock::unix_ns;
use crate::journey_memory::JourneyMemory;
use crate::live_operation::LiveOperation;
use data::{DataTable, Escape, TableCell};
use measure::Period;
use plan::{DataColumn, RowSource, RowSources};
use std::sync::Arc;

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
        self.put(values, &mut text);
        text
    }

    /// The number of the first row, from 1, whose cell does not do as `is_right` asks.
    pub(crate) fn find_wrong(&self, is_right: impl FnMut(&[u8]) -> bool) -> Option<u64> {
        let found = self.table.find_wrong(self.column, is_right);
        found.map(|(row, _)| row + 1)
    }

    /// Bytes of the text.
    #[inline]
    pub(crate) fn length(&self, values: &Values) -> usize {
        self.cell(values).length(self.escape)
    }

    /// Appends the text to `out`.
    #[inline]
    pub(crate) fn put(&self, values: &Values, out: &mut Vec<u8>) {
        self.cell(values).put(self.escape, out);
    }

    #[inline]
    fn cell(&self, values: &Values) -> TableCell<'_> {
        let row = self.rows.row(values.number_in_part(), values.user);
        self.table.cell(row, self.column)
    }
}

/// What an operation is known by: the text of each placeholder follows from it. An upload keeps a
/// copy until its body has gone out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    pub(crate) user: u64,
    pub(crate) seq: u64,
    /// Whether the operation belongs to the warm-up. A step of a journey that began in the warm-up
    /// may not, though it has the journey's number.
    pub(crate) is_warm_up: bool,
    pub(crate) random: u64,
    /// When the operation's bytes are written, in nanoseconds since 1970; 0 if its request has no
    /// timestamp.
    pub(crate) unix_ns: u64,
    /// What its journey remembers, if that is anything.
    pub(crate) journey: Option<JourneyView>,
}

/// What an operation sees of its journey.
#[derive(Debug, Clone)]
pub(crate) struct JourneyView {
    pub(crate) memory: Arc<JourneyMemory>,
    /// Where a redirect has led it: path and query.
    pub(crate) hop_target: Option<Arc<[u8]>>,
}

impl Values {
    /// `{seq}` of the warm-up starts here. How many operations the warm-up will have is unknown,
    /// and no two operations of a run may have the same number.
    const WARM_UP_FROM: u64 = 9_000_000_000_000_000_000;

    /// Says by what an operation of `user` is known.
    pub(crate) fn new(user: u64, operation: &LiveOperation) -> Values {
        Values {
            user,
            seq: Values::number(operation.id.period, operation.seq),
            is_warm_up: operation.id.period == Period::WarmUp,
            random: operation.random,
            unix_ns: 0,
            journey: None,
        }
    }

    /// The number, unique in the run, of what has the number `seq` in its part of it. One that is
    /// unique already stays, as that of a journey whose steps are in both parts.
    #[inline]
    pub(crate) fn number(period: Period, seq: u64) -> u64 {
        match period {
            Period::WarmUp if seq < Values::WARM_UP_FROM => seq + Values::WARM_UP_FROM,
            Period::WarmUp | Period::Measured => seq,
        }
    }

    /// The captured text with this index.
    #[inline]
    pub(crate) fn text_of(&self, index: u16) -> &[u8] {
        let journey = self.journey.as_ref();
        journey.map_or(&[], |journey| journey.memory.text(index))
    }

    /// The operation's number in its part of the run, by which it takes its rows.
    #[inline]
    pub(crate) fn number_in_part(&self) -> u64 {
        self.seq
            .checked_sub(Values::WARM_UP_FROM)
            .unwrap_or(self.seq)
    }

    /// The part of the run that the operation belongs to.
    pub(crate) fn period(&self) -> Period {
        match self.is_warm_up {
            true => Period::WarmUp,
            false => Period::Measured,
        }
    }

    /// The values of an operation whose bytes are written now.
    #[inline]
    pub(crate) fn at_once(self, has_time: bool) -> Values {
        Values {
            unix_ns: if has_time { unix_ns() } else { 0 },
            ..self
        }
    }
}

/// Decimal digits of `number`.
pub(crate) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn digits_counts_decimal_places() {
        assert_eq!(
            [0, 9, 10, 99, 100, u64::MAX].map(digits),
            [1, 1, 2, 2, 3, 20]
        );
    }
}
