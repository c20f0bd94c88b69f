//! The holds of a search for capacity, and the waits between them for the target to recover.
//! `analysis` decides which hold comes next, and what its result means.

use super::job_message::{
    JobAction, JobEvent, JobResult, RunName, RunOrder, StepContext, StepDemand, warn,
};
use super::job_standing::JobStanding;
use super::run_facts::RunFacts;
use super::scheduled_run::{ScheduledRun, hold_prefix};
use analysis::{
    Bounds, Document, Hold, HoldOutcome, HoldResult, LoadSearch, RunState, SearchAction,
    SearchRecord,
};
use plan::{Capacity, Plan, SearchRange};
use std::time::Duration;

/// How long a look at the target lasts. It sends the lowest load of the search.
const LOOK: Duration = Duration::from_secs(1);

/// A look lasts longer if it would bring fewer arrivals than this: a median of one or two says
/// little.
const LOOK_ARRIVALS: f64 = 10.0;

/// The folder of a look while it is under way, so that a coordinator that resumes the search finds
/// the agents firing it.
const LOOK_FOLDER: &str = "look";

/// A search of one plan.
pub(super) struct CapacitySteps<'c> {
    scheduled: ScheduledRun<'c>,
    capacity: &'c Capacity,
    agents: u32,
    search: LoadSearch,
    stage: CapacityStage,
    /// Whether this process has made a hold. Until then the target may be at rest.
    has_held: bool,
}

/// How far a search is.
#[derive(Clone, Copy)]
enum CapacityStage {
    /// It looks whether this hold was made before an interruption.
    Finding(Hold),
    /// What an interruption left of this hold is resumed. The target is looked at only after it:
    /// agents may still be firing it.
    TakingUp(Hold),
    /// It looks at the target at rest before this hold, the first.
    AtRest(Hold),
    /// It waits before this hold until the target has recovered, for as long as the plan allows.
    Settling {
        hold: Hold,
        /// Since the job began.
        deadline: Duration,
    },
    /// It makes this hold.
    Holding(Hold),
    /// It has ended.
    Over,
}

