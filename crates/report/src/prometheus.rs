//! A run for Prometheus to scrape, in its text format 0.0.4. Counters are of the measured part, and
//! so begin with it.

use analysis::{Document, FigureGroup, Operations, RunState, TimeFigure, Verdict};
use std::fmt::{Display, Write as _};

/// Bounds of time buckets as powers of two of nanoseconds: 16 µs to 137 s. They must not change
/// from scrape to scrape.
const BUCKETS: std::ops::RangeInclusive<u32> = 14..=37;

/// Everything that a scrape tells of a run.
#[must_use]
pub fn prometheus(document: &Document) -> String {
    let mut page = MetricsPage::new(&document.run.id);
    about(&mut page, document);
    work(&mut page, document);
    parts(&mut page, document);
    times(&mut page, document);
    machines(&mut page, document);
    judged(&mut page, document);
    page.text
}

/// Metrics of one run. Samples of a metric stand together, behind what it is.
struct MetricsPage<'d> {
    run: &'d str,
    text: String,
}

type Label<'l> = (&'static str, &'l str);

impl<'d> MetricsPage<'d> {
    fn new(run: &'d str) -> MetricsPage<'d> {
        MetricsPage {
            run,
            text: String::new(),
        }
    }

    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        let _ = write!(self.text, "{name}{{run=\"{}\"", escaped(self.run));
        for (label, text) in labels {
            let _ = write!(self.text, ",{label}=\"{}\"", escaped(text));
        }
        let _ = writeln!(self.text, "}} {value}");
    }

    /// A metric with one sample.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.metric(name, kind, help);
        self.sample(name, &[], value);
    }
}

/// As the format wants it inside of quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn about(page: &mut MetricsPage<'_>, document: &Document) {
    let name = "cannonade_run_info";
    page.metric(name, "gauge", "Which run this is.");
    let labels = [
        ("plan", document.run.name.as_str()),
        ("url", &document.plan.url),
        ("started_at", &document.run.started_at),
        ("version", &document.tool_version),
    ];
    page.sample(name, &labels, 1);
    page.single(
        "cannonade_measured_seconds",
        "gauge",
        "Length of the measured part so far.",
        document.run.duration_ns as f64 / 1e9,
    );
}

fn work(page: &mut MetricsPage<'_>, document: &Document) {
    let figures = &document.measured;
    let name = "cannonade_operations_total";
    page.metric(name, "counter", "Operations that ended, by how.");
    for (outcome, count) in outcomes(&figures.operations) {
        page.sample(name, &[("outcome", outcome)], count);
    }
    let name = "cannonade_errors_total";
    page.metric(name, "counter", "Operations that did not end ok, by kind.");
    for error in &figures.errors {
        page.sample(name, &[("kind", &error.name)], error.count);
    }
    let name = "cannonade_responses_total";
    page.metric(name, "counter", "Responses by status.");
    for (status, count) in &figures.statuses {
        page.sample(name, &[("status", &status.to_string())], count);
    }
    let name = "cannonade_wire_bytes_total";
    page.metric(name, "counter", "Bytes that sockets carried.");
    let bytes = &figures.bytes;
    page.sample(
        name,
        &[("direction", "received")],
        bytes.wire_received_bytes,
    );
    page.sample(name, &[("direction", "sent")], bytes.wire_sent_bytes);
    let name = "cannonade_handshakes_total";
    page.metric(name, "counter", "TLS handshakes that were completed.");
    page.sample(name, &[("kind", "full")], figures.resumption.full);
    page.sample(name, &[("kind", "resumed")], figures.resumption.resumed);
    page.single(
        "cannonade_connections_opened_total",
        "counter",
        "TCP connections that were opened.",
        figures.connections.opened,
    );
}

