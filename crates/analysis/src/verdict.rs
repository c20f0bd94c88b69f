//! Decides what a run's numbers describe: the server, the client, the network, the load, or nothing
//! that can be proved. Each verdict comes with its evidence.

mod answers_by_load;
mod at_once;
mod client;
mod counted_seconds;
mod errors;
mod errors_by_load;
mod faults;
mod limit_of;
mod limit_shown;
mod load;
mod network;
mod path;
mod phases;
mod plan_limit;
mod queueing;
mod reading;
mod rising_losses;
mod rule_bound;
mod rule_id;
mod server;
mod sign;
mod slow_answers;
mod slower_with_time;
mod throughput;
mod users_knee;
mod verdict_readings;
mod wanted;

pub use limit_of::LimitOf;
pub use limit_shown::LimitShown;
pub use reading::RuleReading;
pub use rule_bound::{BoundNumber, RuleBound};
pub use rule_id::RuleId;

pub(crate) use faults::describe_lost_agents;
pub(crate) use load::{describe_backlog, not_sent};

use crate::fault::cure;
use crate::{Document, LoadRecord, MachineRole, Verdict, VerdictRecord, human};
use verdict_readings::{VerdictReadings, acquittals_of, evidence_of};

/// A figure that reaches this share of its bound is worth a line if nothing is proved.
const NEAR: f64 = 0.5;
/// Most lines for such figures.
const NEAR_MAX: usize = 4;

impl VerdictRecord {
    /// Judges a document, reading everything in it but its verdict.
    #[must_use]
    pub fn new(document: &Document) -> VerdictRecord {
        let mut record = VerdictRecord::judge_run(document);
        record.evidence.extend(document.forced_past());
        record
    }

    fn judge_run(document: &Document) -> VerdictRecord {
        let readings = VerdictReadings::new(document);
        let fatal = evidence_of(&readings.fatal);
        let tolerated = evidence_of(&readings.tolerated);
        if !fatal.is_empty() {
            let evidence = fatal.into_iter().chain(tolerated);
            return self::record(Verdict::Invalid, evidence, []);
        }
        let mut record = if document.has_no_success() {
            no_success(document)
        } else {
            with_errors(document, readings.decide(document))
        };
        if is_target_local(document) {
            record.evidence.push(
                "the target ran on an agent's own machine: client and server shared its CPUs"
                    .to_owned(),
            );
        }
        record.evidence.extend(server_cpu(document));
        record
            .evidence
            .extend(wanted::monitors_that_missed_a_part(document));
        record.degrade(tolerated)
    }
}

/// Returns what each rule saw, in the order in which the rules count.
#[must_use]
pub fn explain(document: &Document) -> Vec<RuleReading> {
    VerdictReadings::new(document).in_order()
}

/// Returns whether client and server share a machine that is full: more load would not show which
/// of them is the limit.
#[must_use]
pub fn shares_full_machine(document: &Document) -> bool {
    VerdictReadings::new(document).has_full_shared_machine()
}

/// Returns whether server and network are both at a limit, so that more load would not show which
/// of them it is.
#[must_use]
pub fn has_two_limits(document: &Document) -> bool {
    VerdictReadings::new(document).has_two_limits()
}

/// Returns whether an open loop was in time, and its load sent and carried, however busy the client
/// was.
pub(crate) fn is_load_sent(document: &Document) -> bool {
    let readings = VerdictReadings::new(document);
    let is_open = matches!(document.plan.load, LoadRecord::Open { .. });
    is_open && evidence_of(&readings.lateness).is_empty() && evidence_of(&readings.load).is_empty()
}

/// Returns what is used up, regardless of the outcome of the load: on the client, if the verdict is
/// about it or if client and server share a full machine; otherwise on the server, in the network
/// and in the plan.
pub(crate) fn limits_shown(document: &Document) -> Vec<LimitShown> {
    let readings = VerdictReadings::new(document);
    let of_client = match document.verdict.verdict {
        Verdict::ClientBound => [readings.client, readings.lateness, readings.shared],
        _ => [readings.shared, Vec::new(), Vec::new()],
    };
    let shown = |readings: &[RuleReading]| -> Vec<LimitShown> {
        readings.iter().filter_map(LimitShown::new).collect()
    };
    let of_client = shown(&of_client.concat());
    if of_client.is_empty() {
        shown(&[readings.server, readings.network, readings.plan].concat())
    } else {
        of_client
    }
}

/// Returns whether steps of journeys waited while all connections that these share were in use.
pub(crate) fn connections_ran_out(document: &Document) -> bool {
    let at_once = at_once::AtOnce::new(document);
    let shared = at_once.filter(|it| it.bound == at_once::AtOnceBound::SharedConnections);
    shared.is_some_and(|it| it.ran_out(document))
}

