//! The parts that outlast a single run: the fleet with its agents, and the built-in target as long
//! as plans ask for the same one.

use super::finished_run::FinishedRun;
use super::fleet_tokens::FleetTokens;
use super::job_observer::{JobNews, JobObserver};
use super::join_port::JoinPort;
use super::not_made::NotMade;
use super::run_beginning::RunBeginning;
use super::run_commands::{AroundRun, CommandEnd, RunCommands, RunVariant};
use super::run_ending::RunEnding;
use super::run_request;
use super::run_watch::{RunWatch, WatchedRun};
use super::start_request::{AgentSource, Hosting, JoinOptions};
use super::stop_wish::StopWishes;
use crate::calibrated_agents::CalibratedAgents;
use crate::fleet::{self, FleetHandle, RunEvents};
use crate::local::{BuiltinTarget, LocalAgents, TargetAddress};
use crate::planned_run::PlannedRun;
use crate::progress::{RunNews, RunView};
use crate::quick::in_words_of;
use crate::record::{FinishedRecord, FinishingRecord, RecordRest, RecordThread, StorageNews};
use crate::token_file;
use anyhow::Context as _;
use control::RunRequest;
use exposition::Exposition;
use plan::{Builtin, Campaign, Plan};
use run_folder::{FolderError, RunFolder, RunOrigin};
use std::time::Duration;

/// How often to check whether the end of a record is waiting for room on the disk.
const STORAGE_NEWS_EVERY: Duration = Duration::from_millis(250);

/// How long to wait for agents on other machines if no person sees that they are missing, unless
/// the plan sets a limit: a CI job must not wait forever.
const UNWATCHED_JOIN_MAX: Duration = Duration::from_secs(300);

/// The parts that outlast a single run. Dropping it stops everything it started.
pub(super) struct RunHost<'r> {
    observer: &'r dyn JobObserver,
    wishes: StopWishes,
    histograms_by_agent: bool,
    /// Shows runs to others, if asked for.
    exposition: Option<Exposition>,
    fleet: FleetHandle,
    agents: Option<LocalAgents>,
    /// Where agents' calibrations are remembered, if the agents are on other machines.
    calibrated: Option<CalibratedAgents>,
    target: Option<HostedTarget>,
    /// Names of the previous run's agents; that they are still there is not news.
    known_agents: Vec<String>,
    /// What the user wants done around each run.
    commands: RunCommands,
    /// The variant that the next run is of.
    variant: RunVariant,
    /// The step of a search that the next run makes, with the search's state.
    search: Option<String>,
    /// Whether agents on this machine have ended; they do not come back.
    is_short: bool,
    /// Whether the end was asked for between two runs.
    is_ended: bool,
    /// Whether the user's command after a run was cut short by that.
    is_after_cut: bool,
}

struct HostedTarget {
    builtin: Builtin,
    process: BuiltinTarget,
    address: TargetAddress,
}

