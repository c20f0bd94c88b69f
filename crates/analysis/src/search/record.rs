//! A search in the result: its holds and its answer, in data and in words.

use super::{Bounds, HoldOutcome, HoldRecord, Knee, LoadUnit, Standing};
use crate::{LimitShown, human};
use serde::{Deserialize, Serialize};

/// A search up to now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchRecord {
    /// The range and precision of the search.
    pub bounds: Bounds,
    /// Every hold, in order.
    pub steps: Vec<HoldRecord>,
    /// The answer; absent while the search goes on.
    pub answer: Option<SearchAnswer>,
    /// Where throughput stops following the load; closed loop only, and only if it was seen.
    pub knee: Option<Knee>,
    /// The answer in words; empty while the search goes on.
    pub statement: String,
    /// Median response time at the first amount before any hold, if it was measured.
    #[serde(skip)]
    pub(crate) rested_p50_ns: Option<u64>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SearchAnswer {
    /// The highest load that keeps every threshold.
    Found {
        /// The highest amount that passed.
        amount: f64,
        /// Lowest amount above it that failed.
        fails_at: f64,
        /// Whether it passed twice.
        confirmed: bool,
        /// Whether the lowest amount that failed did so twice.
        #[serde(default)]
        failed_twice: bool,
        /// A higher amount that passed once and then failed.
        lowered_from: Option<f64>,
    },
    /// Nothing failed, or nothing failed for certain: the last amount passed, or the search had no
    /// holds left.
    AtLeast {
        /// The last amount that passed.
        amount: f64,
    },
    /// Even the first amount failed, and lower ones were not tried.
    BelowFrom {
        /// The first amount.
        amount: f64,
        /// Why it failed.
        reasons: Vec<String>,
    },
    /// The agents could not make the load.
    ClientBound {
        /// The highest amount that had passed before.
        passed: Option<f64>,
        /// The amount they could not make.
        at: f64,
        /// Number of agents.
        agents: u32,
        /// Estimate of how many more agents would make it.
        more_agents: u32,
        /// The evidence.
        reasons: Vec<String>,
    },
    /// A hold could not be trusted, and neither could its repetition.
    Invalid {
        /// The highest amount that had passed before.
        passed: Option<f64>,
        /// The amount of that hold.
        at: f64,
        /// Why it could not be trusted.
        reasons: Vec<String>,
    },
}

/// Response times scatter; up to this multiple of the usual median they count as usual.
const USUAL_FACTOR: f64 = 1.5;

/// Tolerance in addition to the factor, which is soon exceeded at microseconds.
const USUAL_EXTRA_NS: f64 = 1e6;

impl SearchRecord {
    /// Returns whether a median response time, at the lowest amount that passed or below it, is
    /// back to normal: between holds the target has to recover from the previous one. True if the
    /// normal value is not known.
    #[must_use]
    pub fn is_settled(&self, response_time_p50_ns: u64) -> bool {
        self.usual_p50_ns().is_none_or(|usual| {
            response_time_p50_ns as f64 <= usual as f64 * USUAL_FACTOR + USUAL_EXTRA_NS
        })
    }

    /// Returns whether the normal value is known that [`SearchRecord::is_settled`] compares with. A
    /// search that goes on after an interruption may have no hold that passed.
    #[must_use]
    pub fn knows_usual_time(&self) -> bool {
        self.usual_p50_ns().is_some()
    }

    fn usual_p50_ns(&self) -> Option<u64> {
        let passed = self
            .steps
            .iter()
            .filter(|step| step.result.outcome == HoldOutcome::Passed);
        let lowest = passed.min_by(|a, b| a.amount.total_cmp(&b.amount));
        let held = lowest.and_then(|step| step.result.figures.response_time_p50_ns);
        // A look is short: it sees mostly the first steps of journeys, which open connections.
        held.max(self.rested_p50_ns)
    }

    /// Returns amount and throughput of every hold that says something about the server.
    pub(crate) fn throughputs(&self) -> Vec<(f64, f64)> {
        let counts = |step: &&HoldRecord| {
            // One whose users waited for the plan's own connections shows what these carry.
            !step.result.figures.connections_ran_out
                && matches!(
                    step.result.outcome,
                    HoldOutcome::Passed | HoldOutcome::Failed { .. }
                )
        };
        self.steps
            .iter()
            .filter(counts)
            .map(|step| (step.amount, step.result.figures.ok_per_second))
            .collect()
    }

    /// Returns the highest amount that passes, counting all its holds.
    pub(crate) fn highest_passed(&self) -> Option<f64> {
        let held = Standing::all(&self.steps);
        let highest = held.iter().rev().find(|held| held.passes())?;
        Some(highest.amount)
    }

    /// Returns why the last failed hold of `amount` failed.
    pub(crate) fn reasons(&self, amount: f64) -> Vec<String> {
        let of_step = |step: &HoldRecord| match &step.result.outcome {
            HoldOutcome::Failed { reasons } => Some(reasons.clone()),
            _ => None,
        };
        let mut held = self.steps.iter().rev().filter(|step| step.amount == amount);
        held.find_map(of_step).unwrap_or_default()
    }

