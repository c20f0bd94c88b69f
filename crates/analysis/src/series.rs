//! The run over time, on both axes: response times by the second they were intended in, work by the second it happened in.
//! Memory is bounded: old distributions are packed, and a long run gets rows of two seconds, then four, and so on.

use crate::Headline;
use crate::figures::{errors, sent_and_ended};
use measure::{Cell, Counters, Distribution, Histogram, Metric, Outcome, Snapshot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rows before two become one. Two hours of seconds; at about 2 KiB a packed row the series stays under 16 MiB.
const ROWS_MAX: usize = 7200;

/// Rows, counted back from the newest, whose response times stay unpacked: nearly everything arrives within them.
const ROWS_OPEN: u32 = 40;

/// The run over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of a row: 1 second, in long runs a power of two of seconds.
    pub row_seconds: u32,
    /// In order; a row in which nothing happened may be missing.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// First second, of the run clock (the warm-up begins at 0).
    pub second: u32,
    /// It begins in the warm-up.
    pub warm_up: bool,
    /// Agents that delivered something for it; 64 stands for 64 or more.
    pub agents: u32,
    /// Operations begun in it.
    pub started: u64,
    /// Operations that ended in it (not those that were never sent).
    pub ended: u64,
    /// Of these and of those never sent: not ok, time-outs included.
    pub errors: u64,
    /// Of these, time-outs.
    pub timed_out: u64,
    /// Body bytes that came in operations that ended in it.
    pub payload_bytes: u64,
    /// Bytes read from sockets in it.
    pub wire_received_bytes: u64,
    /// Bytes written to sockets in it.
    pub wire_sent_bytes: u64,
    /// Connections opened in it.
    pub connections_opened: u64,
    /// Operations under way on average, by the service times that ended in it (Little's law).
    pub in_service: f64,
    /// Response times of operations *intended* in it: how many are known.
    pub response_time_count: u64,
    /// Their mean.
    pub response_time_mean_ns: f64,
    /// Their median.
    pub response_time_p50_ns: u64,
    /// Their 99th percentile.
    pub response_time_p99_ns: u64,
    /// The largest.
    pub response_time_max_ns: u64,
    /// Some of them timed out, and the 99th percentile is a lower bound.
    pub response_time_p99_at_least: bool,
}

/// Gathers rows.
#[derive(Debug, Clone)]
pub(crate) struct SeriesBuilder {
    row_seconds: u32,
    rows: BTreeMap<u32, OpenRow>,
}

#[derive(Debug, Clone, Default)]
struct OpenRow {
    counts: Row,
    service_ns: u128,
    /// By agent, one bit each; agents above 63 share the last.
    agents: u64,
    response_times: ResponseTimes,
}

/// Response times of a row, unpacked while they still come in.
#[derive(Debug, Clone)]
enum ResponseTimes {
    Open(Headline),
    Packed { headline: Headline, encoded: Vec<u8> },
}

impl Default for ResponseTimes {
    fn default() -> ResponseTimes {
        ResponseTimes::Open(Headline::default())
    }
}

impl SeriesBuilder {
    pub(crate) fn new() -> SeriesBuilder {
        SeriesBuilder { row_seconds: 1, rows: BTreeMap::new() }
    }

    /// Takes in what an agent recorded in `second`.
    pub(crate) fn add(&mut self, agent: u32, second: u32, snapshot: &Snapshot) {
        let row = self.rows.entry(second / self.row_seconds).or_default();
        row.agents |= 1 << agent.min(63);
        for cell in snapshot.cells.values() {
            row.count(cell);
        }
        for cell in snapshot.cells.values() {
            self.add_response_times(cell);
        }
        self.pack();
    }

    fn add_response_times(&mut self, cell: &Cell) {
        for (&(outcome, intended), distribution) in &cell.response_times {
            let values = match outcome {
                Outcome::Ok => Headline::exact(distribution),
                Outcome::TimedOut => Headline::timed_out(distribution),
                Outcome::Failed => continue,
            };
            self.rows.entry(intended / self.row_seconds).or_default().response_times.merge(&values);
        }
    }

    fn pack(&mut self) {
        while self.rows.len() > ROWS_MAX {
            self.halve();
        }
        let newest = self.rows.last_key_value().map_or(0, |(&row, _)| row);
        let old = self.rows.range_mut(..newest.saturating_sub(ROWS_OPEN));
        old.for_each(|(_, row)| row.response_times.pack());
    }

    fn halve(&mut self) {
        self.row_seconds *= 2;
        for (number, row) in std::mem::take(&mut self.rows) {
            self.rows.entry(number / 2).or_default().merge(row);
        }
    }

    /// The rows so far; `warm_up_ns` is the length of the warm-up.
    pub(crate) fn series(&self, warm_up_ns: u64) -> Series {
        let row = |(&number, row): (&u32, &OpenRow)| {
            let second = number * self.row_seconds;
            row.figures(
                Row { second, warm_up: u64::from(second) * 1_000_000_000 < warm_up_ns, ..row.counts.clone() },
                self.row_seconds,
            )
        };
        Series { row_seconds: self.row_seconds, rows: self.rows.iter().map(row).collect() }
    }
}

impl OpenRow {
    fn count(&mut self, cell: &Cell) {
        let counters: &Counters = &cell.counters;
        self.counts.add(&Row {
            started: counters.started,
            ended: sent_and_ended(counters),
            errors: errors(counters),
            timed_out: counters.timed_out,
            payload_bytes: counters.payload_bytes,
            wire_received_bytes: counters.wire_bytes_received,
            wire_sent_bytes: counters.wire_bytes_sent,
            connections_opened: counters.connections.opened,
            ..Row::default()
        });
        let service = cell.times.iter().filter(|((_, metric), _)| *metric == Metric::ServiceTime);
        service.for_each(|(_, distribution)| self.service_ns = self.service_ns.saturating_add(distribution.sum));
    }

