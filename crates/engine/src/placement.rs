//! Where an agent and its workers stand among all of a run.

use plan::Owner;

/// An agent's place in a run and the threads it may use.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Which agent, from 0.
    pub agent: u32,
    /// Agents in the run.
    pub agents: u32,
    /// CPUs to pin one worker each to; an entry of `None` is a worker that is not pinned.
    pub cpus: Vec<Option<u32>>,
}

impl Placement {
    /// The agent alone, as if it had one worker.
    pub(crate) fn agent(&self) -> Owner {
        Owner {
            agent: self.agent,
            agents: self.agents,
            ..Owner::ALONE
        }
    }

    /// The agent's worker `number` among all workers.
    pub(crate) fn owner(&self, number: usize) -> Owner {
        Owner {
            agent: self.agent,
            agents: self.agents,
            worker: number as u32,
            workers: self.cpus.len() as u32,
        }
    }
}

/// CPUs this process may use, by its affinity mask, which cgroups and `taskset` narrow.
#[must_use]
pub fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return vec![0];
    };
    (0..rustix::thread::CpuSet::MAX_CPU as u32)
        .filter(|&cpu| set.is_set(cpu as usize))
        .collect()
}
