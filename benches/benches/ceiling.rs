//! The ceiling of one worker: what a load thread costs per operation against the built-in target,
//! with everything measured.
//!
//! The target runs on the first allowed CPU, the worker on the last. Look at the worker's CPU time
//! per operation: with two CPUs the target is often the limit. `--test` runs each scenario for a
//! moment only, `--only WORDS` selects scenarios by name, and `--plan FILE` runs a plan of your own
//! against a server of your own.

use benches::{flag, is_trial, parse, run, take_first_cpu};
use measure::Metric;
use target::{Config, RunningTarget, ServerTls};

/// Name, whether over TLS, `[connection]`, and `[tls]` without the CA.
const SCENARIOS: [(&str, bool, &str, &str); 7] = [
    ("http keep-alive", false, "", ""),
    ("https keep-alive", true, "", ""),
    (
        "https full handshake, 1 request",
        true,
        "requests = 1",
        "ca = \"bench-ca.pem\", verify = \"once\"",
    ),
    (
        "https full handshake, 1 request, unchecked",
        true,
        "requests = 1",
        "verify = \"none\"",
    ),
    (
        "https full handshake, 1 request, unchecked, cheap P-256",
        true,
        "requests = 1",
        "verify = \"none\", key_exchange = \"cheap\", groups = [\"secp256r1\"]",
    ),
    (
        "https resumed, 1 request",
        true,
        "requests = 1",
        "ca = \"bench-ca.pem\", verify = \"once\", resumption = \"always\"",
    ),
    (
        "https handshake only",
        true,
        "requests = 0, confirm = false",
        "ca = \"bench-ca.pem\", verify = \"once\"",
    ),
];

fn main() {
    take_first_cpu();
    println!(
        "| scenario | operations/s | CPU µs per operation | busy | p50 µs | p99 µs | failed \
         |\n|---|---|---|---|---|---|---|"
    );
    if let Some(file) = flag("--plan") {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        return row(&file, &text, None);
    }
    let (seconds, only) = (
        if is_trial() { "200ms" } else { "3s" },
        flag("--only").unwrap_or_default(),
    );
    for (name, encrypted, connection, tls) in SCENARIOS
        .into_iter()
        .filter(|scenario| scenario.0.contains(&only))
    {
        let server_tls = encrypted.then(|| ServerTls {
            tickets: tls.contains("resumption"),
            ..ServerTls::default()
        });
        let server = RunningTarget::new(Config {
            tls: server_tls,
            ..Config::default()
        })
        .expect("loopback has a free port");
        let tls = if encrypted && tls.is_empty() {
            "ca = \"bench-ca.pem\""
        } else {
            tls
        };
        let tls = if encrypted {
            format!("tls = {{ {tls} }}\n")
        } else {
            String::new()
        };
        let text = format!(
            "target.url = \"{}\"\nconnection = {{ {connection} }}\n{tls}load = {{ connections = \
             100, warm_up = \"200ms\", duration = \"{seconds}\" }}\n",
            server.url("/")
        );
        row(name, &text, server.ca_pem());
    }
}

fn row(name: &str, text: &str, ca: Option<&str>) {
    let outcome = run(parse(text, ca));
    let times = outcome.times(Metric::ServiceTime);
    let percentile = |p| {
        times
            .percentile(p)
            .map_or(0.0, |value| value.value_ns as f64 / 1e3)
    };
    println!(
        "| {name} | {:.0} | {:.2} | {:.0} % | {:.0} | {:.0} | {} |",
        outcome.per_second(),
        outcome.cpu_us(),
        100.0 * outcome.busy_share(),
        percentile(50.0),
        percentile(99.0),
        outcome.measured.counters.failed + outcome.measured.counters.timed_out,
    );
}
