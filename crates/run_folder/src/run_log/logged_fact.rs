//! One fact of a run, as the log holds it.

use super::batch::{FACT_HEAD_BYTES, VERSION, u32_at};
use crate::run_origin::RunOrigin;
use crate::utc::Utc;
use analysis::RunState;
use control::RunEvent;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const BEGUN: u8 = 1;
const RESUMED: u8 = 2;
const EVENT: u8 = 3;
const NOTE: u8 = 4;
const SERVER_CPU: u8 = 5;
const FINISHED: u8 = 6;

/// One fact of a run, with the time at which the coordinator learned of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedFact {
    /// By the calendar of the machine that wrote it.
    pub at: Utc,
    /// The fact itself.
    pub what: FactKind,
}

/// The kinds of facts that a log can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactKind {
    /// The run was asked for; always the first fact.
    Begun(BegunRun),
    /// Another coordinator resumed the run.
    Resumed(ResumedRun),
    /// The fleet reported this.
    Event(RunEvent),
    /// A sentence for the result.
    Note(String),
    /// CPU time that the built-in target used.
    ServerCpu(Duration),
    /// The run ended in this state.
    Finished(RunState),
}

/// The beginning of a run: everything that is needed to resume it or to make its result, except for
/// the plan's secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunRun {
    /// The id that agents and files know it by.
    pub run: [u8; 16],
    /// Counts the run's coordinators, from 1.
    pub epoch: u64,
    /// SHA-256 of the canonical text with all secrets.
    pub plan_digest: [u8; 32],
    /// The plan's text as given, without secrets.
    pub plan_text: String,
    /// The canonical text without secrets.
    pub canonical_text: String,
    /// Its name in the live view.
    pub title: String,
    /// Number of its agents.
    pub agents: u32,
    /// When it was asked for, in nanoseconds since 1970.
    pub created_ns: u64,
    /// Names the clock of its instants, which ends when the machine does; empty if there is no
    /// name.
    pub clock: String,
    /// Where it was asked for.
    pub origin: RunOrigin,
}

/// The coordinator that resumed a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumedRun {
    /// Counts the run's coordinators, from 1.
    pub epoch: u64,
    /// Names the clock of its instants.
    pub clock: String,
    /// How far this coordinator's clock is ahead of the log's, if it is another one.
    pub clock_shift_ns: i64,
}

impl ResumedRun {
    /// A resumption by a coordinator whose clock has this name, and is that of the log.
    #[must_use]
    pub fn new(epoch: u64, clock: String) -> ResumedRun {
        ResumedRun {
            epoch,
            clock,
            clock_shift_ns: 0,
        }
    }
}

/// Why a fact cannot be read although its bytes are those that were written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FactError {
    /// Written by a newer program.
    #[error(
        "it holds a fact of kind {kind}, and version {} of this program reads kinds up to \
         {FINISHED} of log version {VERSION}; use the version that wrote it, or a newer one",
        env!("CARGO_PKG_VERSION")
    )]
    Kind {
        /// Its kind.
        kind: u8,
    },
    /// Its content is not that of its kind.
    #[error(
        "it holds a fact of kind {kind} that version {} of this program cannot read ({why}); use \
         the version that wrote it",
        env!("CARGO_PKG_VERSION")
    )]
    Content {
        /// Its kind.
        kind: u8,
        /// The decoder's error.
        why: String,
    },
    /// A batch ends in the middle of a fact.
    #[error("a batch of it ends in the middle of a fact")]
    Short,
}

impl LoggedFact {
    /// A fact that the coordinator learns of now.
    #[must_use]
    pub fn now(what: FactKind) -> LoggedFact {
        let at = Utc::now();
        LoggedFact { at, what }
    }

    /// Appends the fact to a batch.
    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        let at = into.len();
        into.resize(at + FACT_HEAD_BYTES, 0);
        let kind = self.what.encode(into);
        let length = (into.len() - at - FACT_HEAD_BYTES) as u32;
        let at_ns = u64::try_from(self.at.since_1970().as_nanos()).unwrap_or(u64::MAX);
        into[at] = kind;
        into[at + 1..at + 5].copy_from_slice(&length.to_le_bytes());
        into[at + 5..at + 13].copy_from_slice(&at_ns.to_le_bytes());
    }

    /// Takes the first fact off a batch that is not at its end.
    pub(super) fn decode(batch: &mut &[u8]) -> Result<LoggedFact, FactError> {
        let (head, rest) = batch
            .split_at_checked(FACT_HEAD_BYTES)
            .ok_or(FactError::Short)?;
        let length = u32_at(head, 1) as usize;
        let (content, rest) = rest.split_at_checked(length).ok_or(FactError::Short)?;
        let at_ns = u64::from(u32_at(head, 5)) | (u64::from(u32_at(head, 9)) << 32);
        *batch = rest;
        Ok(LoggedFact {
            at: Utc::after_1970(Duration::from_nanos(at_ns)),
            what: FactKind::decode(head[0], content)?,
        })
    }
}

impl FactKind {
    /// Whether an agent delivered a second.
    #[must_use]
    pub fn is_interval(&self) -> bool {
        matches!(self, FactKind::Event(RunEvent::Interval { .. }))
    }

    /// Whether the run ended.
    #[must_use]
    pub fn is_end(&self) -> bool {
        matches!(self, FactKind::Finished(_))
    }

    /// Appends the content, and returns its kind.
    fn encode(&self, into: &mut Vec<u8>) -> u8 {
        match self {
            FactKind::Begun(begun) => write(BEGUN, begun, into),
            FactKind::Resumed(resumed) => write(RESUMED, resumed, into),
            FactKind::Event(event) => write(EVENT, event, into),
            FactKind::Note(sentence) => write(NOTE, sentence, into),
            FactKind::ServerCpu(used) => write(SERVER_CPU, used, into),
            FactKind::Finished(state) => write(FINISHED, state, into),
        }
    }

    fn decode(kind: u8, content: &[u8]) -> Result<FactKind, FactError> {
        Ok(match kind {
            BEGUN => FactKind::Begun(read(kind, content)?),
            RESUMED => FactKind::Resumed(read(kind, content)?),
            EVENT => FactKind::Event(read(kind, content)?),
            NOTE => FactKind::Note(read(kind, content)?),
            SERVER_CPU => FactKind::ServerCpu(read(kind, content)?),
            FINISHED => FactKind::Finished(read(kind, content)?),
            kind => return Err(FactError::Kind { kind }),
        })
    }
}

fn write(kind: u8, content: &impl Serialize, into: &mut Vec<u8>) -> u8 {
    postcard::to_io(content, into).expect("a vector takes what has a known length");
    kind
}

fn read<'b, T: Deserialize<'b>>(kind: u8, content: &'b [u8]) -> Result<T, FactError> {
    postcard::from_bytes(content).map_err(|error| FactError::Content {
        kind,
        why: error.to_string(),
    })
}
