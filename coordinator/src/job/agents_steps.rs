//! Runs a plan's load with 1, 2, … of the agents, to see whether the load generator was the limit.

use super::job_message::{
    JobAction, JobEvent, JobResult, RunName, RunOrder, StepContext, StepDemand, warn,
};
use super::job_standing::{JobStanding, ResultRules};
use super::run_line::describe;
use super::scheduled_run::{ScheduledRun, agents_folder, agents_in_words};
use analysis::{Document, RunState};
use std::time::Duration;

/// A search over numbers of agents.
pub(super) struct AgentsSteps<'c> {
    scheduled: ScheduledRun<'c>,
    /// The number under way, and those that follow.
    numbers: &'c [u32],
    /// The pause between two runs.
    pause: Duration,
    rules: ResultRules,
    /// Whether one of the runs was begun here, so that the pause applies.
    has_begun: bool,
    worst: JobStanding,
}

impl<'c> AgentsSteps<'c> {
    pub(super) fn begin(
        scheduled: ScheduledRun<'c>,
        numbers: &'c [u32],
        pause: Duration,
        rules: ResultRules,
    ) -> AgentsSteps<'c> {
        AgentsSteps {
            scheduled,
            numbers,
            pause,
            rules,
            has_begun: false,
            worst: JobStanding::Held,
        }
    }

    /// Looks for the next run, which may have been made before an interruption.
    pub(super) fn ask_for_run(&self) -> StepDemand {
        match self.numbers.first() {
            Some(&agents) => StepDemand::Find(RunName::Prefix(agents_folder(agents))),
            None => StepDemand::End(self.worst),
        }
    }

    /// Whether numbers of agents are left.
    pub(super) fn has_more(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Takes what became of the last demand.
    pub(super) fn take(
        &mut self,
        event: JobEvent,
        context: &mut StepContext<'_>,
    ) -> Result<StepDemand, String> {
        match event {
            JobEvent::Found(Some(kept)) => Ok(self.take_run(kept.folder, kept.document, context)),
            JobEvent::Found(None) if self.has_begun => Ok(StepDemand::Wait(self.pause)),
            JobEvent::Ended(facts) => {
                warn(&facts, context.actions);
                let failure = facts.failure();
                self.worst = self.worst.max(failure);
                let ends = failure > JobStanding::Held || context.lacks_agents;
                if ends && facts.document.run.state != RunState::Complete {
                    return Ok(StepDemand::End(self.worst));
                }
                // A run counts whatever failed beside it.
                let next = self.take_run(facts.folder, facts.document, context);
                Ok(if ends {
                    StepDemand::End(self.worst)
                } else {
                    next
                })
            }
            _ => self.make(),
        }
    }

    fn make(&mut self) -> Result<StepDemand, String> {
        let Some(&agents) = self.numbers.first() else {
            return Ok(StepDemand::End(self.worst));
        };
        self.has_begun = true;
        let plan = self.scheduled.plan.for_agents(agents);
        Ok(StepDemand::Make(RunOrder {
            name: agents_folder(agents),
            plan: plan.map_err(|problem| problem.to_string())?,
            agents,
            title: self.title(agents),
        }))
    }

    fn take_run(
        &mut self,
        folder: String,
        document: Document,
        context: &mut StepContext<'_>,
    ) -> StepDemand {
        // These runs are to reach a limit; the report says which of them cannot be trusted.
        let standing = JobStanding::of_operations(&document, self.rules);
        self.worst = self.worst.max(standing);
        if let Some((&agents, rest)) = self.numbers.split_first() {
            self.numbers = rest;
            context.say(format!("{}: {}", self.title(agents), describe(&document)));
        }
        context
            .actions
            .push_back(JobAction::Report(JobResult::Agents {
                run: self.scheduled.run,
                folder,
                document: Box::new(document),
            }));
        self.ask_for_run()
    }

    fn title(&self, agents: u32) -> String {
        let prefix = &self.scheduled.step_prefix;
        format!("{prefix}{}", agents_in_words(agents))
    }
}