fn outcomes(operations: &Operations) -> [(&'static str, u64); 4] {
    [
        ("ok", operations.ok),
        ("timed_out", operations.timed_out),
        (
            "failed",
            operations.failed.saturating_sub(operations.not_sent),
        ),
        ("not_sent", operations.not_sent),
    ]
}

fn parts(page: &mut MetricsPage<'_>, document: &Document) {
    let mut groups = |name: &str, label: &'static str, help: &str, groups: &[FigureGroup]| {
        page.metric(name, "counter", help);
        for group in groups {
            for (outcome, count) in outcomes(&group.figures.operations) {
                page.sample(name, &[(label, &group.name), ("outcome", outcome)], count);
            }
        }
    };
    groups(
        "cannonade_request_operations_total",
        "request",
        "Operations that ended, by request of the plan.",
        &document.by_request,
    );
    groups(
        "cannonade_address_operations_total",
        "address",
        "Operations that ended, by address of the target.",
        &document.by_address,
    );
    // Two agents may have one name, and two samples may not.
    let numbered = document.agents.iter().zip(&document.by_agent);
    let named: Vec<FigureGroup> = numbered
        .map(|(agent, group)| FigureGroup {
            name: format!("{}#{}", agent.name, agent.index),
            figures: group.figures.clone(),
        })
        .collect();
    groups(
        "cannonade_agent_operations_total",
        "agent",
        "Operations that ended, by agent and its index.",
        &named,
    );
}

fn times(page: &mut MetricsPage<'_>, document: &Document) {
    let times = &document.measured.times;
    let metrics = [
        (
            "cannonade_response_time_seconds",
            "From the instant an operation was due to its end.",
            "response_time",
        ),
        (
            "cannonade_service_time_seconds",
            "From the instant an operation was begun to its end.",
            "service_time",
        ),
    ];
    for (name, help, metric) in metrics {
        page.metric(name, "histogram", help);
        if let Some(figure) = times.get(metric) {
            histogram(page, name, figure);
        }
    }
}

fn histogram(page: &mut MetricsPage<'_>, name: &str, figure: &TimeFigure) {
    let bucket = format!("{name}_bucket");
    for power in BUCKETS {
        let bound = 2_f64.powi(power as i32) / 1e9;
        let count = figure.exponential_histogram.up_to_power_of_two(power);
        page.sample(&bucket, &[("le", &bound.to_string())], count);
    }
    page.sample(&bucket, &[("le", "+Inf")], figure.count);
    let sum = figure.mean_ns * figure.count as f64 / 1e9;
    page.sample(&format!("{name}_sum"), &[], sum);
    page.sample(&format!("{name}_count"), &[], figure.count);
}

/// The latest second of each machine.
fn machines(page: &mut MetricsPage<'_>, document: &Document) {
    let name = "cannonade_machine_cpu_ratio";
    page.metric(
        name,
        "gauge",
        "Part of the CPUs that a machine may use which was busy in its latest second.",
    );
    for (number, machine) in document.machines.iter().enumerate() {
        let Some(row) = machine.rows.last() else {
            continue;
        };
        let role = match machine.role {
            analysis::MachineRole::Agent => "agent",
            analysis::MachineRole::Monitor => "monitor",
        };
        let labels = [
            ("machine", machine.name.as_str()),
            ("role", role),
            ("number", &number.to_string()),
        ];
        page.sample(name, &labels, row.cpu_busy);
    }
}

fn judged(page: &mut MetricsPage<'_>, document: &Document) {
    let name = "cannonade_threshold_passed";
    page.metric(
        name,
        "gauge",
        "1 where a threshold of the plan holds so far, else 0.",
    );
    for judgement in &document.thresholds {
        let limit = judgement.unit.display(judgement.limit);
        let limit = format!("{} {limit}", judgement.comparison);
        let labels = [("threshold", judgement.metric.as_str()), ("limit", &limit)];
        page.sample(name, &labels, u8::from(judgement.passed));
    }
    let name = "cannonade_verdict";
    page.metric(
        name,
        "gauge",
        "1 for what the numbers are about, once the run is over, else 0.",
    );
    // What goes on still is no whole measurement, and nobody should be woken for that.
    if document.run.state == RunState::Incomplete {
        return;
    }
    for verdict in Verdict::ALL {
        let is_it = u8::from(document.verdict.verdict == verdict);
        page.sample(name, &[("verdict", verdict.name())], is_it);
    }
}
