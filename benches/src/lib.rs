//! What the benches of the engine share: a run of one pinned worker against a server that has another CPU.

mod server;

pub use server::{Served, Server, served};

use engine::{Event, Lease, Placement, Policy, WorkerFigures, allowed_cpus, monotonic_ns};
use measure::{Cell, Period, Snapshot};
use plan::{Files, Plan};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// Files of a plan: a CA given by the bench, the rest from the current folder.
struct Named<'a>(Option<&'a str>);

impl Files for Named<'_> {
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
        match (self.0, name) {
            (Some(pem), "bench-ca.pem") => Ok(pem.as_bytes().to_vec()),
            _ => std::fs::read(name).map_err(|error| error.to_string()),
        }
    }
}

/// What came of a run.
pub struct Outcome {
    /// Operations of warm-up and measured part, however they ended.
    pub operations: u64,
    /// The measured part.
    pub measured: Cell,
    /// What the worker spent on all of it.
    pub worker: WorkerFigures,
}

impl Outcome {
    /// CPU time per operation, microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.worker.cpu_ns as f64 / self.operations.max(1) as f64 / 1e3
    }

    /// Share of the time the worker was on its CPU.
    #[must_use]
    pub fn busy_share(&self) -> f64 {
        self.worker.cpu_ns as f64 / self.worker.wall_ns.max(1) as f64
    }

    /// Operations per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.worker.wall_ns.max(1) as f64 * 1e9
    }
}

/// Parses a plan; it may name `bench-ca.pem`, which is `ca`.
///
/// # Panics
/// Where the plan is wrong, with every problem of it.
#[must_use]
pub fn parse(text: &str, ca: Option<&str>) -> Plan {
    Plan::parse(text, &mut Named(ca)).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Runs `plan` with one worker on the last allowed CPU.
///
/// # Panics
/// Where it cannot be run.
#[must_use]
pub fn run(plan: Plan) -> Outcome {
    run_watching(plan, |_| {})
}

/// As [`run`]; `watch` is told what happens as it does.
///
/// # Panics
/// Where it cannot be run.
#[must_use]
pub fn run_watching(plan: Plan, mut watch: impl FnMut(&Event)) -> Outcome {
    let placement = Placement { agent: 0, agents: 1, cpus: vec![allowed_cpus().last().copied()] };
    let prepared = engine::prepare(Arc::new(plan), placement, Policy::default()).unwrap_or_else(|error| panic!("{error}"));
    let (send, events) = channel();
    let tell = move |event| send.send(event).expect("the bench waits for the end");
    let running = prepared.start(monotonic_ns() + 10_000_000, Lease::unlimited(), tell).unwrap_or_else(|error| panic!("{error}"));
    let ended = events.iter().inspect(|event| watch(event)).find_map(|event| match event {
        Event::Ended { totals, workers } => Some((totals, workers)),
        _ => None,
    });
    running.join();
    let (totals, workers) = ended.expect("a run ends with its totals");
    outcome(&totals, workers[0].expect("the worker has not died"))
}

fn outcome(totals: &Snapshot, worker: WorkerFigures) -> Outcome {
    let operations = totals.cells.values().map(|cell| cell.counters.ended()).sum();
    Outcome { operations, measured: totals.sum(|key| key.period == Period::Measured), worker }
}

/// Keeps this thread, and those it starts, on the first allowed CPU: servers of a bench live there.
pub fn take_first_cpu() {
    let mut set = rustix::thread::CpuSet::new();
    set.set(allowed_cpus()[0] as usize);
    // Without it server and worker disturb each other a little more.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// Value of a flag on the bench's command line.
#[must_use]
pub fn flag(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1)).cloned()
}

/// Whether the bench is only to show that it still works.
#[must_use]
pub fn is_trial() -> bool {
    std::env::args().any(|argument| argument == "--test")
}
