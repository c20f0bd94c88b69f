//! Single requests over time, side by side. The series are coarse, with few rows and few requests,
//! so that the plan determines a document's size.

use crate::counts::{errors, not_sent, sent_and_ended};
use crate::response_times::ResponseTimes;
use crate::series::is_zero;
use measure::{Cell, Snapshot};
use plan::Request;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most requests with a series, those with the greatest weight. Each has its own colour on the
/// page.
const REQUESTS_MAX: usize = 8;

/// Most rows; beyond this, two become one.
const ROWS_MAX: usize = 200;

/// Number of newest rows whose response times stay unpacked.
const ROWS_OPEN: u32 = 4;

/// One request over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestSeries {
    /// Its name.
    pub request: String,
    /// Length of a row in seconds, a power of two.
    pub row_seconds: u32,
    /// Rows in order; a row in which nothing happened can be missing.
    pub rows: Vec<RequestRow>,
}

/// One request in a few seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestRow {
    /// First second, on the run clock.
    pub second: u32,
    /// Operations that ended in it, not counting those that were never sent.
    pub ended: u64,
    /// Operations that ended in it or were never sent, and are not ok, including time-outs.
    pub errors: u64,
    /// Those of them that were never sent. Missing in results of earlier versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_sent: u64,
    /// Response times of operations *intended* in it: 50th percentile; 0 if there are none.
    pub response_time_p50_ns: u64,
    /// 99th percentile of these response times.
    pub response_time_p99_ns: u64,
    /// Whether the 99th percentile is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub response_time_p99_at_least: bool,
}

impl RequestRow {
    /// Returns the operations that ended ok in it.
    #[must_use]
    pub fn ok(&self) -> u64 {
        let errors = self.errors.saturating_sub(self.not_sent);
        self.ended.saturating_sub(errors)
    }
}

/// Collects the rows of the requests that have a series, in any order of arrival.
#[derive(Debug, Clone)]
pub(crate) struct RequestSeriesBuilder {
    /// Names by index in the plan; empty if the plan has a single request.
    requests: BTreeMap<u16, String>,
    row_seconds: u32,
    rows: BTreeMap<u32, BTreeMap<u16, RequestTally>>,
    /// Rows below this number are packed.
    packed_below: u32,
}

#[derive(Debug, Clone, Default)]
struct RequestTally {
    ended: u64,
    errors: u64,
    not_sent: u64,
    response_times: ResponseTimes,
}

impl RequestSeriesBuilder {
    pub(crate) fn new(requests: &[Request]) -> RequestSeriesBuilder {
        let mut indexed: Vec<(u16, &Request)> = (0..).zip(requests).collect();
        indexed.sort_by_key(|(_, request)| std::cmp::Reverse(request.weight));
        let shown = if indexed.len() > 1 { REQUESTS_MAX } else { 0 };
        let named = indexed.into_iter().take(shown);
        RequestSeriesBuilder {
            requests: named
                .map(|(index, request)| (index, request.name.clone()))
                .collect(),
            row_seconds: 1,
            rows: BTreeMap::new(),
            packed_below: 0,
        }
    }

    /// Adds what an agent recorded in `second`.
    pub(crate) fn add(&mut self, second: u32, snapshot: &Snapshot) {
        for (key, cell) in &snapshot.cells {
            if self.requests.contains_key(&key.request) {
                self.add_cell(second, key.request, cell);
            }
        }
        let newest = self.rows.last_key_value().map_or(0, |(&row, _)| row);
        let open_from = newest.saturating_sub(ROWS_OPEN).max(self.packed_below);
        let old = self.rows.range_mut(self.packed_below..open_from);
        old.flat_map(|(_, row)| row.values_mut())
            .for_each(|tally| tally.response_times.pack());
        self.packed_below = open_from;
    }

    fn add_cell(&mut self, second: u32, request: u16, cell: &Cell) {
        let tally = self.tally(second, request);
        tally.ended = tally.ended.saturating_add(sent_and_ended(&cell.counters));
        tally.errors = tally.errors.saturating_add(errors(&cell.counters));
        tally.not_sent = tally.not_sent.saturating_add(not_sent(&cell.counters));
        for (&(outcome, intended), distribution) in &cell.response_times {
            let intended = intended.min(second);
            let tally = self.tally(intended, request);
            tally.response_times.take(outcome, distribution);
            if intended / self.row_seconds < self.packed_below {
                self.tally(intended, request).response_times.pack();
            }
            while self.rows.len() > ROWS_MAX {
                self.halve();
            }
        }
    }

    fn tally(&mut self, second: u32, request: u16) -> &mut RequestTally {
        let row = self.rows.entry(second / self.row_seconds).or_default();
        row.entry(request).or_default()
    }

