//! A coordinator that waits for agents: where it listens, and the token they join with.

use crate::{Agent, Coordinator, CoordinatorCommand};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// The file of the token, in the coordinator's folder.
const TOKEN: &str = "token";

/// A `coordinator start` without `--local`, which listens.
pub struct Invited {
    /// The process.
    pub coordinator: Coordinator,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its token.
    pub token: String,
}

impl Invited {
    /// `coordinator start --agents <agents> --listen <listen> --state <state>` with this plan;
    /// returns once it listens.
    #[must_use]
    pub fn start(agents: u32, listen: SocketAddr, state: &Path, plan: &str) -> Invited {
        Invited::start_with(&[], agents, listen, state, plan)
    }

    /// As [`Invited::start`], with more flags.
    #[must_use]
    pub fn start_with(
        flags: &[&str],
        agents: u32,
        listen: SocketAddr,
        state: &Path,
        plan: &str,
    ) -> Invited {
        let (agents, listen) = (agents.to_string(), listen.to_string());
        let state = state.to_str().expect("temporary folders are UTF-8");
        let arguments = [
            "--agents",
            &agents,
            "--listen",
            &listen,
            "--state",
            state,
            "--token-file",
            TOKEN,
        ];
        let mut coordinator =
            CoordinatorCommand::start(&[&arguments, flags].concat(), plan).spawn();
        let told = coordinator.wait_for("agent join ");
        let address = told
            .split_once("agent join ")
            .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        let token = std::fs::read_to_string(coordinator.folder().join(TOKEN))
            .unwrap()
            .trim()
            .to_owned();
        Invited {
            coordinator,
            address: address.unwrap_or_else(|| panic!("no address in {told:?}")),
            token,
        }
    }

    /// Starts an agent of this name, which joins it.
    #[must_use]
    pub fn agent(&self, name: &str) -> Agent {
        Agent::join(self.address, &self.token, &["--name", name])
    }

    /// Starts a monitor of this name, which joins it, with more arguments.
    #[must_use]
    pub fn monitor(&self, name: &str, more: &[&str]) -> Agent {
        let arguments = [&["--name", name], more].concat();
        Agent::monitor(self.address, &self.token, &arguments)
    }

    /// As [`Invited::agent`], through another program; see [`Agent::join_by`].
    #[must_use]
    pub fn agent_by(&self, by: Command, name: &str) -> Agent {
        Agent::join_by(by, self.address, &self.token, &["--name", name])
    }
}
