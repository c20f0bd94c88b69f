//! What stays from run to run: the fleet with its agents, the built-in target while plans ask for
//! the same one, and signals.

use super::finished_run::FinishedRun;
use super::join_port::JoinPort;
use super::run_ending::RunEnding;
use super::run_watch::{RunWatch, WatchedRun};
use super::start_request::{AgentSource, Hosting};
use super::{invitation, run_request};
use crate::fleet::{self, FleetHandle};
use crate::local::{BuiltinTarget, LocalAgents, TargetAddress};
use crate::planned_run::PlannedRun;
use crate::progress::{Progress, RunNews, RunView};
use crate::record::RecordThread;
use crate::run_folder::{FolderError, RunFolder};
use crate::signals::Signals;
use anyhow::Context as _;
use control::RunRequest;
use plan::{Builtin, Plan};
use std::time::Duration;

/// What stays from run to run. Dropping it stops what was started.
pub(super) struct RunHost {
    histograms_by_agent: bool,
    quiet: bool,
    signals: Signals,
    fleet: FleetHandle,
    agents: Option<LocalAgents>,
    target: Option<HostedTarget>,
    /// Names of the agents of the run before; that they are there is no news.
    known_agents: Vec<String>,
    /// Agents on this machine that ended; they do not come back.
    is_short: bool,
}

struct HostedTarget {
    builtin: Builtin,
    process: BuiltinTarget,
    address: TargetAddress,
}

impl RunHost {
    /// Lets agents in, and starts those of this machine.
    pub(super) fn start(
        port: JoinPort,
        hosting: &Hosting,
        signals: Signals,
    ) -> anyhow::Result<RunHost> {
        let fleet = fleet::listen(port.listener, &port.enrolment)?;
        let address = fleet.address();
        let token = port.enrolment.token();
        let count = hosting.agents;
        let agents = match &hosting.source {
            AgentSource::Local(options) => {
                Some(LocalAgents::start(count, address, token, options)?)
            }
            AgentSource::Remote(options) => {
                invitation::give(options, address, token, count, hosting.quiet)?;
                None
            }
        };
        Ok(RunHost {
            histograms_by_agent: hosting.histograms_by_agent,
            quiet: hosting.quiet,
            signals,
            fleet,
            agents,
            target: None,
            known_agents: Vec::new(),
            is_short: false,
        })
    }

    /// Makes a run and records it in `folder`, if there is one; `None` where somebody asked for the
    /// end before it began.
    pub(super) async fn make_run(
        &mut self,
        mut run: PlannedRun,
        folder: Option<RunFolder>,
    ) -> anyhow::Result<Option<FinishedRun>> {
        let Some(plan) = self.reachable(&run.plan).await? else {
            return Ok(None);
        };
        run.plan = plan;
        let view = RunView::new(&run);
        let news = RunNews::new(run.agents, std::mem::take(&mut self.known_agents));
        let request = request_for(run.clone()).await?;
        let folder = self.prepared(folder)?;
        let record = RecordThread::start(run, folder).context("cannot start a thread")?;
        let progress = if self.quiet {
            Progress::quiet()
        } else {
            Progress::shown()
        };
        let cpu_before = self.target_cpu();
        let events = self.fleet.run(request).await?;
        let watch = RunWatch {
            fleet: &self.fleet,
            events,
            record: &record,
            progress: &progress,
            signals: &mut self.signals,
            agents: self.agents.as_mut(),
            target: self.target.as_mut().map(|target| &mut target.process),
            view,
            news,
        };
        let watched = watch.until_over().await;
        let ending = self.learn(watched);
        let cpu_used = self
            .target_cpu()
            .zip(cpu_before)
            .map(|(after, before)| after.saturating_sub(before));
        let notes = ending.notes.clone();
        let record = record.finish(ending.state(), notes, cpu_used).await;
        progress.end();
        Ok(Some(FinishedRun { ending, record }))
    }

    /// Whether there are agents for another run: local ones that ended do not come back.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_short
    }

    /// Waits so long; `false` where somebody asked for the end meanwhile.
    pub(super) async fn pause(&mut self, duration: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(duration) => true,
            () = self.signals.next() => false,
        }
    }

    /// Lets the agents go and ends what was started.
    pub(super) async fn dismiss(self) {
        self.fleet.shut_down().await;
        if let Some(agents) = self.agents {
            agents.stop().await;
        }
        if let Some(target) = self.target {
            target.process.stop().await;
        }
    }

    /// The plan against what it shall load: a built-in target is started unless the one of the run
    /// before will do, and named in it. `None` where somebody asked for the end meanwhile.
    async fn reachable(&mut self, plan: &Plan) -> anyhow::Result<Option<Plan>> {
        let wanted = plan.target().builtin.as_ref();
        self.stop_other_target(wanted).await;
        let Some(builtin) = wanted else {
            return Ok(Some(plan.clone()));
        };
        let target = match self.target.take() {
            Some(target) => target,
            None => tokio::select! {
                started = HostedTarget::start(builtin) => started?,
                () = self.signals.next() => return Ok(None),
            },
        };
        let target = self.target.insert(target);
        let ca_pem = target.address.ca_pem.as_deref().map(str::as_bytes);
        Ok(Some(
            plan.clone().with_builtin_at(target.address.address, ca_pem),
        ))
    }

    async fn stop_other_target(&mut self, wanted: Option<&Builtin>) {
        let is_other = |target: &mut HostedTarget| Some(&target.builtin) != wanted;
        if let Some(target) = self.target.take_if(is_other) {
            target.process.stop().await;
        }
    }

    fn prepared(&self, folder: Option<RunFolder>) -> Result<Option<RunFolder>, FolderError> {
        if !self.histograms_by_agent {
            return Ok(folder);
        }
        folder.map(RunFolder::with_histograms_by_agent).transpose()
    }

    /// CPU time of the built-in target since it was started.
    fn target_cpu(&self) -> Option<Duration> {
        self.target.as_ref()?.process.cpu_time()
    }

    /// Remembers what a run leaves behind for the next one.
    fn learn(&mut self, watched: WatchedRun) -> RunEnding {
        self.known_agents = watched.end.agents;
        self.is_short |= watched.end.has_dead_agents;
        if watched.has_dead_target {
            self.target = None;
        }
        watched.end.ending
    }
}

impl HostedTarget {
    async fn start(builtin: &Builtin) -> anyhow::Result<HostedTarget> {
        let (process, address) = BuiltinTarget::start(builtin).await?;
        Ok(HostedTarget {
            builtin: builtin.clone(),
            process,
            address,
        })
    }
}

/// On a thread of its own: minting takes a while, and agents at hand go on being heard.
async fn request_for(run: PlannedRun) -> anyhow::Result<RunRequest> {
    tokio::task::spawn_blocking(move || run_request::new(&run))
        .await
        .context("the request for the run was not made")?
}