    fn merge(&mut self, other: OpenRow) {
        self.counts.add(&other.counts);
        self.service_ns = self.service_ns.saturating_add(other.service_ns);
        self.agents |= other.agents;
        self.response_times.merge(&other.response_times.unpacked());
    }

    fn figures(&self, row: Row, row_seconds: u32) -> Row {
        let headline = self.response_times.unpacked();
        let percentile = |percentile| headline.percentile(percentile);
        Row {
            agents: self.agents.count_ones(),
            in_service: self.service_ns as f64 / 1e9 / f64::from(row_seconds),
            response_time_count: headline.distribution.count,
            response_time_mean_ns: headline.distribution.mean().unwrap_or(0.0),
            response_time_p50_ns: percentile(50.0).map_or(0, |figure| figure.value_ns),
            response_time_p99_ns: percentile(99.0).map_or(0, |figure| figure.value_ns),
            response_time_max_ns: headline.distribution.max,
            response_time_p99_at_least: percentile(99.0).is_some_and(|figure| figure.at_least),
            ..row
        }
    }
}

impl Row {
    /// Adds the counts of `other`.
    fn add(&mut self, other: &Row) {
        let counts = [
            (&mut self.started, other.started),
            (&mut self.ended, other.ended),
            (&mut self.errors, other.errors),
            (&mut self.timed_out, other.timed_out),
            (&mut self.payload_bytes, other.payload_bytes),
            (&mut self.wire_received_bytes, other.wire_received_bytes),
            (&mut self.wire_sent_bytes, other.wire_sent_bytes),
            (&mut self.connections_opened, other.connections_opened),
        ];
        counts.into_iter().for_each(|(sum, count)| *sum = sum.saturating_add(count));
    }
}

impl ResponseTimes {
    fn merge(&mut self, values: &Headline) {
        match self {
            ResponseTimes::Open(headline) => headline.merge(values),
            ResponseTimes::Packed { .. } => {
                let mut headline = self.unpacked();
                headline.merge(values);
                *self = ResponseTimes::Open(headline);
                self.pack();
            }
        }
    }

    fn pack(&mut self) {
        if let ResponseTimes::Open(headline) = self {
            let mut headline = std::mem::take(headline);
            let encoded = std::mem::take(&mut headline.distribution.histogram).encode_v2_deflate();
            *self = ResponseTimes::Packed { headline, encoded };
        }
    }

    fn unpacked(&self) -> Headline {
        match self {
            ResponseTimes::Open(headline) => headline.clone(),
            ResponseTimes::Packed { headline, encoded } => {
                let histogram = Histogram::decode_v2_deflate(encoded).expect("packed by ourselves a moment ago");
                let distribution = Distribution { histogram, ..headline.distribution.clone() };
                Headline { distribution, ..headline.clone() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{CellKey, Period};

    const KEY: CellKey = CellKey { period: Period::Measured, request: 0, address: None };

    /// One operation that ended ok in the interval, intended in `second`, with this response time.
    fn one(second: u32, ns: u64) -> Snapshot {
        let mut cell = Cell::default();
        cell.counters.started = 1;
        cell.counters.ok = 1;
        cell.response_times.entry((Outcome::Ok, second)).or_default().record(ns);
        cell.times.entry((Outcome::Ok, Metric::ServiceTime)).or_default().record(500_000_000);
        Snapshot { cells: [(KEY, cell)].into() }
    }

    #[test]
    fn response_time_belongs_to_the_second_it_was_intended_in_and_work_to_the_second_it_happened_in() {
        let mut builder = SeriesBuilder::new();
        builder.add(0, 3, &one(1, 2_000_000_000));
        let rows = builder.series(2_000_000_000).rows;
        let seen: Vec<_> = rows.iter().map(|row| (row.second, row.warm_up, row.ended, row.response_time_max_ns)).collect();
        assert_eq!(seen, [(1, true, 0, 2_000_000_000), (3, false, 1, 0)]);
        assert_eq!(rows[1].in_service, 0.5, "one operation for half of one second");
    }

    #[test]
    fn late_values_reach_rows_that_are_packed() {
        let mut builder = SeriesBuilder::new();
        (0..100).for_each(|second| builder.add(0, second, &one(second, 1000)));
        builder.add(1, 100, &one(5, 3000));
        let row = &builder.series(0).rows[5];
        assert_eq!((row.response_time_count, row.response_time_p50_ns, row.response_time_max_ns), (2, 1000, 3000));
        assert!(matches!(builder.rows[&5].response_times, ResponseTimes::Packed { .. }));
        assert!(matches!(builder.rows[&99].response_times, ResponseTimes::Open(_)));
        assert_eq!(builder.series(0).rows[100].agents, 1);
    }

    #[test]
    fn long_run_has_rows_of_two_seconds_and_loses_nothing() {
        let mut builder = SeriesBuilder::new();
        let seconds = ROWS_MAX as u32 + 1;
        (0..seconds).for_each(|second| builder.add(0, second, &one(second, u64::from(second))));
        let series = builder.series(0);
        assert_eq!((series.row_seconds, series.rows.len()), (2, ROWS_MAX / 2 + 1));
        assert_eq!(series.rows.iter().map(|row| row.ended).sum::<u64>(), u64::from(seconds));
        assert_eq!(series.rows.iter().map(|row| row.response_time_count).sum::<u64>(), u64::from(seconds));
        assert_eq!((series.rows[7].second, series.rows[7].response_time_max_ns), (14, 15));
    }
}
