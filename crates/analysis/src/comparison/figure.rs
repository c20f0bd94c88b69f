//! The figures that are compared: their names, units and values in a document, over the whole run
//! and by row.

use crate::{AgentResult, Document, Row, TimeFigure, Unit, WebSocketFigures};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Whether a higher or a lower figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Rates: more is better.
    Higher,
    /// Times, errors and costs: less is better.
    Lower,
}

/// A figure's value in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FigureValue {
    pub(crate) value: f64,
    /// Why the true value can be larger, if it can.
    pub(crate) at_least: Option<LowerBound>,
    /// For a share, the number of operations it refers to.
    pub(crate) whole: f64,
    /// Step in which the value is known.
    pub(crate) quantum: f64,
}

/// The reason why a time is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LowerBound {
    timed_out: bool,
    not_sent: bool,
}

impl LowerBound {
    fn new(figure: &TimeFigure) -> LowerBound {
        LowerBound {
            timed_out: figure.timed_out > 0,
            not_sent: figure.not_sent > 0,
        }
    }

    /// Combines the reasons of two times.
    pub(crate) fn and(self, other: LowerBound) -> LowerBound {
        LowerBound {
            timed_out: self.timed_out || other.timed_out,
            not_sent: self.not_sent || other.not_sent,
        }
    }

    /// Explains why the time cannot be compared.
    pub(crate) fn in_words(self) -> &'static str {
        match (self.timed_out, self.not_sent) {
            (true, false) => "not comparable: time-outs make it a lower bound",
            (false, true) => "not comparable: arrivals that were never sent make it a lower bound",
            (true, true) => {
                "not comparable: time-outs and arrivals that were never sent make it a lower bound"
            }
            (false, false) => "not comparable: it is above an hour",
        }
    }
}

/// Largest width of a histogram's bucket, relative to its value.
pub(crate) const BUCKET: f64 = 1.0 / 1024.0;

/// Resolution of a CPU time, in nanoseconds. The kernel reports user and system time in steps of 10
/// ms (`USER_HZ`, time(7)). Each is read at the start and at the end, and four roundings have the
/// variance of one rounding of twice the size.
const CPU_QUANTUM_NS: f64 = 2.0 * 1e7;

/// A figure computed from some rows; `None` if they do not have it. A rate is per row, whatever the
/// length of a row.
pub(crate) type OfRows = fn(&[&Row]) -> Option<f64>;

/// A figure that is compared.
pub(crate) struct Figure {
    pub(crate) name: Cow<'static, str>,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    pub(super) of: FigureSource,
    /// Computes the figure from rows, if they have it.
    pub(super) of_rows: Option<OfRows>,
}

/// Finds a part in a run, and computes its figure; `None` if the run does not have it.
type OfPart = Box<dyn Fn(&Document) -> Option<FigureValue> + Send + Sync>;

/// What a figure is computed from.
pub(super) enum FigureSource {
    /// A whole run.
    Run(fn(&Document) -> Option<FigureValue>),
    /// A part of a run, such as a request.
    Part(OfPart),
}

impl Figure {
    /// Returns its value in a run; `None` if the run does not have it.
    pub(crate) fn of(&self, document: &Document) -> Option<FigureValue> {
        match &self.of {
            FigureSource::Run(of) => of(document),
            FigureSource::Part(of) => of(document),
        }
    }

    /// Returns a function that computes the figure from rows of a series; `None` if rows do not
    /// have it.
    pub(crate) fn in_rows(&self, row_seconds: u32) -> Option<impl Fn(&[&Row]) -> Option<f64>> {
        let of_rows = self.of_rows?;
        // The rows of the two runs can differ in length.
        let length = match self.unit {
            Unit::PerSecond | Unit::BytesPerSecond => f64::from(row_seconds.max(1)),
            _ => 1.0,
        };
        Some(move |rows: &[&Row]| of_rows(rows).map(|value| value / length))
    }
}

