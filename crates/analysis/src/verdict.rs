//! What the numbers are about: the server, the client, the network, the load, or nothing. Each
//! verdict brings its evidence.

use crate::fault::cure;
use crate::{
    AgentEndCause, AgentResult, Backlog, Document, LoadRecord, RunState, TimeFigure, human,
};
use serde::{Deserialize, Serialize};

/// More than 1 % above this, and it was not in time: the client's loop taking notice of what was
/// due or ready, or an arrival getting its connection.
const LATE_P99_MAX_NS: u64 = 10_000_000;

/// An open loop has missed its load where more arrivals than this could not be sent.
const NOT_SENT_SHARE_MAX: f64 = 0.001;

/// More errors than this, and the load was sent but not carried.
const ERROR_SHARE_MAX: f64 = 0.01;

/// A worker thread that is on its CPU this long, on average, has no room.
const WORKER_BUSY_SHARE: f64 = 0.9;

/// A machine with less idle time than the rest of this has no room.
const MACHINE_BUSY_SHARE: f64 = 0.95;

/// An agent that uses this part of its CPU quota, on average, was stopped by it now and then.
const QUOTA_USED_SHARE: f64 = 0.8;

/// Agents that begin farther apart than this do not make one load.
const SKEW_MAX_NS: u64 = 50_000_000;

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
            Verdict::Invalid => "these numbers cannot be trusted",
        }
    }
}

