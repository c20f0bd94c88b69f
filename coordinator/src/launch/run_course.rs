//! Decides when a run ends, and how, from its events, wishes to stop, and processes that die.
//! Pure: time is an argument, and the answer says what to do.

use super::run_ending::RunEnding;
use crate::local::{ChildDeath, ChildRole};
use control::{FleetTime, RunAgent, RunEvent, RunModel, RunOutcome, Stop};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long local agents may take to join. On a machine that is not busy they need less than a
/// second.
const LOCAL_JOIN_MAX: Duration = Duration::from_secs(30);

/// How long a run that was stopped at once is waited for. Then it is left alone: its agents' leases
/// end it.
const STOP_NOW_MAX: Duration = Duration::from_secs(3);

/// How a run goes, and what ends it.
#[derive(Debug)]
pub(super) struct RunCourse {
    run: RunModel,
    /// Whether another coordinator began it, and its agents may have fired.
    is_taken_up: bool,
    stopping: Stopping,
    /// When to stop waiting, whatever happens next.
    deadline: Option<FleetTime>,
    /// Local agents whose process has ended, by index, with how it ended. They cannot come back.
    dead: BTreeMap<u32, String>,
    has_dead_agents: bool,
    ending: RunEnding,
    /// Why agents did not start. These are problems only if no agent began.
    before_start: Vec<String>,
}

/// How urgently the run is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stopping {
    NotAsked,
    Draining,
    AtOnce,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CourseStep {
    GoOn,
    /// Ask the fleet to stop.
    Stop(Stop),
    /// Record these, and end.
    EndWith(Vec<RunEvent>),
    End,
}

/// The outcome of a run that is over, apart from its record.
#[derive(Debug)]
pub(super) struct CourseEnd {
    pub(super) ending: RunEnding,
    /// Names of the run's agents and monitors.
    pub(super) agents: Vec<String>,
    /// Whether an agent of this machine ended.
    pub(super) has_dead_agents: bool,
}

impl RunCourse {
    /// A run by agents of this machine, before its first event.
    pub(super) fn of_local_agents(now: FleetTime) -> RunCourse {
        RunCourse {
            deadline: Some(now.after(LOCAL_JOIN_MAX)),
            ..RunCourse::of_remote_agents(RunModel::default())
        }
    }

    /// A run by agents that are waited for as long as it takes; `past` is what another coordinator
    /// left of it.
    pub(super) fn of_remote_agents(past: RunModel) -> RunCourse {
        RunCourse {
            is_taken_up: past.start_at().is_some(),
            run: past,
            stopping: Stopping::NotAsked,
            deadline: None,
            dead: BTreeMap::new(),
            has_dead_agents: false,
            ending: RunEnding::default(),
            before_start: Vec::new(),
        }
    }

    /// The run, as its events tell it.
    pub(super) fn run(&self) -> &RunModel {
        &self.run
    }

