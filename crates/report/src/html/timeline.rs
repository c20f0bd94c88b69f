//! The course of the run over time, as line charts.

use super::axis::AxisUnit;
use analysis::{
    Document, LoadRecord, MachineResult, MachineRow, RequestRow, RequestSeries, Row, Series,
};
use std::collections::BTreeSet;
use std::ops::Range;

const SECOND_NS: u64 = 1_000_000_000;

/// Points of a line: enough for the eye, and few enough for a browser.
pub(super) const POINTS_MAX: usize = 2_000;

/// The rest behind the last whole row gets a point of its own if it is at least this part of a row.
const LAST_PART_MIN: f64 = 0.1;

/// Machines with a line; the busiest ones if there are more.
const MACHINES_MAX: usize = 12;

/// Kinds of errors with a line; the most frequent ones if there are more.
const KINDS_MAX: usize = 8;

/// A machine gets a line of local ports if this share of them is in use at any time.
const PORTS_SHOWN: f64 = 0.1;

/// The phases of an operation, in order, with their names on the page.
const PHASES: [(&str, &str); 7] = [
    ("dns", "dns"),
    ("connect", "connect (TCP)"),
    ("handshake_full", "handshake, full"),
    ("handshake_resumed", "handshake, resumed"),
    ("send", "send"),
    ("first_byte", "first byte"),
    ("receive", "receive"),
];

/// All charts over time.
#[derive(Debug)]
pub(super) struct TimeCharts {
    /// The beginning of each point and the end of the last one, in seconds of the run clock.
    pub(super) bounds: Vec<f64>,
    pub(super) timelines: Vec<TimeChart>,
    /// The parts of the mean response time, stacked.
    pub(super) parts: Option<TimeChart>,
}

/// A line chart.
#[derive(Debug)]
pub(super) struct TimeChart {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// A sentence about what it shows.
    pub(super) about: &'static str,
    pub(super) unit: AxisUnit,
    pub(super) is_log: bool,
    pub(super) lines: Vec<ChartLine>,
}

/// A line; `None` where the value is not known.
#[derive(Debug)]
pub(super) struct ChartLine {
    pub(super) name: String,
    pub(super) values: Vec<Option<f64>>,
    /// The line shows what was asked for, not what was measured.
    pub(super) is_wanted: bool,
}

/// How the rows of a point are combined.
#[derive(Debug, Clone, Copy)]
enum Joined {
    /// Weighted by their length.
    Mean,
    Largest,
}

/// The rows of a document's series, without gaps.
struct ChartRows<'d> {
    document: &'d Document,
    row_seconds: u32,
    first: u32,
    rows: Vec<Option<&'d Row>>,
    /// Length of the last row as a part of a row, since the run may end inside it.
    last_part: f64,
    /// Rows per point.
    each: usize,
}

impl TimeCharts {
    /// The charts that show something; none if no row is known.
    pub(super) fn new(document: &Document, points_max: usize) -> TimeCharts {
        let Some(axis) = ChartRows::new(document, points_max) else {
            return TimeCharts {
                bounds: Vec::new(),
                timelines: Vec::new(),
                parts: None,
            };
        };
        let all = axis.charts().into_iter();
        TimeCharts {
            bounds: axis.bounds(),
            timelines: all.filter(TimeChart::has_content).collect(),
            parts: Some(axis.parts()).filter(TimeChart::has_content),
        }
    }
}

impl TimeChart {
    /// Whether anything above 0 was measured.
    fn has_content(&self) -> bool {
        let measured = self.lines.iter().filter(|line| !line.is_wanted);
        let values = measured.flat_map(|line| &line.values);
        values.flatten().any(|&value| value > 0.0)
    }
}

fn busiest_thread(row: &MachineRow) -> f64 {
    let processes = row.processes.iter();
    let shares = processes.map(|process| process.busiest_thread_share);
    shares.fold(0.0, f64::max)
}

