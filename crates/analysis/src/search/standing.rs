//! The combined outcome of all holds of one amount.

use super::{HoldOutcome, HoldRecord, Purpose};

/// Number of agreeing holds that settle an amount; if two contradict each other, a third one
/// decides.
const AGREEING: u32 = 2;

/// An amount that was held, and the outcomes of its holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Standing {
    pub(crate) amount: f64,
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl Standing {
    /// Returns every amount that was held to see whether it passes, ascending. Holds that say
    /// nothing about the server do not count.
    pub(crate) fn all(steps: &[HoldRecord]) -> Vec<Standing> {
        let mut all: Vec<Standing> = Vec::new();
        for step in steps.iter().filter(|step| step.purpose != Purpose::Knee) {
            let (passed, failed) = match step.result.outcome {
                HoldOutcome::Passed => (1, 0),
                HoldOutcome::Failed { .. } => (0, 1),
                HoldOutcome::ClientBound { .. } | HoldOutcome::Invalid { .. } => continue,
            };
            match all.iter_mut().find(|known| known.amount == step.amount) {
                Some(known) => {
                    known.passed += passed;
                    known.failed += failed;
                }
                None => all.push(Standing {
                    amount: step.amount,
                    passed,
                    failed,
                }),
            }
        }
        all.sort_by(|a, b| a.amount.total_cmp(&b.amount));
        all
    }

    /// Returns whether more holds passed than failed.
    pub(crate) fn passes(&self) -> bool {
        self.passed > self.failed
    }

    /// Returns whether more holds failed than passed.
    pub(crate) fn fails(&self) -> bool {
        self.failed > self.passed
    }

    /// Returns whether its holds contradict each other, and no third one has decided yet.
    pub(crate) fn is_open(&self) -> bool {
        self.passed == self.failed
    }

    /// Returns whether two holds agree, so that the outcome was no accident.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.passed.max(self.failed) >= AGREEING
    }
}