    /// Whether it is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping != Stopping::NotAsked
    }

    /// When [`RunCourse::too_late`] is due.
    pub(super) fn deadline(&self) -> Option<FleetTime> {
        self.deadline
    }

    /// Ends the course, and returns the run's outcome.
    pub(super) fn end(mut self) -> CourseEnd {
        self.ending.has_begun = self.run.has_begun();
        self.ending.was_stopped = self.is_taken_up && self.run.was_stopped();
        if !self.ending.has_begun {
            self.ending.problems.append(&mut self.before_start);
        }
        CourseEnd {
            ending: self.ending,
            agents: self.run.names(),
            has_dead_agents: self.has_dead_agents,
        }
    }

    /// Handles an event from the fleet.
    pub(super) fn event(&mut self, event: &RunEvent, now: FleetTime) -> CourseStep {
        self.run.take(event, now);
        match event {
            // The deadline for joining is met; a deadline for ending stays.
            RunEvent::Assembled { .. } => {
                self.deadline = self.deadline.filter(|_| self.stopping == Stopping::AtOnce);
            }
            RunEvent::Problem { agent, problem } => {
                self.agent_failed(*agent, "cannot run the plan", problem);
            }
            RunEvent::Lost { agent, why, .. } if !self.run.has_begun() => {
                self.agent_failed(*agent, "was lost before the start", why);
            }
            RunEvent::Done { outcome } => {
                self.ending.outcome = Some(*outcome);
                self.explain(*outcome);
                return CourseStep::End;
            }
            RunEvent::Gone { .. } | RunEvent::Ended { .. } => {
                return self.unless_only_dead_are_awaited();
            }
            _ => {}
        }
        CourseStep::GoOn
    }

    /// Handles the end of storage; `how` says what happened. Agents keep what is not stored, and
    /// without an acknowledgement they would never end.
    pub(super) fn storage_ended(&mut self, how: &str, now: FleetTime) -> CourseStep {
        if self.stopping == Stopping::AtOnce {
            return CourseStep::GoOn;
        }
        self.ending.fail(format!("the run was ended: {how}"));
        self.stop_at_once(now)
    }

    /// Handles the end of the events if the last one was not [`RunEvent::Done`].
    pub(super) fn fleet_ended(&mut self) -> CourseStep {
        let problem = "the control plane ended before the run did";
        self.ending.fail(problem.to_owned());
        CourseStep::End
    }

    /// Handles a wish to stop. The first lets what has begun finish, the second does not, and after
    /// the third the run is not waited for.
    pub(super) fn stop(&mut self, now: FleetTime) -> CourseStep {
        self.ending.is_interrupted = true;
        match self.stopping {
            Stopping::NotAsked => self.drain(),
            Stopping::Draining => self.stop_at_once(now),
            Stopping::AtOnce => CourseStep::End,
        }
    }

    /// Handles the end of a local agent's process. A local run never begins without one of its
    /// agents; later, the fleet reports the loss.
    pub(super) fn agent_died(&mut self, death: &ChildDeath, now: FleetTime) -> CourseStep {
        self.has_dead_agents = true;
        if !self.run.is_assembled() {
            self.ending.fail(death.to_string());
            return self.stop_at_once(now);
        }
        self.ending.notes.push(death.to_string());
        if let ChildRole::Agent(name) = &death.role
            && let Some(index) = self.run.index(name)
        {
            let how = format!("its process ended with {}", death.status);
            self.dead.insert(index, how);
        }
        self.unless_only_dead_are_awaited()
    }

    /// Handles the end of the built-in target: nothing answers any more.
    pub(super) fn target_died(&mut self, death: &ChildDeath) -> CourseStep {
        self.ending.fail(death.to_string());
        self.drain()
    }

    /// Handles the deadline having passed.
    pub(super) fn too_late(&mut self, now: FleetTime) -> CourseStep {
        if self.stopping == Stopping::AtOnce {
            return CourseStep::End;
        }
        let seconds = LOCAL_JOIN_MAX.as_secs();
        self.ending.fail(format!(
            "the local agents have not all joined within {seconds} s"
        ));
        self.stop_at_once(now)
    }

    /// Explains an end to the user that no event before it explained.
    fn explain(&mut self, outcome: RunOutcome) {
        match outcome {
            RunOutcome::TooFewAgents { have, want } => self.ending.fail(format!(
                "fleet.join_timeout: {have} of {want} agents joined in time; start the others, \
                 write a longer fleet.join_timeout (without a terminal it is 5m unless the plan \
                 says it), or a smaller --agents"
            )),
            RunOutcome::Superseded => self.ending.fail(
                "another coordinator has taken this run up, and the agents obey that one; this \
                 folder is not complete"
                    .to_owned(),
            ),
            RunOutcome::StoppedBeforeStart(_) => {
                let stopped = "it was stopped before it began";
                self.ending.notes.push(stopped.to_owned());
            }
            RunOutcome::Ran | RunOutcome::NotStarted => {}
        }
    }

    fn agent_failed(&mut self, agent: u32, what: &str, why: &str) {
        let name = self.run.name(agent);
        let problem = format!("agent {name} {what}: {why}");
        self.before_start.push(problem);
    }

    /// The fleet gives an agent half a minute to come back. An agent whose process has ended, and
    /// from which everything has been read, cannot, so it is not waited for.
    fn unless_only_dead_are_awaited(&mut self) -> CourseStep {
        let awaited: Vec<u32> = self.run.agents_awaited().collect();
        let is_away = |agent: u32| {
            (self.run.agent(agent))
                .and_then(RunAgent::away_since)
                .is_some()
        };
        let is_awaited_in_vain = |agent: &u32| is_away(*agent) && self.dead.contains_key(agent);
        // Before the start the fleet waits for 10 s only; with no agent awaited, `Done` comes next.
        if !self.run.has_begun() || awaited.is_empty() || !awaited.iter().all(is_awaited_in_vain) {
            return CourseStep::GoOn;
        }
        self.ending.outcome = Some(RunOutcome::Ran);
        CourseStep::EndWith(awaited.into_iter().map(|agent| self.lost(agent)).collect())
    }

    /// The event that the fleet would report for a dead agent after half a minute.
    fn lost(&self, agent: u32) -> RunEvent {
        RunEvent::Lost {
            agent,
            next_interval: self.run.agent(agent).map_or(0, RunAgent::next_interval),
            fired_until: None,
            why: self.dead.get(&agent).cloned().unwrap_or_default(),
        }
    }

    fn drain(&mut self) -> CourseStep {
        self.stopping = self.stopping.max(Stopping::Draining);
        CourseStep::Stop(Stop::Drain)
    }

    fn stop_at_once(&mut self, now: FleetTime) -> CourseStep {
        self.stopping = Stopping::AtOnce;
        self.deadline = Some(now.after(STOP_NOW_MAX));
        CourseStep::Stop(Stop::Now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{end_of, start_events};
    use analysis::RunState;
    use control::{AgentFacts, AgentId, EndCause};
    use proto::Bytes;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    fn facts(name: &str) -> AgentFacts {
        AgentFacts::new(AgentId([0; 16]), name)
    }

    fn death(name: &str) -> ChildDeath {
        ChildDeath {
            role: ChildRole::Agent(name.to_owned()),
            status: ExitStatus::from_raw(9),
            complaint: String::new(),
        }
    }

    fn assembled(now: FleetTime) -> RunCourse {
        let mut course = RunCourse::of_local_agents(now);
        let agents = ["a", "b"].map(facts).to_vec();
        course.event(&RunEvent::Assembled { agents }, now);
        course
    }

    #[test]
    fn run_that_the_coordinator_before_stopped_is_not_complete() {
        let now = FleetTime(1);
        let agents = ["a", "b"].map(facts).to_vec();
        let mut past = RunModel::default();
        for event in start_events(agents, now, Duration::ZERO) {
            past.take(&event, now);
        }
        let stopped = RunEvent::Ended {
            agent: 0,
            cause: EndCause::Stopped,
            missing: Vec::new(),
            figures: Bytes::new(),
            clock: None,
        };
        for (first, expected) in [
            (end_of(0), RunState::Complete),
            (stopped, RunState::Interrupted),
        ] {
            let mut course = RunCourse::of_remote_agents(past.clone());
            let outcome = RunOutcome::Ran;
            for event in [first, end_of(1), RunEvent::Done { outcome }] {
                course.event(&event, now);
            }
            assert_eq!(course.end().ending.state(), expected);
        }
    }

    /// A run whose two agents have begun and have delivered one interval each.
    fn firing(now: FleetTime) -> RunCourse {
        let mut course = assembled(now);
        for agent in [0, 1] {
            let began = RunEvent::Began {
                agent,
                at: FleetTime(0),
                bound_ns: 0,
            };
            course.event(&began, now);
            let interval = RunEvent::Interval {
                agent,
                interval: 0,
                encoded: Bytes::new(),
            };
            course.event(&interval, now);
        }
        course
    }

    fn gone(agent: u32) -> RunEvent {
        let why = "it left".to_owned();
        RunEvent::Gone { agent, why }
    }

    #[test]
    fn run_ends_when_only_agents_that_died_are_awaited() {
        let now = FleetTime(1);
        let mut course = firing(now);
        assert_eq!(course.agent_died(&death("b"), now), CourseStep::GoOn);
        assert_eq!(course.event(&gone(1), now), CourseStep::GoOn);
        let lost = RunEvent::Lost {
            agent: 1,
            next_interval: 1,
            fired_until: None,
            why: "its process ended with signal: 9 (SIGKILL)".to_owned(),
        };
        assert_eq!(
            course.event(&end_of(0), now),
            CourseStep::EndWith(vec![lost])
        );
        let end = course.end();
        assert_eq!(end.ending.outcome, Some(RunOutcome::Ran));
        assert!(end.has_dead_agents);
    }

    #[test]
    fn end_that_no_event_explains_is_a_problem_in_words() {
        let now = FleetTime(1);
        for (outcome, word) in [
            (RunOutcome::TooFewAgents { have: 2, want: 3 }, "2 of 3"),
            (RunOutcome::Superseded, "another coordinator"),
        ] {
            let mut course = firing(now);
            let step = course.event(&RunEvent::Done { outcome }, now);
            assert_eq!(step, CourseStep::End);
            let ending = course.end().ending;
            assert!(ending.has_failed() && ending.problems[0].contains(word));
            assert_eq!(ending.notes, ending.problems);
        }
    }

    #[test]
    fn agent_that_is_gone_and_may_come_back_is_waited_for() {
        let now = FleetTime(1);
        let mut course = firing(now);
        assert_eq!(course.event(&gone(1), now), CourseStep::GoOn);
        assert_eq!(course.event(&end_of(0), now), CourseStep::GoOn);
    }

    #[test]
    fn each_wish_is_more_urgent_than_the_one_before() {
        let now = FleetTime(1);
        let mut course = firing(now);
        assert_eq!(course.stop(now), CourseStep::Stop(Stop::Drain));
        assert_eq!(course.deadline(), None, "a drain lasts as long as it takes");
        assert_eq!(course.stop(now), CourseStep::Stop(Stop::Now));
        assert_eq!(course.deadline(), Some(now.after(STOP_NOW_MAX)));
        assert_eq!(course.stop(now), CourseStep::End);
    }

    #[test]
    fn run_of_which_nothing_is_stored_any_more_ends_soon_and_is_no_success() {
        let now = FleetTime(1);
        let mut course = firing(now);
        let step = course.storage_ended("the disk is full", now);
        assert_eq!(step, CourseStep::Stop(Stop::Now));
        assert_eq!(course.storage_ended("the same", now), CourseStep::GoOn);
        assert_eq!(course.too_late(now), CourseStep::End);
        let ending = course.end().ending;
        assert_eq!(ending.problems, ["the run was ended: the disk is full"]);
        assert_eq!(ending.state(), analysis::RunState::Incomplete);
    }

    #[test]
    fn local_run_whose_agents_do_not_join_is_stopped_and_then_left_alone() {
        let now = FleetTime(1);
        let mut course = RunCourse::of_local_agents(now);
        assert_eq!(course.deadline(), Some(now.after(LOCAL_JOIN_MAX)));
        assert_eq!(course.too_late(now), CourseStep::Stop(Stop::Now));
        assert_eq!(course.too_late(now), CourseStep::End);
        assert!(course.end().ending.has_failed());
        assert_eq!(assembled(now).deadline(), None, "they joined in time");
    }
}
