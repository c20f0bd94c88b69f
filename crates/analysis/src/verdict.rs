//! What the numbers are about: the server, the client, the network, the load, or nothing. Each
//! verdict brings its evidence.

mod client;
mod faults;
mod load;
mod reading;

pub use reading::{LimitOf, RuleReading};

pub(crate) use client::client_limits;
pub(crate) use load::{not_sent, piled_up};

use crate::fault::cure;
use crate::{Document, LoadRecord, human};
use serde::{Deserialize, Serialize};

/// What the numbers are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The server could not do more.
    ServerBound,
    /// The client could not do more: the numbers are about it.
    ClientBound,
    /// The network could not carry more.
    NetworkBound,
    /// Everything that was to be sent was sent in time and answered.
    LoadMet,
    /// Nothing speaks against the numbers, and nothing proves what limits them.
    #[default]
    Undetermined,
    /// The numbers are of a part of the fleet, as the plan allows: agents were lost.
    Degraded,
    /// The numbers cannot be trusted.
    Invalid,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerdictRecord {
    /// What the numbers are about.
    pub verdict: Verdict,
    /// Why, with numbers.
    pub evidence: Vec<String>,
    /// What would have to be known to say more.
    pub missing: Vec<String>,
}

impl Verdict {
    /// As people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::ServerBound => "server-bound",
            Verdict::ClientBound => "client-bound",
            Verdict::NetworkBound => "network-bound",
            Verdict::LoadMet => "load met",
            Verdict::Undetermined => "undetermined",
            Verdict::Degraded => "degraded",
            Verdict::Invalid => "invalid",
        }
    }

    /// What it means, in one sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Verdict::ServerBound => "the server could not do more",
            Verdict::ClientBound => {
                "the load generator could not do more, the numbers are about it"
            }
            Verdict::NetworkBound => "the network could not carry more",
            Verdict::LoadMet => {
                "all of the load was sent in time and answered while it was offered"
            }
            Verdict::Undetermined => "nothing proves what limits these numbers",
            Verdict::Degraded => "agents were lost, as the plan allows; the others went on",
            Verdict::Invalid => "these numbers cannot be trusted",
        }
    }
}

impl VerdictRecord {
    /// Reads everything of `document` but its verdict.
    #[must_use]
    pub fn new(document: &Document) -> VerdictRecord {
        let faults = faults::all(document);
        if !faults.fatal.is_empty() {
            let evidence = faults.fatal.into_iter().chain(faults.tolerated);
            return self::record(Verdict::Invalid, evidence, []);
        }
        let mut record = match &document.plan.load {
            _ if document.has_no_success() => no_success(document),
            LoadRecord::Open {
                max_connections, ..
            } => load::open_loop(document, *max_connections),
            LoadRecord::Closed { .. } => load::closed_loop(document),
        };
        if is_target_local(document) {
            record.evidence.push(
                "the target ran on an agent's own machine: client and server shared its CPUs"
                    .to_owned(),
            );
        }
        record.evidence.extend(server_cpu(document));
        record.degraded(faults.tolerated)
    }
}

/// What each rule looked at, in the order in which they count.
#[must_use]
pub fn explain(document: &Document) -> Vec<RuleReading> {
    load::readings(document)
}

impl VerdictRecord {
    /// The same of a run that lost agents, for the reasons given. What is about the client, or
    /// cannot be trusted, is not better for it.
    fn degraded(mut self, reasons: Vec<String>) -> VerdictRecord {
        let is_worse = matches!(self.verdict, Verdict::Invalid | Verdict::ClientBound);
        if !reasons.is_empty() && !is_worse {
            self.verdict = Verdict::Degraded;
        }
        self.evidence.splice(0..0, reasons);
        self
    }
}

impl Document {
    /// What the verdict means, in one sentence.
    #[must_use]
    pub fn verdict_meaning(&self) -> &'static str {
        match self.verdict.verdict {
            Verdict::Undetermined if self.has_no_success() => "every operation failed",
            verdict => verdict.meaning(),
        }
    }

    fn has_no_success(&self) -> bool {
        self.measured.operations.ended > 0 && self.measured.operations.ok == 0
    }
}

/// The target that the run itself started, or one at an address of an agent's own machine.
fn is_target_local(document: &Document) -> bool {
    document.plan.builtin_target || document.agents.iter().any(|agent| agent.target_is_local)
}

/// What the server's process used, where that is known.
fn server_cpu(document: &Document) -> Option<String> {
    let server = document.server?;
    let (cpus, each) = server.cpus.zip(server.cpu_per_operation_ns)?;
    Some(format!(
        "the server's process kept {cpus:.2} CPUs busy: {} for each operation",
        human::time(each)
    ))
}

/// Neither the load nor the client is worth a word where nothing worked: what is wrong comes before
/// how much.
fn no_success(document: &Document) -> VerdictRecord {
    let operations = &document.measured.operations;
    let mut evidence = vec![format!(
        "none of {} operations succeeded: {} failed, {} timed out",
        operations.ended, operations.failed, operations.timed_out
    )];
    // Errors stand most frequent first.
    if let Some(commonest) = document.measured.errors.first() {
        evidence.push(format!(
            "{} of them: {} [{}]",
            human::share(commonest.share),
            commonest.words,
            commonest.name
        ));
        let cure = commonest.name.parse().ok().and_then(cure);
        evidence.extend(cure.map(str::to_owned));
    }
    record(Verdict::Undetermined, evidence, [])
}

fn record(
    verdict: Verdict,
    evidence: impl IntoIterator<Item = String>,
    missing: impl IntoIterator<Item = String>,
) -> VerdictRecord {
    VerdictRecord {
        verdict,
        evidence: evidence.into_iter().collect(),
        missing: missing.into_iter().collect(),
    }
}
