//! One worker's ceiling: what a load thread costs per operation against the built-in target, everything measured.
//!
//! The target has the first allowed CPU, the worker the last. The figure that counts is the worker's CPU time per
//! operation: with two CPUs the target is often the limit. `--test` runs each scenario for a moment only; `--url URL`
//! takes another server than the built-in one (its certificate is not checked), `--plan FILE` a plan of one's own.

use engine::{Event, Lease, Placement, Policy, allowed_cpus, monotonic_ns};
use measure::{Metric, Outcome, Period};
use plan::{Files, Plan};
use std::sync::Arc;
use std::sync::mpsc::channel;
use target::{Config, Running, Tls};

/// Name, TLS, sections of the plan beside target and load.
const SCENARIOS: [(&str, bool, &str); 6] = [
    ("http keep-alive", false, ""),
    ("https keep-alive", true, ""),
    ("https full handshake, 1 request", true, "connection.requests = 1\ntls.verify = \"once\""),
    ("https full handshake, 1 request, nothing checked", true, "connection.requests = 1\ntls.verify = \"none\""),
    ("https full handshake, 1 request, nothing checked, cheap P-256", true,
     "connection.requests = 1\ntls = { verify = \"none\", key_exchange = \"cheap\", groups = [\"secp256r1\"] }"),
    ("https resumed, 1 request", true, "connection.requests = 1\ntls = { verify = \"once\", resumption = \"always\" }"),
];

struct Named(Vec<(String, Vec<u8>)>);

impl Files for Named {
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let found = self.0.iter().find(|(known, _)| known == name).map(|(_, content)| content.clone());
        found.or_else(|| std::fs::read(name).ok()).ok_or_else(|| "no such file".into())
    }

    fn list(&mut self, _: &str) -> Result<Vec<String>, String> {
        Err("no such folder".into())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1)).cloned();
    let cpus = allowed_cpus();
    let worker = cpus.last().copied();
    pin(cpus[0]);
    println!("| scenario | operations/s | CPU µs per operation | busy | p50 µs | p99 µs | failed |\n|---|---|---|---|---|---|---|");
    if let Some(file) = value("--plan") {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        return row(&file, parse(&text, None), worker);
    }
    let seconds = if arguments.iter().any(|argument| argument == "--test") { "300ms" } else { "3s" };
    let only = value("--only");
    for (name, tls, sections) in SCENARIOS.into_iter().filter(|(name, ..)| only.as_ref().is_none_or(|only| name.contains(only.as_str()))) {
        let tls = tls.then(|| Tls { tickets: sections.contains("resumption"), ..Tls::default() });
        let server = Running::new(Config { tls, ..Config::default() }).expect("a free port on loopback");
        let url = value("--url").unwrap_or_else(|| server.url("/"));
        let ca = if server.ca_pem().is_some() && !sections.contains("none") && value("--url").is_none() { "tls.ca = \"ca.pem\"" } else { "" };
        let sections = if ca.is_empty() || !sections.contains("tls = {") { format!("{sections}\n{ca}") } else { sections.replace("tls = {", "tls = { ca = \"ca.pem\",") };
        let text = format!("name = \"ceiling\"\ntarget.url = \"{url}\"\n{sections}\nload = {{ connections = 100, warm_up = \"200ms\", duration = \"{seconds}\" }}\n");
        row(name, parse(&text, server.ca_pem()), worker);
    }
}

fn parse(text: &str, ca: Option<&str>) -> Plan {
    let files = ca.map(|pem| ("ca.pem".to_owned(), pem.as_bytes().to_vec())).into_iter().collect();
    Plan::parse(text, &mut Named(files)).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn row(name: &str, plan: Plan, cpu: Option<u32>) {
    let placement = Placement { agent: 0, agents: 1, cpus: vec![cpu] };
    let prepared = engine::prepare(Arc::new(plan), placement, Policy::default()).unwrap_or_else(|error| panic!("{error}"));
    let (send, events) = channel();
    let running = prepared.start(monotonic_ns() + 10_000_000, Lease::unlimited(), move |event| send.send(event).expect("main waits"));
    let running = running.unwrap_or_else(|error| panic!("{error}"));
    let ended = events.iter().find_map(|event| match event {
        Event::Ended { totals, workers } => Some((totals, workers)),
        Event::Began { .. } | Event::Interval { .. } => None,
    });
    running.join();
    let (totals, workers) = ended.expect("a run ends with its totals");
    let worker = workers[0].expect("the worker has not died");
    let operations: u64 = totals.cells.values().map(|cell| cell.counters.ok + cell.counters.failed + cell.counters.timed_out).sum();
    let measured = totals.sum(|key| key.period == Period::Measured);
    let times = measured.of(Outcome::Ok, Metric::ServiceTime);
    let percentile = |p| times.percentile(p).map_or(0.0, |value| value.value_ns as f64 / 1e3);
    println!(
        "| {name} | {:.0} | {:.2} | {:.0} % | {:.0} | {:.0} | {} |",
        operations as f64 / worker.wall_ns as f64 * 1e9,
        worker.cpu_ns as f64 / operations as f64 / 1e3,
        100.0 * worker.cpu_ns as f64 / worker.wall_ns as f64,
        percentile(50.0),
        percentile(99.0),
        measured.counters.failed + measured.counters.timed_out,
    );
}

fn pin(cpu: u32) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    // Without it the two disturb each other a little more.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}
