//! The binary `agent` as users run it: joined to a coordinator for one run after another, or as a
//! monitor.

use crate::coordinator::kill;
use crate::{Process, binary, wait_until};
use rustix::process::Signal;
use std::net::SocketAddr;
use std::process::{Command, ExitStatus};
use tempfile::TempDir;

/// A running `agent join` or `agent monitor`; killed when dropped.
pub struct Agent {
    process: Process,
    _folder: TempDir,
}

impl Agent {
    /// Starts `agent join`, with the token in the environment, where `ps` does not show it.
    #[must_use]
    pub fn join(coordinator: SocketAddr, token: &str, arguments: &[&str]) -> Agent {
        let program = Command::new(binary("agent"));
        Agent::start(program, "join", coordinator, token, arguments)
    }

    /// Starts `agent monitor` in the same way.
    #[must_use]
    pub fn monitor(coordinator: SocketAddr, token: &str, arguments: &[&str]) -> Agent {
        let program = Command::new(binary("agent"));
        Agent::start(program, "monitor", coordinator, token, arguments)
    }

    /// Starts `agent join` through another program, such as `ip netns exec`, which gets the agent's
    /// path as its last argument.
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

    /// What it has printed so far.
    #[must_use]
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Whether it is still running.
    #[must_use]
    pub fn is_alive(&mut self) -> bool {
        self.process.ended().is_none()
    }

    /// Waits until it has printed `word` `times` times.
    ///
    /// # Panics
    /// If it has not at the deadline.
    pub fn wait_for(&self, word: &str, times: usize) {
        wait_until(&format!("{word:?} of an agent, {times} times"), || {
            (self.output().matches(word).count() >= times).then_some(())
        });
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it is still running at the deadline.
    pub fn wait(&mut self) -> ExitStatus {
        wait_until("the end of an agent", || self.process.ended())
    }

    /// Sends a signal to it alone.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        kill(self.id(), signal);
    }
}
