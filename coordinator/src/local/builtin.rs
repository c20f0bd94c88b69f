//! The built-in target of a plan, started with the run and stopped with it.

use super::Who;
use super::child::Child;
use crate::target_process;
use anyhow::Context as _;
use plan::Builtin;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

/// A target listens by then: making an RSA key takes a second on a slow machine.
const LISTEN_MAX: Duration = Duration::from_secs(30);

/// The built-in target of a plan.
#[derive(Debug)]
pub(crate) struct BuiltinTarget {
    child: Child,
}

/// Where it listens: the one line that it prints.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Listening {
    /// On loopback.
    pub(crate) address: SocketAddr,
    /// PEM of the CA of its certificate; none over plain HTTP.
    pub(crate) ca_pem: Option<String>,
}

impl BuiltinTarget {
    /// Starts one and waits until it listens.
    pub(crate) async fn start(builtin: &Builtin) -> anyhow::Result<(BuiltinTarget, Listening)> {
        let arguments = target_process::arguments(builtin);
        let spawned = Child::spawn(Who::Target, &arguments, &[], Stdio::piped());
        let mut child = spawned.context("cannot start the built-in target")?;
        let line = tokio::time::timeout(LISTEN_MAX, child.line())
            .await
            .context("the built-in target does not listen")??;
        if line.is_empty() {
            anyhow::bail!("{}", child.died().await);
        }
        let listening = serde_json::from_str(&line)
            .with_context(|| format!("the built-in target said {line:?}"))?;
        Ok((BuiltinTarget { child }, listening))
    }

    /// CPU time that it has used since its start; nothing where it has ended.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        host::Sampler::new().cpu_time_of(self.child.id()?).ok()
    }

    /// Waits until it ends, which it is not to; may be dropped and called again.
    pub(crate) async fn died(&mut self) -> super::Died {
        self.child.died().await
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        self.child.stop().await;
    }
}
