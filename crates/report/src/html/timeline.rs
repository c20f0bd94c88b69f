//! What the run did over time, as lines over one axis.

use super::axis::AxisUnit;
use analysis::{Document, LoadRecord, MachineResult, MachineRow, Row};
use std::collections::BTreeSet;

/// Points of a line: enough for the eye, and few enough for a browser.
pub(super) const POINTS_MAX: usize = 2_000;

/// Machines with a line: of a thousand, these are the busiest.
const MACHINES_MAX: usize = 12;

/// Kinds of errors with a line; the most frequent.
const KINDS_MAX: usize = 8;

/// Parts of an operation in their order, with their names on the page.
const PHASES: [(&str, &str); 7] = [
    ("dns", "dns"),
    ("connect", "connect (TCP)"),
    ("handshake_full", "handshake, full"),
    ("handshake_resumed", "handshake, resumed"),
    ("send", "send"),
    ("first_byte", "first byte"),
    ("receive", "receive"),
];

/// All pictures over time.
#[derive(Debug)]
pub(super) struct TimeCharts {
    /// Where the points stand: seconds of the run clock.
    pub(super) seconds: Vec<f64>,
    pub(super) timelines: Vec<TimeChart>,
    /// Where the mean response time went: parts over one another.
    pub(super) parts: Option<TimeChart>,
}

/// One picture over time.
#[derive(Debug)]
pub(super) struct TimeChart {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What is to be seen, in a sentence.
    pub(super) about: &'static str,
    pub(super) unit: AxisUnit,
    pub(super) is_log: bool,
    pub(super) lines: Vec<ChartLine>,
}

/// One line; nothing where it is not known.
#[derive(Debug)]
pub(super) struct ChartLine {
    pub(super) name: String,
    pub(super) values: Vec<Option<f64>>,
    /// What was asked for, not what was measured.
    pub(super) is_wanted: bool,
}

/// How several seconds become one point.
#[derive(Debug, Clone, Copy)]
enum Joined {
    Mean,
    Largest,
}

/// A document's seconds on an axis without holes.
struct ChartRows<'d> {
    document: &'d Document,
    row_seconds: u32,
    first: u32,
    rows: Vec<Option<&'d Row>>,
    /// Rows of a point.
    each: usize,
}

impl TimeCharts {
    /// Those that show something; none where no second is known.
    pub(super) fn new(document: &Document, points_max: usize) -> TimeCharts {
        let Some(axis) = ChartRows::new(document, points_max) else {
            return TimeCharts {
                seconds: Vec::new(),
                timelines: Vec::new(),
                parts: None,
            };
        };
        let all = [
            axis.rates(),
            axis.response_times(),
            axis.errors(),
            axis.phases(),
            axis.under_way(),
            axis.bytes(),
            axis.machines("cpu", "CPU of machines", "of what each may use", |row| {
                row.cpu_busy
            }),
            axis.machines(
                "thread",
                "Busiest thread",
                "a worker or thread at 100 % is full, however idle its machine is",
                busiest_thread,
            ),
            axis.agents(),
        ];
        let shows = |timeline: &TimeChart| {
            let measured = timeline.lines.iter().filter(|line| !line.is_wanted);
            let values = measured.flat_map(|line| &line.values);
            values.flatten().any(|&value| value > 0.0)
        };
        TimeCharts {
            seconds: axis.seconds(),
            timelines: all.into_iter().filter(shows).collect(),
            parts: Some(axis.parts()).filter(shows),
        }
    }
}

fn busiest_thread(row: &MachineRow) -> f64 {
    let processes = row.processes.iter();
    let shares = processes.map(|process| process.busiest_thread_share);
    shares.fold(0.0, f64::max)
}