/// Returns the signs that a client could not do more, regardless of the outcome of the load.
pub(crate) fn client_limits(document: &Document) -> Vec<String> {
    evidence_of(&VerdictReadings::new(document).client)
}

impl VerdictReadings {
    /// Returns the verdict of a run that can be trusted and in which something succeeded.
    fn decide(&self, document: &Document) -> VerdictRecord {
        let (late, unmet) = (evidence_of(&self.lateness), evidence_of(&self.load));
        let mut limits = evidence_of(&self.client);
        let is_open = matches!(document.plan.load, LoadRecord::Open { .. });
        if is_open && !late.is_empty() {
            limits.extend(evidence_of(&self.shared));
            if limits.is_empty() {
                // Late with room to spare: the client was suspended, or a clock jumped.
                let evidence = late.into_iter().chain(client::room(document));
                return record(Verdict::Invalid, evidence, []);
            }
        }
        let of_load = if is_open && late.is_empty() && unmet.is_empty() {
            load::describe_carried(document)
        } else {
            unmet
        };
        if !late.is_empty() || !limits.is_empty() {
            let evidence = late.into_iter().chain(of_load).chain(limits);
            let evidence = evidence.chain(client::describe_signing(document));
            return record(Verdict::ClientBound, evidence, []);
        }
        if is_open && self.is_met() {
            return judge_carried(document, of_load);
        }
        self.beyond_the_client(document, of_load)
    }

    /// Returns the verdict of a load that was sent and not carried, or that has no bound: the
    /// server, the network or the plan, or undetermined.
    fn beyond_the_client(&self, document: &Document, of_load: Vec<String>) -> VerdictRecord {
        let (server, network) = (evidence_of(&self.server), evidence_of(&self.network));
        let shared = evidence_of(&self.shared);
        let plan = evidence_of(&self.plan);
        let verdict = match (server.is_empty(), network.is_empty(), shared.is_empty()) {
            (false, true, true) => Verdict::ServerBound,
            (true, false, true) => Verdict::NetworkBound,
            (true, true, true) if !plan.is_empty() => Verdict::PlanBound,
            _ => Verdict::Undetermined,
        };
        let proofs = server.into_iter().chain(network).chain(plan).chain(shared);
        let evidence = of_load.into_iter().chain(proofs);
        let evidence = evidence.chain(self.acquittals(verdict));
        if verdict != Verdict::Undetermined {
            return record(verdict, evidence.chain(client::room(document)), []);
        }
        let evidence = evidence.chain(self.near()).chain(client::room(document));
        record(verdict, evidence, self.missing_for_server(document))
    }

    /// Returns the evidence in favour of the sides that are not blamed.
    fn acquittals(&self, verdict: Verdict) -> Vec<String> {
        let server = acquittals_of(&self.server).filter(|_| verdict != Verdict::ServerBound);
        let network = acquittals_of(&self.network).filter(|_| verdict != Verdict::NetworkBound);
        server.chain(network).collect()
    }

    fn missing_for_server(&self, document: &Document) -> Vec<String> {
        let is_known = document.server.is_some() || document.is_watched();
        let cpu = (!is_known).then_some("the server's own CPU figures");
        let next = if self.has_full_shared_machine() {
            "the client on a machine of its own: the one that it shares with the server is full"
                .to_owned()
        } else if self.has_two_limits() {
            "a run over a faster link, or with smaller bodies: if it brings no more, the server is \
             the limit"
                .to_owned()
        } else if errors::lead(document) {
            "why operations fail: the server's log may say it".to_owned()
        } else {
            let next = plan_limit::next_run(document).or_else(|| load::next_run(document));
            next.unwrap_or_else(|| {
                "a run with a higher load: if it brings no more, the server is the limit".to_owned()
            })
        };
        let cpu = cpu.map(str::to_owned);
        cpu.into_iter().chain([next]).collect()
    }

    /// Returns whether client and server compete for the CPUs of one machine.
    fn has_full_shared_machine(&self) -> bool {
        !evidence_of(&self.shared).is_empty()
    }

    fn has_two_limits(&self) -> bool {
        !evidence_of(&self.server).is_empty() && !evidence_of(&self.network).is_empty()
    }