/// Whether a row lies after the end of the load, when agents only close connections and deliver
/// what remains.
fn is_behind_the_end(document: &Document, row: &Row) -> bool {
    let end = document.series.end_ns;
    let is_behind = end.is_some_and(|end| u64::from(row.second) * SECOND_NS >= end);
    is_behind && row.started == 0 && row.ended == 0 && row.errors == 0
}

/// The length of the last row as a part of a full row. It may hold fewer seconds than the others,
/// and the run may end inside it.
fn last_part(row: &Row, series: &Series) -> f64 {
    let whole_ns = u64::from(series.row_seconds.max(1)) * SECOND_NS;
    let held_ns = match row.seconds {
        0 => whole_ns,
        seconds => u64::from(seconds) * SECOND_NS,
    };
    let begin_ns = u64::from(row.second) * SECOND_NS;
    let ended_ns = series.end_ns.and_then(|end| end.checked_sub(begin_ns));
    let ended_ns = ended_ns.filter(|&length| length > 0).unwrap_or(held_ns);
    ended_ns.min(held_ns) as f64 / whole_ns as f64
}

impl<'d> ChartRows<'d> {
    fn new(document: &'d Document, points_max: usize) -> Option<ChartRows<'d>> {
        let series = &document.series;
        let row_seconds = series.row_seconds.max(1);
        let number = |row: &Row| row.second / row_seconds;
        let first = number(series.rows.first()?);
        let last_row = series
            .rows
            .iter()
            .rfind(|row| !is_behind_the_end(document, row))?;
        let last = number(last_row).max(first);
        // A saved file may be broken: no series has more rows than this.
        let length = (last.checked_sub(first)? as usize + 1).min(100_000);
        let mut rows = vec![None; length];
        for row in &series.rows {
            let place = number(row).checked_sub(first).map(|place| place as usize);
            if let Some(place) = place.and_then(|place| rows.get_mut(place)) {
                *place = Some(row);
            }
        }
        Some(ChartRows {
            document,
            row_seconds,
            first,
            each: rows.len().div_ceil(points_max).max(1),
            last_part: last_part(last_row, series),
            rows,
        })
    }

    /// All charts in the order of the page, whether or not they have content.
    fn charts(&self) -> [TimeChart; 17] {
        [
            self.journeys(),
            self.rates(),
            self.response_times(),
            self.request_rates(),
            self.request_times(),
            self.errors(),
            self.phases(),
            self.events(),
            self.event_times(),
            self.messages(),
            self.message_times(),
            self.under_way(),
            self.bytes(),
            self.machines("cpu", "CPU of machines", "of what each may use", |row| {
                row.cpu_busy
            }),
            self.machines(
                "thread",
                "Busiest thread",
                "a worker or thread at 100 % is full, however idle its machine is",
                busiest_thread,
            ),
            self.local_ports(),
            self.agents(),
        ]
    }

    fn bounds(&self) -> Vec<f64> {
        let at = |rows: f64| (f64::from(self.first) + rows) * f64::from(self.row_seconds);
        let starts = self.points().map(|rows| at(rows.start as f64));
        let all = self.rows.len().saturating_sub(1) as f64 + self.last_part;
        starts.chain([at(all)]).collect()
    }

    /// The rows of each point. A short rest behind the last whole row joins the point before it,
    /// because a rate over a few milliseconds would be meaningless.
    fn points(&self) -> impl Iterator<Item = Range<usize>> {
        let all = self.rows.len();
        let points = all.div_ceil(self.each).max(1);
        let is_alone = points > 1 && (points - 1) * self.each + 1 == all;
        let points = if is_alone && self.last_part < LAST_PART_MIN {
            points - 1
        } else {
            points
        };
        (0..points).map(move |point| {
            let start = point * self.each;
            let is_last = point + 1 == points;
            start..if is_last { all } else { start + self.each }
        })
    }

    /// The length of a row as a part of a full row.
    fn part(&self, place: usize) -> f64 {
        if place + 1 == self.rows.len() {
            self.last_part
        } else {
            1.0
        }
    }

    /// A line with one value per row.
    fn line(&self, name: &str, joined: Joined, value: impl Fn(&Row) -> Option<f64>) -> ChartLine {
        self.line_by_part(name, joined, |row, _| value(row))
    }

    /// As [`ChartRows::line`], for values that depend on the length of a row.
    fn line_by_part(
        &self,
        name: &str,
        joined: Joined,
        value: impl Fn(&Row, f64) -> Option<f64>,
    ) -> ChartLine {
        let rows = self.rows.iter().enumerate();
        let values: Vec<Option<f64>> = rows
            .map(|(place, row)| value((*row)?, self.part(place)))
            .collect();
        ChartLine {
            name: name.to_owned(),
            values: self.join(&values, joined),
            is_wanted: false,
        }
    }

    /// What the plan asks for; `None` if its stages are not known.
    fn demand_line(&self, name: &str) -> Option<ChartLine> {
        let run = &self.document.run;
        let end = run.warm_up_ns.saturating_add(run.duration_ns);
        let amount = |number: usize| {
            let half_rows = (f64::from(self.first) + number as f64) * 2.0 + self.part(number);
            // On a straight line, the value in the middle of a row is its mean.
            let at_ns = (half_rows * f64::from(self.row_seconds) * 0.5e9) as u64;
            let amount = self.document.plan.amount_at(at_ns);
            amount.filter(|_| at_ns < end)
        };
        let values: Vec<Option<f64>> = (0..self.rows.len()).map(amount).collect();
        let is_known = values.iter().any(Option::is_some);
        is_known.then(|| ChartLine {
            name: name.to_owned(),
            values: self.join(&values, Joined::Mean),
            is_wanted: true,
        })
    }

    /// A horizontal line.
    fn level_line(&self, name: String, value: f64) -> ChartLine {
        ChartLine {
            name,
            values: vec![Some(value); self.points().count()],
            is_wanted: true,
        }
    }

    /// The value of each point.
    fn join(&self, values: &[Option<f64>], joined: Joined) -> Vec<Option<f64>> {
        let points = self.points();
        points
            .map(|rows| self.join_point(rows, values, joined))
            .collect()
    }

    /// `None` if no row of the point has a value.
    fn join_point(
        &self,
        rows: Range<usize>,
        values: &[Option<f64>],
        joined: Joined,
    ) -> Option<f64> {
        let known = rows.filter_map(|place| Some((self.part(place), (*values.get(place)?)?)));
        let known: Vec<(f64, f64)> = known.collect();
        let largest = known.iter().map(|&(_, value)| value).reduce(f64::max)?;
        let sum: f64 = known.iter().map(|(part, value)| part * value).sum();
        let parts: f64 = known.iter().map(|(part, _)| part).sum();
        Some(match joined {
            Joined::Mean => sum / parts,
            Joined::Largest => largest,
        })
    }

    /// A count per row, as a rate.
    fn rate(&self, name: &str, count: impl Fn(&Row) -> u64) -> ChartLine {
        self.line_by_part(name, Joined::Mean, |row, part| {
            Some(count(row) as f64 / (part * f64::from(self.row_seconds)))
        })
    }

    /// The rate that the plan asks for, of an open loop. Only the mean of a replay is known, not
    /// what it asks for at an instant.
    fn asked_for(&self) -> Option<ChartLine> {
        match &self.document.plan.load {
            LoadRecord::Open { arrivals, .. } if arrivals != "recorded" => {
                self.demand_line("asked for")
            }
            _ => None,
        }
    }

    fn journeys(&self) -> TimeChart {
        let mut lines = vec![
            self.rate("begun", |row| row.journeys_begun),
            self.rate("completed", |row| row.journeys_completed),
            self.rate("failed", |row| row.journeys_failed),
        ];
        lines.extend(self.asked_for());
        TimeChart {
            id: "journeys",
            title: "Journeys",
            about: "journeys begun, completed, and ended by a step that failed, in each second",
            unit: AxisUnit::Rate,
            is_log: false,
            lines,
        }
    }

    fn rates(&self) -> TimeChart {
        let mut lines = vec![
            self.rate("begun", |row| row.started),
            self.rate("ok", Row::ok),
            self.rate("errors", |row| row.errors),
        ];
        if !self.document.has_journeys() {
            lines.extend(self.asked_for());
        }
        TimeChart {
            id: "rate",
            title: "Rate",
            about: "operations begun, ended ok, and failed in each second",
            unit: AxisUnit::Rate,
            is_log: false,
            lines,
        }
    }

    fn response_times(&self) -> TimeChart {
        let time = |name: &str, value: fn(&Row) -> u64| {
            self.line(name, Joined::Largest, |row| {
                let value = value(row);
                (value > 0).then_some(value as f64)
            })
        };
        let mut lines = vec![
            time("p50", |row| row.response_time_p50_ns),
            time("p90", |row| row.response_time_p90_ns),
            time("p99", |row| row.response_time_p99_ns),
            time("p99.9", |row| row.response_time_p999_ns),
            time("max", |row| row.response_time_max_ns),
        ];
        lines.extend(self.threshold_lines());
        TimeChart {
            id: "times",
            title: "Response time",
            about: "of the operations that were due in each second; never averaged over agents",
            unit: AxisUnit::Time,
            is_log: true,
            lines,
        }
    }

    /// A horizontal line for each threshold on a percentile of response times.
    fn threshold_lines(&self) -> impl Iterator<Item = ChartLine> + '_ {
        let thresholds = self.document.thresholds.iter();
        thresholds.filter_map(|threshold| {
            let (histogram, statistic) = threshold.metric.split_once('.')?;
            (histogram == "response_time" && threshold.limit > 0.0).then(|| {
                let name = format!("{statistic} {}", threshold.limit_in_words());
                self.level_line(name, threshold.limit)
            })
        })
    }

