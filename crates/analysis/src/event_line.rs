//! A line of `events.jsonl`: what happened in a run, and when the coordinator heard of it.
//!
//! Fields stand in alphabetical order behind the time and the word, and are written in this order.

use crate::{AgentEndCause, Judgement, RunState, Unit, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EventLine {
    /// When it was heard of, UTC, RFC 3339.
    pub at: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Happened,
}

/// An agent by its name; by its index in the run where no name is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AgentMention {
    /// Its name.
    Name(String),
    /// Its index in the run.
    Index(u32),
}

/// An agent and its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NamedAgent {
    /// Its name.
    pub agent: String,
    /// Its id, hexadecimal: another one each time that it is started.
    pub id: String,
}

/// What a machine says of itself as it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentIntroduction {
    /// Its name.
    pub agent: String,
    /// Its id, hexadecimal: another one each time that it is started.
    pub id: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Version of its program.
    pub version: String,
    /// Load threads that it would use.
    pub workers: u32,
}

/// Where an agent's clock stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClockFigure {
    /// Error bound of the offset.
    pub bound_ns: u64,
    /// The coordinator's clock minus the agent's.
    pub offset_ns: i64,
}

/// What an agent's machine may lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineFinding {
    /// It would have refused the plan, and was told not to.
    pub forced: bool,
    /// A sentence with the numbers and the cure.
    pub text: String,
}

/// How a run ended, before its result is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetEnding {
    /// It began, and every agent's part is over.
    Ran,
    /// Somebody stopped it before its start.
    StoppedBeforeStart,
    /// An agent cannot run the plan, or could not be started.
    NotStarted,
    /// Not enough agents came or stayed.
    TooFewAgents,
    /// Another coordinator took it up.
    Superseded,
}

/// What happened. Instants on the coordinator's clock (`_at_ns`, `from_ns`) compare with each other
/// only, within a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happened {
    /// An agent is at hand.
    Joined(AgentIntroduction),
    /// One of those went away again.
    Left(NamedAgent),
    /// All agents are at hand and get the plan; an agent's index is its place in the list.
    Assembled {
        /// The agents of this run.
        agents: Vec<NamedAgent>,
    },
    /// An agent holds the plan and can run it.
    Ready {
        /// Target addresses that it resolved.
        addresses: Vec<String>,
        /// Which agent.
        agent: AgentMention,
        /// Where its clock stands.
        clock: ClockFigure,
        /// Load threads that it uses.
        workers: u32,
    },
    /// An agent cannot run the plan.
    Problem {
        /// Which agent.
        agent: AgentMention,
        /// Why, and what to do.
        text: String,
    },
    /// The start instant is named.
    Armed {
        /// The instant, on the coordinator's clock.
        start_at_ns: u64,
        /// From this line to the start.
        start_in_ms: u64,
    },
    /// An agent began.
    Began {
        /// Which agent.
        agent: AgentMention,
        /// Its first instant, on the coordinator's clock.
        began_at_ns: u64,
        /// Error bound of it.
        bound_ns: u64,
    },
    /// Every agent has begun or will not.
    Started {
        /// Agents that began.
        agents: u32,
        /// Error bound of the skew.
        bound_ns: u64,
        /// From the first to the last.
        skew_ns: u64,
    },
    /// An agent's connection is gone; it may come back.
    Gone {
        /// Which agent.
        agent: AgentMention,
        /// Why, as far as known.
        text: String,
    },
    /// An agent is back.
    Back {
        /// Which agent.
        agent: AgentMention,
    },
    /// An agent's part is over.
    Ended {
        /// Which agent.
        agent: AgentMention,
        /// What ended it.
        cause: AgentEndCause,
        /// Its clock, measured at the end; null where it was not.
        clock: Option<ClockFigure>,
        /// Seconds that are known to exist and never came.
        missing: Vec<u32>,
        /// Why it failed; null where it did not.
        text: Option<String>,
    },
    /// An agent is given up.
    Lost {
        /// Which agent.
        agent: AgentMention,
        /// Number of its first second that never came.
        next_interval: u32,
        /// Why.
        text: String,
    },
    /// Nobody fired at the start instant, and another one is named.
    Postponed {
        /// Agents that were not ready; none where the coordinator was too slow.
        agents: Vec<AgentMention>,
    },
    /// Others are to fire what is left of a lost agent's share.
    Redistributed {
        /// The lost agent.
        agent: AgentMention,
        /// From this instant on, on the coordinator's clock.
        from_ns: u64,
        /// Who is to fire it.
        to: Vec<AgentMention>,
    },
    /// One of those has answered.
    TakenOver {
        /// The lost agent.
        agent: AgentMention,
        /// Who answered.
        by: AgentMention,
        /// It fires its part from this instant on, on the coordinator's clock; null where it does
        /// not fire all of it.
        from_ns: Option<u64>,
    },
    /// Agents obey a coordinator that took the run up later than this one.
    Superseded {
        /// The number of that coordinator.
        epoch: u64,
    },
    /// Another coordinator goes on with the run.
    Resumed {
        /// Its number.
        epoch: u64,
        /// How long the run had none.
        unattended_seconds: f64,
    },
    /// A remark.
    Note {
        /// One word for what it is about.
        about: String,
        /// Whose; null where it is the coordinator's.
        agent: Option<AgentMention>,
        /// A sentence.
        text: String,
    },
    /// A monitor watches its machine from now on.
    Watching(AgentIntroduction),
    /// What an agent found of its machine before the start.
    Preflight {
        /// Which agent.
        agent: AgentMention,
        /// What its machine may lack.
        findings: Vec<MachineFinding>,
    },
    /// No agent's part goes on.
    Done {
        /// How the run ended.
        outcome: FleetEnding,
    },
    /// A threshold of the plan with its outcome, as in `result.json`.
    Threshold {
        /// What was measured, in `unit`; null where nothing was.
        actual: Option<f64>,
        /// `actual` is a lower bound.
        at_least: bool,
        /// `<`, `<=`, `>` or `>=`.
        comparison: String,
        /// Right-hand side, in `unit`.
        limit: f64,
        /// Name of the figure, as the plan has it.
        metric: String,
        /// Whether it holds.
        passed: bool,
        /// Why it does not hold, where the numbers alone do not say.
        reason: Option<String>,
        /// Unit of `limit` and `actual`.
        unit: Unit,
    },
    /// What the run came to; the last line.
    Verdict {
        /// Why, with numbers.
        evidence: Vec<String>,
        /// How the run ended.
        state: RunState,
        /// What its numbers are about.
        verdict: Verdict,
    },
}

impl From<&Judgement> for Happened {
    fn from(judgement: &Judgement) -> Happened {
        let judgement = judgement.clone();
        Happened::Threshold {
            actual: judgement.actual,
            at_least: judgement.at_least,
            comparison: judgement.comparison,
            limit: judgement.limit,
            metric: judgement.metric,
            passed: judgement.passed,
            reason: judgement.reason,
            unit: judgement.unit,
        }
    }
}
