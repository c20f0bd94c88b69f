//! The place of an agent and its workers among all of a run.

use plan::Owner;

/// An agent's place in a run and the CPUs that it may use.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The agent's index, from 0.
    pub agent: u32,
    /// Agents in the run.
    pub agents: u32,
    /// One worker per entry: the CPU to pin it to, or `None` to leave it unpinned.
    pub cpus: Vec<Option<u32>>,
}

impl Placement {
    /// The agent as if it had a single worker.
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

/// The CPUs that this process may use by its affinity mask, which cgroups and `taskset` narrow.
#[must_use]
pub fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return vec![0];
    };
    (0..rustix::thread::CpuSet::MAX_CPU as u32)
        .filter(|&cpu| set.is_set(cpu as usize))
        .collect()
}
