//! What is known of a run and its agents before it starts.

use crate::MachineFacts;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What is known of a run before it starts.
#[derive(Debug, Clone)]
pub struct CollectorSetup {
    /// Version of the program.
    pub tool_version: String,
    /// Identifies the run.
    pub run_id: String,
    /// Start instant, UTC, RFC 3339.
    pub started_at: String,
    /// The plan as the user gave it.
    pub plan_text: String,
    /// The agents, by index.
    pub agents: Vec<AgentSetup>,
}

/// What is known of an agent before the run starts.
#[derive(Debug, Clone, Default)]
pub struct AgentSetup {
    /// Its name, as `--name` or the machine gave it.
    pub name: String,
    /// What `--label` said.
    pub labels: BTreeMap<String, String>,
    /// How many load threads it has.
    pub workers: u32,
    /// What its machine is and allows.
    pub facts: MachineFacts,
    /// Addresses of its machine's own interfaces; loopback need not be among them.
    pub addresses: Vec<IpAddr>,
}

impl AgentSetup {
    /// Whether a server at this address runs on the agent's own machine.
    pub(crate) fn is_own(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified() || self.addresses.contains(&address)
    }
}