    fn request_rates(&self) -> TimeChart {
        // The last row counts only as far as the run lasted.
        let rows = self.rows.len().saturating_sub(1) as f64 + self.last_part;
        let end = (f64::from(self.first) + rows) * f64::from(self.row_seconds);
        let rate = |row: &RequestRow, seconds: u32| {
            let held = (end - f64::from(row.second)).min(f64::from(seconds));
            (held > 0.0).then(|| row.ok() as f64 / held)
        };
        TimeChart {
            id: "request_rate",
            title: "Rate by request",
            about: "ended ok; of the requests of the greatest weight, and the table has all",
            unit: AxisUnit::Rate,
            is_log: false,
            lines: self.requests(Joined::Mean, rate),
        }
    }

    fn request_times(&self) -> TimeChart {
        let p99 = |row: &RequestRow, _: u32| {
            let p99 = row.response_time_p99_ns;
            (p99 > 0).then_some(p99 as f64)
        };
        TimeChart {
            id: "request_times",
            title: "Response time by request",
            about: "99th percentile of the operations that were due in each second",
            unit: AxisUnit::Time,
            is_log: true,
            lines: self.requests(Joined::Largest, p99),
        }
    }

    /// One line for each request that has a series. Its rows are at least as long as those of the
    /// run.
    fn requests(
        &self,
        joined: Joined,
        value: impl Fn(&RequestRow, u32) -> Option<f64>,
    ) -> Vec<ChartLine> {
        let line = |series: &RequestSeries| {
            let mut values = vec![None; self.rows.len()];
            for row in &series.rows {
                let value = value(row, series.row_seconds.max(1));
                self.fill(&mut values, row.second, series.row_seconds, value);
            }
            ChartLine {
                name: series.request.clone(),
                values: self.join(&values, joined),
                is_wanted: false,
            }
        };
        self.document.request_series.iter().map(line).collect()
    }

