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

/// Runs over one host, and what all of them share.
pub(super) struct RunSeries {
    pub(super) host: RunHost,
    /// The file that all of them are from, for the record.
    pub(super) plan_text: String,
    /// Where they were asked for.
    pub(super) origin: RunOrigin,
    /// An interruption may have left runs.
    pub(super) resumes: bool,
    /// Agents go on where their preflight would refuse a plan.
    pub(super) force: bool,
    /// Only problems are said.
    pub(super) quiet: bool,
}

/// What came of a run that an interruption left.
pub(super) enum LeftRun {
    /// There is none, or none that counts.
    Nothing,
    /// It went on.
    Made(Box<FinishedRun>),
    /// The user asked for the end before it could.
    EndAsked,
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
        let run = PlannedRun {
            origin: self.origin.clone(),
            force: self.force,
            ..PlannedRun::new(plan, self.plan_text.clone(), agents, title)?
        };
        self.host.make_run(run, folder).await
    }

    /// The run of `name` within `folder`: the one that an interruption left, else a new one.
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

    /// Goes on with what an interruption left of the run of `name` within `folder`, so that agents
    /// deliver what they hold of it; it counts if its result can be trusted. Nothing else may be
    /// asked of the agents before, since they may still be firing it.
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

    /// Waits until agents that still fire another plan have stopped: no coordinator grants them a
    /// lease any more. `false` where the user asks for the end meanwhile.
    async fn outwait(&mut self, interrupted: &InterruptedRun, title: &str) -> bool {
        let lease = interrupted.lease();
        self.say(format_args!(
            "{title}: agents may still be firing what it was before; waiting until their leases \
             are over, {lease:?}"
        ));
        self.pause(lease).await
    }

    /// As [`RunSeries::make`], in a new folder of `name` within `folder`.
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

/// On a thread of its own: a long log takes a while, and agents at hand go on being heard.
async fn opened(path: PathBuf) -> anyhow::Result<Result<InterruptedRun, InterruptedRunError>> {
    tokio::task::spawn_blocking(move || InterruptedRun::open_unfinished(&path))
        .await
        .context("the log of the run before was not read")
}