impl VerdictRecord {
    /// Reads everything of `document` but its verdict.
    #[must_use]
    pub fn new(document: &Document) -> VerdictRecord {
        let faults = faults(document);
        if !faults.is_empty() {
            return VerdictRecord {
                verdict: Verdict::Invalid,
                evidence: faults,
                missing: Vec::new(),
            };
        }
        let mut record = match &document.plan.load {
            _ if document.has_no_success() => no_success(document),
            LoadRecord::Open {
                max_connections, ..
            } => open_loop(document, *max_connections),
            LoadRecord::Closed { .. } => closed_loop(document),
        };
        if is_target_local(document) {
            record.evidence.push(
                "the target ran on an agent's own machine: client and server shared its CPUs"
                    .to_owned(),
            );
        }
        record.evidence.extend(server_cpu(document));
        record
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

/// What makes a run worthless as a measurement, whatever the load.
fn faults(document: &Document) -> Vec<String> {
    let is_open = document.run.state == RunState::Incomplete;
    let known = document
        .agents
        .iter()
        .filter(|agent| !is_open || agent.ended.is_some());
    let mut faults: Vec<String> = known.flat_map(faults_of_agent).collect();
    if is_open {
        faults.push(
            "the run was never finished: its coordinator ended, or is still at it".to_owned(),
        );
    }
    if document.measured.operations.ended == 0 {
        faults.push("no operation ended in the measured part".to_owned());
    }
    if let Some(skew) = document
        .skew
        .filter(|skew| skew.skew_ns.saturating_add(skew.bound_ns) > SKEW_MAX_NS)
    {
        faults.push(format!(
            "agents began {} ± {} apart; more than {} is not one load",
            human::time(skew.skew_ns as f64),
            human::time(skew.bound_ns as f64),
            human::time(SKEW_MAX_NS as f64)
        ));
    }
    faults
}

fn faults_of_agent(agent: &AgentResult) -> Vec<String> {
    let name = &agent.name;
    let mut faults = Vec::new();
    if agent.began_at_ns.is_none() {
        faults.push(format!("agent {name} never began"));
    }
    match agent.ended {
        Some(AgentEndCause::Plan | AgentEndCause::Stopped) => {}
        Some(AgentEndCause::LeaseExpired) => faults.push(format!(
            "agent {name} lost its coordinator and stopped firing"
        )),
        Some(AgentEndCause::Failed) => {
            faults.push(format!("agent {name} failed: {}", agent.ended_text))
        }
        Some(AgentEndCause::Lost) | None => {
            let why = if agent.ended_text.is_empty() {
                String::new()
            } else {
                format!(" ({})", agent.ended_text)
            };
            faults.push(format!(
                "agent {name} was lost{why}: what it did after its last interval is unknown"
            ))
        }
    }
    match agent.totals_match {
        Some(true) => {}
        Some(false) => faults.push(format!(
            "agent {name}: the sum of its intervals is not the totals it reported{}",
            gaps(agent)
        )),
        None => faults.push(format!(
            "agent {name} reported no totals, so that nothing shows whether all of its intervals \
             came{}",
            gaps(agent)
        )),
    }
    faults
}

fn gaps(agent: &AgentResult) -> String {
    let spans = agent.missing_intervals.iter().map(|&(first, last)| {
        if first == last {
            format!("{first}")
        } else {
            format!("{first} to {last}")
        }
    });
    let spans: Vec<String> = spans.collect();
    if spans.is_empty() {
        String::new()
    } else {
        format!("; seconds {} are missing", spans.join(", "))
    }
}

/// Neither the load nor the client is worth a word where nothing worked: what is wrong comes before
/// how much.
fn no_success(document: &Document) -> VerdictRecord {
    let operations = &document.measured.operations;
    let all = format!(
        "none of {} operations succeeded: {} failed, {} timed out",
        operations.ended, operations.failed, operations.timed_out
    );
    let commonest = document.measured.errors.first();
    let named = commonest.map(|error| {
        format!(
            "{} of them: {} [{}]",
            human::share(error.share),
            error.words,
            error.name
        )
    });
    let cure = commonest
        .and_then(|error| error.name.parse().ok())
        .and_then(cure);
    record(
        Verdict::Undetermined,
        [Some(all), named, cure.map(str::to_owned)]
            .into_iter()
            .flatten(),
        [],
    )
}

fn open_loop(document: &Document, max_connections: u32) -> VerdictRecord {
    let late = client_was_late(document);
    if !late.is_empty() {
        let limits = limits(document, MachineCounts::Always);
        let verdict = if limits.is_empty() {
            Verdict::Invalid
        } else {
            Verdict::ClientBound
        };
        let room = if limits.is_empty() {
            room(document)
        } else {
            Vec::new()
        };
        return record(verdict, late.into_iter().chain(limits).chain(room), []);
    }
    let unmet = unmet(document, max_connections);
    if unmet.is_empty() {
        return sent_in_time(document);
    }
    let limits = client_limits(document);
    if !limits.is_empty() {
        return record(Verdict::ClientBound, unmet.into_iter().chain(limits), []);
    }
    // Of answers that take as long as the run nothing shows whether more would have come of a
    // longer one.
    let cause = (!takes_half_of_the_run(document))
        .then(|| "the client had time: the server was too slow for this load".to_owned());
    record(
        Verdict::Undetermined,
        unmet.into_iter().chain(cause).chain(room(document)),
        missing_for_server(document),
    )
}

/// Where the client's loop was late by itself, for what was due or for what was ready.
fn client_was_late(document: &Document) -> Vec<String> {
    let schedule_delay = document.measured.times.get("schedule_delay");
    let delay = p99_if_late(schedule_delay).map(|p99| {
        format!(
            "the schedule was missed: the client noticed 1 % of the arrivals {} or more after \
             they were due (bound: {})",
            human::time(p99),
            human::time(LATE_P99_MAX_NS as f64)
        )
    });
    delay.into_iter().chain(lagged(document)).collect()
}

/// The loop's lag: not where the server runs on the same machine, where the two take the CPU from
/// each other; but there too where a quota that is used up took it.
fn lagged(document: &Document) -> Option<String> {
    let quota = document.agents.iter().find_map(used_up_quota);
    let p99 = p99_if_late(document.client.loop_lag.as_ref())
        .filter(|_| quota.is_some() || !is_target_local(document))?;
    let throttled = quota.map_or_else(String::new, |quota| format!("; {quota}"));
    Some(format!(
        "the client's loop handled 1 % of what its sockets had {} or more after it came, which \
         response times contain (bound: {}){throttled}",
        human::time(p99),
        human::time(LATE_P99_MAX_NS as f64)
    ))
}

/// An agent that used its CPU quota up, and what to do about it: the kernel stops it for the rest
/// of each period.
fn used_up_quota(agent: &AgentResult) -> Option<String> {
    let (quota, used) = (agent.facts.cpu_quota?, agent.cpu?.process_share_mean);
    (used >= QUOTA_USED_SHARE * f64::from(quota)).then(|| {
        format!(
            "agent {}: it used {used:.2} CPUs, and its quota is {quota} CPUs: raise it, or add \
             agents",
            agent.name
        )
    })
}

/// The 99th percentile, where it is too late.
fn p99_if_late(figure: Option<&TimeFigure>) -> Option<f64> {
    let p99 = figure?.percentile(99.0)?.value_ns;
    (p99 > LATE_P99_MAX_NS).then_some(p99 as f64)
}

/// What of the load was not sent, not in time, or not carried while it was offered, though the
/// client was in time.
fn unmet(document: &Document, max_connections: u32) -> Vec<String> {
    waited(document, max_connections)
        .into_iter()
        .chain(not_sent(document))
        .chain(piled_up(document))
        .collect()
}

/// Arrivals that had to wait for a connection: all that there may be were in use then.
fn waited(document: &Document, max_connections: u32) -> Option<String> {
    let p99 = p99_if_late(document.measured.times.get("lateness"))?;
    let waits = document.measured.times.get("connection_wait")?;
    let due = waits.count as f64 / document.measured.operations.ended.max(1) as f64;
    Some(format!(
        "{} of the arrivals waited for one of {max_connections} connections, all in use, so that \
         1 % began {} or more late (bound: {})",
        human::share(due),
        human::time(p99),
        human::time(LATE_P99_MAX_NS as f64)
    ))
}

/// A backlog that grew: load that was carried after its end, if at all.
pub(crate) fn piled_up(document: &Document) -> Option<String> {
    let backlog = document.backlog.filter(|backlog| !backlog.kept_up())?;
    let Backlog {
        due,
        ended,
        at_end,
        noise,
    } = backlog;
    let growth = backlog.growth();
    let mut text = format!(
        "the load was not carried while it was offered: in its second half {due} operations were \
         due and {ended} ended, so that the backlog grew by {growth} (noise: {noise:.0}) to \
         {at_end}"
    );
    if takes_half_of_the_run(document) {
        text += "; answers took longer than half of the measured part, so a longer one may say \
                 otherwise";
    }
    Some(text)
}

/// Whether the server's answers take so long that a backlog cannot be told from them.
fn takes_half_of_the_run(document: &Document) -> bool {
    let service = document
        .measured
        .times
        .get("service_time")
        .and_then(|figure| figure.percentile(50.0));
    service.is_some_and(|p50| p50.value_ns > document.run.duration_ns / 2)
}

/// Arrivals that no connection was free for: load that was asked for and never offered.
pub(crate) fn not_sent(document: &Document) -> Option<String> {
    let operations = &document.measured.operations;
    let share = operations.not_sent as f64 / operations.ended.max(1) as f64;
    (share > NOT_SENT_SHARE_MAX).then(|| {
        format!(
            "{} of the arrivals ({}) were not sent",
            human::share(share),
            operations.not_sent
        )
    })
}

fn sent_in_time(document: &Document) -> VerdictRecord {
    let operations = &document.measured.operations;
    let started = human::number(document.measured.rates.started_per_second);
    let lateness = document
        .measured
        .times
        .get("lateness")
        .and_then(|figure| figure.percentile(99.0));
    let late = lateness.map_or_else(String::new, |p99| {
        format!(
            ", 99 % of them within {} of their instant",
            human::time(p99.value_ns as f64)
        )
    });
    let sent = format!("{started} operations per second were sent{late}");
    let failed = operations.error_share.unwrap_or(0.0);
    if failed > ERROR_SHARE_MAX {
        let answered = format!("{} of them ended in an error", human::share(failed));
        return record(
            Verdict::Undetermined,
            [sent, answered].into_iter().chain(room(document)),
            missing_for_server(document),
        );
    }
    let answered = format!(
        "{} of {} were answered as the plan expects",
        operations.ok, operations.ended
    );
    let Some(backlog) = document.backlog else {
        let stopped = "the run was stopped: nothing shows whether the rest of the load would have \
                       been carried"
            .to_owned();
        let missing = ["a run to the end of its plan".to_owned()];
        return record(
            Verdict::Undetermined,
            [sent, answered, stopped].into_iter().chain(room(document)),
            missing,
        );
    };
    let Backlog {
        due,
        ended,
        at_end,
        noise,
    } = backlog;
    let kept_up = format!(
        "what ended kept up with what was due: {ended} of {due} in the second half, {at_end} \
         under way at its end (noise: {noise:.0})"
    );
    record(
        Verdict::LoadMet,
        [sent, answered, kept_up].into_iter().chain(room(document)),
        [],
    )
}

fn closed_loop(document: &Document) -> VerdictRecord {
    let (late, limits) = (lagged(document), client_limits(document));
    if late.is_some() || !limits.is_empty() {
        return record(Verdict::ClientBound, late.into_iter().chain(limits), []);
    }
    record(
        Verdict::Undetermined,
        room(document),
        missing_for_server(document),
    )
}

/// Whether a machine without idle time speaks against its client: not where the server runs on it
/// too and the load is whatever the two can do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MachineCounts {
    Always,
    NotWithTheServer,
}

/// Signs that a client could not do more, whatever became of the load.
pub(crate) fn client_limits(document: &Document) -> Vec<String> {
    limits(document, MachineCounts::NotWithTheServer)
}

/// Signs that a client could not do more.
fn limits(document: &Document, machine: MachineCounts) -> Vec<String> {
    let mut limits: Vec<String> = document
        .agents
        .iter()
        .filter_map(|agent| limit_of_agent(agent, machine))
        .collect();
    let exhausted = document
        .measured
        .errors
        .iter()
        .filter(|error| error.name.ends_with("_exhausted") && error.share > NOT_SENT_SHARE_MAX);
    limits.extend(
        exhausted.map(|error| format!("{} operations failed because {}", error.count, error.words)),
    );
    limits
}

fn limit_of_agent(agent: &AgentResult, machine: MachineCounts) -> Option<String> {
    let (name, cpu) = (&agent.name, agent.cpu.filter(|cpu| cpu.samples > 0)?);
    if cpu.busiest_worker_share_mean >= WORKER_BUSY_SHARE {
        let busy = human::share(cpu.busiest_worker_share_mean);
        return Some(format!(
            "agent {name}: its busiest worker was {busy} busy: give it more CPUs, or add agents"
        ));
    }
    let is_shared = machine == MachineCounts::NotWithTheServer && agent.target_is_local;
    let is_full = !is_shared && cpu.machine_busy_share_mean >= MACHINE_BUSY_SHARE;
    is_full.then(|| {
        let (busy, own) = (
            human::share(cpu.machine_busy_share_mean),
            cpu.process_share_mean,
        );
        format!(
            "agent {name}: its machine's CPUs were {busy} busy, {own:.2} of them by the agent \
             itself"
        )
    })
}

/// How much room the busiest client had.
fn room(document: &Document) -> Vec<String> {
    let known: Vec<_> = document
        .agents
        .iter()
        .filter_map(|agent| agent.cpu.filter(|cpu| cpu.samples > 0))
        .collect();
    if known.is_empty() {
        return vec!["how busy the agents were is not known".to_owned()];
    }
    let worker = known
        .iter()
        .map(|cpu| cpu.busiest_worker_share_mean)
        .fold(0.0, f64::max);
    // A run that ended before the first sample knows its threads and not its machine; one that
    // fires is never quite idle.
    let machine = known
        .iter()
        .map(|cpu| cpu.machine_busy_share_mean)
        .filter(|&share| share > 0.0)
        .reduce(f64::max);
    let machine = machine.map_or_else(String::new, |machine| {
        format!(", its machine at most {}", human::share(machine))
    });
    vec![format!(
        "the busiest worker was {} busy{machine}",
        human::share(worker)
    )]
}

fn missing_for_server(document: &Document) -> Vec<String> {
    let cpu = document
        .server
        .is_none()
        .then(|| "the server's own CPU figures".to_owned());
    cpu.into_iter()
        .chain([
            "a second, higher load: where it brings no more, the server is the limit".to_owned(),
        ])
        .collect()
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
