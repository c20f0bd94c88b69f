//! Who a part of the load belongs to.

/// A worker's place among the workers of all agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Agent, from 0.
    pub agent: u32,
    /// Agents in the run, at least 1.
    pub agents: u32,
    /// Worker within the agent, from 0.
    pub worker: u32,
    /// Workers of that agent, at least 1.
    pub workers: u32,
}

impl Owner {
    /// The only worker of the only agent.
    pub const ALONE: Owner = Owner {
        agent: 0,
        agents: 1,
        worker: 0,
        workers: 1,
    };
}
