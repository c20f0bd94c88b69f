//! The binary `agent` as a user runs it: joined to a coordinator, for run after run, or watching.

use crate::coordinator::kill;
use crate::{Process, binary, wait_until};
use rustix::process::Signal;
use std::net::SocketAddr;
use std::process::{Command, ExitStatus};
use tempfile::TempDir;

/// An `agent join` or `agent monitor` that goes on; killed when dropped.
pub struct Agent {
    process: Process,
    _folder: TempDir,
}

impl Agent {
    /// `agent join`, with the token in the environment, where `ps` does not show it.
    #[must_use]
    pub fn join(coordinator: SocketAddr, token: &str, arguments: &[&str]) -> Agent {
        let program = Command::new(binary("agent"));
        Agent::start(program, "join", coordinator, token, arguments)
    }

    /// `agent monitor`, likewise.
    #[must_use]
    pub fn monitor(coordinator: SocketAddr, token: &str, arguments: &[&str]) -> Agent {
        let program = Command::new(binary("agent"));
        Agent::start(program, "monitor", coordinator, token, arguments)
    }

    /// The same by way of another program, such as `ip netns exec`, whose last argument the agent's
    /// path becomes.
    #[must_use]
    pub fn join_by(
        mut by: Command,
        coordinator: SocketAddr,
        token: &str,
        arguments: &[&str],
    ) -> Agent {
        by.arg(binary("agent"));
        Agent::start(by, "join", coordinator, token, arguments)
    }

    fn start(
        mut command: Command,
        subcommand: &str,
        coordinator: SocketAddr,
        token: &str,
        arguments: &[&str],
    ) -> Agent {
        let folder = tempfile::tempdir().unwrap();
        command
            .arg(subcommand)
            .arg(coordinator.to_string())
            .args(arguments)
            .env("CANNONADE_TOKEN", token);
        Agent {
            process: Process::start(&mut command, &folder.path().join("agent.out")),
            _folder: folder,
        }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it has written so far.
    #[must_use]
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Whether it goes on.
    #[must_use]
    pub fn is_alive(&mut self) -> bool {
        self.process.ended().is_none()
    }

    /// Waits until it has said `word` so many times.
    ///
    /// # Panics
    /// Where it has not at the deadline.
    pub fn wait_for(&self, word: &str, times: usize) {
        wait_until(&format!("{word:?} of an agent, {times} times"), || {
            (self.output().matches(word).count() >= times).then_some(())
        });
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Where it goes on until the deadline.
    pub fn wait(&mut self) -> ExitStatus {
        wait_until("the end of an agent", || self.process.ended())
    }

    /// Sends a signal to it alone.
    ///
    /// # Panics
    /// Where it has ended.
    pub fn signal(&self, signal: Signal) {
        kill(self.id(), signal);
    }
}
