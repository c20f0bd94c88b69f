//! One run that is being made: what an interruption left of it is resumed before it is begun.

use super::job_message::{JobAction, JobEvent, RunOrder};
use plan::RowOrder;
use std::collections::VecDeque;

/// A run of which an interruption may have left parts. Agents deliver what they hold of them.
/// Nothing else may be asked of the agents before, since they may still be firing it.
pub(super) struct RunAttempt {
    order: RunOrder,
    /// Whether it is begun if no part counts.
    begins: bool,
    stage: AttemptStage,
}

enum AttemptStage {
    /// The part of this number is resumed.
    Resuming(usize),
    /// Agents may still fire another plan, which the part of this number was of.
    Outwaiting(usize),
    /// The run is made anew.
    Begun,
}

impl RunAttempt {
    /// Resumes what an interruption left.
    pub(super) fn take_up(order: RunOrder, actions: &mut VecDeque<JobAction>) -> RunAttempt {
        let mut attempt = RunAttempt {
            order,
            begins: false,
            stage: AttemptStage::Begun,
        };
        attempt.resume(0, actions);
        attempt
    }

    /// Resumes what an interruption left, or begins the run.
    pub(super) fn resume_or_begin(
        order: RunOrder,
        actions: &mut VecDeque<JobAction>,
    ) -> RunAttempt {
        RunAttempt {
            begins: true,
            ..RunAttempt::take_up(order, actions)
        }
    }

    /// Returns the event that concludes the attempt; `None` if it goes on. A part counts if its
    /// result can be trusted.
    pub(super) fn take(
        &mut self,
        event: JobEvent,
        actions: &mut VecDeque<JobAction>,
    ) -> Option<JobEvent> {
        match (&self.stage, event) {
            (AttemptStage::Resuming(part), JobEvent::EmptyPart)
            | (AttemptStage::Outwaiting(part), JobEvent::Waited) => {
                self.resume(part + 1, actions);
            }
            (&AttemptStage::Resuming(part), JobEvent::OtherPlan { lease }) => {
                actions.push_back(JobAction::Say(format!(
                    "{}: agents may still be firing what it was before; waiting until their \
                     leases are over, {lease:?}",
                    self.order.title
                )));
                actions.push_back(JobAction::Wait(lease));
                self.stage = AttemptStage::Outwaiting(part);
            }
            (&AttemptStage::Resuming(part), JobEvent::NoPart) if self.begins => {
                if part > 0 {
                    self.warn_of_rows(actions);
                }
                actions.push_back(JobAction::Begin(self.order.clone()));
                self.stage = AttemptStage::Begun;
            }
            (AttemptStage::Resuming(part), JobEvent::Ended(facts))
                if !facts.is_trusted() && !facts.is_interrupted && !facts.has_failed_beside() =>
            {
                let line = format!("{}: is made anew", self.order.title);
                actions.push_back(JobAction::Say(line));
                self.resume(part + 1, actions);
            }
            (_, event) => return Some(event),
        }
        None
    }

    /// Warns of rows that are to be taken once: a run that is made anew does not know which of them
    /// its earlier parts sent.
    fn warn_of_rows(&self, actions: &mut VecDeque<JobAction>) {
        let files = self.order.plan.data().iter();
        let once = files.filter(|file| file.order == RowOrder::Unique);
        for file in once {
            actions.push_back(JobAction::Warn(format!(
                "{}: begins with the first row of data.{} again, so those that were sent before \
                 the interruption are sent twice",
                self.order.title, file.name
            )));
        }
    }

    fn resume(&mut self, part: usize, actions: &mut VecDeque<JobAction>) {
        self.stage = AttemptStage::Resuming(part);
        actions.push_back(JobAction::Resume(self.order.clone(), part));
    }
}