/// In the order of the table.
pub(crate) static FIGURES: [Figure; 23] = [
    rate(
        "rate",
        Unit::PerSecond,
        |document| with_quantum(document.measured.rates.ok_per_second, once(document)),
        Some(|rows| mean(rows, ok)),
    ),
    rate(
        "payload.rate",
        Unit::BytesPerSecond,
        payload,
        Some(|rows| mean(rows, |row| row.payload_bytes as f64)),
    ),
    rate(
        "events.rate",
        Unit::PerSecond,
        events,
        Some(|rows| mean(rows, |row| row.events as f64)),
    ),
    rate(
        "messages.rate",
        Unit::PerSecond,
        messages,
        Some(|rows| mean(rows, |row| row.messages as f64)),
    ),
    cost(
        "response_time.mean",
        |document| time(document, "response_time", None),
        Some(|rows| of_times(rows, |row| row.response_time_mean_ns)),
    ),
    cost(
        "response_time.p50",
        |document| time(document, "response_time", Some(50.0)),
        Some(|rows| of_times(rows, |row| row.response_time_p50_ns as f64)),
    ),
    cost(
        "response_time.p90",
        |document| time(document, "response_time", Some(90.0)),
        None,
    ),
    cost(
        "response_time.p99",
        |document| time(document, "response_time", Some(99.0)),
        Some(|rows| of_times(rows, |row| row.response_time_p99_ns as f64)),
    ),
    cost(
        "connect.p50",
        |document| time(document, "connect", Some(50.0)),
        None,
    ),
    cost(
        "handshake_full.p50",
        |document| time(document, "handshake_full", Some(50.0)),
        None,
    ),
    cost(
        "handshake_full.p99",
        |document| time(document, "handshake_full", Some(99.0)),
        None,
    ),
    cost(
        "handshake_resumed.p50",
        |document| time(document, "handshake_resumed", Some(50.0)),
        None,
    ),
    cost(
        "handshake_resumed.p99",
        |document| time(document, "handshake_resumed", Some(99.0)),
        None,
    ),
    cost(
        "first_event.p50",
        |document| time(document, "first_event", Some(50.0)),
        None,
    ),
    cost(
        "first_event.p99",
        |document| time(document, "first_event", Some(99.0)),
        None,
    ),
    cost(
        "event_gap.p99",
        |document| time(document, "event_gap", Some(99.0)),
        None,
    ),
    cost(
        "message_time.p50",
        |document| time(document, "message_time", Some(50.0)),
        None,
    ),
    cost(
        "message_time.p99",
        |document| time(document, "message_time", Some(99.0)),
        None,
    ),
    cost(
        "ping_time.p99",
        |document| time(document, "ping_time", Some(99.0)),
        None,
    ),
    share(
        "errors.share",
        errors,
        Some(|rows| part(rows, |row| row.errors)),
    ),
    share(
        "timed_out.share",
        timed_out,
        Some(|rows| part(rows, |row| row.timed_out)),
    ),
    cost("client.cpu_per_operation", client_cpu, None),
    cost("server.cpu_per_operation", server_cpu, None),
];

const fn rate(
    name: &'static str,
    unit: Unit,
    of: fn(&Document) -> Option<FigureValue>,
    of_rows: Option<OfRows>,
) -> Figure {
    of_run(name, (unit, Better::Higher), of, of_rows)
}

const fn cost(
    name: &'static str,
    of: fn(&Document) -> Option<FigureValue>,
    of_rows: Option<OfRows>,
) -> Figure {
    of_run(name, (Unit::Ns, Better::Lower), of, of_rows)
}

/// A share of errors.
const fn share(
    name: &'static str,
    of: fn(&Document) -> Option<FigureValue>,
    of_rows: Option<OfRows>,
) -> Figure {
    of_run(name, (Unit::Share, Better::Lower), of, of_rows)
}

const fn of_run(
    name: &'static str,
    (unit, better): (Unit, Better),
    of: fn(&Document) -> Option<FigureValue>,
    of_rows: Option<OfRows>,
) -> Figure {
    Figure {
        name: Cow::Borrowed(name),
        unit,
        better,
        of: FigureSource::Run(of),
        of_rows,
    }
}

pub(super) fn with_quantum(value: f64, quantum: f64) -> Option<FigureValue> {
    Some(FigureValue {
        value,
        at_least: None,
        whole: 0.0,
        quantum: if quantum.is_finite() { quantum } else { 0.0 },
    })
}

/// Length of the measured part, in seconds.
fn seconds(document: &Document) -> f64 {
    document.run.duration_ns as f64 / 1e9
}

/// Returns how much one operation more or less changes a rate.
pub(super) fn once(document: &Document) -> f64 {
    1.0 / seconds(document)
}

/// One operation more or less changes the rate by its body.
fn payload(document: &Document) -> Option<FigureValue> {
    let rates = &document.measured.rates;
    let body = rates.payload_bytes_per_second / rates.ok_per_second;
    with_quantum(rates.payload_bytes_per_second, body * once(document))
}

/// The rate of events, if answers were streamed.
fn events(document: &Document) -> Option<FigureValue> {
    let streams = &document.measured.streams;
    let rate = || with_quantum(streams.events_per_second, once(document));
    (!streams.is_empty()).then(rate).flatten()
}

