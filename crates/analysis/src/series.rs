//! The run over time, on two axes: response times by the second in which operations were intended,
//! work by the second in which it happened. Memory is bounded: old distributions are packed, and
//! after an hour a row holds two seconds, then four, and so on.

use crate::HeatMap;
use crate::counts::{begun_and_sent, errors, is_not_sent, sent_and_ended};
use crate::response_times::ResponseTimes;
use crate::stretches::Stretches;
use measure::{Cell, Counters, Failure, Metric, Outcome, Snapshot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Most rows; beyond this, two become one. An hour of seconds: at about 2 KiB per packed row the
/// series stays under 8 MiB.
const ROWS_MAX: usize = 3600;

/// Number of newest rows whose response times stay unpacked: nearly everything arrives within them.
const ROWS_OPEN: u32 = 40;

/// The run over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Length of a row: 1 second, or in long runs a power of two of seconds.
    pub row_seconds: u32,
    /// Rows in order; a row in which nothing happened can be missing.
    pub rows: Vec<Row>,
    /// When the load or the last operation ended, whichever was later, on the run clock: the last
    /// row reaches no further. Absent while the run goes on, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<u64>,
}

/// One second, or a few seconds in a long run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// First second, on the run clock (the warm-up begins at 0).
    pub second: u32,
    /// Number of seconds in the row: the series' `row_seconds`, or what is left of them in the last
    /// row. 0 in results of earlier versions, which do not have it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: u32,
    /// Whether it begins in the warm-up.
    pub warm_up: bool,
    /// Number of agents that delivered something for it. In results of earlier versions, 64 means
    /// 64 or more.
    pub agents: u32,
    /// Operations begun in it.
    pub started: u64,
    /// Operations that ended in it, not counting those that were never sent.
    pub ended: u64,
    /// Operations that ended in it or were never sent, and are not ok, including time-outs.
    pub errors: u64,
    /// Time-outs among these errors.
    pub timed_out: u64,
    /// Bytes of bodies received in it.
    pub payload_bytes: u64,
    /// Bytes read from sockets in it.
    pub wire_received_bytes: u64,
    /// Bytes written to sockets in it.
    pub wire_sent_bytes: u64,
    /// Connections opened in it.
    pub connections_opened: u64,
    /// Average number of operations under way: the integral of their number over the row's time.
    pub in_service: f64,
    /// Response times of operations *intended* in it: the number known so far.
    pub response_time_count: u64,
    /// Operations *intended* in it that failed, but for those that timed out or were never sent:
    /// none of these response times is theirs. Missing in results of earlier versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_due: u64,
    /// Arithmetic mean of these response times.
    pub response_time_mean_ns: f64,
    /// Their 50th percentile.
    pub response_time_p50_ns: u64,
    /// Their 90th percentile; results of earlier versions have neither this nor the 99.9th.
    #[serde(default)]
    pub response_time_p90_ns: u64,
    /// Their 99th percentile.
    pub response_time_p99_ns: u64,
    /// Their 99.9th percentile.
    #[serde(default)]
    pub response_time_p999_ns: u64,
    /// The largest of them.
    pub response_time_max_ns: u64,
    /// Whether the 99th percentile is a lower bound, since some of them were cut short (time-outs,
    /// never sent).
    pub response_time_p99_at_least: bool,
    /// Whether the median is a lower bound, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub response_time_p50_at_least: bool,
    /// Whether mean and maximum are lower bounds, since some of them were cut short. Missing in
    /// results of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub response_time_at_least: bool,
    /// Errors that ended in it, by the name of their kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Phases of ok operations that ended in it: mean times by metric name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phase_means_ns: BTreeMap<String, u64>,
    /// Average parts of the response time of ok operations that ended in it: its phases, the time
    /// `queued` before it began, and the rest as `other`. Together they are the mean response time.
    /// Empty in results of versions that did not keep it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phase_parts_ns: BTreeMap<String, u64>,
    /// Events of streamed answers that came in it; absent if there were none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub events: u64,
    /// Mean time from the instant an operation was due to the first event of its answer, of those
    /// that came in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_mean_ns: Option<u64>,
    /// Mean gap between two events of an answer, by the instant of the second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_gap_mean_ns: Option<u64>,
    /// Messages over WebSockets that were answered in it; absent if there were none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages: u64,
    /// Mean time from the instant a message was due to its answer, of those answered in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_time_mean_ns: Option<u64>,
    /// Journeys begun in it; absent if there were none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journeys_begun: u64,
    /// Journeys completed in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journeys_completed: u64,
    /// Journeys that ended in it with a step that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journeys_failed: u64,
    /// Mean of the smoothed round trips sampled in it; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_mean_ns: Option<u64>,
    /// Mean difference between these round trips and the shortest one to their address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_above_least_ns: Option<u64>,
}

