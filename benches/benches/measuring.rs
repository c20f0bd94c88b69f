//! What measuring costs: CPU time per operation of a worker that measures everything compared with
//! one that measures nothing.
//!
//! The other build of this bench (feature `blind`) has a recorder that records nothing and a clock
//! that does not read the hardware. The script `measuring` in this package builds both and runs
//! them in turns: `--against PROGRAM --rounds N`.

use benches::{Scenario, flag, is_trial, median, run, served};
use std::process::Command;

const fn scenario(name: &'static str, connection: &'static str, tls: &'static str) -> Scenario {
    Scenario {
        name,
        encrypted: !tls.is_empty(),
        connection,
        tls,
    }
}

/// And the number of operations once the measured ones begin.
const SCENARIOS: [(Scenario, u64); 4] = [
    (scenario("http keep-alive", "", ""), 150_000),
    (
        scenario("https keep-alive", "", "verify = \"once\""),
        120_000,
    ),
    (
        scenario(
            "https full handshake, 1 request",
            "requests = 1",
            "verify = \"once\"",
        ),
        4_000,
    ),
    (
        scenario(
            "https resumed, 1 request",
            "requests = 1",
            "verify = \"once\", resumption = \"always\"",
        ),
        4_000,
    ),
];

fn main() {
    if served() {
        return;
    }
    if let Some(name) = flag("--work") {
        return SCENARIOS
            .iter()
            .filter(|(scenario, _)| scenario.name == name)
            .for_each(work);
    }
    let own = std::env::current_exe()
        .expect("Linux tells a program where it is")
        .display()
        .to_string();
    let Some(other) = flag("--against") else {
        println!("| scenario | CPU µs per operation |\n|---|---|");
        return SCENARIOS.iter().for_each(|(scenario, _)| {
            println!("| {} | {:.2} |", scenario.name, cpu_us(&own, scenario))
        });
    };
    let rounds = flag("--rounds")
        .and_then(|number| number.parse().ok())
        .unwrap_or(7);
    println!(
        "| scenario | CPU µs per operation, measuring | not measuring | ratio |\n|---|---|---|---|"
    );
    for (scenario, _) in &SCENARIOS {
        let pairs: Vec<(f64, f64)> = (0..rounds)
            .map(|_| (cpu_us(&own, scenario), cpu_us(&other, scenario)))
            .collect();
        let (with, without) = (
            median(pairs.iter().map(|pair| pair.0)),
            median(pairs.iter().map(|pair| pair.1)),
        );
        println!(
            "| {} | {with:.2} | {without:.2} | {:.3} |",
            scenario.name,
            with / without
        );
    }
}

/// CPU time per operation of one run of a build.
fn cpu_us(program: &str, scenario: &Scenario) -> f64 {
    let mut command = Command::new(program);
    command.args(["--work", scenario.name]);
    if is_trial() {
        command.arg("--test");
    }
    let said = command.output().expect("a build of this bench runs").stdout;
    let said = String::from_utf8_lossy(&said);
    said.trim()
        .parse()
        .unwrap_or_else(|_| panic!("{program}: {said}"))
}

/// Prints the CPU time per operation, divided by the number that the plan asks for, since a blind
/// worker counts none.
fn work((scenario, operations): &(Scenario, u64)) {
    let operations = if is_trial() {
        operations / 100
    } else {
        *operations
    };
    let server = scenario.serve(1);
    let outcome = run(scenario.plan(
        &server,
        &format!("connections = 100, requests = {operations}"),
    ));
    println!("{}", outcome.cpu_ns() as f64 / operations as f64 / 1e3);
}
