//! What a run took of its data files.

use crate::counts;
use crate::figures::is_zero;
use measure::{Counters, FailedRow, FailedRows};
use plan::{DataColumn, Plan, RowOrder, Tls, Words as _};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the measured part of a run took of a data file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataFigures {
    /// Name in the plan.
    pub name: String,
    /// Name of the file.
    pub file: String,
    /// Rows of the file.
    pub rows: u64,
    /// Which row an operation, or a journey, took: `sequential`, `shuffled`, `random`, `unique` or
    /// `user`.
    pub order: String,
    /// Operations that took a row, arrivals that were never sent among them; or all journeys, since
    /// each takes one of every file.
    pub taken: u64,
    /// Distinct rows among them; absent where that does not follow from their number: in the orders
    /// `random` and `user`, and if the load did not go on to the end of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<u64>,
    /// Arrivals that had a row and were never sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_sent: u64,
    /// Operations with a row that failed.
    pub failed: u64,
    /// The first rows whose operations failed, in the file's order; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_rows: Vec<FailedRowFigure>,
}

/// A row whose operations failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedRowFigure {
    /// Number of the row, from 1, without the header.
    pub row: u64,
    /// Line of the file in which it begins, from 1.
    pub line: u64,
    /// The server name that it has, if `tls.server_name` is a column of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Failed operations by stage and kind, as in the list of errors.
    pub failures: BTreeMap<String, u64>,
}

/// What figures of data files need of the plan.
#[derive(Debug, Clone)]
pub(crate) struct DataUse {
    name: String,
    file: String,
    rows: u64,
    order: RowOrder,
    /// Which requests take a row, by their place.
    taking: Vec<bool>,
    /// The column that names connections, if the file has it.
    server_names: Option<DataColumn>,
}

/// How far the load went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadReach {
    /// Operations 0 to the last one all began.
    Whole,
    /// Some may be missing among them.
    Open,
}

/// Journeys that were due, each of which takes a row of every file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JourneysDue {
    /// Begun or not.
    pub(crate) due: u64,
    /// Never begun.
    pub(crate) not_sent: u64,
}

impl DataUse {
    /// The data files of a plan.
    pub(crate) fn all(plan: &Plan) -> Vec<DataUse> {
        let names = plan.tls().and_then(Tls::name_column);
        let one = |data: &std::sync::Arc<plan::DataFile>| DataUse {
            name: data.name.clone(),
            file: data.file.name.clone(),
            rows: data.table.rows(),
            order: data.order,
            taking: plan.takes_rows(&data.name),
            server_names: names
                .filter(|column| column.file.name == data.name)
                .cloned(),
        };
        plan.data().iter().map(one).collect()
    }

    /// Whether operations of the request at this place take a row.
    fn takes(&self, request: u16) -> bool {
        self.taking.get(usize::from(request)) == Some(&true)
    }

    /// The figures of the file at `place` in the plan, by the counters of requests; of a load of
    /// journeys by those, too.
    pub(crate) fn figures<'a>(
        &self,
        place: u16,
        counters: impl Iterator<Item = (u16, &'a Counters)>,
        journeys: Option<JourneysDue>,
        failed_rows: &FailedRows,
        reach: LoadReach,
    ) -> DataFigures {
        let mut sum = Counters::default();
        counters
            .filter(|(request, _)| self.takes(*request))
            .for_each(|(_, counters)| sum.merge(counters));
        let unsent_operations = counts::not_sent(&sum);
        let (taken, not_sent) = match journeys {
            Some(journeys) => (journeys.due, journeys.not_sent),
            None => (sum.started, unsent_operations),
        };
        let follows = !matches!(self.order, RowOrder::Random | RowOrder::User);
        DataFigures {
            name: self.name.clone(),
            file: self.file.clone(),
            rows: self.rows,
            order: self.order.word().to_owned(),
            taken,
            distinct: (follows && reach == LoadReach::Whole).then(|| taken.min(self.rows)),
            not_sent,
            failed: (sum.timed_out + sum.failed).saturating_sub(unsent_operations),
            failed_rows: failed_rows
                .of_file(place)
                .map(|(row, failed)| self.failed_row(row, failed))
                .collect(),
        }
    }

    fn failed_row(&self, row: u64, failed: &FailedRow) -> FailedRowFigure {
        let failures = failed.failures.iter();
        let names = self.server_names.as_ref();
        FailedRowFigure {
            row: row.saturating_add(1),
            line: failed.line,
            server_name: names.and_then(|column| column.text(row)),
            failures: failures
                .map(|(failure, &number)| (failure.to_string(), number))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Failure, FailureStage, Kind, RowId};

    fn counters(ok: u64, failures: &[(Failure, u64)]) -> Counters {
        let failed = failures.iter().map(|(_, number)| number).sum();
        Counters {
            started: ok + failed,
            ok,
            failed,
            failures: failures.iter().copied().collect(),
            ..Counters::default()
        }
    }

    fn figures(order: RowOrder, reach: LoadReach) -> DataFigures {
        figures_with(None, order, reach)
    }

    fn figures_with(
        journeys: Option<JourneysDue>,
        order: RowOrder,
        reach: LoadReach,
    ) -> DataFigures {
        let failure = |stage, kind| Failure { stage, kind };
        let status = failure(FailureStage::Http, Kind::Status(500));
        let unsent = failure(FailureStage::Load, Kind::NotSent);
        let by_request = [
            counters(7, &[(status, 2), (unsent, 1)]),
            counters(90, &[(status, 5)]),
            counters(4, &[]),
        ];
        let mut rows = FailedRows::default();
        rows.count(RowId { file: 3, row: 8 }, 10, status, 2);
        rows.count(RowId { file: 4, row: 1 }, 3, status, 9);
        let data = DataUse {
            name: "users".to_owned(),
            file: "users.csv".to_owned(),
            rows: 12,
            order,
            taking: vec![true, false, true],
            server_names: None,
        };
        data.figures(3, (0..).zip(&by_request), journeys, &rows, reach)
    }

    #[test]
    fn only_requests_with_a_column_are_counted() {
        let figures = figures(RowOrder::Sequential, LoadReach::Whole);
        let taken = (figures.taken, figures.distinct, figures.not_sent);
        assert_eq!(taken, (14, Some(12), 1));
        assert_eq!(figures.failed, 2);
        let row = FailedRowFigure {
            row: 9,
            line: 10,
            server_name: None,
            failures: [("http.status.500".to_owned(), 2)].into(),
        };
        assert_eq!(figures.failed_rows, [row]);
    }

    #[test]
    fn journey_takes_one_row_however_many_steps_it_has() {
        let due = JourneysDue {
            due: 10,
            not_sent: 3,
        };
        let figures = figures_with(Some(due), RowOrder::Unique, LoadReach::Whole);
        let taken = (figures.taken, figures.distinct, figures.not_sent);
        assert_eq!(taken, (10, Some(10), 3));
        assert_eq!(figures.failed, 2, "operations, arrivals never sent aside");
    }

    #[test]
    fn distinct_rows_are_told_only_where_they_are_known() {
        for (order, reach, distinct) in [
            (RowOrder::Unique, LoadReach::Whole, Some(12)),
            (RowOrder::Shuffled, LoadReach::Whole, Some(12)),
            (RowOrder::Shuffled, LoadReach::Open, None),
            (RowOrder::Random, LoadReach::Whole, None),
            (RowOrder::User, LoadReach::Whole, None),
        ] {
            assert_eq!(figures(order, reach).distinct, distinct, "{order:?}");
        }
    }
}
