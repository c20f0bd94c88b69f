//! What the coordinator is asked to run, and what it learns during the run.

use crate::{AgentId, Digest, EndCause, Finding, FleetTime, FleetToken, LEASE, RunId, Stop};
use bytes::Bytes;
use secret::Secret;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// One run over the fleet.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Random, so that no two runs share it.
    pub run: RunId,
    /// The run's name, for people.
    pub name: String,
    /// The plan's canonical text, at most [`crate::PLAN_MAX_BYTES`], including all its secrets.
    pub plan: Secret<String>,
    /// SHA-256 of the text.
    pub plan_digest: Digest,
    /// Files that the plan names and that are sent.
    pub files: Vec<RunFile>,
    /// Bytes of the plan's other files: each agent has these, and reads them before it is ready.
    pub unsent_bytes: u64,
    /// Hashes of the files that hold the client identities minted for an agent, by the agent's
    /// index; empty if there are none.
    pub minted: Vec<Digest>,
    /// How many agents to wait for; at least 1.
    pub agents: u32,
    /// How long the plan fires, if that is fixed. An agent that goes on for much longer is stopped.
    pub firing: Option<Duration>,
    /// Longest time that an operation can take once it has begun; a drain is waited for that long.
    pub drain: Duration,
    /// Counts the coordinators of this run, from 1.
    pub epoch: u64,
    /// What the run asks of the fleet.
    pub rules: FleetRules,
    /// Whether agents go on even if their preflight would refuse the plan.
    pub force: bool,
    /// The tokens that its agents have in common, as they came before the run.
    pub tokens: Vec<FleetToken>,
}

/// What a run asks of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetRules {
    /// How long a lease lasts, from the instant its beat was sent.
    pub lease: Duration,
    /// What becomes of the run when agents are lost.
    pub lost: LostPolicy,
    /// Number of agents that can be lost before the run fails anyway.
    pub tolerate: u32,
    /// How long to wait for missing agents; `None` for as long as it takes.
    pub join_timeout: Option<Duration>,
    /// How far apart two agents may begin, as far as is known before the start: the sum of the two
    /// widest error bounds of their clocks is at most this. The skew by which a run is judged is
    /// known to within that bound.
    pub max_skew: Duration,
}

impl Default for FleetRules {
    /// No lost agent is tolerated, missing agents are waited for as long as it takes, and any skew
    /// is allowed.
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
    /// SHA-256 of the content.
    pub sha256: Digest,
    /// The whole content; it can be a key.
    pub content: Secret<Bytes>,
    /// Agents (by index) that get it; private keys go only where they are used.
    pub audience: Audience,
    /// Whether agents may keep it on their disks: it is no secret.
    pub is_storable: bool,
}

/// Which agents get a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Every agent of the run.
    All,
    /// These agents, by index.
    Only(Vec<u32>),
}

/// What a process joins a fleet for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// To fire.
    #[default]
    Agent,
    /// To watch its machine, and nothing else.
    Monitor,
}

/// Who observes a machine: an agent or a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Observer {
    /// The machine's own agent, by its index in the run.
    Agent(u32),
    /// A monitor, by its number in the run.
    Monitor(u32),
}

/// What an agent says of itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// Identifies its process: a restarted agent is another one.
    pub id: AgentId,
    /// The host name, or the value of `--name`. Two agents can have the same.
    pub name: String,
    /// Version of its program.
    pub version: String,
    /// The values of `--label`.
    pub labels: BTreeMap<String, String>,
    /// Load threads it would use.
    pub workers: u32,
    /// Host facts, encoded by the agent.
    pub host: Bytes,
    /// What it joins for. It is not stored, because an event says by its kind what a machine is.
    #[serde(skip)]
    pub role: Role,
    /// Its machine's calibration, encoded by the agent; empty if there is none. It is of use only
    /// before the run.
    #[serde(skip)]
    pub calibration: Bytes,
}

impl AgentFacts {
    /// An agent with one load thread, about which nothing more is known.
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

/// The offset of an agent's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Coordinator's monotonic clock minus the agent's, in nanoseconds.
    pub offset_ns: i64,
    /// Error bound of the offset, in nanoseconds.
    pub bound_ns: u64,
}

/// How far apart the agents began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skew {
    /// Number of agents that began.
    pub agents: u32,
    /// Time from the first to the last, in nanoseconds.
    pub skew_ns: u64,
    /// Error bound of the skew, in nanoseconds.
    pub bound_ns: u64,
}