    /// Lists the figures of server and network that came close to a bound, closest first.
    fn near(&self) -> Vec<String> {
        let silent = self.server.iter().chain(&self.network);
        let silent = silent.filter(|reading| reading.says.is_none() && reading.acquits.is_none());
        let mut near: Vec<(f64, &RuleReading)> = silent
            .filter_map(|reading| Some((reading.distance?, reading)))
            .filter(|&(distance, _)| distance >= NEAR)
            .collect();
        near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let lines = near.iter().take(NEAR_MAX).map(|(_, reading)| {
            format!(
                "{}: {} (bound: {}), which alone proves nothing",
                reading.rule, reading.figure, reading.bound
            )
        });
        lines.collect()
    }
}

/// Returns the verdict of a load that was sent in time and, as far as is known, carried.
fn judge_carried(document: &Document, of_load: Vec<String>) -> VerdictRecord {
    let evidence = of_load.into_iter().chain(client::room(document));
    if document.backlog.is_none() {
        let missing = ["a run to the end of its plan".to_owned()];
        return record(Verdict::Undetermined, evidence, missing);
    }
    if let Some(needed_ns) = load::least_length_ns(document) {
        let missing = [load::describe_least_length(document, needed_ns)];
        return VerdictRecord {
            needed_ns: Some(needed_ns),
            ..record(Verdict::Undetermined, evidence, missing)
        };
    }
    record(Verdict::LoadMet, evidence, [])
}

impl VerdictRecord {
    /// Marks the verdict of a run that lost agents, for the reasons given. It does not improve a
    /// verdict that is about the client, or a run that cannot be trusted.
    fn degrade(mut self, reasons: Vec<String>) -> VerdictRecord {
        let is_worse = matches!(self.verdict, Verdict::Invalid | Verdict::ClientBound);
        if !reasons.is_empty() && !is_worse {
            self.verdict = Verdict::Degraded;
        }
        self.evidence.splice(0..0, reasons);
        self
    }
}

impl Document {
    /// Returns what the verdict means, in one sentence.
    #[must_use]
    pub fn verdict_meaning(&self) -> &'static str {
        match self.verdict.verdict {
            Verdict::Undetermined if self.has_no_success() => "every operation failed",
            Verdict::Undetermined if self.verdict.needed_ns.is_some() => {
                "too short to tell whether the load was carried"
            }
            Verdict::Invalid if !self.run.refusals.is_empty() => "nothing was measured",
            verdict => verdict.meaning(),
        }
    }

    /// Returns whether a monitor watched some machine.
    pub(crate) fn is_watched(&self) -> bool {
        let mut machines = self.machines.iter();
        machines.any(|machine| machine.role == MachineRole::Monitor)
    }

    /// Returns whether operations ended, and none of them ended ok.
    #[must_use]
    pub fn has_no_success(&self) -> bool {
        self.measured.operations.ended > 0 && self.measured.operations.ok == 0
    }
}

/// Returns whether the run started the target itself, or the target is at an address of an agent's
/// own machine.
fn is_target_local(document: &Document) -> bool {
    document.plan.builtin_target || document.agents.iter().any(|agent| agent.target_is_local)
}

/// Describes the CPU use of the server's process, if it is known.
fn server_cpu(document: &Document) -> Option<String> {
    let server = document.server?;
    let (cpus, each) = server.cpus.zip(server.cpu_per_operation_ns)?;
    Some(format!(
        "the server's process kept {cpus:.2} CPUs busy: {} for each operation",
        human::time(each)
    ))
}

/// Puts the errors of the run in front, if they matter more than its limit.
fn with_errors(document: &Document, mut record: VerdictRecord) -> VerdictRecord {
    record.evidence.splice(0..0, errors::evidence(document));
    record
}

/// Returns whether so many operations ended in an error that the limit is not the first question.
#[must_use]
pub fn has_many_errors(document: &Document) -> bool {
    errors::lead(document)
}

/// Judges a run in which nothing worked. Neither its load nor its client is worth a word: what is
/// wrong comes before how much.
fn no_success(document: &Document) -> VerdictRecord {
    let operations = &document.measured.operations;
    let mut evidence = vec![format!(
        "none of {} succeeded: {} failed, {} timed out",
        human::counted(operations.ended, "operation"),
        operations.failed,
        operations.timed_out
    )];
    let mut verdict = Verdict::Undetermined;
    // The list is sorted, most frequent first.
    if let Some(commonest) = document.measured.errors.first() {
        if client::is_exhaustion(commonest) {
            verdict = Verdict::ClientBound;
        }
        evidence.push(format!(
            "{} of them: {} [{}]",
            human::share(commonest.share),
            commonest.words,
            commonest.name
        ));
        let cure = commonest.name.parse().ok().and_then(cure);
        evidence.extend(cure.map(str::to_owned));
    }
    record(verdict, evidence, [])
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
        needed_ns: None,
    }
}
