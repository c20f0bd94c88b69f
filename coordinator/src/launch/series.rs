//! Runs from one file over one host, one after the other.

use super::finished_run::FinishedRun;
use super::run_host::RunHost;
use crate::planned_run::PlannedRun;
use crate::run_folder::RunFolder;
use crate::terminal;
use plan::Plan;
use std::fmt::Display;
use std::time::Duration;

/// Runs over one host, and what all of them share.
pub(super) struct RunSeries {
    pub(super) host: RunHost,
    /// The file that all of them are from, for the record.
    pub(super) plan_text: String,
    /// Only problems are said.
    pub(super) quiet: bool,
}

impl RunSeries {
    /// Makes the next run; `None` where somebody asked for the end before it began.
    pub(super) async fn make(
        &mut self,
        plan: Plan,
        agents: u32,
        title: String,
        folder: Option<RunFolder>,
    ) -> anyhow::Result<Option<FinishedRun>> {
        let run = PlannedRun::new(plan, self.plan_text.clone(), agents, title)?;
        self.host.make_run(run, folder).await
    }

    /// Whether there are agents for another run: local ones that ended do not come back.
    pub(super) fn is_whole(&self) -> bool {
        self.host.is_whole()
    }

    /// Waits so long; `false` where somebody asked for the end meanwhile.
    pub(super) async fn pause(&mut self, duration: Duration) -> bool {
        self.host.pause(duration).await
    }

    /// Tells the user how it goes.
    pub(super) fn say(&self, line: impl Display) {
        terminal::say_unless(self.quiet, line);
    }
}