impl<'d> ChartRows<'d> {
    fn new(document: &'d Document, points_max: usize) -> Option<ChartRows<'d>> {
        let series = &document.series;
        let row_seconds = series.row_seconds.max(1);
        let number = |row: &Row| row.second / row_seconds;
        let first = number(series.rows.first()?);
        let last = number(series.rows.last()?);
        // What is saved may be broken: as many rows as a series can have, and no more.
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
            rows,
        })
    }

    fn seconds(&self) -> Vec<f64> {
        let points = self.rows.len().div_ceil(self.each);
        let rows = (0..points).map(|point| f64::from(self.first) + (point * self.each) as f64);
        rows.map(|row| row * f64::from(self.row_seconds)).collect()
    }

    /// A line of one value for each row.
    fn line(&self, name: &str, joined: Joined, value: impl Fn(&Row) -> Option<f64>) -> ChartLine {
        let values: Vec<Option<f64>> = self.rows.iter().map(|row| value((*row)?)).collect();
        ChartLine {
            name: name.to_owned(),
            values: self.joined(&values, joined),
            is_wanted: false,
        }
    }

    /// What the plan asks for while it fires; nothing where its stages are not known.
    fn asked(&self, name: &str) -> Option<ChartLine> {
        let run = &self.document.run;
        let end = run.warm_up_ns.saturating_add(run.duration_ns);
        let amount = |number: usize| {
            let half_rows = (f64::from(self.first) + number as f64) * 2.0 + 1.0;
            // The middle of a row has its mean, on a straight line.
            let at_ns = (half_rows * f64::from(self.row_seconds) * 0.5e9) as u64;
            let amount = self.document.plan.amount_at(at_ns);
            amount.filter(|_| at_ns < end)
        };
        let values: Vec<Option<f64>> = (0..self.rows.len()).map(amount).collect();
        let is_known = values.iter().any(Option::is_some);
        is_known.then(|| ChartLine {
            name: name.to_owned(),
            values: self.joined(&values, Joined::Mean),
            is_wanted: true,
        })
    }

    /// One height for all of the run.
    fn wanted(&self, name: String, value: f64) -> ChartLine {
        ChartLine {
            name,
            values: vec![Some(value); self.rows.len().div_ceil(self.each)],
            is_wanted: true,
        }
    }

    fn joined(&self, values: &[Option<f64>], joined: Joined) -> Vec<Option<f64>> {
        let point = |values: &[Option<f64>]| {
            let known: Vec<f64> = values.iter().flatten().copied().collect();
            let sum: f64 = known.iter().sum();
            let largest = known.iter().copied().reduce(f64::max)?;
            Some(match joined {
                Joined::Mean => sum / known.len() as f64,
                Joined::Largest => largest,
            })
        };
        values.chunks(self.each).map(point).collect()
    }

    /// Counts of a row as a rate.
    fn rate(&self, name: &str, count: impl Fn(&Row) -> u64) -> ChartLine {
        self.line(name, Joined::Mean, |row| {
            let seconds = if row.seconds > 0 {
                row.seconds
            } else {
                self.row_seconds
            };
            Some(count(row) as f64 / f64::from(seconds))
        })
    }

    fn rates(&self) -> TimeChart {
        let mut lines = vec![
            self.rate("begun", |row| row.started),
            self.rate("ok", |row| {
                row.ended.saturating_sub(row.errors.min(row.ended))
            }),
            self.rate("errors", |row| row.errors),
        ];
        if let LoadRecord::Open { .. } = self.document.plan.load {
            lines.extend(self.asked("asked for"));
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
        let thresholds = self.document.thresholds.iter();
        let drawn = thresholds.filter_map(|threshold| {
            let (histogram, statistic) = threshold.metric.split_once('.')?;
            (histogram == "response_time" && threshold.limit > 0.0).then(|| {
                let limit = AxisUnit::Time.words(threshold.limit);
                let name = format!("{statistic} {} {limit}", threshold.comparison);
                self.wanted(name, threshold.limit)
            })
        });
        lines.extend(drawn);
        TimeChart {
            id: "times",
            title: "Response time",
            about: "of the operations that were due in each second; never averaged over agents",
            unit: AxisUnit::Time,
            is_log: true,
            lines,
        }
    }

    fn errors(&self) -> TimeChart {
        let kinds = self.document.measured.errors.iter();
        let mut kinds: Vec<&str> = kinds.map(|error| error.name.as_str()).collect();
        let rows = self.document.series.rows.iter();
        let in_rows: BTreeSet<&str> = rows
            .flat_map(|row| row.errors_by_kind.keys())
            .map(String::as_str)
            .collect();
        // Of the warm-up alone, behind the others.
        let others: Vec<&str> = in_rows.iter().copied().collect();
        kinds.retain(|kind| in_rows.contains(kind));
        kinds.extend(
            others
                .into_iter()
                .filter(|kind| !kinds.contains(kind))
                .collect::<Vec<_>>(),
        );
        let count = |row: &Row, kind: &str| row.errors_by_kind.get(kind).copied().unwrap_or(0);
        let line = |kind: &&str| self.rate(kind, |row| count(row, kind));
        TimeChart {
            id: "errors",
            title: "Errors by kind",
            about: "what did not end as the plan expects",
            unit: AxisUnit::Rate,
            is_log: false,
            lines: kinds.iter().take(KINDS_MAX).map(line).collect(),
        }
    }

    fn parts(&self) -> TimeChart {
        let names = [("queued", "queued before it was sent"), ("other", "other")];
        let value = |row: &Row, name: &str| {
            let ns = row.phase_parts_ns.get(name).copied().unwrap_or(0);
            (!row.phase_parts_ns.is_empty()).then_some(ns as f64)
        };
        let line = |(key, name): (&str, &str)| self.line(name, Joined::Mean, |row| value(row, key));
        let is_seen = |line: &ChartLine| line.values.iter().flatten().any(|&ns| ns > 0.0);
        TimeChart {
            id: "parts",
            title: "Where the time goes",
            about: "mean response time of ok operations, by its parts over one another",
            unit: AxisUnit::Time,
            is_log: false,
            lines: PHASES
                .into_iter()
                .chain(names)
                .map(line)
                .filter(is_seen)
                .collect(),
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

    fn under_way(&self) -> TimeChart {
        let opened = self.rate("connections opened per second", |row| {
            row.connections_opened
        });
        let under_way = self.line("operations under way", Joined::Mean, |row| {
            Some(row.in_service)
        });
        let mut lines = vec![under_way, opened];
        if let LoadRecord::Closed { .. } = self.document.plan.load {
            lines.extend(self.asked("virtual users"));
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
        // Behind the end, who has nothing left under way delivers nothing.
        let delivered = self.line("agents", Joined::Largest, |row| {
            (u64::from(row.second) < end).then_some(f64::from(row.agents))
        });
        // One line at one height says nothing.
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

    fn machines(
        &self,
        id: &'static str,
        title: &'static str,
        about: &'static str,
        value: impl Fn(&MachineRow) -> f64,
    ) -> TimeChart {
        let busy = |machine: &MachineResult| machine.rows.iter().map(&value).sum::<f64>();
        let mut machines: Vec<&MachineResult> = self.document.machines.iter().collect();
        machines.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
        machines.truncate(MACHINES_MAX);
        let line = |machine: &&MachineResult| {
            let mut values = vec![None; self.rows.len()];
            for row in &machine.rows {
                let number = (row.second / self.row_seconds).checked_sub(self.first);
                let place = number.and_then(|number| values.get_mut(number as usize));
                if let Some(place) = place {
                    *place = Some(value(row));
                }
            }
            ChartLine {
                name: machine.name.clone(),
                values: self.joined(&values, Joined::Mean),
                is_wanted: false,
            }
        };
        TimeChart {
            id,
            title,
            about,
            unit: AxisUnit::Share,
            is_log: false,
            lines: machines.iter().map(line).collect(),
        }
    }
}
