//! A job: the runs that a file asks for, as a state machine. Ends of runs, wishes to stop and the
//! time go in; what to do next comes out. It does no I/O, and knows neither how its user is told
//! nor which number the shell sees. `launch/job_driver.rs` carries it out.

mod agents_steps;
mod capacity_steps;
mod job_message;
mod job_standing;
mod run_attempt;
mod run_facts;
mod run_line;
mod scheduled_run;
#[cfg(test)]
mod tests;

pub(crate) use job_message::{
    JobAction, JobEvent, JobResult, KeptRun, RunName, RunOrder, SearchName,
};
pub(crate) use job_standing::{JobObstacle, JobOutcome, JobStanding, ResultRules};
pub(crate) use run_facts::RunFacts;
pub(crate) use scheduled_run::{
    ScheduledRun, agents_folder, agents_in_words, hold_prefix, schedule_runs,
};

use agents_steps::AgentsSteps;
use capacity_steps::CapacitySteps;
use job_message::{StepContext, StepDemand, warn};
use plan::{Campaign, Plan, Search};
use run_attempt::RunAttempt;
use run_line::describe;
use std::collections::VecDeque;
use std::time::Duration;

/// What stays the same in a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobSetup<'c> {
    /// The runs that the file asks for.
    pub(crate) campaign: &'c Campaign,
    /// Number of agents.
    pub(crate) agents: u32,
    /// Whether an interruption may have left runs.
    pub(crate) resumes: bool,
    /// Rules that can fail a run in addition to its thresholds.
    pub(crate) rules: ResultRules,
}

/// A job. [`Job::next`] returns actions until one of them asks for an event; the event goes to
/// [`Job::take`]. The job is over when there is no action and no event is awaited.
pub(crate) struct Job<'c> {
    setup: JobSetup<'c>,
    /// The runs that follow, the next one first.
    schedule: VecDeque<ScheduledRun<'c>>,
    stage: JobStage<'c>,
    /// The run that is being made.
    attempt: Option<RunAttempt>,
    actions: VecDeque<JobAction>,
    /// Whether a run or a search was begun, so that the pause applies.
    has_entered: bool,
    /// Whether an agent of the coordinator's machine has ended; it does not come back.
    lacks_agents: bool,
    outcome: JobOutcome,
}

