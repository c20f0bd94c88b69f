//! What a second worker costs: client CPU time per operation of two workers compared with one, in
//! turns, and handshakes in memory.
//!
//! The server is a process with two threads that shares all CPUs with the workers in both cases.
//! `--rounds N`, `--test` for a moment.

use benches::{Scenario, flag, is_trial, median, run_watching, served};

const fn scenario(name: &'static str, connection: &'static str, tls: &'static str) -> Scenario {
    Scenario {
        name,
        encrypted: !tls.is_empty(),
        connection,
        tls,
    }
}

const SCENARIOS: [Scenario; 4] = [
    scenario("http keep-alive", "", ""),
    scenario("https keep-alive", "", "verify = \"once\""),
    scenario(
        "https full handshake, 1 request",
        "requests = 1",
        "verify = \"once\"",
    ),
    scenario(
        "https resumed, 1 request",
        "requests = 1",
        "verify = \"once\", resumption = \"always\"",
    ),
];

/// Results of one side, one per run.
#[derive(Default)]
struct Side {
    cpu_us: Vec<f64>,
    per_second: Vec<f64>,
}

fn main() {
    if served() {
        return;
    }
    let rounds = flag("--rounds")
        .and_then(|number| number.parse().ok())
        .unwrap_or(if is_trial() { 1 } else { 5 });
    println!(
        "| scenario | CPU µs per operation, 1 worker | 2 workers | ratio | operations/s, 1 worker \
         | 2 workers |\n|---|---|---|---|---|---|"
    );
    for scenario in &SCENARIOS {
        let (mut one, mut two) = (Side::default(), Side::default());
        for _ in 0..rounds {
            one.add(scenario, 1);
            two.add(scenario, 2);
        }
        let (alone, both) = (median(one.cpu_us), median(two.cpu_us));
        let (slow, fast) = (median(one.per_second), median(two.per_second));
        println!(
            "| {} | {alone:.2} | {both:.2} | {:.3} | {slow:.0} | {fast:.0} |",
            scenario.name,
            both / alone
        );
    }
}

impl Side {
    fn add(&mut self, scenario: &Scenario, workers: usize) {
        let server = scenario.serve(2);
        let duration = if is_trial() { "200ms" } else { "2s" };
        let load = format!("connections = 100, warm_up = \"300ms\", duration = \"{duration}\"");
        let outcome = run_watching(scenario.plan(&server, &load), workers, |_| {});
        assert_eq!(outcome.measured.counters.failed, 0, "{}", scenario.name);
        self.cpu_us.push(outcome.cpu_us());
        self.per_second.push(outcome.per_second());
    }
}