/// Phases of an operation in order, each with the metrics that make it up.
const PHASES: [(&str, &[Metric]); 7] = [
    ("dns", &[Metric::Dns]),
    ("connect", &[Metric::Connect]),
    (
        "handshake_full",
        &[Metric::HandshakeFull, Metric::HandshakeFullRetried],
    ),
    (
        "handshake_resumed",
        &[Metric::HandshakeResumed, Metric::HandshakeResumedRetried],
    ),
    ("send", &[Metric::Send]),
    ("first_byte", &[Metric::FirstByte]),
    ("receive", &[Metric::Receive]),
];

/// Times of the events of streamed answers.
const EVENT_TIMES: [Metric; 3] = [Metric::FirstEvent, Metric::EventGap, Metric::MessageTime];

pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl Series {
    /// Sets the number of agents that delivered something for each row.
    pub(crate) fn count_agents<'a>(&mut self, agents: impl Iterator<Item = &'a Stretches>) {
        let row_seconds = self.row_seconds.max(1);
        // Changes of the number of agents from one row to the next.
        let mut changes: BTreeMap<u32, i64> = BTreeMap::new();
        for stretches in agents {
            let mut next = 0;
            for (first, last) in stretches.iter() {
                // Two stretches of one agent can touch the same row.
                let (first, last) = ((first / row_seconds).max(next), last / row_seconds);
                if first <= last {
                    *changes.entry(first).or_default() += 1;
                    *changes.entry(last.saturating_add(1)).or_default() -= 1;
                    next = last.saturating_add(1);
                }
            }
        }
        let mut changes = changes.into_iter().peekable();
        let mut number = 0;
        for row in &mut self.rows {
            while let Some((_, change)) = changes.next_if(|&(at, _)| at <= row.second / row_seconds)
            {
                number += change;
            }
            row.agents = u32::try_from(number).unwrap_or(0);
        }
    }
}

/// Collects rows from intervals, in any order of arrival.
#[derive(Debug, Clone)]
pub(crate) struct SeriesBuilder {
    row_seconds: u32,
    rows: BTreeMap<u32, OpenRow>,
    /// Rows below this number are packed.
    packed_below: u32,
    /// Everything received is of seconds before this one.
    end: u32,
}

#[derive(Debug, Clone, Default)]
struct OpenRow {
    counts: Row,
    open_ns: u64,
    failures: BTreeMap<Failure, u64>,
    /// Count and sum for each phase of ok operations, in the order of [`PHASES`].
    phases: [(u64, u128); PHASES.len()],
    /// Sum of their waiting times before they were begun.
    queued: u128,
    /// Count and sum of response times of ok operations, by the second in which they ended.
    ended_ok: (u64, u128),
    /// Count and sum of sampled round trips, and of their differences from the shortest.
    round_trips: [(u64, u128); 2],
    /// Count and sum of the times to first events, and of gaps between events.
    event_times: [(u64, u128); EVENT_TIMES.len()],
    response_times: ResponseTimes,
}

impl SeriesBuilder {
    pub(crate) fn new() -> SeriesBuilder {
        SeriesBuilder {
            row_seconds: 1,
            rows: BTreeMap::new(),
            packed_below: 0,
            end: 0,
        }
    }

