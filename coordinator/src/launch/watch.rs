//! Watches a run: events of the fleet, signals, and processes that die, until there is nothing left
//! to wait for.

use super::ending::Ending;
use crate::fleet::{FleetHandle, RunEvents};
use crate::local::{BuiltinTarget, Died, LocalAgents, Who};
use crate::progress::{Progress, Scene};
use crate::record::{Keeper, Room};
use crate::signals::Signals;
use control::{RunEvent, RunOutcome, Stop};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// How often the figures that are shown are brought up to date.
const SHOW_EVERY: Duration = Duration::from_millis(250);

/// Local agents have joined by then; they need less than a second, where the machine has one to
/// spare.
const LOCAL_JOIN_MAX: Duration = Duration::from_secs(30);

/// A run that was stopped at once has ended by then, or is left alone: its agents' leases end it.
const STOP_NOW_MAX: Duration = Duration::from_secs(3);

/// Watches a run.
pub(super) struct Watch<'a> {
    fleet: &'a FleetHandle,
    events: RunEvents,
    keeper: &'a Keeper,
    progress: &'a Progress,
    signals: &'a mut Signals,
    scene: Scene,
    pub(super) agents: Option<&'a mut LocalAgents>,
    /// Gone when it died.
    pub(super) target: Option<&'a mut BuiltinTarget>,
    /// When it is no longer waited for whatever comes next.
    deadline: Option<Instant>,
    stopping: Stopping,
    /// Local agents whose process has ended, by index, and how. They cannot come back.
    dead: BTreeMap<u32, String>,
    has_dead_agents: bool,
    /// By agent, the interval after the last one that came.
    next_intervals: BTreeMap<u32, u32>,
    ending: Ending,
}

/// How urgently the run is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stopping {
    NotAsked,
    Draining,
    AtOnce,
}

/// What makes the loop turn.
enum Turn<'a> {
    Event(Room<'a>, RunEvent),
    FleetEnded,
    Signal,
    AgentDied(Died),
    TargetDied(Died),
    Tick,
    Deadline,
}

/// What to do about a turn.
enum Step {
    GoOn,
    Stop(Stop),
    /// Record these, and end.
    EndWith(Vec<RunEvent>),
    End,
}