/// An event of a run. Events come in order, and name agents by their index in the run.
///
/// The coordinator's log holds these events in an encoding that numbers variants and fields by
/// their place. New variants go to the end, and a variant that must change is replaced by a new
/// one; otherwise a golden file of the log's tests fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunEvent {
    /// An agent is available for this run, which is still gathering agents. Indices are assigned by
    /// [`RunEvent::Assembled`].
    Joined {
        /// What it says of itself.
        agent: AgentFacts,
    },
    /// One of these agents went away again.
    Left {
        /// What it says of itself.
        agent: AgentFacts,
    },
    /// How many of the wanted agents are available; follows each change.
    Waiting {
        /// Agents that are available.
        have: u32,
        /// Agents that the run asks for.
        want: u32,
    },
    /// All agents are available and receive the plan. An agent's index is its place in this list.
    Assembled {
        /// The agents of this run.
        agents: Vec<AgentFacts>,
    },
    /// The agent has the same plan and can run it.
    Ready {
        /// Its index in the run.
        agent: u32,
        /// Target addresses it resolved.
        addresses: Vec<String>,
        /// Load threads it will use.
        workers: u32,
        /// The offset of its clock.
        clock: ClockReading,
    },
    /// The agent cannot run the plan, so the run will not start. If the run tolerates that, the
    /// agent is [`RunEvent::Lost`] instead.
    Problem {
        /// Its index in the run.
        agent: u32,
        /// Why, and what to do.
        problem: String,
    },
    /// The start instant is announced.
    Armed {
        /// On the coordinator's monotonic clock.
        start_at: FleetTime,
        /// Time from this event to the start.
        start_in: Duration,
    },
    /// The agent began.
    Began {
        /// Its index in the run.
        agent: u32,
        /// First instant of its run, on the coordinator's clock.
        at: FleetTime,
        /// Error bound of `at`, in nanoseconds.
        bound_ns: u64,
    },
    /// Every agent has begun or never will: how far apart they began. Does not come if none began.
    Started {
        /// Over all agents that began.
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
    /// An agent's own sum of all its intervals; comes once, after the last of them.
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
        /// Why, as far as it is known.
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
        /// Intervals that are known to exist and never arrived, at most [`crate::MISSING_MAX`] of
        /// them.
        missing: Vec<u32>,
        /// The agent's own figures.
        figures: Bytes,
        /// Its clock, measured at the end.
        clock: Option<ClockReading>,
    },
    /// The agent is given up, once. What it delivered counts, and what it did not is a gap. If it
    /// comes back before the run is done, [`RunEvent::Back`], its intervals, its totals and
    /// [`RunEvent::Ended`] may follow.
    Lost {
        /// Its index in the run.
        agent: u32,
        /// Number of the first interval that never arrived.
        next_interval: u32,
        /// By then its last lease has expired, so it fires no more; `None` if it never had one.
        fired_until: Option<FleetTime>,
        /// Why it was given up.
        why: String,
    },
    /// Some agents did not learn of the start instant in time, or did not ask for their leases. No
    /// agent fired, and another instant is announced.
    Postponed {
        /// Indices of these agents; empty if the coordinator itself was too slow.
        agents: Vec<u32>,
    },
    /// Other agents are to fire what is left of a lost agent's share, from an instant on. Each of
    /// them does so once [`RunEvent::TakenOver`] says so.
    Redistributed {
        /// Index of the lost agent.
        agent: u32,
        /// Indices of the agents that fire its share.
        to: Vec<u32>,
        /// From this instant on.
        from: FleetTime,
    },
    /// Agents obey a coordinator that took this run up later, so nothing more comes here.
    Superseded {
        /// The epoch of that coordinator.
        epoch: u64,
    },
    /// A note for the record.
    Note {
        /// Index of the agent; `None` for the coordinator itself.
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
    /// One of these agents has answered for everything it was given of the share.
    TakenOver {
        /// Index of the lost agent.
        agent: u32,
        /// Index of the agent that fires a part of what it left.
        by: u32,
        /// From this instant on; `None` if it does not fire all of it.
        from: Option<FleetTime>,
    },
    /// A monitor watches its machine for this run from now on. Its number is the count of monitors
    /// before it. It can go and come back; its seconds in between are missing.
    Watching {
        /// What it says of itself.
        #[serde(deserialize_with = "monitor_facts")]
        monitor: AgentFacts,
    },
    /// What a machine did in a second. The seconds of each observer come in order, and each at most
    /// once.
    Observed {
        /// Which agent or monitor observed it.
        by: Observer,
        /// Second of the run clock, from 0.
        second: u32,
        /// The observation, as its observer encoded it.
        encoded: Bytes,
    },
    /// What an agent's preflight found, if anything; follows [`RunEvent::Ready`].
    Preflight {
        /// Its index in the run.
        agent: u32,
        /// What its machine may lack.
        findings: Vec<Finding>,
    },
    /// A part of the CPU profile that a monitor took. The parts of each monitor come in order, each
    /// once.
    ProfilePart {
        /// The monitor's number in the run.
        monitor: u32,
        /// Number of this part, from 0.
        part: u32,
        /// Number of parts, at least 1.
        parts: u32,
        /// The content, as the monitor encoded it.
        content: Bytes,
    },
    /// The caller asked for a token that all agents have in common.
    TokenAsked {
        /// Place of its credential among those whose tokens are fetched, from 0.
        place: u32,
        /// Whether it came.
        came: bool,
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
        /// Agents that were available.
        have: u32,
        /// Agents that the run asks for.
        want: u32,
    },
    /// Another coordinator has taken it up.
    Superseded,
}

/// Reads the facts of a monitor, which are stored without their role.
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
            is_storable: false,
        };
        assert_eq!(
            format!("{file:?}"),
            format!(
                "RunFile {{ sha256: {:?}, content: ***, audience: Only([2]), is_storable: false }}",
                file.sha256
            )
        );
    }
}
