//! What the coordinator is asked to run, and what it learns as the run goes.

use crate::{AgentId, Digest, EndCause, Finding, FleetTime, LEASE, RunId, Stop};
use bytes::Bytes;
use secret::Secret;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// One run over the fleet.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Drawn at random, so that no two runs share it.
    pub run: RunId,
    /// What people call it.
    pub name: String,
    /// The plan's canonical text, at most [`crate::PLAN_MAX_BYTES`], with all its secrets.
    pub plan: Secret<String>,
    /// SHA-256 of the text.
    pub plan_digest: Digest,
    /// Files that the plan names.
    pub files: Vec<RunFile>,
    /// Of the files, those with the client identities that were minted for an agent, by the agent's
    /// index; empty where none are.
    pub minted: Vec<Digest>,
    /// How many agents to wait for; at least 1.
    pub agents: u32,
    /// How long the plan fires, if it says so; an agent that goes on for much longer is stopped.
    pub firing: Option<Duration>,
    /// Longest that an operation may take once begun, so that a drain is waited for.
    pub drain: Duration,
    /// Counts the coordinators that this run had, from 1.
    pub epoch: u64,
    /// What it asks of the fleet.
    pub rules: FleetRules,
    /// Agents go on where their preflight would refuse the plan.
    pub force: bool,
}

/// What a run asks of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetRules {
    /// How long a lease lasts from the instant its beat was sent.
    pub lease: Duration,
    /// What becomes of the run when agents are lost.
    pub lost: LostPolicy,
    /// Agents that may be lost before the run fails all the same.
    pub tolerate: u32,
    /// How long missing agents are waited for; nothing: as long as it takes.
    pub join_timeout: Option<Duration>,
    /// By how much two agents may begin apart from each other, as far as is known before the start:
    /// the sum of the two widest error bounds of their clocks is at most this. The skew that a run
    /// is judged by has that bound.
    pub max_skew: Duration,
}

impl Default for FleetRules {
    /// No lost agent is tolerated, and everything is waited for.
    fn default() -> FleetRules {
        FleetRules {
            lease: LEASE,
            lost: LostPolicy::Fail,
            tolerate: 0,
            join_timeout: None,
            max_skew: Duration::MAX,
        }
    }
}

/// What becomes of a run when an agent is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LostPolicy {
    /// The others go on, and the run is invalid.
    #[default]
    Fail,
    /// The others go on with their own shares.
    Continue,
    /// The others get what is left of the lost agent's share.
    Redistribute,
}

/// A file that a plan names, and who needs it.
#[derive(Debug, Clone)]
pub struct RunFile {
    /// Of the content.
    pub sha256: Digest,
    /// All of it; it may be a key.
    pub content: Secret<Bytes>,
    /// Agents (by index) that get it; private keys go only where they are used.
    pub audience: Audience,
}

/// Who gets a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Every agent of the run.
    All,
    /// These, by index.
    Only(Vec<u32>),
}

/// What somebody joins a fleet for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// To fire.
    #[default]
    Agent,
    /// To watch the machine that it is on, and nothing else.
    Monitor,
}

/// Who watches a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Observer {
    /// An agent, its own one; by its index in the run.
    Agent(u32),
    /// A monitor, by its number in the run.
    Monitor(u32),
}

impl Observer {
    pub(crate) fn number(self) -> u32 {
        match self {
            Observer::Agent(number) | Observer::Monitor(number) => number,
        }
    }
}

/// What an agent says of itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// Names its process: another start is another agent.
    pub id: AgentId,
    /// Host name, or what `--name` said. Two agents may have the same.
    pub name: String,
    /// Version of its program.
    pub version: String,
    /// What `--label` said.
    pub labels: BTreeMap<String, String>,
    /// Load threads it would use.
    pub workers: u32,
    /// Host facts, encoded by the agent.
    pub host: Bytes,
    /// What it joins for. An event says by its kind what a machine is.
    #[serde(skip)]
    pub role: Role,
    /// Its machine's calibration, encoded by the agent; empty if there is none. It is of use before
    /// the run only.
    #[serde(skip)]
    pub calibration: Bytes,
}

