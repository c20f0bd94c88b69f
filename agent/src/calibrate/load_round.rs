//! A run of a plan on this machine, with the load on some of its CPUs and the target on the others.

use anyhow::{Context as _, bail};
use engine::{Event, FiringLease, Placement, Policy, WorkerFigures, monotonic_ns};
use plan::Plan;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use target::{Config, RunningTarget};

/// Time from the order to start until the load begins: threads need a moment.
const START_IN_NS: u64 = 20_000_000;
/// A run that takes this long beyond its plan has gone wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which CPUs belong to the load, and which to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MachineHalves {
    pub(super) load: Vec<u32>,
    pub(super) target: Vec<u32>,
}

impl MachineHalves {
    /// Splits the CPUs in half; with an odd number the target gets one more, and a single CPU is
    /// shared.
    pub(super) fn new(cpus: &[u32]) -> MachineHalves {
        let (load, target) = match cpus {
            [_] => (cpus, cpus),
            _ => cpus.split_at(cpus.len() / 2),
        };
        MachineHalves {
            load: load.to_vec(),
            target: target.to_vec(),
        }
    }

    /// All CPUs, each once.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut all = [self.load.clone(), self.target.clone()].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn are_shared(&self) -> bool {
        self.load == self.target
    }
}

/// The figures of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LoadRound {
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) payload_bytes: u64,
    /// CPU time of all load threads, without waiting.
    pub(super) working_ns: u64,
    /// Wall time of all load threads.
    pub(super) wall_ns: u64,
    /// Part of it in which they were neither on a CPU nor waiting for an event.
    pub(super) taken_ns: u64,
}

impl LoadRound {
    /// Part of the time in which the load threads had work but no CPU.
    pub(super) fn taken_share(&self) -> f64 {
        self.taken_ns as f64 / self.wall_ns.max(1) as f64
    }

    /// Runs `plan` with a load thread on each of `cpus`, in the same way as any other run.
    ///
    /// # Errors
    /// If it cannot be run here, or does not end.
    pub(super) fn run(plan: Arc<Plan>, cpus: &[u32], policy: Policy) -> anyhow::Result<LoadRound> {
        let placement = Placement {
            agent: 0,
            agents: 1,
            cpus: cpus.iter().copied().map(Some).collect(),
        };
        let prepared = engine::prepare(plan, placement, policy)?;
        let (events, heard) = channel();
        let tell = move |event| {
            // A receiver that gave up has said why.
            let _ = events.send(event);
        };
        let begin = monotonic_ns() + START_IN_NS;
        // Dropped at the end of this function, which ends the load.
        let _running = prepared.start(begin, FiringLease::unlimited(), tell)?;
        let mut round = LoadRound::default();
        loop {
            match heard
                .recv_timeout(PATIENCE)
                .context("the run does not end")?
            {
                Event::Interval { snapshot, .. } => {
                    for cell in snapshot.cells.values() {
                        round.ok += cell.counters.ok;
                        round.failed += cell.counters.failed + cell.counters.timed_out;
                        round.payload_bytes += cell.counters.payload_bytes;
                    }
                }
                Event::Ended { workers, .. } => return round.with(&workers),
                Event::Began { .. } | Event::Draining | Event::KeysWritten(_) => {}
            }
        }
    }

    fn with(mut self, workers: &[Option<WorkerFigures>]) -> anyhow::Result<LoadRound> {
        for worker in workers {
            let Some(figures) = worker else {
                bail!("a load thread died; its message is above");
            };
            self.working_ns += figures.whole.working_ns();
            let whole = figures.whole;
            self.wall_ns += whole.wall_ns;
            let awake_ns = whole.wall_ns.saturating_sub(whole.idle_ns);
            self.taken_ns += awake_ns.saturating_sub(whole.cpu_ns);
        }
        Ok(self)
    }
}

/// The built-in target, on threads of its own.
pub(super) struct LocalServer {
    pub(super) address: SocketAddr,
    pub(super) ca_pem: Option<String>,
    _running: RunningTarget,
}

impl LocalServer {
    /// Starts it with one thread for each of `cpus`, and on these alone.
    ///
    /// # Errors
    /// If it cannot listen, or start its threads.
    pub(super) fn start(config: Config, cpus: &[u32]) -> anyhow::Result<LocalServer> {
        let config = Config {
            threads: NonZeroUsize::new(cpus.len()).unwrap_or(NonZeroUsize::MIN),
            ..config
        };
        let cpus = cpus.to_vec();
        let (started, start) = channel();
        // Its threads inherit the CPUs of the thread that starts them.
        std::thread::Builder::new()
            .name("target".into())
            .spawn(move || start_on(&cpus, config, &started))?;
        let running = start
            .recv()
            .context("the target's thread died")?
            .context("starting the target")?;
        Ok(LocalServer {
            address: running.address(),
            ca_pem: running.ca_pem().map(str::to_owned),
            _running: running,
        })
    }
}

fn start_on(cpus: &[u32], config: Config, started: &Sender<anyhow::Result<RunningTarget>>) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu as usize));
    let running = sched_setaffinity(None, &set)
        .context("choosing its CPUs")
        .and_then(|()| Ok(RunningTarget::new(config)?));
    // The starter is waiting for it.
    let _ = started.send(running);
}

#[cfg(test)]
mod tests {
    use super::MachineHalves;

    #[test]
    fn a_machine_is_halved_and_a_single_cpu_shared() {
        let halves = |cpus: &[u32]| {
            let halves = MachineHalves::new(cpus);
            (halves.load, halves.target)
        };
        assert_eq!(halves(&[3]), (vec![3], vec![3]));
        assert_eq!(halves(&[0, 1]), (vec![0], vec![1]));
        assert_eq!(halves(&[0, 1, 5]), (vec![0], vec![1, 5]));
        assert!(MachineHalves::new(&[3]).are_shared());
    }
}
