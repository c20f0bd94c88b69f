//! What an idle keep-alive TLS connection costs in memory: the resident set of a load thread's
//! process at its start, and with all connections open, each after one small or large answer.
//!
//! The target is a process of its own. What a row leaves on the heap is included in the rows after
//! it. `--connections N` (default 15,000 if the limit of open files allows it), `--test`: few. The
//! kernel's memory for sockets is not part of a resident set.

use benches::{Served, Server, flag, is_trial, parse, run_watching, served};
use engine::Event;
use rustix::process::{Resource, getrlimit};

/// Upper bound in KiB per connection. With few connections the process itself is most of it.
const MOST_KIB: f64 = 24.0;
const ENOUGH: u64 = 5_000;

/// Open files besides the connections, in client and server.
const FILES_BESIDE: u64 = 200;

/// What each connection has done before it idles, and the bytes of the answer.
const SCENARIOS: [(&str, &str, u64); 3] = [
    ("TLS 1.3, 356 bytes", "1.3", 356),
    ("TLS 1.3, 100 kB", "1.3", 100_000),
    ("TLS 1.2, 356 bytes", "1.2", 356),
];

fn main() {
    if served() {
        return;
    }
    let (connections, before) = (connections(), resident_kib());
    println!(
        "| idle connections | open | resident set at the start | with all open | KiB per \
         connection |\n|---|---|---|---|---|"
    );
    for (name, version, body_bytes) in SCENARIOS {
        let each = row(name, version, body_bytes, connections, before);
        assert!(
            each <= MOST_KIB || connections < ENOUGH,
            "{name}: {each:.1} KiB per connection, more than {MOST_KIB}"
        );
    }
}

fn connections() -> u64 {
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let asked = flag("--connections").and_then(|number| number.parse().ok());
    let wanted = asked.unwrap_or(if is_trial() { 200 } else { 15_000 });
    let possible = files.saturating_sub(FILES_BESIDE);
    if wanted > possible {
        println!(
            "only {possible} connections: the hard limit of open files is {files} (ulimit -Hn)"
        );
    }
    wanted.min(possible)
}

/// Returns KiB per connection.
fn row(name: &str, version: &str, body_bytes: u64, connections: u64, before: u64) -> f64 {
    let server = Server::start(Served {
        body_bytes,
        ..Served::default()
    });
    // Every user sends one request, and then thinks for longer than the run lasts.
    let (ramp, duration) = if is_trial() {
        ("100ms", "2s")
    } else {
        ("9s", "14s")
    };
    let text = format!(
        "target.url = \"{}/\"\ntls = {{ ca = \"bench-ca.pem\", verify = \"once\", versions = \
         [\"{version}\"] }}\nload = {{ connections = {connections}, connect_ramp = \"{ramp}\", \
         think_time = \"10m\", duration = \"{duration}\" }}\nconnection.timeouts = {{ connect = \
         \"30s\", handshake = \"30s\", request = \"30s\" }}\n",
        server.url
    );
    let plan = parse(&text, server.ca_pem.as_deref());
    let mut after = 0;
    let outcome = run_watching(plan, 1, |event| {
        if let Event::Interval { .. } = event {
            after = resident_kib().max(after);
        }
    });
    let open = outcome.measured.counters.ok;
    let each = after.saturating_sub(before) as f64 / open.max(1) as f64;
    let mib = |kib: u64| kib as f64 / 1024.0;
    println!(
        "| {name} | {open} | {:.1} MiB | {:.1} MiB | {each:.1} |",
        mib(before),
        mib(after)
    );
    each
}

/// This process's resident set (proc(5), VmRSS).
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("proc(5) names VmRSS");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("proc(5) gives kB")
}