    /// Adds what an agent recorded in `second`.
    pub(crate) fn add(&mut self, second: u32, snapshot: &Snapshot) {
        self.end = self.end.max(second.saturating_add(1));
        let row = self.rows.entry(second / self.row_seconds).or_default();
        row.open_ns = row.open_ns.saturating_add(snapshot.client.open_ns);
        let path = &snapshot.client.path;
        for (sum, times) in row
            .round_trips
            .iter_mut()
            .zip([&path.round_trip, &path.above_least])
        {
            add_both(sum, (times.count, times.sum));
        }
        for cell in snapshot.cells.values() {
            row.count(cell);
        }
        for funnel in snapshot.journeys.values() {
            row.counts.add(&Row {
                journeys_begun: funnel.counts.begun,
                journeys_completed: funnel.counts.completed,
                journeys_failed: funnel.counts.failed,
                ..Row::default()
            });
        }
        for cell in snapshot.cells.values() {
            self.add_response_times(second, cell);
        }
        self.tidy();
    }

    fn add_response_times(&mut self, second: u32, cell: &Cell) {
        for (&(outcome, intended), distribution) in &cell.response_times {
            // Nothing is recorded before it is due; an agent that claims otherwise must not open
            // rows at will.
            let number = intended.min(second) / self.row_seconds;
            let row = self.rows.entry(number).or_default();
            if outcome == Outcome::Failed {
                add(&mut row.counts.failed_due, distribution.count);
            }
            row.response_times.take(outcome, distribution);
            if number < self.packed_below {
                row.response_times.pack();
            }
            self.make_room();
        }
    }

    /// Packs the rows that have become old, each once, so that the cost of a second does not depend
    /// on how many came before it.
    fn tidy(&mut self) {
        self.make_room();
        let newest = self.rows.last_key_value().map_or(0, |(&row, _)| row);
        let open_from = newest.saturating_sub(ROWS_OPEN).max(self.packed_below);
        self.rows
            .range_mut(self.packed_below..open_from)
            .for_each(|(_, row)| row.response_times.pack());
        self.packed_below = open_from;
    }

    fn make_room(&mut self) {
        while self.rows.len() > ROWS_MAX {
            self.halve();
        }
    }

    /// Joins every two rows into one, so that memory does not grow with the run. Packed rows stay
    /// packed, so that memory does not peak here.
    fn halve(&mut self) {
        self.row_seconds *= 2;
        self.packed_below /= 2;
        for (number, row) in std::mem::take(&mut self.rows) {
            match self.rows.entry(number / 2) {
                Entry::Vacant(place) => {
                    place.insert(row);
                }
                Entry::Occupied(mut first) => first.get_mut().merge(row),
            }
        }
    }

    /// Returns response times over time as a heat map.
    pub(crate) fn heat_map(&self) -> HeatMap {
        let rows = self.rows.iter();
        let times = rows.map(|(&number, row)| {
            let second = number * self.row_seconds;
            (second, row.response_times.unpack().distribution)
        });
        HeatMap::new(self.end, times)
    }

    /// Returns the rows so far; `warm_up_ns` is the length of the warm-up.
    pub(crate) fn series(&self, warm_up_ns: u64) -> Series {
        let rows = self.rows.iter();
        Series {
            row_seconds: self.row_seconds,
            rows: rows
                .map(|(&number, row)| self.row(number, row, warm_up_ns))
                .collect(),
            end_ns: None,
        }
    }

    fn row(&self, number: u32, row: &OpenRow, warm_up_ns: u64) -> Row {
        let second = number * self.row_seconds;
        // The last row can hold fewer seconds than the others.
        let seconds = self.end.saturating_sub(second).clamp(1, self.row_seconds);
        row.figures(Row {
            second,
            seconds,
            warm_up: u64::from(second) * 1_000_000_000 < warm_up_ns,
            ..row.counts.clone()
        })
    }
}

