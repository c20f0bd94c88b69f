//! What an agent's link and its runner exchange: orders go one way, reports the other.

use crate::{Boot, Digest, Finding, Mono, RunId};
use proto::Bytes;
use secret::Secret;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// An order from the link to the runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Parse the plan, resolve names, and build what can be built; answer with [`Report::Prepared`]
    /// or [`Report::NotPrepared`], even if it is to be forgotten by then. Anything prepared before
    /// is forgotten.
    Prepare(Assignment),
    /// Begin at `at`. Firing is allowed while the lease holds, and the lease can be extended only
    /// while it holds.
    Start {
        /// Run to start; it was prepared before.
        run: RunId,
        /// The start instant.
        at: Mono,
        /// End of the lease, as granted so far.
        lease_until: Boot,
    },
    /// The lease holds until this instant, which is never earlier than the one before.
    ExtendLease {
        /// Run it is for.
        run: RunId,
        /// End of the lease.
        until: Boot,
    },
    /// Requests have this token from now on. It comes again when another stream begins.
    Token {
        /// Run it is for; it was prepared before.
        run: RunId,
        /// Place of its credential among those whose tokens are fetched, from 0.
        place: u32,
        /// What requests carry.
        text: Secret<String>,
        /// When it expires; `None` if it does not.
        expires_at: Option<Mono>,
    },
    /// End the run before its plan does; [`Report::Ended`] still follows.
    Stop {
        /// Run to end.
        run: RunId,
        /// Whether operations that have begun may finish.
        how: Stop,
    },
    /// Fire a part of another agent's share too, from an instant on; answer with
    /// [`Report::TookOver`].
    TakeOver {
        /// Run it is about.
        run: RunId,
        /// Number of this order among such orders of the run.
        number: u32,
        /// Part to fire.
        share: SharePath,
        /// From this instant on.
        from: Mono,
    },
    /// Watch this machine until the run is to be forgotten, and send [`Report::Observed`] each
    /// second. Given to monitors; agents watch their machine in each run that they fire.
    Observe {
        /// Run to watch for.
        run: RunId,
        /// The zero of the run clock; it may be in the past.
        at: Mono,
        /// How long the plan fires, if that is fixed.
        firing: Option<Duration>,
    },
    /// Drop everything about the run, and end it at once if it is still going on. No more reports
    /// are wanted, except for the CPU profile that a monitor is taking: it ends here.
    Forget {
        /// Run to forget.
        run: RunId,
    },
}

/// Part of a lost agent's share: that agent's index, then which of how many equal parts, and the
/// same again for each time that part was dealt again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePath {
    /// The lost agent's index in the run.
    pub agent_index: u32,
    /// Each a part, from 0, and the number of parts.
    pub parts: Vec<(u32, u32)>,
}

/// An agent's part in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Run this is about.
    pub run: RunId,
    /// The run's name, for people.
    pub run_name: String,
    /// The plan's canonical text, including all its secrets.
    pub plan: Secret<String>,
    /// SHA-256 of the text, as computed by the coordinator.
    pub plan_digest: Digest,
    /// Index of this agent's share, from 0.
    pub agent_index: u32,
    /// Number of agents in the run.
    pub agents: u32,
    /// Files that the plan names, as far as this agent needs them. Their content matches their
    /// hash.
    pub files: Vec<PlanFile>,
    /// Further such files: the agent has stored them, and their content is to be proved.
    pub stored: Vec<Digest>,
    /// Those of `files` that may be stored for later runs.
    pub storable: Vec<Digest>,
    /// Which of the files, named nowhere in the plan, holds the client identities that were minted
    /// for this agent.
    pub minted: Option<Digest>,
    /// Whether to go on even if the preflight would refuse the plan.
    pub force: bool,
}

/// A file that a plan names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    /// Its hash, by which the canonical text names it.
    pub sha256: Digest,
    /// The whole content; it can be a key.
    pub content: Secret<Arc<[u8]>>,
}

/// How to end a run before its plan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stop {
    /// Nothing new begins; operations that have begun may finish.
    Drain,
    /// Operations that have begun are cut off.
    Now,
}

