//! The agents of a local run: one process each, which share this machine's CPUs.

use super::child::Child;
use super::child_death::{ChildDeath, ChildRole};
use super::{LocalOptions, cpus};
use anyhow::Context as _;
use control::Token;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::process::Stdio;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Room for deaths of agents that are not looked at yet.
const DEATHS_MAX: usize = 16;

/// The agents of a local run. Dropping it kills them.
#[derive(Debug)]
pub(crate) struct LocalAgents {
    /// A task for each agent, which owns its process.
    keepers: JoinSet<()>,
    deaths: mpsc::Receiver<ChildDeath>,
    /// Dropped to end the agents.
    stay: watch::Sender<()>,
}

impl LocalAgents {
    /// Starts `count` agents that join the coordinator at `address`.
    pub(crate) fn start(
        count: u32,
        address: SocketAddr,
        token: &Token,
        options: &LocalOptions,
    ) -> anyhow::Result<LocalAgents> {
        let machine = host::Sampler::new()
            .facts()
            .context("cannot read what this machine is")?;
        let groups = cpus::deal(&machine.cpus_allowed, machine.usable_cpus(), count);
        let (died, deaths) = mpsc::channel(DEATHS_MAX);
        let (stay, staying) = watch::channel(());
        let mut keepers = JoinSet::new();
        for (number, cpus) in (1..).zip(groups) {
            let name = format!("local-{number}");
            let arguments = arguments(&name, address, &cpus, options);
            let environment = [("CANNONADE_TOKEN", token.reveal())];
            let child = Child::spawn(
                ChildRole::Agent(name.clone()),
                &arguments,
                &environment,
                Stdio::null(),
            );
            let child = child.with_context(|| format!("cannot start agent {name}"))?;
            keepers.spawn(keep(child, died.clone(), staying.clone()));
        }
        Ok(LocalAgents {
            keepers,
            deaths,
            stay,
        })
    }

    /// Waits until an agent ends, which none should before [`LocalAgents::stop`]. May be dropped
    /// and called again.
    pub(crate) async fn died(&mut self) -> ChildDeath {
        match self.deaths.recv().await {
            Some(died) => died,
            None => std::future::pending().await,
        }
    }

    /// Ends all agents.
    pub(crate) async fn stop(self) {
        let LocalAgents {
            mut keepers, stay, ..
        } = self;
        drop(stay);
        while keepers.join_next().await.is_some() {}
    }
}

fn arguments(name: &str, address: SocketAddr, cpus: &[u32], options: &LocalOptions) -> Vec<String> {
    let mut arguments: Vec<String> = ["agent", "join", "--exit-with-stdin"]
        .map(str::to_owned)
        .to_vec();
    arguments.push(format!("--name={name}"));
    if !cpus.is_empty() {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        arguments.push(format!("--cpus={}", cpus.join(",")));
    }
    arguments.extend(
        options
            .workers
            .map(|workers| format!("--workers={workers}")),
    );
    arguments.extend(options.allow.iter().map(|allow| format!("--allow={allow}")));
    arguments.extend(
        options
            .key_log
            .iter()
            .map(|folder| format!("--key-log={}", folder.display())),
    );
    arguments.extend(options.data.iter().map(|file| {
        // Opened anew, it is the same memory: no agent has a copy of its own.
        let (process, opened) = (std::process::id(), file.file().as_raw_fd());
        format!("--mapped=/proc/{process}/fd/{opened}")
    }));
    arguments.extend(options.no_spin.then(|| "--no-spin".to_owned()));
    arguments.push(address.to_string());
    arguments
}

/// Keeps one agent until it dies, or until all are to end.
async fn keep(mut child: Child, died: mpsc::Sender<ChildDeath>, mut staying: watch::Receiver<()>) {
    tokio::select! {
        death = child.died() => {
            // There is no receiver if the run is over already.
            let _ = died.send(death).await;
        }
        // Completes when the sender is gone.
        _ = staying.changed() => child.stop().await,
    }
}
