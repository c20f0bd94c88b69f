//! Facts about a run and its agents that are known before it starts.

use crate::MachineFacts;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Facts about a run that are known before it starts.
#[derive(Debug, Clone, Default)]
pub struct CollectorSetup {
    /// Version of the program.
    pub tool_version: String,
    /// The run's id.
    pub run_id: String,
    /// Start instant, UTC, RFC 3339.
    pub started_at: String,
    /// The plan as the user wrote it.
    pub plan_text: String,
    /// The agents, by index.
    pub agents: Vec<AgentSetup>,
}

/// Facts about an agent that are known before the run starts.
#[derive(Debug, Clone, Default)]
pub struct AgentSetup {
    /// Its name, from `--name` or the machine's host name.
    pub name: String,
    /// Labels given with `--label`.
    pub labels: BTreeMap<String, String>,
    /// Number of load threads.
    pub workers: u32,
    /// The machine's hardware and limits.
    pub facts: MachineFacts,
    /// Addresses of its machine's own interfaces; loopback can be missing.
    pub addresses: Vec<IpAddr>,
}

impl AgentSetup {
    /// Returns whether a server at this address runs on the agent's own machine.
    pub(crate) fn is_own(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified() || self.addresses.contains(&address)
    }
}
