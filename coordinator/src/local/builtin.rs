//! The built-in target of a plan, started with the run and stopped with it.

use super::child::Child;
use super::child_death::{ChildDeath, ChildRole};
use super::target_address::TargetAddress;
use super::target_arguments::target_arguments;
use anyhow::Context as _;
use plan::Builtin;
use std::process::Stdio;
use std::time::Duration;

/// How long a target may take to listen: making an RSA key takes a second on a slow machine.
const LISTEN_MAX: Duration = Duration::from_secs(30);

/// The built-in target of a plan.
#[derive(Debug)]
pub(crate) struct BuiltinTarget {
    child: Child,
}

impl BuiltinTarget {
    /// Starts a target and waits until it listens.
    pub(crate) async fn start(builtin: &Builtin) -> anyhow::Result<(BuiltinTarget, TargetAddress)> {
        let arguments = target_arguments(builtin);
        let spawned = Child::spawn(ChildRole::Target, &arguments, &[], Stdio::piped());
        let mut child = spawned.context("cannot start the built-in target")?;
        let line = tokio::time::timeout(LISTEN_MAX, child.line())
            .await
            .context("the built-in target does not listen")??;
        // An empty line is the end of its output: it died, and has written why.
        if line.is_empty() {
            anyhow::bail!("{}", child.died().await);
        }
        let address = serde_json::from_str(&line)
            .with_context(|| format!("the built-in target said {line:?}"))?;
        Ok((BuiltinTarget { child }, address))
    }

    /// CPU time that it has used since its start; `None` if it has ended.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        host::Sampler::new().cpu_time_of(self.child.id()?).ok()
    }

    /// Waits until it ends, which it should not. May be dropped and called again.
    pub(crate) async fn died(&mut self) -> ChildDeath {
        self.child.died().await
    }

    /// Ends the target, and waits until it has ended.
    pub(crate) async fn stop(self) {
        self.child.stop().await;
    }
}
