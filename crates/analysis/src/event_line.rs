//! A line of `events.jsonl`: an event of a run, and when the coordinator learned of it.
//!
//! The time and the event's name come first, then the fields in alphabetical order; they are
//! written in this order.

use crate::{AgentEndCause, Judgement, RunState, Unit, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// A line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventLine {
    /// When the coordinator learned of it, UTC, RFC 3339.
    pub at: String,
    /// The event.
    #[serde(flatten)]
    pub event: Happened,
}

/// An agent by its name, or by its index in the run if no name is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AgentMention {
    /// Its name.
    Name(String),
    /// Its index in the run.
    Index(u32),
}

/// An agent and its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedAgent {
    /// Its name.
    pub agent: String,
    /// Its id, hexadecimal; it changes each time the agent is started.
    pub id: String,
}

/// What a machine reports about itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentIntroduction {
    /// Its name.
    pub agent: String,
    /// Its id, hexadecimal; it changes each time the program is started.
    pub id: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Version of its program.
    pub version: String,
    /// Number of load threads it would use.
    pub workers: u32,
}

/// An agent's clock offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockFigure {
    /// Error bound of the offset.
    pub bound_ns: u64,
    /// The coordinator's clock minus the agent's.
    pub offset_ns: i64,
}

/// Something that an agent's machine may lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineFinding {
    /// Whether the agent would have refused the plan because of it, had it not been forced.
    pub forced: bool,
    /// A sentence with the numbers and the remedy.
    pub text: String,
}

/// How a run ended, before its result is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FleetEnding {
    /// It began, and every agent's part is over.
    Ran,
    /// A user stopped it before its start.
    StoppedBeforeStart,
    /// An agent cannot run the plan, or could not be started.
    NotStarted,
    /// Not enough agents came or stayed.
    TooFewAgents,
    /// Another coordinator took over.
    Superseded,
}

/// An event of a run. Instants on the coordinator's clock (`_at_ns`, `from_ns`) can be compared
/// only with each other, and only within a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happened {
    /// An agent joined and is available.
    Joined(AgentIntroduction),
    /// An agent that had joined left again.
    Left(NamedAgent),
    /// All agents are available and get the plan; an agent's index is its position in the list.
    Assembled {
        /// The agents of this run.
        agents: Vec<NamedAgent>,
    },
    /// An agent holds the plan and can run it.
    Ready {
        /// Target addresses it resolved.
        addresses: Vec<String>,
        /// The agent.
        agent: AgentMention,
        /// Its clock offset.
        clock: ClockFigure,
        /// Number of load threads it uses.
        workers: u32,
    },
    /// An agent cannot run the plan.
    Problem {
        /// The agent.
        agent: AgentMention,
        /// The reason, and what to do.
        text: String,
    },
    /// The start instant is set.
    Armed {
        /// The instant, on the coordinator's clock.
        start_at_ns: u64,
        /// Time from this event to the start.
        start_in_ms: u64,
    },
    /// An agent began.
    Began {
        /// The agent.
        agent: AgentMention,
        /// Its first instant, on the coordinator's clock.
        began_at_ns: u64,
        /// Error bound of that instant.
        bound_ns: u64,
    },
    /// Every agent has begun or will not.
    Started {
        /// Number of agents that began.
        agents: u32,
        /// Error bound of the skew.
        bound_ns: u64,
        /// Time from the first agent's start to the last one's.
        skew_ns: u64,
    },
    /// An agent's connection is gone; it may come back.
    Gone {
        /// The agent.
        agent: AgentMention,
        /// The reason, as far as it is known.
        text: String,
    },
    /// An agent is back.
    Back {
        /// The agent.
        agent: AgentMention,
    },
    /// An agent's part of the run is over.
    Ended {
        /// The agent.
        agent: AgentMention,
        /// The cause.
        cause: AgentEndCause,
        /// Its clock as measured at the end; null if it was not measured.
        clock: Option<ClockFigure>,
        /// Seconds that are known to exist and never arrived.
        missing: Vec<u32>,
        /// Why it failed; null if it did not.
        text: Option<String>,
    },
    /// An agent is given up.
    Lost {
        /// The agent.
        agent: AgentMention,
        /// Number of its first second that never arrived.
        next_interval: u32,
        /// The reason.
        text: String,
    },
    /// No agent began at the start instant, and a new instant was set.
    Postponed {
        /// Agents that were not ready; empty if the coordinator was too slow.
        agents: Vec<AgentMention>,
    },
    /// The rest of a lost agent's share is assigned to others.
    Redistributed {
        /// The lost agent.
        agent: AgentMention,
        /// Instant from which they are to fire it, on the coordinator's clock.
        from_ns: u64,
        /// The agents that are to fire it.
        to: Vec<AgentMention>,
    },
    /// An agent answered whether it takes over its part of a lost agent's share.
    TakenOver {
        /// The lost agent.
        agent: AgentMention,
        /// The agent that answered.
        by: AgentMention,
        /// Instant from which it fires its part, on the coordinator's clock; null if it does not
        /// fire all of it.
        from_ns: Option<u64>,
    },
    /// Agents obey a coordinator that took over the run later than this one.
    Superseded {
        /// Epoch of that coordinator.
        epoch: u64,
    },
    /// Another coordinator continues the run.
    Resumed {
        /// Its epoch.
        epoch: u64,
        /// How long the run had no coordinator.
        unattended_seconds: f64,
    },
    /// A remark.
    Note {
        /// One word for the topic.
        about: String,
        /// The agent it concerns; null if it is the coordinator's.
        agent: Option<AgentMention>,
        /// The remark, as a sentence.
        text: String,
    },
    /// A monitor began to watch its machine.
    Watching(AgentIntroduction),
    /// An agent's findings about its machine before the start.
    Preflight {
        /// The agent.
        agent: AgentMention,
        /// Its findings.
        findings: Vec<MachineFinding>,
    },
    /// Every agent's part is over.
    Done {
        /// How the run ended.
        outcome: FleetEnding,
    },
    /// A threshold of the plan with its outcome, as in `result.json`.
    Threshold {
        /// Measured value, in `unit`; null if nothing was measured.
        actual: Option<f64>,
        /// Whether `actual` is a lower bound.
        at_least: bool,
        /// `<`, `<=`, `>` or `>=`.
        comparison: String,
        /// Right-hand side, in `unit`.
        limit: f64,
        /// Name of the figure, as the plan has it.
        metric: String,
        /// Whether it holds.
        passed: bool,
        /// Why it does not hold, if the numbers alone do not show it.
        reason: Option<String>,
        /// Unit of `limit` and `actual`.
        unit: Unit,
    },
    /// The run's verdict; the last line.
    Verdict {
        /// The reasons, with numbers.
        evidence: Vec<String>,
        /// How the run ended.
        state: RunState,
        /// The run's verdict.
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