impl<'r> RunHost<'r> {
    /// Lets agents in, and starts those of this machine.
    pub(super) fn start(
        port: JoinPort,
        exposition: Option<Exposition>,
        hosting: &Hosting,
        observer: &'r dyn JobObserver,
        wishes: StopWishes,
    ) -> anyhow::Result<RunHost<'r>> {
        let fleet = fleet::listen(port.listener, &port.enrolment)?;
        let address = fleet.address();
        let token = port.enrolment.token();
        if let AgentSource::Remote(JoinOptions {
            token_file: Some(file),
            ..
        }) = &hosting.source
        {
            token_file::write(file, token)
                .with_context(|| format!("cannot write the token into {}", file.display()))?;
        }
        observer.tell(JobNews::Listening { address, token });
        let (agents, calibrated) = match &hosting.source {
            AgentSource::Local(options) => {
                let agents = LocalAgents::start(hosting.agents, address, token, options)?;
                (Some(agents), None)
            }
            AgentSource::Remote(options) => (None, Some(CalibratedAgents::new(&options.state))),
        };
        Ok(RunHost {
            observer,
            wishes,
            histograms_by_agent: hosting.histograms_by_agent,
            exposition,
            fleet,
            agents,
            calibrated,
            target: None,
            known_agents: Vec::new(),
            commands: hosting.commands.clone(),
            variant: RunVariant {
                name: Campaign::BASE.to_owned(),
                repeat: 1,
            },
            search: None,
            is_short: false,
            is_ended: false,
            is_after_cut: false,
        })
    }

    /// Shows `step` of a search beside the runs from now on.
    pub(super) fn show_search(&mut self, step: Option<String>) {
        self.search = step;
    }

    /// The runs from now on are of this variant.
    pub(super) fn begin_variant(&mut self, variant: RunVariant) {
        self.variant = variant;
    }

    /// Makes a run, and runs the user's commands around it.
    pub(super) async fn make(
        &mut self,
        mut run: PlannedRun,
        beginning: RunBeginning,
    ) -> Result<FinishedRun, NotMade> {
        if self.is_ended {
            return Err(NotMade::Stopped);
        }
        run.plan = self.reachable(&run.plan).await?;
        if let (RunBeginning::New(_), Some(listen)) = (&beginning, &mut run.origin.listen) {
            // Port 0 on the command line would be a different port when the run is resumed.
            *listen = self.fleet.address();
        }
        let around = self
            .commands
            .around(&run, &self.variant, beginning.folder());
        self.prepare(&around, &beginning).await?;
        let is_new = matches!(beginning, RunBeginning::New(_));
        let mut made = self.make_prepared(run, beginning).await;
        if made.is_err() && !is_new {
            // The next coordinator that takes it up makes it, and ends it.
            return made;
        }
        match (around.after(&mut self.wishes).await, &mut made) {
            (Ok(CommandEnd::Interrupted), _) => (self.is_ended, self.is_after_cut) = (true, true),
            (Ok(CommandEnd::Well), _) => {}
            (Err(error), Ok(made)) => made.ending.problems.push(error.to_string()),
            (Err(error), Err(NotMade::Stopped)) => return Err(error.into()),
            (Err(error), Err(_)) => self.observer.tell(JobNews::Warned(error.to_string())),
        }
        made
    }

    /// Makes a run, for which the user's command before it has ended.
    async fn make_prepared(
        &mut self,
        run: PlannedRun,
        beginning: RunBeginning,
    ) -> Result<FinishedRun, NotMade> {
        let origin = run.origin.clone();
        let view = RunView::new(&run, self.search.clone());
        let news = RunNews::new(run.agents, std::mem::take(&mut self.known_agents));
        let past = beginning.past();
        let has_started = past.start_at().is_some();
        let plan = run.plan.clone();
        let mut tokens = match has_started {
            true => None,
            false => Some(self.fetch_tokens(&plan).await?),
        };
        let mut request = self.request(run.clone(), has_started).await?;
        request.tokens = tokens.as_mut().map_or(Vec::new(), FleetTokens::take_first);
        let cpu_before = self.target_cpu();
        let (record, events) = self.begin(run, beginning, request).await?;
        let sender = self.fleet.tokens();
        let tokens = match tokens {
            Some(tokens) => tokens.pass_on(events.run(), sender),
            None => FleetTokens::fetch_later(plan, events.run(), sender),
        };
        self.observer.tell(JobNews::RunBegan);
        let watch = RunWatch {
            events,
            record: &record,
            observer: self.observer,
            wishes: &mut self.wishes,
            agents: self.agents.as_mut(),
            target: self.target.as_mut().map(|target| &mut target.process),
            calibrated: self.calibrated.as_ref(),
            exposition: self.exposition.as_mut(),
            view,
            news,
            past,
            storage_news: StorageNews::default(),
        };
        let mut watched = watch.until_over().await;
        // Nothing is left to be renewed for.
        drop(tokens);
        let last = std::mem::take(&mut watched.last);
        let mut storage_news = std::mem::take(&mut watched.storage_news);
        let (ending, events) = self.learn(watched, &origin);
        let cpu = self.target_cpu().zip(cpu_before);
        let rest = RecordRest {
            events: last,
            notes: ending.notes.clone(),
            server_cpu: cpu.map(|(after, before)| after.saturating_sub(before)),
            state: ending.state(),
        };
        let finishing = record.finish(rest);
        if ending.outcome.is_none() && ending.is_interrupted {
            // The user who did not wait for the agents does not wait for the disk.
            finishing.give_up();
        }
        let record = self.until_stored(finishing, &mut storage_news).await;
        self.until_told().await;
        leave(events, record.is_stored);
        self.observer.tell(JobNews::RunEnded);
        Ok(FinishedRun { ending, record })
    }

    /// Runs the user's command before the run; it is not run again for a run that another
    /// coordinator began.
    async fn prepare(
        &mut self,
        around: &AroundRun,
        beginning: &RunBeginning,
    ) -> Result<(), NotMade> {
        if let RunBeginning::New(_) = beginning {
            let end = around.before(&mut self.wishes).await?;
            self.is_ended |= end == CommandEnd::Interrupted;
        }
        match self.is_ended {
            true => Err(NotMade::Stopped),
            false => Ok(()),
        }
    }

    /// Fetches the tokens that all agents have in common, unless the end is asked for.
    async fn fetch_tokens(&mut self, plan: &Plan) -> Result<FleetTokens, NotMade> {
        tokio::select! {
            fetched = FleetTokens::fetch(plan) => Ok(fetched?),
            () = self.wishes.next() => {
                self.is_ended = true;
                Err(NotMade::Stopped)
            }
        }
    }

    /// What the fleet is asked. Missing agents are waited for without end only if a person can see
    /// it.
    async fn request(&self, run: PlannedRun, has_started: bool) -> anyhow::Result<RunRequest> {
        // On a thread of its own: minting takes a while, and agents at hand go on being heard.
        let request = tokio::task::spawn_blocking(move || match has_started {
            true => Ok(run_request::without_files(&run)),
            false => run_request::new(&run),
        });
        let request = request
            .await
            .context("the request for the run was not made")?;
        let mut request = request?;
        if self.agents.is_none() && !self.observer.is_watched() {
            let bound = &mut request.rules.join_timeout;
            *bound = bound.or(Some(UNWATCHED_JOIN_MAX));
        }
        Ok(request)
    }

    /// Starts the run's record, then the run itself.
    async fn begin(
        &mut self,
        run: PlannedRun,
        beginning: RunBeginning,
        request: RunRequest,
    ) -> anyhow::Result<(RecordThread, RunEvents)> {
        let receipts = self.fleet.receipts();
        let latest = self.exposition.as_ref().map(Exposition::latest);
        match beginning {
            RunBeginning::New(folder) => {
                let folder = self.prepared(folder)?;
                let record = RecordThread::start(run, folder, receipts, latest)?;
                Ok((record, self.fleet.run(request).await?))
            }
            RunBeginning::Interrupted(before) => {
                let (past, left) = before.take_up();
                let record = RecordThread::resume(left, run, receipts, latest)?;
                let events = self.fleet.resume(request, past).await?;
                Ok((record, events))
            }
        }
    }

    /// Whether there are agents for another run: local agents that ended do not come back.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_short
    }

    /// Whether the user's command after a run did not come to its end, since the end was asked for.
    pub(super) fn is_after_cut(&self) -> bool {
        self.is_after_cut
    }

    /// Waits for `duration`; returns `false` if the end is asked for meanwhile, or was before.
    pub(super) async fn pause(&mut self, duration: Duration) -> bool {
        if self.is_ended {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep(duration) => true,
            () = self.wishes.next() => false,
        }
    }

    /// Lets the agents go and ends what was started.
    pub(super) async fn dismiss(self) {
        if let Some(exposition) = self.exposition {
            exposition.close().await;
        }
        self.fleet.shut_down().await;
        if let Some(agents) = self.agents {
            agents.stop().await;
        }
        if let Some(target) = self.target {
            target.process.stop().await;
        }
    }

    /// Returns the plan with the address of what it loads. A built-in target is started unless the
    /// previous run's will do.
    async fn reachable(&mut self, plan: &Plan) -> Result<Plan, NotMade> {
        let wanted = plan.target().builtin.as_ref();
        self.stop_other_target(wanted).await;
        let Some(builtin) = wanted else {
            return Ok(plan.clone());
        };
        let target = match self.target.take() {
            Some(target) => target,
            None => tokio::select! {
                started = HostedTarget::start(builtin) => started?,
                () = self.wishes.next() => return Err(NotMade::Stopped),
            },
        };
        let target = self.target.insert(target);
        let ca_pem = target.address.ca_pem.as_deref().map(str::as_bytes);
        Ok(plan.clone().with_builtin_at(target.address.address, ca_pem))
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

    /// CPU time that the built-in target has used since it was started.
    fn target_cpu(&self) -> Option<Duration> {
        self.target.as_ref()?.process.cpu_time()
    }

    /// Remembers what a run leaves behind for the next one.
    fn learn(&mut self, watched: WatchedRun, origin: &RunOrigin) -> (RunEnding, RunEvents) {
        self.known_agents = watched.end.agents;
        self.is_short |= watched.end.has_dead_agents;
        if watched.has_dead_target {
            self.target = None;
        }
        let mut ending = watched.end.ending;
        for problem in &mut ending.problems {
            *problem = in_words_of(origin, problem);
        }
        (ending, watched.events)
    }

    /// Waits until other programs have the run's last figures, unless the end is asked for.
    async fn until_told(&mut self) {
        let Some(exposition) = &mut self.exposition else {
            return;
        };
        tokio::select! {
            () = exposition.flush() => {}
            () = self.wishes.next() => self.is_ended = true,
        }
        while let Some(line) = exposition.news() {
            self.observer.tell(JobNews::Warned(line));
        }
    }

    /// Waits until the record is stored, unless the end is asked for.
    async fn until_stored(
        &mut self,
        mut record: FinishingRecord,
        news: &mut StorageNews,
    ) -> FinishedRecord {
        let mut ticks = tokio::time::interval(STORAGE_NEWS_EVERY);
        loop {
            tokio::select! {
                finished = record.finished() => {
                    // A wait for room is over by now, or is reported with what was not saved.
                    return finished;
                }
                () = self.wishes.next() => {
                    self.is_ended = true;
                    record.give_up();
                }
                _ = ticks.tick() => {
                    let line = news.line(record.trouble().as_ref());
                    line.into_iter().for_each(|line| self.observer.say(line));
                }
            }
        }
    }
}

/// What the log did not take stays with the agents, which may deliver it to a coordinator that goes
/// on with the run.
fn leave(events: RunEvents, is_stored: bool) {
    if is_stored {
        drop(events);
    } else {
        events.leave();
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