impl OpenRow {
    fn count(&mut self, cell: &Cell) {
        let counters: &Counters = &cell.counters;
        self.counts.add(&Row {
            started: begun_and_sent(counters),
            ended: sent_and_ended(counters),
            errors: errors(counters),
            timed_out: counters.timed_out,
            payload_bytes: counters.payload_bytes,
            wire_received_bytes: counters.wire_bytes_received,
            wire_sent_bytes: counters.wire_bytes_sent,
            connections_opened: counters.connections.opened,
            events: cell.streams.events,
            ..Row::default()
        });
        for (sum, metric) in self.event_times.iter_mut().zip(EVENT_TIMES) {
            if let Some(times) = cell.times.get(&(Outcome::Ok, metric)) {
                add_both(sum, (times.count, times.sum));
            }
        }
        for (&failure, &count) in &counters.failures {
            add(self.failures.entry(failure).or_default(), count);
        }
        for (sum, (_, metrics)) in self.phases.iter_mut().zip(PHASES) {
            for &metric in metrics {
                if let Some(times) = cell.times.get(&(Outcome::Ok, metric)) {
                    add_both(sum, (times.count, times.sum));
                }
            }
        }
        let lateness = cell.times.get(&(Outcome::Ok, Metric::Lateness));
        let queued = lateness.map_or(0, |times| times.sum);
        self.queued = self.queued.saturating_add(queued);
        for ((outcome, _), times) in &cell.response_times {
            if *outcome == Outcome::Ok {
                add_both(&mut self.ended_ok, (times.count, times.sum));
            }
        }
    }

    fn merge(&mut self, other: OpenRow) {
        self.counts.add(&other.counts);
        self.open_ns = self.open_ns.saturating_add(other.open_ns);
        for (failure, count) in other.failures {
            add(self.failures.entry(failure).or_default(), count);
        }
        for (sum, more) in self.phases.iter_mut().zip(other.phases) {
            add_both(sum, more);
        }
        self.queued = self.queued.saturating_add(other.queued);
        add_both(&mut self.ended_ok, other.ended_ok);
        for (sum, more) in self.round_trips.iter_mut().zip(other.round_trips) {
            add_both(sum, more);
        }
        for (sum, more) in self.event_times.iter_mut().zip(other.event_times) {
            add_both(sum, more);
        }
        self.response_times.merge(&other.response_times.unpack());
    }

    fn figures(&self, row: Row) -> Row {
        let times = self.response_times.figures();
        Row {
            in_service: self.open_ns as f64 / 1e9 / f64::from(row.seconds),
            response_time_count: times.count,
            response_time_mean_ns: times.mean_ns,
            response_time_p50_ns: times.p50_ns,
            response_time_p90_ns: times.p90_ns,
            response_time_p99_ns: times.p99_ns,
            response_time_p999_ns: times.p999_ns,
            response_time_max_ns: times.max_ns,
            response_time_p99_at_least: times.p99_at_least,
            response_time_p50_at_least: times.p50_at_least,
            response_time_at_least: times.is_cut_short,
            errors_by_kind: self
                .failures
                .iter()
                .map(|(failure, &count)| (failure.to_string(), count))
                .collect(),
            phase_means_ns: self.phase_means().collect(),
            phase_parts_ns: self.phase_parts().unwrap_or_default(),
            first_event_mean_ns: mean_of(self.event_times[0]),
            event_gap_mean_ns: mean_of(self.event_times[1]),
            messages: self.event_times[2].0,
            message_time_mean_ns: mean_of(self.event_times[2]),
            round_trip_mean_ns: mean_of(self.round_trips[0]),
            round_trip_above_least_ns: mean_of(self.round_trips[1]),
            ..row
        }
    }

    /// Returns the mean time of each phase that occurred.
    fn phase_means(&self) -> impl Iterator<Item = (String, u64)> {
        let phases = self.phases.iter().zip(PHASES);
        phases.filter_map(|(&(count, sum), (name, _))| {
            Some((name.to_owned(), mean_of((count, sum))?))
        })
    }

    /// Returns the parts that are not zero; `None` if no operation ended ok.
    fn phase_parts(&self) -> Option<BTreeMap<String, u64>> {
        let (count, whole) = self.ended_ok;
        let phases = self.phases.iter().zip(PHASES);
        let phases = phases.map(|(&(_, sum), (name, _))| (name, sum));
        let mut parts: Vec<(&str, u128)> = phases.chain([("queued", self.queued)]).collect();
        let known: u128 = parts.iter().map(|(_, sum)| sum).sum();
        // Not covered by the phases: pauses between them, and earlier attempts.
        parts.push(("other", whole.saturating_sub(known)));
        parts.retain(|&(_, sum)| sum > 0);
        let part = |(name, sum): (&str, u128)| Some((name.to_owned(), mean_of((count, sum))?));
        parts.into_iter().map(part).collect()
    }
}