    fn halve(&mut self) {
        self.row_seconds *= 2;
        self.packed_below /= 2;
        for (number, row) in std::mem::take(&mut self.rows) {
            let joined = self.rows.entry(number / 2).or_default();
            for (request, tally) in row {
                joined.entry(request).or_default().merge(&tally);
            }
        }
        let packed = self.rows.range_mut(..self.packed_below);
        packed
            .flat_map(|(_, row)| row.values_mut())
            .for_each(|tally| tally.response_times.pack());
    }

    /// Returns a series for each request with records, in the plan's order.
    pub(crate) fn series(&self) -> Vec<RequestSeries> {
        let requests = self.requests.iter();
        let series = requests.map(|(request, name)| RequestSeries {
            request: name.clone(),
            row_seconds: self.row_seconds,
            rows: self
                .rows
                .iter()
                .filter_map(|(&number, row)| Some((number, row.get(request)?)))
                .map(|(number, tally)| tally.row(number * self.row_seconds))
                .collect(),
        });
        series.filter(|series| !series.rows.is_empty()).collect()
    }
}

impl RequestTally {
    fn merge(&mut self, other: &RequestTally) {
        self.ended = self.ended.saturating_add(other.ended);
        self.errors = self.errors.saturating_add(other.errors);
        self.not_sent = self.not_sent.saturating_add(other.not_sent);
        self.response_times.merge(&other.response_times.unpack());
    }

    fn row(&self, second: u32) -> RequestRow {
        let times = self.response_times.figures();
        RequestRow {
            second,
            ended: self.ended,
            errors: self.errors,
            not_sent: self.not_sent,
            response_time_p50_ns: times.p50_ns,
            response_time_p99_ns: times.p99_ns,
            response_time_p99_at_least: times.p99_at_least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{CellKey, Outcome, Period};
    use plan::{NoFiles, Plan};

    fn builder(requests: u32) -> RequestSeriesBuilder {
        let requests: String = (0..requests)
            .map(|number| {
                format!(
                    "[[request]]\nname = \"r{number}\"\nweight = {}\n",
                    number + 1
                )
            })
            .collect();
        let text = format!(
            "target.url = \"http://a.test/\"\nload = {{ connections = 1, requests = 1 }}\n\
             {requests}"
        );
        let plan = Plan::parse(&text, &mut NoFiles).expect("it is a plan");
        RequestSeriesBuilder::new(plan.requests())
    }

    /// One operation of each of the first `requests` requests; that of request n takes n + 1 ms.
    fn one_of_each(second: u32, requests: u16) -> Snapshot {
        let cells = (0..requests).map(|request| {
            let mut cell = Cell::default();
            (cell.counters.started, cell.counters.ok) = (1, 1);
            let times = cell.response_times.entry((Outcome::Ok, second));
            times
                .or_default()
                .record(u64::from(request + 1) * 1_000_000);
            let key = CellKey {
                period: Period::Measured,
                request,
                address: None,
            };
            (key, cell)
        });
        Snapshot {
            cells: cells.collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn single_request_has_no_series_beside_that_of_the_run() {
        let mut builder = builder(1);
        builder.add(0, &one_of_each(0, 1));
        assert_eq!(builder.series(), []);
    }

    #[test]
    fn requests_keep_their_own_seconds_however_many_agents_deliver_them() {
        let mut builder = builder(2);
        for second in [0, 1, 1, 0] {
            builder.add(second, &one_of_each(second, 2));
        }
        let series = builder.series();
        assert_eq!(series.len(), 2);
        for (series, ms) in series.iter().zip([1, 2]) {
            let rows: Vec<_> = series
                .rows
                .iter()
                .map(|row| (row.second, row.ended, row.response_time_p99_ns / 1_000_000))
                .collect();
            assert_eq!(rows, [(0, 2, ms), (1, 2, ms)], "{}", series.request);
        }
    }

    #[test]
    fn rows_and_requests_are_bounded_and_lose_nothing() {
        let mut builder = builder(20);
        (0..1_000).for_each(|second| builder.add(second, &one_of_each(second, 20)));
        builder.add(1_000, &one_of_each(3, 20));
        let series = builder.series();
        let names: Vec<&str> = series.iter().map(|one| one.request.as_str()).collect();
        assert_eq!(
            names,
            ["r12", "r13", "r14", "r15", "r16", "r17", "r18", "r19"]
        );
        for one in &series {
            assert_eq!(one.row_seconds, 8);
            assert!(one.rows.len() <= ROWS_MAX, "{}", one.rows.len());
            assert_eq!(one.rows.iter().map(|row| row.ended).sum::<u64>(), 1_001);
        }
        let open = builder.rows.range(..builder.packed_below);
        let mut open = open.flat_map(|(_, row)| row.values());
        assert!(open.all(|tally| tally.response_times.is_packed()));
    }
}
