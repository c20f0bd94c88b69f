//! How well an open loop keeps its schedule: lateness at half of what one CPU can send, and at other rates.
//!
//! HTTPS keep-alive with 356 bytes, target on the first CPU, worker on the last. `--test` runs for a moment only.

use benches::{is_trial, parse, run, take_first_cpu};
use measure::{Metric, Outcome};
use target::{Config, Running};

const RATES: [(&str, u32); 5] = [("even", 1_000), ("even", 10_000), ("even", 30_000), ("even", 50_000), ("poisson", 30_000)];

fn main() {
    take_first_cpu();
    let server = Running::new(Config::default()).expect("loopback has a free port");
    let seconds = if is_trial() { "200ms" } else { "4s" };
    println!(
        "| arrivals | rate/s | sent | not sent | lateness p50 µs | p99 µs | p99.9 µs | max µs | busy |\n|---|---|---|---|---|---|---|---|---|"
    );
    for (arrivals, rate) in RATES {
        let load = format!(
            "rate = \"{rate}/s\", arrivals = \"{arrivals}\", max_connections = 50, warm_up = \"300ms\", duration = \"{seconds}\""
        );
        let text = format!("target.url = \"{}\"\ntls.ca = \"bench-ca.pem\"\nload = {{ {load} }}\n", server.url("/"));
        row(arrivals, rate, &text, server.ca_pem());
    }
}

fn row(arrivals: &str, rate: u32, text: &str, ca: Option<&str>) {
    let outcome = run(parse(text, ca));
    let lateness = outcome.measured.of(Outcome::Ok, Metric::Lateness);
    let percentile = |p| lateness.percentile(p).map_or(0.0, |value| value.value_ns as f64 / 1e3);
    println!(
        "| {arrivals} | {rate} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} % |",
        outcome.measured.counters.ok,
        outcome.measured.counters.failed,
        percentile(50.0),
        percentile(99.0),
        percentile(99.9),
        lateness.max as f64 / 1e3,
        100.0 * outcome.busy_share(),
    );
}