impl AgentFacts {
    /// An agent with one load thread, of which no more is known.
    #[must_use]
    pub fn new(id: AgentId, name: &str) -> AgentFacts {
        AgentFacts {
            id,
            name: name.to_owned(),
            version: String::new(),
            labels: BTreeMap::new(),
            workers: 1,
            host: Bytes::new(),
            role: Role::Agent,
            calibration: Bytes::new(),
        }
    }
}

/// Where an agent's clock stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Coordinator's monotonic clock minus the agent's, in nanoseconds.
    pub offset_ns: i64,
    /// Error bound of it, in nanoseconds.
    pub bound_ns: u64,
}

/// How far apart the agents began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skew {
    /// Agents that began.
    pub agents: u32,
    /// From the first to the last, in nanoseconds.
    pub skew_ns: u64,
    /// Error bound of it, in nanoseconds.
    pub bound_ns: u64,
}

/// What happens in a run, in order. Agents are named by their index in the run.
///
/// The coordinator's log holds these events in an encoding that numbers variants and fields by
/// their place. New variants go to the end, and a variant that must change is replaced by a new
/// one; a golden file of the log's tests fails otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunEvent {
    /// An agent is at hand for this run, which is still gathering; indices are given by
    /// [`RunEvent::Assembled`].
    Joined {
        /// What it says of itself.
        agent: AgentFacts,
    },
    /// One of those went away again.
    Left {
        /// What it says of itself.
        agent: AgentFacts,
    },
    /// How many of the wanted agents are at hand; after each change.
    Waiting {
        /// Agents that are at hand.
        have: u32,
        /// Agents that the run asks for.
        want: u32,
    },
    /// All agents are at hand and get the plan; an agent's index is its place in this list.
    Assembled {
        /// The agents of this run.
        agents: Vec<AgentFacts>,
    },
    /// The agent holds the same plan and can run it.
    Ready {
        /// Its index in the run.
        agent: u32,
        /// Target addresses it resolved.
        addresses: Vec<String>,
        /// Load threads it will use.
        workers: u32,
        /// Where its clock stands.
        clock: ClockReading,
    },
    /// The agent cannot run the plan; the run will not start. Where the run bears it, the agent is
    /// [`RunEvent::Lost`] instead.
    Problem {
        /// Its index in the run.
        agent: u32,
        /// Why, and what to do.
        problem: String,
    },
    /// The start instant is named.
    Armed {
        /// Coordinator's monotonic clock.
        start_at: FleetTime,
        /// From this event to the start.
        start_in: Duration,
    },
    /// The agent began.
    Began {
        /// Its index in the run.
        agent: u32,
        /// First instant of its run, on the coordinator's clock.
        at: FleetTime,
        /// Error bound of it, in nanoseconds.
        bound_ns: u64,
    },
    /// Every agent has begun or will not: how well they began together. Nothing if fewer than one
    /// began.
    Started {
        /// Over all that began.
        skew: Skew,
    },
    /// An interval of an agent; each comes once.
    Interval {
        /// Its index in the run.
        agent: u32,
        /// Second of the run clock, from 0.
        interval: u32,
        /// An encoded snapshot.
        encoded: Bytes,
    },
    /// An agent's own sum of all its intervals; once, after the last of them.
    Totals {
        /// Its index in the run.
        agent: u32,
        /// How many intervals it counts.
        intervals: u32,
        /// An encoded snapshot.
        encoded: Bytes,
    },
    /// The agent's stream is gone; it may come back.
    Gone {
        /// Its index in the run.
        agent: u32,
        /// Why, as far as known.
        why: String,
    },
    /// The agent is back in this run.
    Back {
        /// Its index in the run.
        agent: u32,
    },
    /// The agent's part is over.
    Ended {
        /// Its index in the run.
        agent: u32,
        /// What ended it.
        cause: EndCause,
        /// Intervals that are known to exist and never came; at most [`crate::MISSING_MAX`] of
        /// them.
        missing: Vec<u32>,
        /// The agent's own figures.
        figures: Bytes,
        /// Its clock, measured at the end.
        clock: Option<ClockReading>,
    },
    /// The agent is given up, once; what it delivered stands, what it did not is a gap. If it comes
    /// back before the run is done, [`RunEvent::Back`], its intervals, its totals and
    /// [`RunEvent::Ended`] may follow.
    Lost {
        /// Its index in the run.
        agent: u32,
        /// Number of the first interval that never came.
        next_interval: u32,
        /// By then its last lease is over, so that it fires no more; nothing: it never had one.
        fired_until: Option<FleetTime>,
        /// Why, in words.
        why: String,
    },
    /// Some agents did not learn of the start instant in time, or did not ask for their leases:
    /// nobody fired, and another instant is named.
    Postponed {
        /// Those that did not, by index; none where the coordinator itself was too slow.
        agents: Vec<u32>,
    },
    /// Others are to fire what is left of a lost agent's share from an instant on. Each of them
    /// does once [`RunEvent::TakenOver`] says so.
    Redistributed {
        /// The lost agent, by index.
        agent: u32,
        /// Those that fire it, by index.
        to: Vec<u32>,
        /// From this instant on.
        from: FleetTime,
    },
    /// Agents obey a coordinator that took this run up later than this one: nothing more comes
    /// here.
    Superseded {
        /// Of that coordinator.
        epoch: u64,
    },
    /// Something for the record.
    Note {
        /// By index; nothing: the coordinator itself.
        agent: Option<u32>,
        /// One word for what it is about.
        event: String,
        /// What happened, in a sentence.
        text: String,
    },
    /// The last event.
    Done {
        /// How it ended.
        outcome: RunOutcome,
    },
    /// One of those has answered for everything that it was given of it.
    TakenOver {
        /// The lost agent, by index.
        agent: u32,
        /// Who fires a part of what it left.
        by: u32,
        /// From this instant on; nothing: it does not fire all of it.
        from: Option<FleetTime>,
    },
    /// A monitor watches its machine for this run from now on; its number is how many did before.
    /// It may go and come back, and its seconds are then missing.
    Watching {
        /// What it says of itself.
        #[serde(deserialize_with = "monitor_facts")]
        monitor: AgentFacts,
    },
    /// What a machine did in a second; of each observer in order, and each second at most once.
    Observed {
        /// Who says it.
        by: Observer,
        /// Of the run clock, from 0.
        second: u32,
        /// As the observer encoded it.
        encoded: Bytes,
    },
    /// What an agent's preflight found, where it found something; after [`RunEvent::Ready`].
    Preflight {
        /// Its index in the run.
        agent: u32,
        /// What its machine may lack.
        findings: Vec<Finding>,
    },
    /// A part of the CPU profile that a monitor took; of each monitor in order, and each once.
    ProfilePart {
        /// The monitor's number in the run.
        monitor: u32,
        /// From 0.
        part: u32,
        /// At least 1.
        parts: u32,
        /// As the monitor encoded it.
        content: Bytes,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunOutcome {
    /// It ran; each agent's [`RunEvent::Ended`] or [`RunEvent::Lost`] says how far.
    Ran,
    /// It was stopped before anything was fired.
    StoppedBeforeStart(Stop),
    /// It never began: a [`RunEvent::Problem`] or [`RunEvent::Lost`] says why.
    NotStarted,
    /// Too few agents joined in time.
    TooFewAgents {
        /// Agents that were at hand.
        have: u32,
        /// Agents that the run asks for.
        want: u32,
    },
    /// Another coordinator has taken it up.
    Superseded,
}

/// Reads the facts of a monitor, which are written without their role.
fn monitor_facts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AgentFacts, D::Error> {
    let facts = AgentFacts::deserialize(deserializer)?;
    Ok(AgentFacts {
        role: Role::Monitor,
        ..facts
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_a_file_is_not_in_its_debug_text() {
        let content = Bytes::from_static(b"PRIVATE KEY");
        let file = RunFile {
            sha256: Digest::from_content(&content),
            content: content.into(),
            audience: Audience::Only(vec![2]),
        };
        assert_eq!(
            format!("{file:?}"),
            format!(
                "RunFile {{ sha256: {:?}, content: ***, audience: Only([2]) }}",
                file.sha256
            )
        );
    }
}