/// Divides a sum by its count; `None` if nothing was counted.
fn mean_of((count, sum): (u64, u128)) -> Option<u64> {
    let mean = sum.checked_div(u128::from(count))?;
    Some(u64::try_from(mean).unwrap_or(u64::MAX))
}

/// Adds a count and a sum to others.
fn add_both(sum: &mut (u64, u128), more: (u64, u128)) {
    *sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
}

fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

impl Row {
    /// Returns whether mean and largest response time are lower bounds.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.response_time_at_least || self.response_time_p99_at_least
    }

    /// Returns the number of ended operations and arrivals that could not be sent, of which
    /// `errors` is a part. For results of versions that do not name a row's errors, arrivals that
    /// could not be sent are left out.
    pub(crate) fn ended_or_not_sent(&self) -> u64 {
        let is_not_sent = |name: &str| name.parse().is_ok_and(is_not_sent);
        let named = self.errors_by_kind.iter();
        named
            .filter(|(name, _)| is_not_sent(name))
            .fold(self.ended, |sum, (_, &count)| sum.saturating_add(count))
    }

    /// Returns the operations that ended ok in it.
    #[must_use]
    pub fn ok(&self) -> u64 {
        self.ended_or_not_sent().saturating_sub(self.errors)
    }

    /// Returns the operations that were due in it, as far as is known.
    pub(crate) fn due(&self) -> u64 {
        self.response_time_count.saturating_add(self.failed_due)
    }

    /// Adds the counts of `other`.
    fn add(&mut self, other: &Row) {
        let sums = [
            (&mut self.started, other.started),
            (&mut self.ended, other.ended),
            (&mut self.errors, other.errors),
            (&mut self.timed_out, other.timed_out),
            (&mut self.payload_bytes, other.payload_bytes),
            (&mut self.wire_received_bytes, other.wire_received_bytes),
            (&mut self.wire_sent_bytes, other.wire_sent_bytes),
            (&mut self.connections_opened, other.connections_opened),
            (&mut self.events, other.events),
            (&mut self.failed_due, other.failed_due),
            (&mut self.journeys_begun, other.journeys_begun),
            (&mut self.journeys_completed, other.journeys_completed),
            (&mut self.journeys_failed, other.journeys_failed),
        ];
        for (sum, count) in sums {
            self::add(sum, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{CellKey, Client, Kind, Period};

    const KEY: CellKey = CellKey {
        period: Period::Measured,
        request: 0,
        address: None,
    };

    /// One operation that ended ok in the interval, intended in `second`, with response time `ns`.
    fn one(second: u32, ns: u64) -> Snapshot {
        let mut cell = Cell::default();
        cell.counters.started = 1;
        cell.counters.ok = 1;
        cell.response_times
            .entry((Outcome::Ok, second))
            .or_default()
            .record(ns);
        Snapshot {
            cells: [(KEY, cell)].into(),
            client: Client {
                open_ns: 500_000_000,
                ..Client::default()
            },
            ..Snapshot::default()
        }
    }

    #[test]
    fn response_time_belongs_to_the_second_of_its_intention_and_work_to_the_one_of_its_end() {
        let mut builder = SeriesBuilder::new();
        builder.add(3, &one(1, 2_000_000_000));
        let rows = builder.series(2_000_000_000).rows;
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.second, row.warm_up, row.ended, row.response_time_max_ns))
            .collect();
        assert_eq!(seen, [(1, true, 0, 2_000_000_000), (3, false, 1, 0)]);
        assert_eq!(
            rows[1].in_service, 0.5,
            "one operation for half of one second"
        );
    }

    #[test]
    fn arrivals_that_were_never_sent_take_nothing_from_the_operations_that_ended_ok() {
        let mut snapshot = one(0, 10_000_000);
        let counters = &mut snapshot.cells.get_mut(&KEY).unwrap().counters;
        let failure = |kind| measure::Failure {
            stage: measure::FailureStage::Load,
            kind,
        };
        counters.ok = 3;
        counters.failed = 8;
        counters.failures = [(failure(Kind::NotSent), 7), (failure(Kind::Cut), 1)].into();
        let mut builder = SeriesBuilder::new();
        builder.add(0, &snapshot);
        let row = &builder.series(0).rows[0];
        assert_eq!((row.ended, row.errors, row.ok()), (4, 8, 3));
    }

    #[test]
    fn events_are_counted_and_timed_in_the_second_in_which_they_came() {
        let mut snapshot = one(0, 10_000_000);
        let cell = snapshot.cells.get_mut(&KEY).unwrap();
        cell.streams.events = 4;
        for (metric, ms) in [
            (Metric::FirstEvent, 30),
            (Metric::EventGap, 2),
            (Metric::EventGap, 4),
            (Metric::EventGap, 6),
        ] {
            let times = cell.times.entry((Outcome::Ok, metric)).or_default();
            times.record(ms * 1_000_000);
        }
        let messages = cell.times.entry((Outcome::Ok, Metric::MessageTime));
        messages.or_default().record(7_000_000);
        // An answer without an event by its time-out is no event.
        let missed = (Outcome::TimedOut, Metric::FirstEvent);
        cell.times.entry(missed).or_default().record(900_000_000);
        let mut builder = SeriesBuilder::new();
        builder.add(2, &snapshot);
        builder.add(3, &snapshot);
        builder.halve();
        let rows = builder.series(0).rows;
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.events, row.first_event_mean_ns, row.event_gap_mean_ns))
            .collect();
        let both = (8, Some(30_000_000), Some(4_000_000));
        assert_eq!(seen, [(0, None, None), both]);
        let messages = rows
            .iter()
            .map(|row| (row.messages, row.message_time_mean_ns));
        assert!(messages.eq([(0, None), (2, Some(7_000_000))]));
    }

    #[test]
    fn parts_of_the_mean_response_time_sum_to_it() {
        let mut snapshot = one(0, 10_000_000);
        let cell = snapshot.cells.get_mut(&KEY).unwrap();
        let second = cell.response_times.entry((Outcome::Ok, 0)).or_default();
        second.record(20_000_000);
        // A failed operation has no part in it.
        let failed = cell.response_times.entry((Outcome::Failed, 0)).or_default();
        failed.record(900_000_000);
        for (metric, ms) in [
            (Metric::Connect, 4),
            (Metric::FirstByte, 8),
            (Metric::FirstByte, 12),
            (Metric::Lateness, 2),
        ] {
            let times = cell.times.entry((Outcome::Ok, metric)).or_default();
            times.record(ms * 1_000_000);
        }
        let mut builder = SeriesBuilder::new();
        builder.add(0, &snapshot);
        let rows = builder.series(0).rows;
        let parts = [
            ("connect", 2_000_000),
            ("first_byte", 10_000_000),
            ("other", 2_000_000),
            ("queued", 1_000_000),
        ];
        let parts: BTreeMap<String, u64> = parts.map(|(name, ns)| (name.to_owned(), ns)).into();
        assert_eq!(rows[0].phase_parts_ns, parts);
        assert_eq!(parts.values().sum::<u64>(), 15_000_000, "the mean of both");
        assert_eq!(rows[0].phase_means_ns["connect"], 4_000_000, "of one");
        assert_eq!((rows[0].response_time_count, rows[0].failed_due), (2, 1));
    }

    #[test]
    fn response_times_of_seconds_to_come_open_no_rows() {
        let mut snapshot = one(0, 1000);
        let cell = snapshot.cells.get_mut(&KEY).unwrap();
        for intended in 1..10_000 {
            let times = cell.response_times.entry((Outcome::Ok, intended));
            times.or_default().record(1000);
        }
        let mut builder = SeriesBuilder::new();
        builder.add(5, &snapshot);
        let counts = |builder: &SeriesBuilder| -> Vec<u64> {
            let rows = builder.series(0).rows;
            rows.iter().map(|row| row.response_time_count).collect()
        };
        assert_eq!(counts(&builder), [1, 1, 1, 1, 1, 9_995]);
        builder.add(10_000, &snapshot);
        let counts = counts(&builder);
        assert!(counts.len() <= ROWS_MAX, "{}", counts.len());
        assert_eq!(counts.iter().sum::<u64>(), 20_000);
    }

    #[test]
    fn late_values_reach_rows_that_are_packed() {
        let mut builder = SeriesBuilder::new();
        (0..100).for_each(|second| builder.add(second, &one(second, 1000)));
        builder.add(100, &one(5, 3000));
        let row = &builder.series(0).rows[5];
        assert_eq!(
            (
                row.response_time_count,
                row.response_time_p50_ns,
                row.response_time_max_ns
            ),
            (2, 1000, 3000)
        );
        assert!(matches!(
            builder.rows[&5].response_times,
            ResponseTimes::Packed { .. }
        ));
        assert!(matches!(
            builder.rows[&99].response_times,
            ResponseTimes::Open(_)
        ));
    }

    #[test]
    fn rows_count_every_agent_once_however_many_there_are() {
        let mut builder = SeriesBuilder::new();
        (0..8).for_each(|second| builder.add(second, &one(second, 1000)));
        let mut series = builder.series(0);
        let delivered = |seconds: &[u32]| {
            let mut stretches = Stretches::default();
            seconds
                .iter()
                .for_each(|&second| _ = stretches.mark(second));
            stretches
        };
        let mut agents = vec![delivered(&[0, 1, 2, 3, 4, 5, 6, 7]); 998];
        agents.push(delivered(&[0, 1]));
        agents.push(delivered(&[0, 3, 7]));
        let counted =
            |series: &Series| -> Vec<u32> { series.rows.iter().map(|row| row.agents).collect() };
        series.count_agents(agents.iter());
        assert_eq!(counted(&series), [1000, 999, 998, 999, 998, 998, 998, 999]);
        // In rows of two seconds, 0 and 3 are in different rows, 6 and 7 in the same.
        series.row_seconds = 2;
        series.rows.retain(|row| row.second % 2 == 0);
        agents.push(delivered(&[0, 1, 4, 6, 7]));
        series.count_agents(agents.iter());
        assert_eq!(counted(&series), [1001, 999, 999, 1000]);
    }

    #[test]
    fn late_values_of_a_second_without_a_row_are_packed_too() {
        let mut builder = SeriesBuilder::new();
        (0..100)
            .filter(|&second| second != 5)
            .for_each(|second| builder.add(second, &one(second, 1000)));
        builder.add(100, &one(5, 3000));
        builder.add(6, &one(6, 3000));
        assert!(
            builder
                .rows
                .range(..60)
                .all(|(_, row)| matches!(row.response_times, ResponseTimes::Packed { .. }))
        );
        let rows = builder.series(0).rows;
        assert_eq!(
            (
                rows[5].second,
                rows[5].response_time_max_ns,
                rows[6].response_time_count
            ),
            (5, 3000, 2)
        );
    }

    #[test]
    fn after_an_hour_rows_hold_two_seconds_then_four_and_lose_nothing() {
        let hour = ROWS_MAX as u32;
        let mut builder = SeriesBuilder::new();
        let mut seconds = 0;
        for (until, row_seconds, number) in [
            (hour, 1, ROWS_MAX),
            (hour + 1, 2, ROWS_MAX / 2 + 1),
            (2 * hour, 2, ROWS_MAX),
            (2 * hour + 1, 4, ROWS_MAX / 2 + 1),
        ] {
            (seconds..until)
                .for_each(|second| builder.add(second, &one(second, u64::from(second))));
            seconds = until;
            let series = builder.series(0);
            assert_eq!(
                (series.row_seconds, series.rows.len()),
                (row_seconds, number),
                "{until} s"
            );
            assert_eq!(
                series.rows.iter().map(|row| row.seconds).sum::<u32>(),
                until
            );
            assert_eq!(
                series.rows.iter().map(|row| row.ended).sum::<u64>(),
                u64::from(until)
            );
            assert_eq!(
                series
                    .rows
                    .iter()
                    .map(|row| row.response_time_count)
                    .sum::<u64>(),
                u64::from(until)
            );
            assert!(
                series.rows.iter().all(|row| row.in_service == 0.5),
                "one operation for half of each second"
            );
            let last = &series.rows[7];
            let end = 8 * u64::from(row_seconds) - 1;
            assert_eq!(
                (last.second, last.response_time_max_ns),
                (7 * row_seconds, end),
                "{until} s"
            );
        }
        let open = builder
            .rows
            .values()
            .filter(|row| matches!(row.response_times, ResponseTimes::Open(_)))
            .count();
        assert!(open <= ROWS_OPEN as usize + 1, "{open} rows are not packed");
    }
}
