//! Between an agent's link and whoever fires there: orders go one way, reports the other.

use crate::{Boot, Digest, Finding, Mono, RunId};
use proto::Bytes;
use secret::Secret;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the link asks of whoever fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Parse the plan, resolve, build what can be built; answer [`Report::Prepared`] or
    /// [`Report::NotPrepared`]. Whatever was prepared before is forgotten.
    Prepare(Assignment),
    /// Begin at `at`. Firing is allowed while the lease holds, and it can be extended only while it
    /// holds.
    Start {
        /// Run to start, prepared before.
        run: RunId,
        /// The start instant.
        at: Mono,
        /// The lease at this moment.
        lease_until: Boot,
    },
    /// The lease holds until then; never earlier than was said before.
    ExtendLease {
        /// Run it is for.
        run: RunId,
        /// End of the lease.
        until: Boot,
    },
    /// End the run before its plan does; [`Report::Ended`] still follows.
    Stop {
        /// Run to end.
        run: RunId,
        /// Whether what has begun may finish.
        how: Stop,
    },
    /// Fire a part of another agent's share too, from an instant on; answer [`Report::TookOver`].
    TakeOver {
        /// Run it is about.
        run: RunId,
        /// Counts these orders of a run.
        number: u32,
        /// What to fire.
        share: SharePath,
        /// From this instant on.
        from: Mono,
    },
    /// Watch this machine until the run is to be forgotten: [`Report::Observed`] each second. Given
    /// to monitors; agents watch theirs in each run that they fire.
    Observe {
        /// Run to watch for.
        run: RunId,
        /// Where the run clock stands at 0; it may be over.
        at: Mono,
        /// How long the plan fires, if it says so.
        firing: Option<Duration>,
    },
    /// Drop everything about the run, ending it at once if it is still going on; no report is
    /// wanted any more, but for the CPU profile that a monitor takes: it ends here.
    Forget {
        /// Run to forget.
        run: RunId,
    },
}

/// Part of a lost agent's share: that agent's index, then which of how many equal parts, and again
/// of that part, where it was dealt again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePath {
    /// The lost agent's index in the run.
    pub agent_index: u32,
    /// Each a part, from 0, and of how many.
    pub parts: Vec<(u32, u32)>,
}

/// An agent's part in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Run that this is about.
    pub run: RunId,
    /// What people call it.
    pub run_name: String,
    /// The plan's canonical text, with all its secrets.
    pub plan: Secret<String>,
    /// SHA-256 of the text, as the coordinator knows it.
    pub plan_digest: Digest,
    /// Which share is this agent's, from 0.
    pub agent_index: u32,
    /// Agents in the run.
    pub agents: u32,
    /// Files that the plan names, as far as this agent needs them; their content matches their
    /// hash.
    pub files: Vec<PlanFile>,
    /// Which of them, named nowhere in the plan, holds the client identities that were minted for
    /// this agent.
    pub minted: Option<Digest>,
    /// Go on where the preflight would refuse the plan.
    pub force: bool,
}

/// A file that a plan names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    /// Its name in the canonical text.
    pub sha256: Digest,
    /// All of it; it may be a key.
    pub content: Secret<Bytes>,
}

/// How to end a run before its plan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stop {
    /// Nothing new begins; what has begun may finish.
    Drain,
    /// What has begun is cut.
    Now,
}

/// What whoever fires tells the link, in the order in which it happened. Reports of a forgotten run
/// are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Ready to start.
    Prepared {
        /// Run that this is about.
        run: RunId,
        /// SHA-256 of the plan as it was parsed and rendered here.
        plan_digest: Digest,
        /// Target addresses, resolved.
        addresses: Vec<String>,
        /// Load threads that will be used.
        workers: u32,
        /// What the preflight found, though the run can start.
        findings: Vec<Finding>,
    },
    /// This agent cannot run the plan.
    NotPrepared {
        /// Run that this is about.
        run: RunId,
        /// Why, and what to do about it.
        problem: String,
    },
    /// The load began.
    Began {
        /// Run that this is about.
        run: RunId,
        /// The first instant of it.
        at: Mono,
    },
    /// One second of the run clock was recorded, and never changes.
    Interval {
        /// Run that this is about.
        run: RunId,
        /// Second of the run clock, from 0.
        interval: u32,
        /// An encoded snapshot.
        encoded: Bytes,
    },
    /// The run is over; after all its intervals.
    Ended {
        /// Run that this is about.
        run: RunId,
        /// What ended it.
        cause: EndCause,
        /// Encoded snapshot of the sum of all intervals.
        totals: Bytes,
        /// The agent's own figures; the link does not look inside.
        figures: Bytes,
    },
    /// What this machine did in a second of the run; in order, and some may be missing.
    Observed {
        /// Run that this is about.
        run: RunId,
        /// Of the run clock, from 0.
        second: u32,
        /// At most [`crate::OBSERVATION_MAX_BYTES`].
        encoded: Bytes,
    },
    /// A monitor takes a CPU profile: [`Report::Profiled`] follows, if the run lasts.
    Profiling {
        /// Run that this is about.
        run: RunId,
    },
    /// What came of it; it may come after [`Order::Forget`].
    Profiled {
        /// Run that this is about.
        run: RunId,
        /// At least 1 byte, at most [`crate::PROFILE_MAX_BYTES`].
        encoded: Bytes,
    },
    /// The answer to [`Order::TakeOver`].
    TookOver {
        /// Run that this is about.
        run: RunId,
        /// Of the order.
        number: u32,
        /// From when on it is fired, or why it cannot be, in words.
        answer: Result<Mono, String>,
    },
    /// Something for the record; any number per run is cut to [`crate::NOTES_MAX`] by the
    /// coordinator.
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
    /// All of the plan is done.
    Plan,
    /// It was asked to stop.
    Stopped,
    /// The coordinator was not heard for longer than a lease.
    LeaseExpired,
    /// It could not go on, in words.
    Failed(String),
}

impl EndCause {
    /// Whether others are to fire what is left of the agent's share.
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
        let content = Bytes::from_static(b"PRIVATE KEY");
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
            minted: None,
            force: false,
        });
        assert!(!format!("{order:#?}").contains("PRIVATE"), "{order:?}");
    }
}