/// How far a job is.
enum JobStage<'c> {
    /// It makes its only run.
    Alone,
    /// It looks whether the next run was made before an interruption.
    Finding(ScheduledRun<'c>),
    /// It pauses before the next run or search.
    Pausing(ScheduledRun<'c>),
    /// It makes a run.
    Running(ScheduledRun<'c>),
    /// It searches for a load.
    Searching(Box<CapacitySteps<'c>>),
    /// It compares numbers of agents.
    Scaling(AgentsSteps<'c>),
    /// It is over.
    Over,
}

impl JobStage<'_> {
    /// Whether a search has runs left to make.
    fn has_more(&self) -> bool {
        match self {
            JobStage::Searching(steps) => steps.has_more(),
            JobStage::Scaling(steps) => steps.has_more(),
            _ => false,
        }
    }
}

impl<'c> Job<'c> {
    /// A job that makes the runs of a file.
    pub(crate) fn new(setup: JobSetup<'c>) -> Job<'c> {
        let mut job = Job {
            setup,
            schedule: VecDeque::new(),
            stage: JobStage::Over,
            attempt: None,
            actions: VecDeque::new(),
            has_entered: false,
            lacks_agents: false,
            outcome: JobOutcome::default(),
        };
        match setup.campaign.single() {
            Some(plan) => job.make_alone(plan),
            None => {
                job.schedule = schedule_runs(setup.campaign).into();
                job.go_on(Duration::ZERO);
            }
        }
        job
    }

    /// The next action; `None` if the job is over.
    pub(crate) fn next(&mut self) -> Option<JobAction> {
        self.actions.pop_front()
    }

    /// How the job ended, once it is over.
    pub(crate) fn outcome(&self) -> &JobOutcome {
        &self.outcome
    }

    /// Takes what became of the last action, at `now` after the job began.
    pub(crate) fn take(&mut self, event: JobEvent, now: Duration) {
        if let JobEvent::Ended(facts) = &event {
            self.lacks_agents |= facts.lacks_agents;
        }
        let event = match &mut self.attempt {
            Some(attempt) => attempt.take(event, &mut self.actions),
            None => Some(event),
        };
        let Some(event) = event else {
            return;
        };
        self.attempt = None;
        match event {
            JobEvent::Stopped => self.end_with(JobStanding::Stopped),
            JobEvent::Failed => self.give_up(JobObstacle::Error),
            event => self.advance(event, now),
        }
    }

    fn advance(&mut self, event: JobEvent, now: Duration) {
        match std::mem::replace(&mut self.stage, JobStage::Over) {
            JobStage::Finding(scheduled) => match event {
                JobEvent::Found(Some(kept)) => {
                    self.take_kept(&scheduled, *kept);
                    self.go_on(now);
                }
                _ => self.enter_after_pause(scheduled, now),
            },
            JobStage::Pausing(scheduled) => self.enter(scheduled, now),
            JobStage::Alone => {
                if let JobEvent::Ended(facts) = event {
                    self.outcome.standing = facts.standing(self.setup.rules);
                }
            }
            JobStage::Running(scheduled) => {
                if let JobEvent::Ended(facts) = event {
                    self.take_run(&scheduled, *facts, now);
                }
            }
            JobStage::Searching(mut steps) => {
                let demand = steps.take(event, &mut self.context(now));
                self.stage = JobStage::Searching(steps);
                self.obey(demand, now);
            }
            JobStage::Scaling(mut steps) => {
                let demand = steps.take(event, &mut self.context(now));
                self.stage = JobStage::Scaling(steps);
                self.obey(demand, now);
            }
            JobStage::Over => {}
        }
    }

    fn context(&mut self, now: Duration) -> StepContext<'_> {
        StepContext {
            now,
            lacks_agents: self.lacks_agents,
            actions: &mut self.actions,
        }
    }

    fn make_alone(&mut self, plan: &Plan) {
        self.stage = JobStage::Alone;
        self.actions.push_back(JobAction::Begin(RunOrder {
            name: String::new(),
            plan: plan.clone(),
            agents: self.setup.agents,
            title: plan.name().to_owned(),
        }));
    }

    /// Turns to the next run. A search itself looks for runs that were made before.
    fn go_on(&mut self, now: Duration) {
        if self.lacks_agents {
            return self.end_with(JobStanding::Held);
        }
        let Some(scheduled) = self.schedule.pop_front() else {
            return self.end_with(JobStanding::Held);
        };
        if self.setup.resumes && self.setup.campaign.search().is_none() {
            let name = RunName::Prefix(scheduled.prefix.clone());
            self.actions.push_back(JobAction::Find(name));
            self.stage = JobStage::Finding(scheduled);
        } else {
            self.enter_after_pause(scheduled, now);
        }
    }

    fn enter_after_pause(&mut self, scheduled: ScheduledRun<'c>, now: Duration) {
        if self.has_entered {
            let pause = self.setup.campaign.repeat().pause;
            self.actions.push_back(JobAction::Wait(pause));
            self.stage = JobStage::Pausing(scheduled);
        } else {
            self.enter(scheduled, now);
        }
    }

    /// Begins a run, or a search in its place.
    fn enter(&mut self, scheduled: ScheduledRun<'c>, now: Duration) {
        self.has_entered = true;
        let title = scheduled.title.clone();
        self.actions.push_back(JobAction::Say(title.clone()));
        let search = self.setup.campaign.search();
        self.actions.push_back(JobAction::Enter {
            run: scheduled.run,
            search: search.map(|_| scheduled.search_name()),
        });
        let agents = self.setup.agents;
        match search {
            None => {
                let order = RunOrder {
                    name: scheduled.folder.clone(),
                    plan: scheduled.plan.clone(),
                    agents,
                    title,
                };
                self.stage = JobStage::Running(scheduled);
                self.obey(Ok(StepDemand::Make(order)), now);
            }
            Some(Search::Capacity(capacity)) => {
                let begun = CapacitySteps::begin(scheduled, capacity, agents);
                let demand = begun.map(|mut steps| {
                    let demand = steps.ask_for_hold(&mut self.context(now));
                    self.stage = JobStage::Searching(Box::new(steps));
                    demand
                });
                self.obey(demand, now);
            }
            Some(Search::Agents(numbers)) => {
                let pause = self.setup.campaign.repeat().pause;
                let rules = self.setup.rules;
                let steps = AgentsSteps::begin(scheduled, numbers, pause, rules);
                let demand = steps.ask_for_run();
                self.stage = JobStage::Scaling(steps);
                self.obey(Ok(demand), now);
            }
        }
    }

    /// Does what a run or a search needs next; an `Err` says why the plan cannot be run so.
    fn obey(&mut self, demand: Result<StepDemand, String>, now: Duration) {
        let resumes = self.setup.resumes;
        match demand {
            Err(problem) => self.give_up(JobObstacle::Plan(problem)),
            Ok(StepDemand::Find(name)) => self.actions.push_back(JobAction::Find(name)),
            Ok(StepDemand::Wait(pause)) => self.actions.push_back(JobAction::Wait(pause)),
            Ok(StepDemand::TakeUp(_)) if !resumes => self.advance(JobEvent::NoPart, now),
            Ok(StepDemand::TakeUp(order)) => {
                self.attempt = Some(RunAttempt::take_up(order, &mut self.actions));
            }
            Ok(StepDemand::Make(order)) if resumes => {
                self.attempt = Some(RunAttempt::resume_or_begin(order, &mut self.actions));
            }
            Ok(StepDemand::Make(order) | StepDemand::Begin(order)) => {
                self.actions.push_back(JobAction::Begin(order));
            }
            Ok(StepDemand::End(standing)) => self.conclude(standing, now),
        }
    }

    fn take_kept(&mut self, scheduled: &ScheduledRun<'_>, kept: KeptRun) {
        self.outcome
            .add(JobStanding::from_document(&kept.document, self.setup.rules));
        self.actions.push_back(JobAction::Report(JobResult::Run {
            run: scheduled.run,
            folder: kept.folder,
            document: Box::new(kept.document),
        }));
        let line = format!("{}: was complete", scheduled.title);
        self.actions.push_back(JobAction::Say(line));
    }

    fn take_run(&mut self, scheduled: &ScheduledRun<'_>, facts: RunFacts, now: Duration) {
        warn(&facts, &mut self.actions);
        let standing = facts.standing(self.setup.rules);
        if facts.has_begun {
            let line = format!("  {}", describe(&facts.document));
            self.actions.push_back(JobAction::Say(line));
            self.actions.push_back(JobAction::Report(JobResult::Run {
                run: scheduled.run,
                folder: facts.folder,
                document: Box::new(facts.document),
            }));
        }
        self.conclude(standing, now);
    }

    /// Concludes a run or a search, and turns to the next one.
    fn conclude(&mut self, standing: JobStanding, now: Duration) {
        self.actions.push_back(JobAction::Save);
        if standing >= JobStanding::Stopped {
            return self.end_with(standing);
        }
        self.outcome.add(standing);
        self.go_on(now);
    }

    fn end_with(&mut self, standing: JobStanding) {
        let has_more = !self.schedule.is_empty() || self.stage.has_more();
        self.outcome.add(standing);
        self.stage = JobStage::Over;
        self.actions.push_back(JobAction::ShowSearch(None));
        if self.lacks_agents && has_more {
            self.outcome.obstacle = Some(JobObstacle::LostAgent);
            let line = "an agent of this machine ended, and no further run can be made without it";
            self.actions.push_back(JobAction::Warn(line.to_owned()));
        }
    }

    fn give_up(&mut self, obstacle: JobObstacle) {
        self.stage = JobStage::Over;
        self.attempt = None;
        // What was to be done before is of no use to a job that cannot go on.
        self.actions.clear();
        self.outcome.obstacle = Some(obstacle);
    }
}
