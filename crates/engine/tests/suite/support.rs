//! Runs a plan against a server in this process and returns the sum of what was recorded.

use engine::{Event, FiringLease, Placement, Policy, RunningEngine, WorkerFigures, monotonic_ns};
use measure::{Counters, Period, Snapshot, Totals};
use plan::{Files, Plan};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Files a plan names, by name.
pub struct Named(pub Vec<(String, Vec<u8>)>);

impl Files for Named {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, content)| content[..].into())
            .ok_or_else(|| "no such file".into())
    }

    fn list(&mut self, _: &str) -> Result<Vec<String>, String> {
        Err("no such folder".into())
    }
}

/// Plays a few cases at a time, since they mostly wait. A panic names its case as the thread.
pub fn side_by_side<C: Sync>(cases: &[C], name: impl Fn(&C) -> String, play: impl Fn(&C) + Sync) {
    const AT_ONCE: usize = 4;
    let play = &play;
    for some in cases.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for case in some {
                let thread = std::thread::Builder::new().name(name(case));
                thread.spawn_scoped(scope, move || play(case)).unwrap();
            }
        });
    }
}

/// The outcome of a run.
pub struct Outcome {
    /// Sum of the intervals.
    pub sum: Snapshot,
    /// The sum that the engine reported.
    pub totals: Totals,
    pub intervals: Vec<(u32, Snapshot)>,
    /// When each of them was reported; monotonic clock.
    pub told_at: Vec<u64>,
    pub workers: Vec<WorkerFigures>,
}

impl Outcome {
    fn new(
        intervals: Vec<(u32, Snapshot)>,
        told_at: Vec<u64>,
        totals: Totals,
        workers: Vec<Option<WorkerFigures>>,
    ) -> Outcome {
        let workers = workers
            .into_iter()
            .map(|worker| worker.expect("no worker panics"))
            .collect();
        let mut sum = Snapshot::default();
        intervals
            .iter()
            .for_each(|(_, snapshot)| sum.merge(snapshot));
        Outcome {
            sum,
            totals,
            intervals,
            told_at,
            workers,
        }
    }

    pub fn counters(&self, period: Period) -> Counters {
        let mut sum = Counters::default();
        for (key, cell) in &self.sum.cells {
            if key.period == period {
                sum.merge(&cell.counters);
            }
        }
        sum
    }

    pub fn measured(&self) -> Counters {
        self.counters(Period::Measured)
    }
}

pub fn parse(text: &str, ca: Option<&str>) -> Plan {
    let files = ca
        .map(|pem| ("ca.pem".to_owned(), pem.as_bytes().to_vec()))
        .into_iter()
        .collect();
    Plan::parse(text, &mut Named(files)).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Runs `plan` as agent `agent` of `agents` with `workers` workers.
pub fn run_share(
    plan: Plan,
    agent: u32,
    agents: u32,
    workers: usize,
    lease: FiringLease,
) -> Outcome {
    let placement = Placement {
        agent,
        agents,
        cpus: vec![None; workers],
    };
    let start_at = monotonic_ns() + 20_000_000;
    FiringAgent::start(plan, placement, Policy::default(), start_at, lease).outcome()
}

/// A running engine of one agent.
pub struct FiringAgent {
    pub running: RunningEngine,
    events: Receiver<(u64, Event)>,
}

impl FiringAgent {
    pub fn start(
        plan: Plan,
        placement: Placement,
        policy: Policy,
        start_at: u64,
        lease: FiringLease,
    ) -> FiringAgent {
        let prepared = engine::prepare(Arc::new(plan), placement, policy).unwrap();
        let (send, events) = channel();
        let running = prepared
            .start(start_at, lease, move |event| {
                send.send((monotonic_ns(), event)).unwrap()
            })
            .unwrap();
        FiringAgent { running, events }
    }

    /// Waits for the run to end.
    pub fn outcome(self) -> Outcome {
        let (outcome, running) = self.ended();
        running.join();
        outcome
    }

    /// The same; returns the engine too, whose run is over.
    pub fn ended(self) -> (Outcome, RunningEngine) {
        let (mut intervals, mut told_at) = (Vec::new(), Vec::new());
        for (at, event) in &self.events {
            match event {
                Event::Began { .. } | Event::Draining | Event::KeysWritten(_) => {}
                Event::Interval { number, snapshot } => {
                    intervals.push((number, snapshot));
                    told_at.push(at);
                }
                Event::Ended { totals, workers } => {
                    let outcome = Outcome::new(intervals, told_at, totals, workers);
                    return (outcome, self.running);
                }
            }
        }
        panic!("the run ended without saying so");
    }
}

pub fn run(plan: Plan) -> Outcome {
    run_share(plan, 0, 1, 1, FiringLease::unlimited())
}
