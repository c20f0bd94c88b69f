//! One hold of a search: its purpose, its outcome and the reasons.

use crate::{Document, Judgement, LimitShown, RunState, Verdict, human, verdict};
use serde::{Deserialize, Serialize};

/// CPU use at which a worker still has some room: the use per agent assumed when estimating how
/// many more are needed.
const COMFORTABLE_SHARE: f64 = 0.8;

/// A hold to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// Its number, from 1.
    pub step: u32,
    /// Arrivals per second, or virtual users.
    pub amount: f64,
    /// Why it is made.
    pub purpose: Purpose,
}

/// Why a hold is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To find an amount that fails.
    Climb,
    /// To narrow the range down.
    Bisect,
    /// To confirm the answer.
    Confirm,
    /// To find the fewest users that reach the plateau.
    Knee,
}

/// The conclusion from a hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum HoldOutcome {
    /// All of the load was sent, and every threshold held.
    Passed,
    /// Thresholds were not kept, or the load was not carried, and not because of the client.
    Failed {
        /// The failures and their extent.
        reasons: Vec<String>,
    },
    /// The client did not make this load, so the hold says nothing about the server.
    ClientBound {
        /// The evidence.
        reasons: Vec<String>,
        /// Estimate of how many more agents would make this load with room to spare; at least 1.
        more_agents: u32,
    },
    /// The run cannot be trusted, or lost an agent, so the hold proves nothing.
    Invalid {
        /// The reasons.
        reasons: Vec<String>,
    },
}

/// Figures of a hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HoldFigures {
    /// Operations begun per second.
    pub started_per_second: f64,
    /// Operations that ended ok, per second.
    pub ok_per_second: f64,
    /// Median response time.
    pub response_time_p50_ns: Option<u64>,
    /// Whether the median is a lower bound, too. Missing in results of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub response_time_p50_at_least: bool,
    /// 99th percentile of the response time.
    pub response_time_p99_ns: Option<u64>,
    /// Whether the 99th percentile is a lower bound: it falls among time-outs.
    pub response_time_p99_at_least: bool,
    /// Operations that did not end ok.
    pub errors: u64,
    /// Share of operations that did not end ok; absent if none ended.
    pub error_share: Option<f64>,
    /// CPU share of the busiest worker of all agents; absent if it is not known.
    pub busiest_worker_share: Option<f64>,
    /// Number of agents that fired.
    pub agents: u32,
    /// Whether steps of journeys waited while all connections that these share were in use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub connections_ran_out: bool,
}

/// The result of a hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HoldResult {
    /// The conclusion.
    #[serde(flatten)]
    pub outcome: HoldOutcome,
    /// Limits that the run shows, if the hold says something about the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitShown>,
    /// Its main figures.
    pub figures: HoldFigures,
    /// Folder of the run, which holds the whole result; can be empty.
    pub run: String,
}

/// A hold that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HoldRecord {
    /// Which, from 1.
    pub step: u32,
    /// What was held.
    pub amount: f64,
    /// What it was made for.
    pub purpose: Purpose,
    /// What came of it.
    #[serde(flatten)]
    pub result: HoldResult,
}

impl HoldResult {
    /// Judges the hold of `amount` by its document.
    #[must_use]
    pub fn new(document: &Document, amount: f64, run: String) -> HoldResult {
        let figures = HoldFigures::new(document);
        let outcome = outcome(document, amount, &figures);
        let limits = match outcome {
            HoldOutcome::Passed | HoldOutcome::Failed { .. } => verdict::limits_shown(document),
            HoldOutcome::ClientBound { .. } | HoldOutcome::Invalid { .. } => Vec::new(),
        };
        HoldResult {
            outcome,
            limits,
            figures,
            run,
        }
    }

    /// Returns why it did not pass, with the limits that the run shows; empty if it passed.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let reasons = match &self.outcome {
            HoldOutcome::Passed => return Vec::new(),
            HoldOutcome::Failed { reasons }
            | HoldOutcome::ClientBound { reasons, .. }
            | HoldOutcome::Invalid { reasons } => reasons,
        };
        let shown = self.limits.iter().map(LimitShown::evidence);
        reasons.iter().cloned().chain(shown).collect()
    }
}

