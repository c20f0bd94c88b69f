//! Runs from one file over one host, one after the other.

use super::finished_run::FinishedRun;
use super::interrupted_run::{InterruptedRun, InterruptedRunError};
use super::run_host::RunHost;
use crate::planned_run::PlannedRun;
use crate::run_folder::{CampaignFolder, RunFolder};
use crate::run_origin::RunOrigin;
use crate::terminal;
use anyhow::Context as _;
use plan::Plan;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

/// Runs over one host, and what they have in common.
pub(super) struct RunSeries {
    pub(super) host: RunHost,
    /// The text of the file that the runs are from, for the record.
    pub(super) plan_text: String,
    /// Where the runs were asked for.
    pub(super) origin: RunOrigin,
    /// Whether an interruption may have left runs.
    pub(super) resumes: bool,
    /// Whether agents run a plan that their preflight would refuse.
    pub(super) force: bool,
    /// Whether only problems are reported.
    pub(super) quiet: bool,
}

/// The outcome of resuming a run that an interruption may have left.
pub(super) enum LeftRun {
    /// There is none, or none that counts.
    Nothing,
    /// It was resumed.
    Made(Box<FinishedRun>),
    /// The end was asked for before it could be resumed.
    EndAsked,
}

impl RunSeries {
    /// Makes the next run; `None` if the end was asked for before it began.
    pub(super) async fn make(
        &mut self,
        plan: Plan,
        agents: u32,
        title: String,
        folder: Option<RunFolder>,
    ) -> anyhow::Result<Option<FinishedRun>> {
        let run = PlannedRun {
            origin: self.origin.clone(),
            force: self.force,
            ..PlannedRun::new(plan, self.plan_text.clone(), agents, title)?
        };
        self.host.make_run(run, folder).await
    }

    /// Makes the run `name` within `folder`: resumes the one that an interruption left, or begins a
    /// new one.
    pub(super) async fn make_in(
        &mut self,
        folder: &CampaignFolder,
        name: &str,
        plan: Plan,
        agents: u32,
        title: String,
    ) -> anyhow::Result<Option<FinishedRun>> {
        match self.take_up(folder, name, &plan, &title).await? {
            LeftRun::Nothing => self.begin_in(folder, name, plan, agents, title).await,
            LeftRun::Made(made) => Ok(Some(*made)),
            LeftRun::EndAsked => Ok(None),
        }
    }

    /// Resumes what an interruption left of the run `name` within `folder`, so that agents deliver
    /// what they hold of it. It counts if its result can be trusted. Nothing else may be asked of
    /// the agents before, since they may still be firing it.
    pub(super) async fn take_up(
        &mut self,
        folder: &CampaignFolder,
        name: &str,
        plan: &Plan,
        title: &str,
    ) -> anyhow::Result<LeftRun> {
        if !self.resumes {
            return Ok(LeftRun::Nothing);
        }
        for path in folder.parts(name) {
            let interrupted = match opened(path).await? {
                Ok(interrupted) => interrupted,
                Err(error) if error.leaves_nothing() => continue,
                Err(error) => return Err(error.into()),
            };
            let Ok(run) = interrupted.planned(plan.clone(), self.force) else {
                if !self.outwait(&interrupted, title).await {
                    return Ok(LeftRun::EndAsked);
                }
                continue;
            };
            let Some(made) = self.host.resume_run(run, interrupted).await? else {
                return Ok(LeftRun::EndAsked);
            };
            if made.is_trusted() || made.ending.is_interrupted {
                return Ok(LeftRun::Made(Box::new(made)));
            }
            self.say(format_args!("{title}: is made anew"));
        }
        Ok(LeftRun::Nothing)
    }

    /// Waits until agents that still fire another plan have stopped: no coordinator renews their
    /// leases. Returns `false` if the end is asked for meanwhile.
    async fn outwait(&mut self, interrupted: &InterruptedRun, title: &str) -> bool {
        let lease = interrupted.lease();
        self.say(format_args!(
            "{title}: agents may still be firing what it was before; waiting until their leases \
             are over, {lease:?}"
        ));
        self.pause(lease).await
    }

    /// Like [`RunSeries::make`], in a new folder `name` within `folder`.
    pub(super) async fn begin_in(
        &mut self,
        folder: &CampaignFolder,
        name: &str,
        plan: Plan,
        agents: u32,
        title: String,
    ) -> anyhow::Result<Option<FinishedRun>> {
        let made = folder.run(name, &plan.masked_text())?;
        self.make(plan, agents, title, Some(made)).await
    }

    /// Whether there are agents for another run: local agents that ended do not come back.
    pub(super) fn is_whole(&self) -> bool {
        self.host.is_whole()
    }

    /// Waits for `duration`; returns `false` if the end is asked for meanwhile.
    pub(super) async fn pause(&mut self, duration: Duration) -> bool {
        self.host.pause(duration).await
    }

    /// Reports progress to the user, unless quiet.
    pub(super) fn say(&self, line: impl Display) {
        terminal::say_unless(self.quiet, line);
    }
}

/// Opens the log on a thread of its own: a long log takes a while, and connected agents must still
/// be served.
async fn opened(path: PathBuf) -> anyhow::Result<Result<InterruptedRun, InterruptedRunError>> {
    tokio::task::spawn_blocking(move || InterruptedRun::open_unfinished(&path))
        .await
        .context("the log of the run before was not read")
}