/// The rate of answered messages, if there were WebSockets that were to have any.
fn messages(document: &Document) -> Option<FigureValue> {
    let sockets = &document.websockets;
    let rate = WebSocketFigures::answered_within(sockets) as f64 / seconds(document);
    let has_any = sockets.iter().any(|figures| figures.sent > 0);
    has_any.then(|| with_quantum(rate, once(document)))?
}

/// Returns a percentile, or the mean if none is given.
fn time(document: &Document, metric: &str, percentile: Option<f64>) -> Option<FigureValue> {
    statistic(document.measured.times.get(metric)?, percentile)
}

/// Returns a percentile of times, or their mean if none is given.
pub(super) fn statistic(figure: &TimeFigure, percentile: Option<f64>) -> Option<FigureValue> {
    let Some(percentile) = percentile else {
        // The sum behind it is exact, except for values that were cut short.
        return Some(FigureValue {
            value: figure.mean_ns,
            at_least: figure.is_cut_short().then(|| LowerBound::new(figure)),
            whole: 0.0,
            quantum: 0.0,
        });
    };
    let found = figure.percentile(percentile)?;
    let value = found.value_ns as f64;
    Some(FigureValue {
        value,
        at_least: found.at_least.then(|| LowerBound::new(figure)),
        whole: 0.0,
        quantum: value * BUCKET,
    })
}

fn errors(document: &Document) -> Option<FigureValue> {
    let operations = &document.measured.operations;
    share_of(operations.errors, operations.ended)
}

fn timed_out(document: &Document) -> Option<FigureValue> {
    let operations = &document.measured.operations;
    share_of(operations.timed_out, operations.ended)
}

pub(super) fn share_of(part: u64, whole: u64) -> Option<FigureValue> {
    let value = crate::counts::share(part, whole)?;
    Some(FigureValue {
        value,
        at_least: None,
        whole: whole as f64,
        quantum: 1.0 / whole as f64,
    })
}

/// Returns the CPU time of all agents' processes per operation; `None` if one of them was not
/// sampled, or for so short a time that only its busiest thread is known.
fn client_cpu(document: &Document) -> Option<FigureValue> {
    let share = |agent: &AgentResult| {
        let cpu = agent.sampled_cpu().filter(|cpu| cpu.knows_machine())?;
        Some(cpu.process_share_mean)
    };
    let shares: Vec<f64> = document.agents.iter().map(share).collect::<Option<_>>()?;
    let per_second = document.measured.rates.operations_per_second;
    let is_known = !shares.is_empty() && per_second > 0.0;
    if !is_known {
        return None;
    }
    let busy: f64 = shares.iter().sum();
    // Each agent's time is rounded separately; their variances add up.
    let rounded_ns = CPU_QUANTUM_NS * (document.agents.len() as f64).sqrt();
    let operations = seconds(document) * per_second;
    with_quantum(busy * 1e9 / per_second, rounded_ns / operations)
}

fn server_cpu(document: &Document) -> Option<FigureValue> {
    let server = document.server?;
    let each = server.cpu_per_operation_ns?;
    with_quantum(each, CPU_QUANTUM_NS * each / server.cpu_ns as f64)
}

fn ok(row: &Row) -> f64 {
    row.ok() as f64
}

fn mean(rows: &[&Row], of: fn(&Row) -> f64) -> Option<f64> {
    if rows.is_empty() {
        return None;
    }
    // All rows have the same length, and so the same weight.
    let sum: f64 = rows.iter().map(|row| of(row)).sum();
    Some(sum / rows.len() as f64)
}

/// Mean over rows, weighted by their operations.
fn of_times(rows: &[&Row], of: fn(&Row) -> f64) -> Option<f64> {
    let count: f64 = rows.iter().map(|row| row.response_time_count as f64).sum();
    let sum: f64 = rows
        .iter()
        .map(|row| of(row) * row.response_time_count as f64)
        .sum();
    (count > 0.0).then(|| sum / count)
}

/// Share of the sums: in a mean of shares, a second with one operation would weigh as much as one
/// with a thousand. The denominator is that of the run's own share.
fn part(rows: &[&Row], part: fn(&Row) -> u64) -> Option<f64> {
    crate::counts::share(sum(rows, part), sum(rows, Row::ended_or_not_sent))
}

fn sum(rows: &[&Row], of: fn(&Row) -> u64) -> u64 {
    rows.iter().fold(0, |sum, row| sum.saturating_add(of(row)))
}