fn outcome(document: &Document, amount: f64, figures: &HoldFigures) -> HoldOutcome {
    let record = &document.verdict;
    if document.run.state != RunState::Complete {
        return HoldOutcome::Invalid {
            reasons: vec!["the hold was not finished".to_owned()],
        };
    }
    if record.verdict == Verdict::Invalid {
        return HoldOutcome::Invalid {
            reasons: record.evidence.clone(),
        };
    }
    // Whatever the other agents sent, it was neither the load of this hold nor what the plan's
    // agents make of it.
    let reasons = verdict::describe_lost_agents(document);
    if !reasons.is_empty() {
        return HoldOutcome::Invalid { reasons };
    }
    let more_agents = figures.more_agents(amount, document);
    let failures = failures(document);
    // A load that kept its bounds did so even though a busy client made it slower.
    let is_kept = failures.is_empty() && verdict::is_load_sent(document);
    if record.verdict == Verdict::ClientBound && !is_kept {
        return HoldOutcome::ClientBound {
            reasons: failures
                .into_iter()
                .chain(record.evidence.clone())
                .collect(),
            more_agents,
        };
    }
    // If nothing succeeded, the verdict does not look at the client.
    match verdict::client_limits(document) {
        _ if failures.is_empty() => HoldOutcome::Passed,
        limits if limits.is_empty() => HoldOutcome::Failed { reasons: failures },
        limits => HoldOutcome::ClientBound {
            reasons: failures.into_iter().chain(limits).collect(),
            more_agents,
        },
    }
}

/// Lists what failed. A load that was not sent, or that piled up, was not carried, however fast the
/// rest was answered.
fn failures(document: &Document) -> Vec<String> {
    let missed = document
        .thresholds
        .iter()
        .filter(|judgement| !judgement.passed)
        .map(Judgement::miss);
    missed
        .chain(verdict::not_sent(document))
        .chain(verdict::describe_backlog(document))
        .collect()
}

impl HoldFigures {
    fn new(document: &Document) -> HoldFigures {
        let measured = &document.measured;
        let p50 = measured.percentile("response_time", 50.0);
        let p99 = measured.percentile("response_time", 99.0);
        HoldFigures {
            started_per_second: measured.rates.started_per_second,
            ok_per_second: measured.rates.ok_per_second,
            response_time_p50_ns: p50.map(|figure| figure.value_ns),
            response_time_p50_at_least: p50.is_some_and(|figure| figure.at_least),
            response_time_p99_ns: p99.map(|figure| figure.value_ns),
            response_time_p99_at_least: p99.is_some_and(|figure| figure.at_least),
            errors: measured.operations.errors,
            error_share: measured.operations.error_share,
            busiest_worker_share: document.busiest_worker_share(),
            agents: u32::try_from(document.agents.len()).unwrap_or(u32::MAX),
            connections_ran_out: verdict::connections_ran_out(document),
        }
    }

    /// Estimates how many agents to add, by extrapolating what these did, and how busy they were,
    /// to the requested amount.
    fn more_agents(&self, amount: f64, document: &Document) -> u32 {
        let begun = document.load_counts().begun_per_second;
        let asked = match document.plan.load {
            crate::LoadRecord::Open { .. } if begun > 0.0 => (amount / begun).max(1.0),
            _ => 1.0,
        };
        // Other processes on the machine take CPU time from the workers, so its use counts, too.
        let machines = document
            .agents
            .iter()
            .filter_map(|agent| Some(agent.cpu?.machine_busy_share_mean));
        let busiest = machines
            .chain(self.busiest_worker_share)
            .reduce(f64::max)
            .unwrap_or(1.0);
        let busy = busiest.max(COMFORTABLE_SHARE) / COMFORTABLE_SHARE;
        // Agents add up, as long as each has its own machine.
        let needed = (f64::from(self.agents) * asked * busy)
            .ceil()
            .min(f64::from(u32::MAX)) as u32;
        needed.saturating_sub(self.agents).max(1)
    }
}

impl Judgement {
    /// Describes a threshold that does not hold: what it asks for, what was measured, and how far
    /// off that is.
    #[must_use]
    pub fn miss(&self) -> String {
        let asked = format!("{} {}", self.metric, self.limit_in_words());
        match (self.actual, &self.reason) {
            (_, Some(reason)) => format!("{asked}: {reason}"),
            (None, None) => format!("{asked}: not measured"),
            (Some(actual), None) => {
                let sign = if self.at_least { "≥ " } else { "" };
                format!(
                    "{asked}: {sign}{}{}",
                    self.unit.display(actual),
                    off(actual, self.limit)
                )
            }
        }
    }
}

/// Returns the distance from the limit as a percentage, or as a factor from ten times on; empty if
/// the limit is 0.
fn off(actual: f64, limit: f64) -> String {
    if limit == 0.0 {
        return String::new();
    }
    let ratio = actual / limit;
    match ratio {
        _ if ratio >= 10.0 => format!(", {ratio:.0} times the limit"),
        _ if ratio >= 1.0 => format!(", {} above", human::share(ratio - 1.0)),
        _ => format!(", {} below", human::share(1.0 - ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::off;

    #[test]
    fn distance_from_a_limit_is_in_per_cent_or_a_factor() {
        for (actual, limit, text) in [
            (300.0, 250.0, ", 20.0 % above"),
            (90.0, 100.0, ", 10.0 % below"),
            (5000.0, 250.0, ", 20 times the limit"),
            (3.0, 0.0, ""),
        ] {
            assert_eq!(off(actual, limit), text);
        }
    }
}