impl<'a> Watch<'a> {
    /// Watches the run of `events`.
    pub(super) fn new(
        fleet: &'a FleetHandle,
        events: RunEvents,
        keeper: &'a Keeper,
        progress: &'a Progress,
        signals: &'a mut Signals,
        scene: Scene,
    ) -> Watch<'a> {
        Watch {
            fleet,
            events,
            keeper,
            progress,
            signals,
            scene,
            agents: None,
            target: None,
            deadline: None,
            stopping: Stopping::NotAsked,
            dead: BTreeMap::new(),
            has_dead_agents: false,
            next_intervals: BTreeMap::new(),
            ending: Ending::default(),
        }
    }

    /// Until the run is over, or is not waited for any longer.
    pub(super) async fn run(&mut self) -> Ending {
        self.deadline = self
            .agents
            .is_some()
            .then(|| Instant::now() + LOCAL_JOIN_MAX);
        let mut ticks = interval(SHOW_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let turn = tokio::select! {
                turn = next_event(self.keeper, &mut self.events) => turn,
                () = self.signals.next() => Turn::Signal,
                died = died_agent(self.agents.as_deref_mut()) => Turn::AgentDied(died),
                died = died_target(self.target.as_deref_mut()) => Turn::TargetDied(died),
                () = passed(self.deadline) => Turn::Deadline,
                _ = ticks.tick() => Turn::Tick,
            };
            match self.step(turn) {
                Step::GoOn => {}
                Step::Stop(how) => self.fleet.stop(how).await,
                Step::EndWith(events) => {
                    for event in events {
                        self.keeper.room().await.take(event);
                    }
                    return std::mem::take(&mut self.ending);
                }
                Step::End => return std::mem::take(&mut self.ending),
            }
        }
    }

    /// Names of the agents that are at hand.
    pub(super) fn names(&self) -> Vec<String> {
        self.scene.names()
    }

    /// Whether an agent of this machine ended.
    pub(super) fn has_dead_agents(&self) -> bool {
        self.has_dead_agents
    }

    fn step(&mut self, turn: Turn<'_>) -> Step {
        match turn {
            Turn::Event(room, event) => self.event(room, event),
            Turn::FleetEnded => {
                self.ending
                    .fail("the control plane ended before the run did".to_owned());
                Step::End
            }
            Turn::Signal => self.signal(),
            Turn::AgentDied(died) => self.agent_died(&died),
            Turn::TargetDied(died) => {
                self.target = None;
                self.ending.fail(died.to_string());
                self.stop(Stopping::Draining)
            }
            Turn::Tick => {
                self.scene.set_live(self.keeper.live());
                self.progress.show(&self.scene);
                Step::GoOn
            }
            Turn::Deadline => self.too_late(),
        }
    }

    fn event(&mut self, room: Room<'_>, event: RunEvent) -> Step {
        if let Some(news) = self.scene.take(&event, std::time::Instant::now()) {
            self.progress.say(news);
        }
        let mut step = Step::GoOn;
        match &event {
            // The deadline to join is met; one to end stays.
            RunEvent::Assembled { .. } => {
                self.deadline = self.deadline.filter(|_| self.stopping == Stopping::AtOnce)
            }
            RunEvent::Interval {
                agent, interval, ..
            } => {
                let next = self.next_intervals.entry(*agent).or_default();
                *next = interval.saturating_add(1).max(*next);
            }
            RunEvent::Began { .. } => self.ending.has_begun = true,
            RunEvent::Problem { agent, problem } => {
                let name = self.scene.name(*agent);
                self.ending
                    .problems
                    .push(format!("agent {name} cannot run the plan: {problem}"));
            }
            RunEvent::Lost { agent, why, .. } if !self.ending.has_begun => {
                let name = self.scene.name(*agent);
                self.ending
                    .problems
                    .push(format!("agent {name} was lost before the start: {why}"));
            }
            RunEvent::Done { outcome } => {
                self.ending.outcome = Some(*outcome);
                step = Step::End;
            }
            RunEvent::Gone { .. } | RunEvent::Ended { .. } => {
                step = self.unless_only_dead_are_awaited()
            }
            _ => {}
        }
        room.take(event);
        step
    }

    /// The first signal lets what has begun finish, the second does not, the third is not waited
    /// for.
    fn signal(&mut self) -> Step {
        self.ending.is_interrupted = true;
        match self.stopping {
            Stopping::NotAsked => {
                self.progress.say("stopping; once more stops at once");
                self.stop(Stopping::Draining)
            }
            Stopping::Draining => self.stop(Stopping::AtOnce),
            Stopping::AtOnce => Step::End,
        }
    }

    /// Without one of its agents a local run never begins; once it goes on, the loss is the fleet's
    /// to tell.
    fn agent_died(&mut self, died: &Died) -> Step {
        self.has_dead_agents = true;
        if self.scene.is_assembled() {
            self.progress.say(died.to_string());
            self.ending.notes.push(died.to_string());
            if let Who::Agent(name) = &died.who {
                let index = self.scene.index(name);
                self.dead.extend(
                    index.map(|index| (index, format!("its process ended with {}", died.status))),
                );
            }
            return self.unless_only_dead_are_awaited();
        }
        self.ending.fail(died.to_string());
        self.stop(Stopping::AtOnce)
    }

    /// The fleet gives an agent half a minute to come back; one whose process has ended, and of
    /// which everything has been read, will not.
    fn unless_only_dead_are_awaited(&mut self) -> Step {
        let is_awaited_in_vain =
            |index: &u32| self.scene.is_gone(*index) && self.dead.contains_key(index);
        let awaited = self.scene.unfinished();
        if !self.ending.has_begun || awaited.is_empty() || !awaited.iter().all(is_awaited_in_vain) {
            return Step::GoOn;
        }
        self.ending.outcome = Some(RunOutcome::Ran);
        let lost = |(&agent, why): (&u32, &String)| {
            let next_interval = self.next_intervals.get(&agent).copied().unwrap_or(0);
            RunEvent::Lost {
                agent,
                next_interval,
                why: why.clone(),
            }
        };
        let lost = self
            .dead
            .iter()
            .filter(|(index, _)| awaited.contains(index))
            .map(lost)
            .collect();
        Step::EndWith(lost)
    }

    fn too_late(&mut self) -> Step {
        if self.stopping == Stopping::AtOnce {
            return Step::End;
        }
        let seconds = LOCAL_JOIN_MAX.as_secs();
        self.ending.fail(format!(
            "the local agents have not all joined within {seconds} s"
        ));
        self.stop(Stopping::AtOnce)
    }

    fn stop(&mut self, urgency: Stopping) -> Step {
        self.stopping = self.stopping.max(urgency);
        self.scene.stop();
        if urgency == Stopping::AtOnce {
            self.deadline = Some(Instant::now() + STOP_NOW_MAX);
            return Step::Stop(Stop::Now);
        }
        Step::Stop(Stop::Drain)
    }
}

/// An event is taken only where there is room to record it; may be dropped and called again.
async fn next_event<'k>(keeper: &'k Keeper, events: &mut RunEvents) -> Turn<'k> {
    let room = keeper.room().await;
    match events.next().await {
        Some(event) => Turn::Event(room, event),
        None => Turn::FleetEnded,
    }
}

async fn died_agent(agents: Option<&mut LocalAgents>) -> Died {
    match agents {
        Some(agents) => agents.died().await,
        None => std::future::pending().await,
    }
}

async fn died_target(target: Option<&mut BuiltinTarget>) -> Died {
    match target {
        Some(target) => target.died().await,
        None => std::future::pending().await,
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
