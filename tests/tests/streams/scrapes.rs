//! A real Prometheus.

use analysis::{Document, Verdict};
use interop::{CoordinatorCommand, Prometheus, require, wait_until};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two runs: while nothing is sent between them, the first one's last figures are shown. A part of
/// the answers is an error.
const PLAN: &str = r#"
name = "scraped"
target.builtin = { body_bytes = 100 }
load = { rate = "200/s", duration = "3s", warm_up = "1s" }
repeat = { times = 2, pause = "6s" }
request = [
    { name = "good", path = "/a" },
    { name = "bad", path = "/b", expect.status = [404] },
]
[thresholds]
"response_time.p99" = "< 10s"
"errors.share" = "< 1%"
"#;

/// A machine that was busy may have kept Prometheus from looking between the two runs.
const ATTEMPTS: usize = 5;

fn golden(name: &str) -> Vec<u8> {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/report/tests/golden");
    std::fs::read(reports.join(name)).unwrap()
}

#[test]
fn promtool_has_nothing_to_say() {
    let Some(promtool) = require("promtool") else {
        return;
    };
    let mut command = Command::new(promtool);
    command.args(["check", "metrics"]).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&golden("metrics.txt")).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.is_empty(), "{told}");
}

#[test]
fn prometheus_has_the_figures_of_the_result() {
    let looked = (0..ATTEMPTS).any(|_| {
        let Some((prometheus, first)) = scraped() else {
            return true;
        };
        let is_there = !asked(&prometheus, "cannonade_verdict", &first.run.id).is_empty();
        if is_there {
            compare(&prometheus, &first);
        }
        is_there
    });
    assert!(looked, "the machine is too busy for a scrape a second");
}

/// The plan's first run, and the Prometheus that looked; none where it is not installed.
fn scraped() -> Option<(Prometheus, Document)> {
    let arguments = ["--local", "--metrics", "127.0.0.1:0"];
    let running = CoordinatorCommand::start(&arguments, PLAN).spawn();
    let address: SocketAddr = wait_until("the port of metrics", || {
        let told = running.stderr();
        let (_, rest) = told.split_once("metrics at http://")?;
        rest.split_once("/metrics")?.0.parse().ok()
    });
    let prometheus = Prometheus::start(address)?;
    // Its code is about thresholds and a busy machine, and not about what is shown.
    let finished = running.wait();
    let campaign = finished.run_folder().unwrap();
    let first = std::fs::read(campaign.join("campaign.json")).unwrap();
    let first = report::read_campaign(&first).unwrap().runs.remove(0);
    let first = std::fs::read(campaign.join(first.folder).join("result.json")).unwrap();
    Some((prometheus, report::read(&first).unwrap()))
}

/// The last samples of a run, by their labels but for those of every sample.
fn asked(prometheus: &Prometheus, metric: &str, run: &str) -> BTreeMap<String, f64> {
    let query = format!("last_over_time({metric}{{run=\"{run}\"}}[10m])");
    let samples = prometheus.query(&query).into_iter();
    let sample = |(labels, value): (BTreeMap<String, String>, String)| {
        let own = labels
            .into_iter()
            .filter(|(name, _)| !["__name__", "instance", "job", "run"].contains(&name.as_str()));
        let own: Vec<String> = own.map(|(_, value)| value).collect();
        (own.join(" "), value.parse().unwrap())
    };
    samples.map(sample).collect()
}

fn compare(prometheus: &Prometheus, document: &Document) {
    let asked = |metric: &str| asked(prometheus, metric, &document.run.id);
    let measured = &document.measured;
    let operations = asked("cannonade_operations_total");
    assert_eq!(operations["ok"], measured.operations.ok as f64);
    assert_eq!(
        operations.values().sum::<f64>(),
        measured.operations.ended as f64
    );
    let requests = asked("cannonade_request_operations_total");
    for group in &document.by_request {
        let ok = group.figures.operations.ok as f64;
        assert_eq!(requests[&format!("ok {}", group.name)], ok);
    }
    let statuses = asked("cannonade_responses_total");
    for (status, count) in &measured.statuses {
        assert_eq!(statuses[&status.to_string()], *count as f64);
    }
    let times = &measured.times["response_time"];
    let counts = asked("cannonade_response_time_seconds_count");
    assert_eq!(counts[""], times.count as f64);
    let errors = asked("cannonade_errors_total");
    for error in &measured.errors {
        assert_eq!(errors[&error.name], error.count as f64);
    }
    for (verdict, is_it) in asked("cannonade_verdict") {
        assert_eq!(is_it == 1.0, verdict == document.verdict.verdict.name());
    }
    assert_eq!(asked("cannonade_verdict").len(), Verdict::ALL.len());
    let passed: Vec<f64> = asked("cannonade_threshold_passed").into_values().collect();
    assert_eq!(passed.iter().sum::<f64>(), 1.0, "{passed:?}");
    assert_quantile(prometheus, document);
    assert_eq!(prometheus.output(), "", "it warns of what it scrapes");
}

/// A quantile of Prometheus's is as far off as a bucket is wide: up to twice the true value.
fn assert_quantile(prometheus: &Prometheus, document: &Document) {
    let run = &document.run.id;
    let query = format!(
        "histogram_quantile(0.5, \
         last_over_time(cannonade_response_time_seconds_bucket{{run=\"{run}\"}}[10m]))"
    );
    let found: f64 = prometheus.query(&query)[0].1.parse().unwrap();
    let times = &document.measured.times["response_time"];
    let exact = times.percentile(50.0).unwrap().value_ns as f64 / 1e9;
    assert!(
        (0.5..=2.0).contains(&(found / exact)),
        "{found} against {exact}"
    );
}
