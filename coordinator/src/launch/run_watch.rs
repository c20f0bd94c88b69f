//! Watches a run: passes events of the fleet, wishes to stop, and deaths of processes to
//! [`RunCourse`], which decides, and does what it decides.

use super::job_observer::{JobNews, JobObserver};
use super::run_course::{CourseEnd, CourseStep, RunCourse};
use super::stop_wish::StopWishes;
use crate::calibrated_agents::CalibratedAgents;
use crate::fleet::{self, RunEvents};
use crate::local::{BuiltinTarget, ChildDeath, LocalAgents};
use crate::progress::{RunNews, RunView};
use crate::record::{GivenUp, RecordPermit, RecordThread, StorageNews, StorageTrouble};
use control::{FleetTime, Receipt, RunEvent, RunModel, Stop};
use exposition::Exposition;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// How often the displayed figures are brought up to date.
const SHOW_EVERY: Duration = Duration::from_millis(250);

/// Watches a run.
pub(super) struct RunWatch<'a> {
    pub(super) events: RunEvents,
    pub(super) record: &'a RecordThread,
    pub(super) observer: &'a dyn JobObserver,
    pub(super) wishes: &'a mut StopWishes,
    pub(super) agents: Option<&'a mut LocalAgents>,
    /// `None` once it has died.
    pub(super) target: Option<&'a mut BuiltinTarget>,
    /// Where agents' calibrations are remembered, if the agents are on other machines.
    pub(super) calibrated: Option<&'a CalibratedAgents>,
    /// Shows the run to others, if asked for.
    pub(super) exposition: Option<&'a mut Exposition>,
    pub(super) view: RunView,
    pub(super) news: RunNews,
    pub(super) storage_news: StorageNews,
    /// The run before this coordinator took it up.
    pub(super) past: RunModel,
}

/// The inputs that wake the loop.
enum WatchInput<'a> {
    Event(RecordPermit<'a>, RunEvent, Option<Receipt>),
    FleetEnded,
    Wish,
    AgentDied(ChildDeath),
    TargetDied(ChildDeath),
    Tick,
    Deadline,
}

/// A run that is no longer watched.
pub(super) struct WatchedRun {
    pub(super) end: CourseEnd,
    /// Events of its end that are still to be recorded.
    pub(super) last: Vec<RunEvent>,
    /// The events that were not taken. As long as this exists, agents keep what is in them.
    pub(super) events: RunEvents,
    pub(super) storage_news: StorageNews,
    /// Whether the built-in target died.
    pub(super) has_dead_target: bool,
}

impl RunWatch<'_> {
    /// Watches until the run is over or no longer waited for.
    pub(super) async fn until_over(mut self) -> WatchedRun {
        let had_target = self.target.is_some();
        let mut course = match self.agents {
            Some(_) => RunCourse::of_local_agents(fleet::now()),
            None => RunCourse::of_remote_agents(std::mem::take(&mut self.past)),
        };
        let mut ticks = interval(SHOW_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let last = loop {
            let input = tokio::select! {
                input = next_event(self.record, &mut self.events) => input,
                () = self.wishes.next() => WatchInput::Wish,
                death = died_agent(self.agents.as_deref_mut()) => WatchInput::AgentDied(death),
                death = died_target(self.target.as_deref_mut()) => WatchInput::TargetDied(death),
                () = passed(course.deadline()) => WatchInput::Deadline,
                _ = ticks.tick() => WatchInput::Tick,
            };
            match self.take(input, &mut course) {
                CourseStep::GoOn => {}
                CourseStep::Stop(how) => self.events.stop(how).await,
                CourseStep::EndWith(events) => break events,
                CourseStep::End => break Vec::new(),
            }
        };
        WatchedRun {
            end: course.end(),
            last,
            events: self.events,
            storage_news: self.storage_news,
            has_dead_target: had_target && self.target.is_none(),
        }
    }

    /// Passes the input to the course, and tells the user what is new.
    fn take(&mut self, input: WatchInput<'_>, course: &mut RunCourse) -> CourseStep {
        let now = fleet::now();
        match input {
            WatchInput::Event(permit, event, receipt) => {
                let step = course.event(&event, now);
                if let (RunEvent::Assembled { agents }, Some(calibrated)) =
                    (&event, self.calibrated)
                {
                    let kept = calibrated.remember(agents);
                    kept.unwrap_or_else(|why| self.observer.say(why));
                }
                let news = self.news.line(&event, course.run());
                news.into_iter().for_each(|line| self.observer.say(line));
                permit.take(event, receipt);
                step
            }
            WatchInput::FleetEnded => course.fleet_ended(),
            WatchInput::Wish => {
                let step = course.stop(now);
                if step == CourseStep::Stop(Stop::Drain) {
                    self.observer
                        .say("stopping; once more stops at once".to_owned());
                }
                step
            }
            WatchInput::AgentDied(death) => {
                // Before that its death ends the run, and is reported at the end.
                if course.run().is_assembled() {
                    self.observer.say(death.to_string());
                }
                course.agent_died(&death, now)
            }
            WatchInput::TargetDied(death) => {
                self.target = None;
                course.target_died(&death)
            }
            WatchInput::Tick => {
                let live = self.record.live();
                let trouble = self.record.trouble();
                let lost_storage = trouble
                    .as_ref()
                    .filter(|trouble| trouble.given_up == Some(GivenUp::Kept))
                    .and_then(StorageTrouble::end);
                let line = self.storage_news.line(trouble.as_ref());
                line.into_iter().for_each(|line| self.observer.say(line));
                let told = self.exposition.as_mut().and_then(|shown| shown.news());
                told.into_iter()
                    .for_each(|line| self.observer.tell(JobNews::Warned(line)));
                let is_stopping = course.is_stopping();
                let view = self.view.at(
                    course.run(),
                    live,
                    is_stopping,
                    trouble.map(|trouble| trouble.in_short()),
                );
                self.observer.tell(JobNews::RunGoes(Box::new(view)));
                match lost_storage {
                    Some(how) => course.storage_ended(&how, now),
                    None => CourseStep::GoOn,
                }
            }
            WatchInput::Deadline => course.too_late(now),
        }
    }
}

/// Takes an event only if there is room to record it. May be dropped and called again.
async fn next_event<'r>(record: &'r RecordThread, events: &mut RunEvents) -> WatchInput<'r> {
    let permit = record.permit().await;
    match events.next().await {
        Some((event, receipt)) => WatchInput::Event(permit, event, receipt),
        None => WatchInput::FleetEnded,
    }
}

async fn died_agent(agents: Option<&mut LocalAgents>) -> ChildDeath {
    match agents {
        Some(agents) => agents.died().await,
        None => std::future::pending().await,
    }
}

async fn died_target(target: Option<&mut BuiltinTarget>) -> ChildDeath {
    match target {
        Some(target) => target.died().await,
        None => std::future::pending().await,
    }
}

async fn passed(deadline: Option<FleetTime>) {
    match deadline {
        Some(deadline) => sleep(deadline.since(fleet::now())).await,
        None => std::future::pending().await,
    }
}
