//! `histograms.hlog` as HdrHistogram's own log processor reads it.

use interop::{CoordinatorCommand, require_file};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Where Debian's libhdrhistogram-java installs it.
const JAR: &str = "/usr/share/java/hdrhistogram.jar";

const PLAN: &str = r#"
name = "run"
target.builtin = true
load = { connections = 2, think_time = "10ms", warm_up = "1s", duration = "2s" }
"#;

/// What Java's processor reports for a tag: number of values, mean and largest in nanoseconds.
#[derive(Debug, PartialEq)]
struct Summary {
    count: u64,
    mean: f64,
    max: f64,
}

/// The last lines are `#[Mean = …, StdDeviation = …]` and `#[Max = …, Total count = …]`.
fn processed(log: &Path, tag: &str) -> Summary {
    let mut processor = Command::new("java");
    processor.args(["-cp", JAR, "org.HdrHistogram.HistogramLogProcessor"]);
    processor.arg("-i").arg(log).args(["-tag", tag]);
    let output = processor.args(["-outputValueUnitRatio", "1"]).output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{failed}{text}");
    let figure = |name: &str| {
        let (_, rest) = text.rsplit_once(name).unwrap_or_else(|| panic!("{text}"));
        let number = rest.trim_start_matches([' ', '=']);
        let end = number.find([',', ']']).unwrap();
        number[..end].trim().parse::<f64>().unwrap()
    };
    Summary {
        count: figure("Total count") as u64,
        mean: figure("[Mean"),
        max: figure("[Max"),
    }
}

/// A bucket is at most 1/1024 of its lowest value wide.
fn is_near(read: f64, exact: &Value) -> bool {
    let exact = exact.as_f64().unwrap();
    (read - exact).abs() <= exact / 1000.0 + 1.0
}

#[test]
fn javas_log_processor_reads_the_run_of_the_result() {
    if interop::require("java").is_none() || require_file(JAR).is_none() {
        return;
    }
    let run = CoordinatorCommand::local(1, PLAN).run().expect(0);
    let log = run.run_folder().unwrap().join("histograms.hlog");
    let times = &run.result()["measured"]["times_by_outcome"]["ok"];
    for metric in ["response_time", "service_time", "first_byte"] {
        let (java, ours) = (processed(&log, &format!("{metric}.ok")), &times[metric]);
        assert_eq!(ours["count"].as_u64(), Some(java.count), "{metric}");
        assert!(java.count > 0, "{metric} was not measured");
        assert!(
            is_near(java.mean, &ours["mean_ns"]),
            "{metric}: {java:?}, {ours}"
        );
        assert!(
            is_near(java.max, &ours["max_ns"]),
            "{metric}: {java:?}, {ours}"
        );
    }
}