    /// Describes what limits `amount`, from the last of its holds that shows it.
    pub(crate) fn limit_in_words(&self, amount: f64) -> String {
        let mut held = self.steps.iter().rev().filter(|step| step.amount == amount);
        let shown = held.find_map(|step| LimitShown::in_words(&step.result.limits));
        shown.map_or_else(
            || "; no rule shows whose limit this is".to_owned(),
            |shown| format!("; ended by {shown}"),
        )
    }

    /// Lists the amounts whose holds contradict each other, in words; empty if none do.
    fn contradictions(&self) -> String {
        let mut text = String::new();
        for held in Standing::all(&self.steps)
            .iter()
            .filter(|held| held.passed > 0 && held.failed > 0)
        {
            let amount = self.bounds.amount().display(held.amount);
            text.push_str(&format!(
                "; at {amount} {} of {} holds failed",
                held.failed,
                held.passed + held.failed
            ));
        }
        text
    }
}

impl SearchAnswer {
    /// Describes the answer in words, with what the holds of `record` show.
    #[must_use]
    pub fn statement(&self, record: &SearchRecord) -> String {
        let amount = record.bounds.amount();
        let show = |value: f64| amount.display(value);
        match self {
            SearchAnswer::Found { .. } => self.answer_in_words(record),
            SearchAnswer::AtLeast { amount } => {
                let (last, contradictions) = (show(*amount), record.contradictions());
                let why = if *amount < record.bounds.to() {
                    "it kept every threshold, and higher ones contradicted themselves for as long \
                     as the search went on"
                } else {
                    "this was the last of the search and kept every threshold; search further up \
                     to find the limit"
                };
                format!("at least {last}: {why}{contradictions}")
            }
            SearchAnswer::BelowFrom { amount, reasons } => {
                let first = show(*amount);
                format!(
                    "below {first}: this was the lowest of the search and failed ({}); search \
                     from a lower one",
                    reasons.join("; ")
                )
            }
            SearchAnswer::ClientBound {
                passed,
                at,
                agents,
                more_agents,
                reasons,
            } => {
                let agents = human::counted(u64::from(*agents), "agent");
                let why = reasons.join("; ");
                let what = match passed {
                    Some(passed) if passed == at => {
                        format!(
                            "{} passed once, and when it was held again the {agents} could not \
                             make it",
                            show(*at)
                        )
                    }
                    _ => format!(
                        "{}, and the {agents} could not make {}",
                        describe_passed(*passed, amount),
                        show(*at)
                    ),
                };
                format!(
                    "{what} ({why}): about {more_agents} more, on machines of their own, would; \
                     this is not the server's limit"
                )
            }
            SearchAnswer::Invalid {
                passed,
                at,
                reasons,
            } => {
                let why = reasons.join("; ");
                format!(
                    "{}, and {} could not be measured, twice ({why})",
                    describe_passed(*passed, amount),
                    show(*at)
                )
            }
        }
    }

    fn answer_in_words(&self, record: &SearchRecord) -> String {
        let SearchAnswer::Found {
            amount,
            fails_at,
            confirmed,
            failed_twice,
            ..
        } = self
        else {
            return String::new();
        };
        let show = |value: f64| record.bounds.amount().display(value);
        let held = if *confirmed {
            "held twice"
        } else {
            "held once, and was not held again"
        };
        let failed = if *failed_twice {
            "failed twice"
        } else {
            "failed once"
        };
        let why = record.reasons(*fails_at).join("; ");
        format!(
            "{}, {held}; {} {failed} ({why}){}",
            show(*amount),
            show(*fails_at),
            record.contradictions()
        )
    }

    /// Returns the amount whose holds show what ended the search, or the rise of throughput; `None`
    /// if neither was ended by what the search looks for.
    pub(crate) fn limit_at(&self, knee: Option<&Knee>) -> Option<f64> {
        match *self {
            SearchAnswer::Found { fails_at, .. } => Some(fails_at),
            SearchAnswer::BelowFrom { amount, .. } => Some(amount),
            SearchAnswer::AtLeast { .. } => knee.map(|knee| knee.up_to),
            SearchAnswer::ClientBound { .. } | SearchAnswer::Invalid { .. } => None,
        }
    }

    /// Returns the highest amount that passed.
    #[must_use]
    pub fn passed(&self) -> Option<f64> {
        match *self {
            SearchAnswer::Found { amount, .. } | SearchAnswer::AtLeast { amount } => Some(amount),
            SearchAnswer::ClientBound { passed, .. } | SearchAnswer::Invalid { passed, .. } => {
                passed
            }
            SearchAnswer::BelowFrom { .. } => None,
        }
    }
}

fn describe_passed(passed: Option<f64>, amount: LoadUnit) -> String {
    passed.map_or_else(
        || "not even the first hold counts".to_owned(),
        |passed| format!("{} passed", amount.display(passed)),
    )
}