    /// Sets `value` for all rows of the run within `seconds`, beginning at `second`.
    fn fill(&self, values: &mut [Option<f64>], second: u32, seconds: u32, value: Option<f64>) {
        let last = second.saturating_add(seconds.max(1) - 1);
        for number in second / self.row_seconds..=last / self.row_seconds {
            let place = number.checked_sub(self.first);
            match place.and_then(|place| values.get_mut(place as usize)) {
                Some(place) => *place = value,
                // Before the first row: go on. Behind the last one: stop.
                None if number < self.first => {}
                None => break,
            }
        }
    }

    fn errors(&self) -> TimeChart {
        let count = |row: &Row, kind: &str| row.errors_by_kind.get(kind).copied().unwrap_or(0);
        let line = |kind: &str| self.rate(kind, |row| count(row, kind));
        let kinds = self.kinds_of_errors().into_iter();
        TimeChart {
            id: "errors",
            title: "Errors by kind",
            about: "what did not end as the plan expects",
            unit: AxisUnit::Rate,
            is_log: false,
            lines: kinds.take(KINDS_MAX).map(line).collect(),
        }
    }

    /// Kinds that occurred in any row, in the order of the document, which has the most frequent
    /// first. Kinds that only occurred in the warm-up come last.
    fn kinds_of_errors(&self) -> Vec<&'d str> {
        let rows = self.document.series.rows.iter();
        let kinds = rows.flat_map(|row| row.errors_by_kind.keys());
        let mut in_rows: BTreeSet<&str> = kinds.map(String::as_str).collect();
        let kinds = self.document.measured.errors.iter();
        let kinds = kinds.map(|error| error.name.as_str());
        let mut kinds: Vec<&str> = kinds.filter(|kind| in_rows.remove(kind)).collect();
        kinds.extend(in_rows);
        kinds
    }

    fn parts(&self) -> TimeChart {
        let names = [("queued", "queued before it was sent"), ("other", "other")];
        let value = |row: &Row, name: &str| {
            let ns = row.phase_parts_ns.get(name).copied().unwrap_or(0);
            (!row.phase_parts_ns.is_empty()).then_some(ns as f64)
        };
        let line = |(key, name): (&str, &str)| self.line(name, Joined::Mean, |row| value(row, key));
        let is_seen = |line: &ChartLine| line.values.iter().flatten().any(|&ns| ns > 0.0);
        let lines = PHASES.into_iter().chain(names).map(line);
        TimeChart {
            id: "parts",
            title: "Where the time goes",
            about: "mean response time of ok operations, by its parts over one another",
            unit: AxisUnit::Time,
            is_log: false,
            lines: lines.filter(is_seen).collect(),
        }
    }

    fn phases(&self) -> TimeChart {
        let value = |row: &Row, name: &str| Some(*row.phase_means_ns.get(name)? as f64);
        let line = |(key, name): (&str, &str)| self.line(name, Joined::Mean, |row| value(row, key));
        let is_known = |line: &ChartLine| line.values.iter().any(Option::is_some);
        TimeChart {
            id: "phases",
            title: "Phases",
            about: "mean time of each, of the ok operations that had it",
            unit: AxisUnit::Time,
            is_log: true,
            lines: PHASES.into_iter().map(line).filter(is_known).collect(),
        }
    }

    fn events(&self) -> TimeChart {
        let about = "events of streamed answers in each second";
        self.counted(("events", "Events"), about, |row| row.events)
    }

    fn event_times(&self) -> TimeChart {
        let line = |name: &str, value: fn(&Row) -> Option<u64>| {
            self.line(name, Joined::Mean, |row| Some(value(row)? as f64))
        };
        TimeChart {
            id: "event_times",
            title: "Times of events",
            about: "mean time to the first event of an answer, and between events",
            unit: AxisUnit::Time,
            is_log: true,
            lines: vec![
                line("first event", |row| row.first_event_mean_ns),
                line("between events", |row| row.event_gap_mean_ns),
            ],
        }
    }

    fn messages(&self) -> TimeChart {
        let about = "messages over WebSockets that were answered in each second";
        self.counted(("messages", "Messages"), about, |row| row.messages)
    }

    fn message_times(&self) -> TimeChart {
        let time = |row: &Row| Some(row.message_time_mean_ns? as f64);
        TimeChart {
            id: "message_times",
            title: "Times of messages",
            about: "mean time from the instant a message was due to its answer",
            unit: AxisUnit::Time,
            is_log: true,
            lines: vec![self.line("message time", Joined::Mean, time)],
        }
    }

    /// A chart of one count over time, whose line is called as its id is.
    fn counted(
        &self,
        (id, title): (&'static str, &'static str),
        about: &'static str,
        count: fn(&Row) -> u64,
    ) -> TimeChart {
        TimeChart {
            id,
            title,
            about,
            unit: AxisUnit::Rate,
            is_log: false,
            lines: vec![self.rate(id, count)],
        }
    }

    fn under_way(&self) -> TimeChart {
        let opened = self.rate("connections opened per second", |row| {
            row.connections_opened
        });
        let under_way = self.line_by_part("operations under way", Joined::Mean, |row, part| {
            // The row's mean refers to whole seconds, but the last row may be shorter.
            Some(
                row.in_service * f64::from(row.seconds.max(1))
                    / (part * f64::from(self.row_seconds)),
            )
        });
        let mut lines = vec![under_way, opened];
        if let LoadRecord::Closed { .. } = self.document.plan.load {
            lines.extend(self.demand_line("virtual users"));
        }
        TimeChart {
            id: "under_way",
            title: "Under way",
            about: "operations at once on average; a queue at the server shows here",
            unit: AxisUnit::Count,
            is_log: false,
            lines,
        }
    }

    fn bytes(&self) -> TimeChart {
        TimeChart {
            id: "bytes",
            title: "On the wire",
            about: "bytes that sockets carried, TLS included",
            unit: AxisUnit::ByteRate,
            is_log: false,
            lines: vec![
                self.rate("received", |row| row.wire_received_bytes),
                self.rate("sent", |row| row.wire_sent_bytes),
            ],
        }
    }

    fn agents(&self) -> TimeChart {
        let run = &self.document.run;
        let end = run.warm_up_ns.saturating_add(run.duration_ns) / 1_000_000_000;
        // After the end, an agent without open operations delivers nothing.
        let delivered = self.line("agents", Joined::Largest, |row| {
            (u64::from(row.second) < end).then_some(f64::from(row.agents))
        });
        // A constant number of agents is not worth a chart.
        let mut known = delivered.values.iter().flatten();
        let first = known.next();
        let changes = known.any(|value| Some(value) != first);
        TimeChart {
            id: "agents",
            title: "Agents",
            about: "that delivered something of each second",
            unit: AxisUnit::Count,
            is_log: false,
            lines: changes.then_some(delivered).into_iter().collect(),
        }
    }

    /// Left out for machines that use few of their ports.
    fn local_ports(&self) -> TimeChart {
        let chart = self.machines(
            "ports",
            "Local ports",
            "in use or in TIME_WAIT, of those that agents can connect from",
            |row| row.ports.unwrap_or(0.0),
        );
        let is_worth_a_line = |line: &ChartLine| {
            line.values
                .iter()
                .flatten()
                .any(|&used| used >= PORTS_SHOWN)
        };
        let lines = chart.lines.into_iter().filter(is_worth_a_line).collect();
        TimeChart { lines, ..chart }
    }

    fn machines(
        &self,
        id: &'static str,
        title: &'static str,
        about: &'static str,
        value: impl Fn(&MachineRow) -> f64,
    ) -> TimeChart {
        let machines = self.busiest_machines(&value).into_iter();
        TimeChart {
            id,
            title,
            about,
            unit: AxisUnit::Share,
            is_log: false,
            lines: machines
                .map(|machine| self.machine_line(machine, &value))
                .collect(),
        }
    }

    fn busiest_machines(&self, value: impl Fn(&MachineRow) -> f64) -> Vec<&'d MachineResult> {
        let busy = |machine: &MachineResult| machine.rows.iter().map(&value).sum::<f64>();
        let mut machines: Vec<&MachineResult> = self.document.machines.iter().collect();
        machines.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
        machines.truncate(MACHINES_MAX);
        machines
    }

    fn machine_line(
        &self,
        machine: &MachineResult,
        value: impl Fn(&MachineRow) -> f64,
    ) -> ChartLine {
        let mut values = vec![None; self.rows.len()];
        for row in &machine.rows {
            // With many machines, their rows hold more seconds than those of the run.
            self.fill(&mut values, row.second, row.seconds, Some(value(row)));
        }
        ChartLine {
            name: machine.name.clone(),
            values: self.join(&values, Joined::Mean),
            is_wanted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 500 operations begun and ended in each second, 50 in the rest behind second `whole`.
    fn run(whole: u32, end_ns: Option<u64>) -> Document {
        let golden = include_bytes!("../../tests/golden/result-v1.json");
        let mut document = crate::read(golden).expect("a golden document can be read");
        let row = |second: u32| Row {
            second,
            seconds: 1,
            started: if second < whole { 500 } else { 50 },
            ended: if second < whole { 500 } else { 50 },
            in_service: 0.5,
            ..Row::default()
        };
        document.series.rows = (0..=whole).map(row).collect();
        document.series.end_ns = end_ns;
        document
    }

    fn begun(charts: &TimeCharts) -> Vec<Option<f64>> {
        charts.timelines[0].lines[0].values.clone()
    }

    #[test]
    fn last_second_is_as_long_as_the_run_had_of_it() {
        let charts = TimeCharts::new(&run(3, Some(3_100_000_000)), POINTS_MAX);
        let last = charts.bounds.last().copied().unwrap_or(0.0);
        assert!((last - 3.1).abs() < 1e-9, "{:?}", charts.bounds);
        assert_eq!(charts.bounds[..4], [0.0, 1.0, 2.0, 3.0]);
        let begun = begun(&charts);
        assert_eq!(begun.len(), 4, "{begun:?}");
        for rate in begun {
            assert!((rate.unwrap_or(0.0) - 500.0).abs() < 1e-6, "{rate:?}");
        }
        let under_way = charts.timelines.iter().find(|it| it.id == "under_way");
        let under_way = &under_way.expect("operations were under way").lines[0].values;
        assert_eq!(under_way[2], Some(0.5));
        assert!((under_way[3].unwrap_or(0.0) - 5.0).abs() < 1e-6);
    }

    #[test]
    fn few_milliseconds_behind_the_last_second_are_no_rate_of_their_own() {
        let charts = TimeCharts::new(&run(3, Some(3_010_000_000)), POINTS_MAX);
        let last = charts.bounds.last().copied().unwrap_or(0.0);
        assert!((last - 3.01).abs() < 1e-9, "{:?}", charts.bounds);
        let begun = begun(&charts);
        assert_eq!(begun.len(), 3);
        assert!((begun[2].unwrap_or(0.0) - 550.0 / 1.01).abs() < 1e-6);
    }

    #[test]
    fn run_that_goes_on_has_whole_seconds() {
        let charts = TimeCharts::new(&run(3, None), POINTS_MAX);
        assert_eq!(charts.bounds, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(begun(&charts)[3], Some(50.0));
    }

    #[test]
    fn seconds_in_which_only_connections_close_are_not_drawn() {
        let mut document = run(3, Some(3_000_000_000));
        document.series.rows[3] = Row {
            second: 3,
            seconds: 1,
            wire_sent_bytes: 100,
            ..Row::default()
        };
        let charts = TimeCharts::new(&document, POINTS_MAX);
        assert_eq!(charts.bounds, [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn events_have_charts_if_answers_are_streams() {
        let drawn = |document: &Document| {
            let charts = TimeCharts::new(document, POINTS_MAX);
            let all = charts.timelines.into_iter();
            let of_events = all.filter(|chart| chart.id.starts_with("event"));
            let values = of_events.map(|chart| chart.lines[0].values.clone());
            values.collect::<Vec<_>>()
        };
        let mut document = run(2, None);
        assert!(drawn(&document).is_empty());
        let row = &mut document.series.rows[1];
        (row.events, row.first_event_mean_ns) = (700, Some(4_000_000));
        let rates = vec![Some(0.0), Some(700.0), Some(0.0)];
        assert_eq!(drawn(&document), [rates, vec![None, Some(4e6), None]]);
    }

    #[test]
    fn points_of_several_rows_weigh_them_by_their_length() {
        let charts = TimeCharts::new(&run(3, Some(3_500_000_000)), 2);
        assert_eq!(charts.bounds, [0.0, 2.0, 3.5]);
        let expected = 550.0 / 1.5;
        assert!((begun(&charts)[1].unwrap_or(0.0) - expected).abs() < 1e-6);
    }

    #[test]
    fn requests_have_lines_whose_rows_may_be_longer_than_those_of_the_run() {
        let mut document = run(3, Some(3_500_000_000));
        let row = |second, ended| RequestRow {
            second,
            ended,
            response_time_p99_ns: 5_000_000,
            ..RequestRow::default()
        };
        document.request_series = vec![RequestSeries {
            request: "index".to_owned(),
            row_seconds: 2,
            rows: vec![row(0, 200), row(2, 150)],
        }];
        let charts = TimeCharts::new(&document, POINTS_MAX);
        let of = |id: &str| {
            let chart = charts.timelines.iter().find(|chart| chart.id == id);
            chart.expect("there is a series").lines[0].values.clone()
        };
        assert_eq!(of("request_rate"), [Some(100.0); 4]);
        assert_eq!(of("request_times"), [Some(5e6); 4]);
        document.request_series.clear();
        let charts = TimeCharts::new(&document, POINTS_MAX);
        let mut ids = charts.timelines.iter().map(|chart| chart.id);
        assert!(ids.all(|id| !id.starts_with("request")));
    }

    #[test]
    fn row_of_a_machine_stands_for_all_of_its_seconds() {
        let mut document = run(3, None);
        document.machines.truncate(1);
        let row = |second| MachineRow {
            second,
            seconds: 2,
            cpu_busy: 0.5,
            ..MachineRow::default()
        };
        document.machines[0].rows = vec![row(0), row(2)];
        let charts = TimeCharts::new(&document, POINTS_MAX);
        let cpu = charts.timelines.iter().find(|it| it.id == "cpu");
        let cpu = &cpu.expect("a machine was watched").lines[0].values;
        assert_eq!(cpu, &[Some(0.5); 4]);
    }

    #[test]
    fn kinds_of_errors_are_in_the_order_of_the_result_with_those_of_the_warm_up_last() {
        let mut document = run(2, None);
        let figure = document
            .measured
            .errors
            .first()
            .expect("the golden run has errors");
        let figure = figure.clone();
        document.measured.errors = ["timeout", "reset", "unseen"]
            .map(|name| analysis::ErrorFigure {
                name: name.to_owned(),
                ..figure.clone()
            })
            .to_vec();
        let kinds = [("reset", 1), ("timeout", 2), ("warm", 3)];
        document.series.rows[1].errors_by_kind =
            kinds.map(|(kind, count)| (kind.to_owned(), count)).into();
        let rows = ChartRows::new(&document, POINTS_MAX).expect("there are rows");
        assert_eq!(rows.kinds_of_errors(), ["timeout", "reset", "warm"]);
        let line = rows.errors().lines.swap_remove(0);
        assert_eq!(line.values, [Some(0.0), Some(2.0), Some(0.0)]);
    }

    #[test]
    fn points_have_the_mean_or_the_largest_of_their_rows() {
        let document = run(3, Some(3_500_000_000));
        let rows = ChartRows::new(&document, 2).expect("there are rows");
        let values = [Some(1.0), Some(3.0), Some(4.0), Some(1.0)];
        // The last row is half as long: (4 + 1 / 2) / 1.5 = 3.
        assert_eq!(rows.join(&values, Joined::Mean), [Some(2.0), Some(3.0)]);
        assert_eq!(rows.join(&values, Joined::Largest), [Some(3.0), Some(4.0)]);
        let gaps = [None, None, Some(4.0), None];
        assert_eq!(rows.join(&gaps, Joined::Mean), [None, Some(4.0)]);
    }
}