impl<'c> CapacitySteps<'c> {
    pub(super) fn begin(
        scheduled: ScheduledRun<'c>,
        capacity: &'c Capacity,
        agents: u32,
    ) -> Result<CapacitySteps<'c>, String> {
        let bounds = Bounds::from_plan(capacity)
            .map_err(|error| format!("cannot search as the plan says: {error}"))?;
        Ok(CapacitySteps {
            scheduled,
            capacity,
            agents,
            search: LoadSearch::new(bounds),
            stage: CapacityStage::Over,
            has_held: false,
        })
    }

    /// Looks for the next hold. Holds that were made before an interruption count, since the search
    /// asks for the same ones again.
    pub(super) fn ask_for_hold(&mut self, context: &mut StepContext<'_>) -> StepDemand {
        let SearchAction::Hold(hold) = self.search.next() else {
            return self.end(JobStanding::Held, context);
        };
        if context.lacks_agents {
            return self.end(JobStanding::Held, context);
        }
        let step = step_in_words(self.search.record(), hold);
        context.actions.push_back(JobAction::ShowSearch(Some(step)));
        self.stage = CapacityStage::Finding(hold);
        StepDemand::Find(RunName::Exact(hold_folder(hold)))
    }

    /// Whether the search asks for another hold.
    pub(super) fn has_more(&self) -> bool {
        matches!(self.search.next(), SearchAction::Hold(_))
    }

    /// Takes what became of the last demand.
    pub(super) fn take(
        &mut self,
        event: JobEvent,
        context: &mut StepContext<'_>,
    ) -> Result<StepDemand, String> {
        if let JobEvent::Ended(facts) = &event {
            warn(facts, context.actions);
            // Losing an agent is no failure here: the search judges the result of such a hold.
            let failure = facts.failure();
            if failure > JobStanding::Held {
                // A hold counts whatever failed beside it.
                if let CapacityStage::TakingUp(hold) | CapacityStage::Holding(hold) = self.stage
                    && facts.document.run.state == RunState::Complete
                {
                    self.report_hold(hold, facts.folder.clone(), &facts.document, context);
                }
                return Ok(self.end(failure, context));
            }
        }
        match (self.stage, event) {
            (CapacityStage::Finding(hold), JobEvent::Found(Some(kept))) => {
                Ok(self.take_hold(hold, kept.folder, &kept.document, context))
            }
            (CapacityStage::Finding(hold), _) => {
                self.stage = CapacityStage::TakingUp(hold);
                Ok(StepDemand::TakeUp(self.order(hold)?))
            }
            (
                CapacityStage::TakingUp(hold) | CapacityStage::Holding(hold),
                JobEvent::Ended(facts),
            ) => {
                self.has_held = true;
                Ok(self.take_hold(hold, facts.folder, &facts.document, context))
            }
            (CapacityStage::TakingUp(hold), _) => self.prepare(hold, context),
            (CapacityStage::AtRest(hold), JobEvent::Ended(facts)) => {
                if let Some(end) = self.end_look(context) {
                    return Ok(end);
                }
                self.search.look_at_rest(median_ns(&facts.document));
                self.hold(hold)
            }
            (CapacityStage::Settling { hold, deadline }, JobEvent::Ended(facts)) => {
                if let Some(end) = self.end_look(context) {
                    return Ok(end);
                }
                if self.is_settled(&facts) {
                    return self.hold(hold);
                }
                self.settle(hold, deadline, context)
            }
            _ => Ok(self.end(JobStanding::Held, context)),
        }
    }

    fn take_hold(
        &mut self,
        hold: Hold,
        folder: String,
        document: &Document,
        context: &mut StepContext<'_>,
    ) -> StepDemand {
        self.report_hold(hold, folder, document, context);
        self.ask_for_hold(context)
    }

    fn report_hold(
        &mut self,
        hold: Hold,
        folder: String,
        document: &Document,
        context: &mut StepContext<'_>,
    ) {
        self.search
            .take(HoldResult::new(document, hold.amount, folder));
        self.tell(context);
        context
            .actions
            .push_back(JobAction::Report(JobResult::Search {
                run: self.scheduled.run,
                record: Box::new(self.search.record().clone()),
            }));
    }

    fn end(&mut self, standing: JobStanding, context: &mut StepContext<'_>) -> StepDemand {
        self.stage = CapacityStage::Over;
        context.actions.push_back(JobAction::ShowSearch(None));
        let record = self.search.record();
        if record.answer.is_some() {
            context.say(format!("  {}", record.statement));
        }
        StepDemand::End(standing)
    }

    /// Before the first hold, looks at the target at rest; also after an interruption, if no hold
    /// before it shows how fast the target answers. After a hold that did not pass, waits for it to
    /// recover. No operation is open by then, since every run drains.
    fn prepare(&mut self, hold: Hold, context: &mut StepContext<'_>) -> Result<StepDemand, String> {
        let settle = self.capacity.settle;
        let record = self.search.record();
        match record.steps.last() {
            Some(step) if step.result.outcome == HoldOutcome::Passed => self.hold(hold),
            _ if settle.is_zero() => self.hold(hold),
            _ if !self.has_held && !record.knows_usual_time() => {
                self.stage = CapacityStage::AtRest(hold);
                self.look("looking at the target at rest")
            }
            _ => self.settle(hold, context.now + settle, context),
        }
    }

    /// Looks at the target once more, or goes on if the wait is over.
    fn settle(
        &mut self,
        hold: Hold,
        deadline: Duration,
        context: &mut StepContext<'_>,
    ) -> Result<StepDemand, String> {
        if context.now < deadline {
            self.stage = CapacityStage::Settling { hold, deadline };
            return self.look("waiting for the target to recover");
        }
        if !self.capacity.settle.is_zero() {
            context.say(format!(
                "{}the target has not recovered after {:?}; continuing",
                self.scheduled.step_prefix, self.capacity.settle
            ));
        }
        self.hold(hold)
    }

    fn is_settled(&self, look: &RunFacts) -> bool {
        let record = self.search.record();
        median_ns(&look.document).is_some_and(|now_ns| record.is_settled(now_ns))
    }

    fn hold(&mut self, hold: Hold) -> Result<StepDemand, String> {
        self.stage = CapacityStage::Holding(hold);
        Ok(StepDemand::Begin(self.order(hold)?))
    }

    fn order(&self, hold: Hold) -> Result<RunOrder, String> {
        let plan = self.capacity.plan_at(self.scheduled.plan, hold.amount);
        let amount = self.search.record().bounds.amount();
        Ok(RunOrder {
            name: hold_folder(hold),
            plan: plan.map_err(|problem| problem.to_string())?,
            agents: self.agents,
            title: format!(
                "{}hold {} at {}",
                self.scheduled.step_prefix,
                hold.step,
                amount.display(hold.amount)
            ),
        })
    }

    fn look(&self, what: &str) -> Result<StepDemand, String> {
        Ok(StepDemand::Make(RunOrder {
            name: LOOK_FOLDER.to_owned(),
            plan: self.plan_of_look()?,
            agents: self.agents,
            title: format!("{}{what}", self.scheduled.step_prefix),
        }))
    }

    /// Removes a look that has ended; the search ends with it if agents are missing.
    fn end_look(&mut self, context: &mut StepContext<'_>) -> Option<StepDemand> {
        let name = LOOK_FOLDER.to_owned();
        context.actions.push_back(JobAction::Discard(name));
        context
            .lacks_agents
            .then(|| self.end(JobStanding::Held, context))
    }

    fn plan_of_look(&self) -> Result<Plan, String> {
        self.capacity
            .plan_of_look(self.scheduled.plan, self.length_of_look())
            .map_err(|problem| problem.to_string())
    }

    /// At least the usual look; beyond that, no longer than a hold.
    fn length_of_look(&self) -> Duration {
        let SearchRange::Rate { from, .. } = self.capacity.range else {
            return LOOK;
        };
        let needed = Duration::try_from_secs_f64(LOOK_ARRIVALS / from.as_per_second())
            .unwrap_or(Duration::MAX);
        needed.clamp(LOOK, self.capacity.hold.max(LOOK))
    }

    fn tell(&self, context: &mut StepContext<'_>) {
        let record = self.search.record();
        // Before the first hold there is nothing to report.
        let Some(step) = record.steps.last() else {
            return;
        };
        let word = match &step.result.outcome {
            HoldOutcome::Passed => "passed",
            HoldOutcome::Failed { .. } => "failed",
            HoldOutcome::ClientBound { .. } => "limited by the client",
            HoldOutcome::Invalid { .. } => "not to be trusted",
        };
        let reasons = step.result.reasons();
        let colon = if reasons.is_empty() { "" } else { ": " };
        let reasons = reasons.join("; ");
        let amount = record.bounds.amount().display(step.amount);
        context.say(format!(
            "{}hold {}: {amount} {word}{colon}{reasons}",
            self.scheduled.step_prefix, step.step
        ));
    }
}

