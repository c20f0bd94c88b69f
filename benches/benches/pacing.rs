//! How well an open loop keeps its schedule: lateness at half of the rate that one CPU can send,
//! and at other rates.
//!
//! HTTPS keep-alive with answers of 356 bytes, target on the first CPU, worker on the last. In
//! turns with it, a bare loop that sends nothing keeps the same schedule on the same CPU, while a
//! busy loop runs on the other one; its lateness is that of the machine. `--rounds N`, `--rate N`
//! for a single rate, `--test` for a moment.

use benches::{flag, is_trial, median, parse, run, take_first_cpu, take_last_cpu};
use engine::monotonic_ns;
use measure::{Distribution, Metric};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use target::{Config, RunningTarget};

const RATES: [(&str, u32); 5] = [
    ("even", 1_000),
    ("even", 10_000),
    ("even", 30_000),
    ("even", 45_000),
    ("poisson", 30_000),
];

/// Lateness of one row, one value per round.
#[derive(Default)]
struct Lateness {
    p50_us: Vec<f64>,
    p99_us: Vec<f64>,
    sent: u64,
    not_sent: u64,
    busy: Vec<f64>,
}

fn main() {
    take_first_cpu();
    let server = RunningTarget::new(Config::default()).expect("loopback has a free port");
    let rounds = flag("--rounds")
        .and_then(|number| number.parse().ok())
        .unwrap_or(if is_trial() { 1 } else { 5 });
    let duration = if is_trial() {
        Duration::from_millis(200)
    } else {
        Duration::from_secs(2)
    };
    println!(
        "| arrivals | rate/s | sent | not sent | lateness p50 µs | p99 µs (lowest, highest) | \
         busy | bare loop: p50 µs | p99 µs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let only: Option<u32> = flag("--rate").and_then(|rate| rate.parse().ok());
    for (arrivals, rate) in RATES
        .into_iter()
        .filter(|(_, rate)| only.is_none_or(|only| only == *rate))
    {
        let load = format!(
            "rate = \"{rate}/s\", arrivals = \"{arrivals}\", max_connections = 200, warm_up = \
             \"300ms\", duration = \"{duration:?}\""
        );
        let text = format!(
            "target.url = \"{}\"\ntls.ca = \"bench-ca.pem\"\nload = {{ {load} }}\n",
            server.url("/")
        );
        let (mut ours, mut bare) = (Lateness::default(), Lateness::default());
        for _ in 0..rounds {
            let outcome = run(parse(&text, server.ca_pem()));
            ours.add(&outcome.times(Metric::Lateness));
            ours.sent += outcome.measured.counters.ok;
            ours.not_sent += outcome.measured.counters.failed;
            ours.busy.push(outcome.busy_share());
            bare.add(&bare_loop(rate, duration));
        }
        println!(
            "| {arrivals} | {rate} | {} | {} | {:.1} | {} | {:.0} % | {:.1} | {} |",
            ours.sent,
            ours.not_sent,
            median(ours.p50_us),
            spread(&ours.p99_us),
            100.0 * median(ours.busy),
            median(bare.p50_us),
            spread(&bare.p99_us),
        );
    }
}

impl Lateness {
    fn add(&mut self, lateness: &Distribution) {
        let percentile = |p| {
            lateness
                .percentile(p)
                .map_or(0.0, |value| value.value_ns as f64 / 1e3)
        };
        self.p50_us.push(percentile(50.0));
        self.p99_us.push(percentile(99.0));
    }
}

/// The lateness of a thread that only reads the clock, while the first CPU is busy as well.
fn bare_loop(rate: u32, duration: Duration) -> Distribution {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let late = scope.spawn(|| {
            take_last_cpu();
            let (mut late, begin, period) = (
                Distribution::default(),
                monotonic_ns(),
                1e9 / f64::from(rate),
            );
            for number in 0..(duration.as_secs_f64() * f64::from(rate)) as u64 {
                let due = begin + (number as f64 * period) as u64;
                while monotonic_ns() < due {
                    std::hint::spin_loop();
                }
                late.record(monotonic_ns() - due);
            }
            late
        });
        let late = late.join().expect("the loop cannot panic");
        is_over.store(true, Ordering::Relaxed);
        late
    })
}

fn spread(values: &[f64]) -> String {
    let (low, high) = values
        .iter()
        .fold((f64::MAX, 0.0_f64), |(low, high), &value| {
            (low.min(value), high.max(value))
        });
    format!(
        "{:.1} ({low:.1}, {high:.1})",
        median(values.iter().copied())
    )
}
