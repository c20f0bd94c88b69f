//! What the benches of the engine share: a run of one pinned worker against a server on another
//! CPU.

mod scenario;
mod server;
mod simulated_agents;

pub use scenario::Scenario;
pub use server::{Served, Server, served};
pub use simulated_agents::{AgentsLog, RecordedSeconds, SharedAgentsLog, simulate};

use engine::{Event, FiringLease, Placement, Policy, WorkerFigures, allowed_cpus, monotonic_ns};
use measure::{Cell, Distribution, Metric, Period, Snapshot};
use plan::{Files, Plan};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};

/// The compiler that built this program, and its target machine.
pub const COMPILER: &str = env!("BENCHES_COMPILER");

/// The files of a plan: a CA given by the bench, all others from the current folder.
struct Named<'a>(Option<&'a str>);

impl Files for Named<'_> {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        match (self.0, name) {
            (Some(pem), "bench-ca.pem") => Ok(pem.as_bytes().into()),
            _ => std::fs::read(name)
                .map(Arc::from)
                .map_err(|error| error.to_string()),
        }
    }
}

/// The outcome of a run.
pub struct Outcome {
    /// Operations of the warm-up and the measured part, whatever their outcome.
    pub operations: u64,
    /// Figures of the measured part.
    pub measured: Cell,
    /// What each worker spent on the whole run.
    pub workers: Vec<WorkerFigures>,
}

impl Outcome {
    /// CPU time per operation in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.cpu_ns() as f64 / self.operations.max(1) as f64 / 1e3
    }

    /// The share of the time that the workers were on their CPUs.
    #[must_use]
    pub fn busy_share(&self) -> f64 {
        let wall_ns: u64 = self.workers.iter().map(|worker| worker.whole.wall_ns).sum();
        self.cpu_ns() as f64 / wall_ns.max(1) as f64
    }

    /// Operations per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        let wall_ns = self
            .workers
            .iter()
            .map(|worker| worker.whole.wall_ns)
            .max()
            .unwrap_or(0);
        self.operations as f64 / wall_ns.max(1) as f64 * 1e9
    }

    /// Times of successful operations, except the response time, which is kept by seconds.
    #[must_use]
    pub fn times(&self, metric: Metric) -> Distribution {
        self.measured
            .times
            .get(&(measure::Outcome::Ok, metric))
            .cloned()
            .unwrap_or_default()
    }

    /// CPU time of all workers.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.workers
            .iter()
            .map(|worker| worker.whole.working_ns())
            .sum()
    }
}

/// Parses a plan; it may name the file `bench-ca.pem`, whose content is `ca`.
///
/// # Panics
/// If the plan is wrong, with all of its problems.
#[must_use]
pub fn parse(text: &str, ca: Option<&str>) -> Plan {
    Plan::parse(text, &mut Named(ca)).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Runs `plan` with one worker on the last allowed CPU.
///
/// # Panics
/// If it cannot be run.
#[must_use]
pub fn run(plan: Plan) -> Outcome {
    run_watching(plan, 1, |_| {})
}

/// Runs `plan` with `workers` workers on the last allowed CPUs, and passes each event to `watch`
/// when it happens.
///
/// # Panics
/// If it cannot be run.
#[must_use]
pub fn run_watching(plan: Plan, workers: usize, mut watch: impl FnMut(&Event)) -> Outcome {
    let cpus = cpus()
        .iter()
        .rev()
        .map(|&cpu| Some(cpu))
        .take(workers)
        .collect();
    let placement = Placement {
        agent: 0,
        agents: 1,
        cpus,
    };
    let prepared = engine::prepare(Arc::new(plan), placement, Policy::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let (send, events) = channel();
    let tell = move |event| send.send(event).expect("the bench waits for the end");
    let running = prepared
        .start(monotonic_ns() + 10_000_000, FiringLease::unlimited(), tell)
        .unwrap_or_else(|error| panic!("{error}"));
    let (mut intervals, mut ended) = (Vec::new(), None);
    for event in events {
        watch(&event);
        match event {
            Event::Interval { snapshot, .. } => intervals.push(snapshot),
            Event::Ended { workers, .. } => ended = Some(workers),
            _ => {}
        }
    }
    running.join();
    let (mut sum, workers) = (
        Snapshot::default(),
        ended.expect("a run says that it has ended"),
    );
    intervals.iter().for_each(|snapshot| sum.merge(snapshot));
    outcome(
        &sum,
        workers
            .into_iter()
            .map(|worker| worker.expect("no worker has died"))
            .collect(),
    )
}

fn outcome(sum: &Snapshot, workers: Vec<WorkerFigures>) -> Outcome {
    let operations = sum
        .cells
        .values()
        .map(|cell| cell.counters.operations_ended())
        .sum();
    let mut measured = Cell::default();
    sum.cells
        .iter()
        .filter(|(key, _)| key.period == Period::Measured)
        .for_each(|(_, cell)| measured.merge(cell));
    Outcome {
        operations,
        measured,
        workers,
    }
}

/// The CPUs that this program was allowed to use at its start; [`take_first_cpu`] leaves its thread
/// only one of them.
fn cpus() -> &'static [u32] {
    static CPUS: OnceLock<Vec<u32>> = OnceLock::new();
    CPUS.get_or_init(allowed_cpus)
}

/// Pins this thread to the last allowed CPU, which a single worker uses.
pub fn take_last_cpu() {
    take(cpus()[cpus().len() - 1]);
}

/// Pins this thread, and those it starts, to the first allowed CPU, where the servers of benches
/// run.
pub fn take_first_cpu() {
    take(cpus()[0]);
}

fn take(cpu: u32) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    // If this fails, server and worker disturb each other a little more.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// The median; the upper one of the middle values if their number is even.
///
/// # Panics
/// If there are no values.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The value of a flag on the bench's command line.
#[must_use]
pub fn flag(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    arguments
        .iter()
        .position(|argument| argument == name)
        .and_then(|at| arguments.get(at + 1))
        .cloned()
}

/// Whether the bench should only show that it still works.
#[must_use]
pub fn is_trial() -> bool {
    std::env::args().any(|argument| argument == "--test")
}