/// A report from the runner to the link. Reports come in the order in which things happened, and
/// those of a forgotten run are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The runner is ready to start.
    Prepared {
        /// Run this is about.
        run: RunId,
        /// SHA-256 of the plan as it was parsed and rendered by this agent.
        plan_digest: Digest,
        /// Addresses to which the target resolved.
        addresses: Vec<String>,
        /// Load threads that will be used.
        workers: u32,
        /// What the preflight found, although the run can start.
        findings: Vec<Finding>,
    },
    /// This agent cannot run the plan.
    NotPrepared {
        /// Run this is about.
        run: RunId,
        /// Why, and what to do about it.
        problem: String,
    },
    /// The load began.
    Began {
        /// Run this is about.
        run: RunId,
        /// Its first instant.
        at: Mono,
    },
    /// One second of the run clock was recorded, and never changes again.
    Interval {
        /// Run this is about.
        run: RunId,
        /// Second of the run clock, from 0.
        interval: u32,
        /// An encoded snapshot.
        encoded: Bytes,
    },
    /// The run is over; follows all its intervals.
    Ended {
        /// Run this is about.
        run: RunId,
        /// What ended it.
        cause: EndCause,
        /// Encoded snapshot of the sum of all intervals.
        totals: Bytes,
        /// The agent's own figures, which the link does not look into.
        figures: Bytes,
    },
    /// What this machine did in a second of the run. Seconds come in order, and some may be
    /// missing.
    Observed {
        /// Run this is about.
        run: RunId,
        /// Second of the run clock, from 0.
        second: u32,
        /// Encoded observation, at most [`crate::OBSERVATION_MAX_BYTES`].
        encoded: Bytes,
    },
    /// A monitor is taking a CPU profile; [`Report::Profiled`] follows if the run lasts long
    /// enough.
    Profiling {
        /// Run this is about.
        run: RunId,
    },
    /// The CPU profile; it can follow [`Order::Forget`].
    Profiled {
        /// Run this is about.
        run: RunId,
        /// Encoded profile: at least 1 byte, at most [`crate::PROFILE_MAX_BYTES`].
        encoded: Bytes,
    },
    /// The answer to [`Order::TakeOver`].
    TookOver {
        /// Run this is about.
        run: RunId,
        /// The order's number.
        number: u32,
        /// The instant from which the part is fired, or a sentence that says why it cannot be.
        answer: Result<Mono, String>,
    },
    /// A note for the record. The coordinator takes at most [`crate::NOTES_MAX`] of them per agent
    /// and run.
    Note {
        /// The run, if it is about one.
        run: Option<RunId>,
        /// A word, such as "policy".
        event: String,
        /// What happened, in a sentence.
        text: String,
    },
}

/// Why an agent's run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndCause {
    /// The whole plan is done.
    Plan,
    /// It was asked to stop.
    Stopped,
    /// The coordinator was not heard for longer than a lease.
    LeaseExpired,
    /// It could not go on, for this reason.
    Failed(String),
}

impl EndCause {
    /// Whether other agents are to fire what is left of the agent's share.
    pub(crate) fn is_early(&self) -> bool {
        match self {
            EndCause::Plan | EndCause::Stopped => false,
            EndCause::LeaseExpired | EndCause::Failed(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_a_file_is_not_in_the_debug_text_of_an_order() {
        let content: Arc<[u8]> = Arc::from(&b"PRIVATE KEY"[..]);
        let file = PlanFile {
            sha256: Digest::from_content(&content),
            content: content.into(),
        };
        assert_eq!(
            format!("{file:?}"),
            format!("PlanFile {{ sha256: {:?}, content: *** }}", file.sha256)
        );
        let order = Order::Prepare(Assignment {
            run: RunId([1; 16]),
            run_name: "edge".to_owned(),
            plan: "PRIVATE".to_owned().into(),
            plan_digest: Digest::from_content(b""),
            agent_index: 0,
            agents: 1,
            files: vec![file],
            stored: Vec::new(),
            storable: Vec::new(),
            minted: None,
            force: false,
        });
        assert!(!format!("{order:#?}").contains("PRIVATE"), "{order:?}");
    }
}