fn hold_folder(hold: Hold) -> String {
    format!("{}{}", hold_prefix(hold.step), hold.amount)
}

/// Describes the next hold, and the amounts that the answer is known to lie between.
fn step_in_words(record: &SearchRecord, hold: Hold) -> String {
    let amount = record.bounds.amount();
    let made = |outcome: fn(&HoldOutcome) -> bool| {
        let steps = record.steps.iter();
        let made = steps.filter(move |step| outcome(&step.result.outcome));
        made.map(|step| step.amount)
    };
    let passed = made(|outcome| matches!(outcome, HoldOutcome::Passed)).reduce(f64::max);
    let failed = made(|outcome| matches!(outcome, HoldOutcome::Failed { .. })).reduce(f64::min);
    let known = [(passed, "passed"), (failed, "failed")];
    let known = known.into_iter().filter_map(|(value, word)| {
        let value = amount.display(value?);
        Some(format!(", {value} {word}"))
    });
    let known: String = known.collect();
    let next = amount.display(hold.amount);
    format!("search: hold {} at {next}{known}", hold.step)
}

/// The median response time; an operation that timed out counts with the time that had passed.
fn median_ns(document: &Document) -> Option<u64> {
    Some(
        document
            .measured
            .times
            .get("response_time")?
            .percentile(50.0)?
            .value_ns,
    )
}
