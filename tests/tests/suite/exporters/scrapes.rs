//! A real Prometheus.

use crate::exporters::dashboard;
use analysis::{Document, Verdict};
use interop::{
    CoordinatorCommand, Prometheus, PrometheusHistograms, PrometheusSamples, require, wait_until,
};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two runs: until the second one sends something, the last figures of the first are shown. Some of
/// the answers are errors.
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

/// On a busy machine Prometheus may not have scraped between the two runs.
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
        let Some((scrapers, first)) = scraped() else {
            return true;
        };
        let looks = scrapers
            .each_ref()
            .map(|scraper| Look::new(scraper, &first));
        let has_all = looks.iter().all(Option::is_some);
        if let [Some(classic), Some(native)] = looks {
            classic.compare();
            native.compare();
            classic.assert_times(&CLASSIC);
            native.assert_times(&NATIVE);
            classic.assert_dashboard();
            native.assert_dashboard();
        }
        has_all
    });
    assert!(looked, "the machine is too busy for a scrape a second");
}

/// Queries for response times; `RUN` stands for the run.
struct TimeQueries {
    /// The number of values.
    count: &'static str,
    /// Their buckets.
    buckets: &'static str,
    /// By which factor a quantile may be off.
    off: f64,
}

const CLASSIC: TimeQueries = TimeQueries {
    count: "cannonade_response_time_seconds_countRUN",
    buckets: "cannonade_response_time_seconds_bucketRUN",
    off: 2.0,
};

/// A bucket is 9 % wide, and its bounds are 1.6 % off.
const NATIVE: TimeQueries = TimeQueries {
    count: "histogram_count(cannonade_response_time_secondsRUN)",
    buckets: "cannonade_response_time_secondsRUN",
    off: 1.11,
};

/// The plan's first run, and two Prometheus that scraped it, without and with native histograms;
/// `None` if Prometheus is not installed.
fn scraped() -> Option<([Prometheus; 2], Document)> {
    let arguments = ["--local", "--metrics", "127.0.0.1:0"];
    let running = CoordinatorCommand::start(&arguments, PLAN).spawn();
    let address: SocketAddr = wait_until("the port of metrics", || {
        let told = running.stderr();
        let (_, rest) = told.split_once("metrics at http://")?;
        rest.split_once("/metrics")?.0.parse().ok()
    });
    let scrapers = [
        Prometheus::start(address, PrometheusHistograms::Classic)?,
        Prometheus::start(address, PrometheusHistograms::Native)?,
    ];
    // The exit code depends on thresholds and on a busy machine, which do not matter here.
    let finished = running.wait();
    let campaign = finished.run_folder().unwrap();
    let first = std::fs::read(campaign.join("campaign.json")).unwrap();
    let first = report::read_campaign(&first).unwrap().runs.remove(0);
    let first = std::fs::read(campaign.join(first.folder).join("result.json")).unwrap();
    Some((scrapers, report::read(&first).unwrap()))
}

/// What a Prometheus saw of a run when it last scraped it.
struct Look<'a> {
    prometheus: &'a Prometheus,
    document: &'a Document,
    /// Selects the run, after a metric's name.
    selector: String,
    /// When that was.
    at: String,
}

impl<'a> Look<'a> {
    /// `None` if it did not scrape after the run's end.
    fn new(prometheus: &'a Prometheus, document: &'a Document) -> Option<Look<'a>> {
        let run = format!("{{run=\"{}\"}}", document.run.id);
        let last = format!("max(max_over_time(timestamp(cannonade_verdict{run})[10m:1s]))");
        let (_, at) = prometheus.query(&last, None).pop()?;
        Some(Look {
            prometheus,
            document,
            selector: run,
            at,
        })
    }

    fn query(&self, query: &str) -> PrometheusSamples {
        self.prometheus.query(query, Some(&self.at))
    }

    /// Samples by their labels, without the labels that all samples have.
    fn asked(&self, metric: &str) -> BTreeMap<String, f64> {
        let samples = self.query(&format!("{metric}{}", self.selector));
        let is_own = |name: &str| !["__name__", "instance", "job", "run"].contains(&name);
        let sample = |(labels, value): (BTreeMap<String, String>, String)| {
            let own = labels.into_iter().filter(|(name, _)| is_own(name));
            let own: Vec<String> = own.map(|(_, value)| value).collect();
            (own.join(" "), value.parse().unwrap())
        };
        samples.into_iter().map(sample).collect()
    }

    fn compare(&self) {
        let measured = &self.document.measured;
        let operations = self.asked("cannonade_operations_total");
        let ended = operations.values().sum::<f64>();
        assert_eq!(operations["ok"], measured.operations.ok as f64);
        assert_eq!(ended, measured.operations.ended as f64);
        let requests = self.asked("cannonade_request_operations_total");
        for group in &self.document.by_request {
            let ok = group.figures.operations.ok as f64;
            assert_eq!(requests[&format!("ok {}", group.name)], ok);
        }
        let statuses = self.asked("cannonade_responses_total");
        for (status, count) in &measured.statuses {
            assert_eq!(statuses[&status.to_string()], *count as f64);
        }
        let errors = self.asked("cannonade_errors_total");
        for error in &measured.errors {
            assert_eq!(errors[&error.name], error.count as f64);
        }
        let verdicts = self.asked("cannonade_verdict");
        assert_eq!(verdicts.len(), Verdict::ALL.len());
        for (verdict, is_it) in verdicts {
            let is_ours = verdict == self.document.verdict.verdict.name();
            assert_eq!(is_it == 1.0, is_ours, "{verdict}");
        }
        let passed: Vec<f64> = self
            .asked("cannonade_threshold_passed")
            .into_values()
            .collect();
        assert_eq!(passed.iter().sum::<f64>(), 1.0, "{passed:?}");
        assert_eq!(self.prometheus.output(), "", "it warns of what it scrapes");
    }

    /// Asserts that each panel of the Grafana dashboard shows something.
    fn assert_dashboard(&self) {
        for panel in dashboard::panels() {
            let found = panel.queries.iter().map(|query| {
                let query = query
                    .replace("$run", &self.document.run.id)
                    .replace("$__rate_interval", "1m")
                    .replace("$__range", "10m");
                self.query(&query).len()
            });
            assert!(found.sum::<usize>() > 0, "{panel:?}");
        }
    }

    fn assert_times(&self, queries: &TimeQueries) {
        let ask = |query: &str| -> f64 {
            let found = self.query(&query.replace("RUN", &self.selector));
            found[0].1.parse().unwrap()
        };
        let times = &self.document.measured.times["response_time"];
        assert_eq!(ask(queries.count), times.count as f64);
        let found = ask(&format!("histogram_quantile(0.5, {})", queries.buckets));
        let exact = times.percentile(50.0).unwrap().value_ns as f64 / 1e9;
        let factor = found / exact;
        println!("a median of {found} s, {factor} of the exact one");
        let may = 1.0 / queries.off..=queries.off;
        assert!(may.contains(&factor), "{found} against {exact}");
    }
}
