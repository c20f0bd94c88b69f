//! What stays from run to run: the fleet with its agents, the built-in target while plans ask for
//! the same one, and signals.

use super::ending::Ending;
use super::watch::Watch;
use super::{Launch, Place, invitation, request};
use crate::exit::Exit;
use crate::fleet::{self, Enrolment, FleetHandle};
use crate::local::{BuiltinTarget, Listening, LocalAgents};
use crate::progress::{Planned, Progress, Scene};
use crate::record::{About, Finished, Keeper};
use crate::run_folder::RunFolder;
use crate::signals::Signals;
use crate::terminal;
use crate::utc::Utc;
use anyhow::Context as _;
use control::RunRequest;
use plan::{Builtin, Plan};
use std::time::Duration;
use tokio::net::TcpListener;

/// A port for agents that is open, and what they know it by.
pub(super) struct Door {
    enrolment: Enrolment,
    listener: TcpListener,
}

/// What stays from run to run. Dropping it stops what was started.
pub(super) struct Crew<'l> {
    launch: &'l Launch,
    signals: Signals,
    fleet: FleetHandle,
    agents: Option<LocalAgents>,
    target: Option<Target>,
    /// Names of the agents of the run before; that they are there is no news.
    known: Vec<String>,
    /// Agents on this machine that ended; they do not come back.
    is_short: bool,
}

struct Target {
    builtin: Builtin,
    process: BuiltinTarget,
    listening: Listening,
}

/// A run to be made.
pub(super) struct Order {
    /// What to do.
    pub(super) plan: Plan,
    /// Its text for the record.
    pub(super) plan_text: String,
    /// How many agents do it.
    pub(super) agents: u32,
    /// What the live view calls it.
    pub(super) title: String,
    /// When it was asked for.
    pub(super) created: Utc,
    /// Where it is recorded.
    pub(super) folder: Option<RunFolder>,
}

/// A run that was made.
pub(super) struct Ran {
    /// How it ended.
    pub(super) ending: Ending,
    /// What is known of it.
    pub(super) finished: Finished,
}

impl Door {
    /// Opens it: what cannot be had here fails before a folder is made.
    pub(super) async fn open(place: &Place) -> anyhow::Result<Door> {
        let enrolment = match place {
            Place::Local(_) => Enrolment::in_memory()?,
            Place::Listen(listening) => Enrolment::open(&listening.state)?,
        };
        Ok(Door {
            enrolment,
            listener: fleet::bind(place.address()).await?,
        })
    }

    /// Lets agents in, and starts those of this machine.
    pub(super) fn crew(self, launch: &Launch, signals: Signals) -> anyhow::Result<Crew<'_>> {
        let fleet = fleet::listen(self.listener, &self.enrolment)?;
        let agents = match &launch.place {
            Place::Local(options) => Some(LocalAgents::start(
                launch.agents,
                fleet.address(),
                self.enrolment.token(),
                options,
            )?),
            Place::Listen(listening) => {
                invitation::give(listening, fleet.address(), self.enrolment.token(), launch)?;
                None
            }
        };
        Ok(Crew {
            launch,
            signals,
            fleet,
            agents,
            target: None,
            known: Vec::new(),
            is_short: false,
        })
    }
}

impl Crew<'_> {
    /// Makes a run; `None` where somebody asked for the end before it began.
    pub(super) async fn run(&mut self, order: Order) -> anyhow::Result<Option<Ran>> {
        let Some(plan) = self.reachable(&order.plan).await? else {
            return Ok(None);
        };
        let scene = Scene::new(
            Planned::of(&plan, order.agents, order.title),
            std::mem::take(&mut self.known),
        );
        let request = self.request(&plan, order.agents).await?;
        let about = About {
            run: request.run,
            plan,
            plan_text: order.plan_text,
            created: order.created,
        };
        let folder = match order.folder {
            Some(folder) if self.launch.histograms_by_agent => {
                Some(folder.with_histograms_by_agent()?)
            }
            folder => folder,
        };
        let keeper = Keeper::start(about, folder).context("cannot start a thread")?;
        let progress = if self.launch.quiet {
            Progress::quiet()
        } else {
            Progress::shown()
        };
        let before = self.target_cpu();
        let events = self.fleet.run(request).await?;
        let mut watch = Watch::new(
            &self.fleet,
            events,
            &keeper,
            &progress,
            &mut self.signals,
            scene,
        );
        watch.agents = self.agents.as_mut();
        watch.target = self.target.as_mut().map(|target| &mut target.process);
        let ending = watch.run().await;
        self.known = watch.names();
        self.is_short |= watch.has_dead_agents();
        let has_target = watch.target.is_some();
        drop(watch);
        if !has_target {
            self.target = None;
        }
        let used = self
            .target_cpu()
            .zip(before)
            .map(|(after, before)| after.saturating_sub(before));
        let finished = keeper
            .finish(ending.state(), ending.notes.clone(), used)
            .await;
        progress.end();
        Ok(Some(Ran { ending, finished }))
    }

    /// On a thread of its own: minting takes a while, and agents at hand go on being heard.
    async fn request(&self, plan: &Plan, agents: u32) -> anyhow::Result<RunRequest> {
        let plan = plan.clone();
        tokio::task::spawn_blocking(move || request::of(&plan, agents))
            .await
            .context("the request for the run was not made")?
    }

    /// CPU time of the built-in target since it was started.
    fn target_cpu(&self) -> Option<Duration> {
        self.target.as_ref()?.process.cpu_time()
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
        if self
            .target
            .as_ref()
            .is_some_and(|target| Some(&target.builtin) != wanted)
            && let Some(target) = self.target.take()
        {
            target.process.stop().await;
        }
        let Some(builtin) = wanted else {
            return Ok(Some(plan.clone()));
        };
        if self.target.is_none() {
            let (process, listening) = tokio::select! {
                started = BuiltinTarget::start(builtin) => started?,
                () = self.signals.next() => return Ok(None),
            };
            self.target = Some(Target {
                builtin: builtin.clone(),
                process,
                listening,
            });
        }
        let listening = &self
            .target
            .as_ref()
            .expect("it was started above")
            .listening;
        let ca_pem = listening.ca_pem.as_deref().map(str::as_bytes);
        Ok(Some(
            plan.clone().with_builtin_at(listening.address, ca_pem),
        ))
    }
}

impl Ran {
    /// Says what went wrong beside the measurement, and how to exit for it: [`Exit::Failed`],
    /// [`Exit::Interrupted`], or
    /// [`Exit::Passed`].
    pub(super) fn report_failures(&self) -> Exit {
        self.ending.problems.iter().for_each(terminal::say);
        self.finished
            .unsaved
            .iter()
            .for_each(|what| terminal::say(format_args!("not saved: {what}")));
        let failed = self.ending.has_failed() || !self.finished.unsaved.is_empty();
        let failed = failed.then_some(Exit::Failed);
        let interrupted = self.ending.is_interrupted.then_some(Exit::Interrupted);
        failed.max(interrupted).unwrap_or(Exit::Passed)
    }
}
