//! System calls per operation, counted by strace, by name.
//!
//! Each case runs twice, with few and with many operations; the difference belongs to the
//! operations alone. With one connection every event needs its own wait; with many connections one
//! wait returns many events.

use benches::{Scenario, flag, is_trial, run, served};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

const fn scenario(name: &'static str, connection: &'static str, tls: &'static str) -> Scenario {
    Scenario {
        name,
        encrypted: !tls.is_empty(),
        connection,
        tls,
    }
}

const SCENARIOS: [Scenario; 6] = [
    scenario("http keep-alive request", "", ""),
    scenario("https keep-alive request", "", "verify = \"once\""),
    scenario("http connection, request", "requests = 1", ""),
    scenario(
        "https connection, full handshake, request",
        "requests = 1",
        "verify = \"once\"",
    ),
    scenario(
        "https connection, resumed, request",
        "requests = 1",
        "verify = \"once\", resumption = \"always\"",
    ),
    scenario(
        "https connection, handshake only",
        "requests = 0, confirm = false",
        "verify = \"once\"",
    ),
];

const CONNECTIONS: [u64; 2] = [1, 50];

/// Upper bound of calls for a connection with its handshake, one request, and its end.
const MOST: f64 = 12.0;

/// The heap grows now and then, more often in a short run.
const GROWTH: f64 = 0.3;

fn main() {
    if served() {
        return;
    }
    let number = |name| flag(name).and_then(|value| value.parse::<u64>().ok());
    if let (Some(name), Some(connections), Some(operations)) = (
        flag("--work"),
        number("--connections"),
        number("--operations"),
    ) {
        return SCENARIOS
            .iter()
            .filter(|scenario| scenario.name == name)
            .for_each(|it| work(it, connections, operations));
    }
    if Command::new("strace")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        println!("skipped: strace is not installed");
        assert!(
            std::env::var_os("CI").is_none(),
            "with CI set, strace must be there"
        );
        return;
    }
    println!("| system calls per operation | connections | all | which |\n|---|---|---|---|");
    for scenario in &SCENARIOS {
        for connections in CONNECTIONS {
            let all = row(scenario, connections);
            assert!(
                all <= MOST + GROWTH,
                "{}: {all:.2} system calls, more than {MOST}",
                scenario.name
            );
        }
    }
}

fn row(scenario: &Scenario, connections: u64) -> f64 {
    let (few, many) = if is_trial() { (100, 300) } else { (500, 2500) };
    let (less, more) = (
        calls(scenario, connections, few),
        calls(scenario, connections, many),
    );
    let each = |name: &String, number: u64| {
        (number as f64 - *less.get(name).unwrap_or(&0) as f64) / (many - few) as f64
    };
    let mut each: Vec<(String, f64)> = more
        .into_iter()
        .map(|(name, number)| (name.clone(), each(&name, number)))
        .collect();
    each.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all = each.iter().map(|(_, number)| number).sum();
    let named = each.iter().filter(|(_, number)| *number >= 0.05);
    let which: Vec<String> = named
        .map(|(name, number)| format!("{name} {number:.2}"))
        .collect();
    println!(
        "| {} | {connections} | {all:.2} | {} |",
        scenario.name,
        which.join(", ")
    );
    all
}

/// Calls of one run by name, over all threads.
fn calls(scenario: &Scenario, connections: u64, operations: u64) -> BTreeMap<String, u64> {
    let out = std::env::temp_dir().join(format!("cannonade-strace-{}", std::process::id()));
    let own = std::env::current_exe().expect("Linux tells a program where it is");
    let mut command = Command::new("strace");
    // strace would follow the server too, a child that begins with execve, so it is detached.
    command.args([
        "--follow-forks",
        "--detach-on=execve",
        "--quiet=all",
        "--summary-only",
        "--summary-columns=calls,name",
        "-o",
    ]);
    command.arg(&out).arg(own).args([
        "--work",
        scenario.name,
        "--connections",
        &connections.to_string(),
    ]);
    let status = command
        .args(["--operations", &operations.to_string()])
        .status()
        .expect("strace has just told its version");
    assert!(
        status.success(),
        "{}: strace ends with {status}",
        scenario.name
    );
    let text = std::fs::read_to_string(&out).expect("strace writes its summary");
    let _ = std::fs::remove_file(&out);
    let row = |line: &str| {
        let (number, name) = line.trim().split_once(' ')?;
        Some((name.trim().to_owned(), number.parse().ok()?)).filter(|(name, _)| name != "total")
    };
    text.lines().filter_map(row).collect()
}

/// The operations themselves, under strace.
fn work(scenario: &Scenario, connections: u64, operations: u64) {
    let server = scenario.serve(1);
    let outcome = run(scenario.plan(
        &server,
        &format!("connections = {connections}, requests = {operations}"),
    ));
    assert_eq!(outcome.measured.counters.failed, 0);
}
