//! Whether the client was in time, and how much room it had.

use super::is_target_local;
use crate::{AgentResult, Document, TimeFigure, human};

/// More than 1 % above this, and it was not in time: the client's loop taking notice of what was
/// due or ready, or an arrival getting its connection.
pub(super) const LATE_P99_MAX_NS: u64 = 10_000_000;

/// More operations than this part failed for want of ports or files, and the client was at its end.
const EXHAUSTED_SHARE_MAX: f64 = 0.001;

/// A worker thread that is on its CPU this long, on average, has no room.
const WORKER_BUSY_SHARE: f64 = 0.9;

/// A machine with less idle time than the rest of this has no room.
const MACHINE_BUSY_SHARE: f64 = 0.95;

/// Agents at their limit that have a sentence of their own.
const AGENTS_MAX: usize = 5;

/// An agent that uses this part of its CPU quota, on average, was stopped by it now and then.
const QUOTA_USED_SHARE: f64 = 0.8;

/// Where the client's loop was late by itself, for what was due or for what was ready.
pub(super) fn was_late(document: &Document) -> Vec<String> {
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
pub(super) fn lagged(document: &Document) -> Option<String> {
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
    let quota = agent.facts.cpu_quota?;
    let used = agent.cpu?.process_share_mean;
    (used >= QUOTA_USED_SHARE * f64::from(quota)).then(|| {
        format!(
            "agent {}: it used {used:.2} CPUs, and its quota is {quota} CPUs: raise it, or add \
             agents",
            agent.name
        )
    })
}

/// The 99th percentile, where it is too late.
pub(super) fn p99_if_late(figure: Option<&TimeFigure>) -> Option<f64> {
    let p99 = figure?.percentile(99.0)?.value_ns;
    (p99 > LATE_P99_MAX_NS).then_some(p99 as f64)
}

/// Whether a machine without idle time speaks against its client: not where the server runs on it
/// too and the load is whatever the two can do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MachineCounts {
    Always,
    NotWithTheServer,
}

/// Signs that a client could not do more, whatever became of the load.
pub(crate) fn client_limits(document: &Document) -> Vec<String> {
    limits(document, MachineCounts::NotWithTheServer)
}

/// Signs that a client could not do more.
pub(super) fn limits(document: &Document, machine: MachineCounts) -> Vec<String> {
    let mut limits: Vec<String> = document
        .agents
        .iter()
        .filter_map(|agent| limit_of_agent(document, agent, machine))
        .collect();
    let more = limits.len().saturating_sub(AGENTS_MAX);
    if more > 0 {
        limits.truncate(AGENTS_MAX);
        limits.push(format!("{more} more agents were at their limit"));
    }
    let exhausted =
        document.measured.errors.iter().filter(|error| {
            error.name.ends_with("_exhausted") && error.share > EXHAUSTED_SHARE_MAX
        });
    limits.extend(
        exhausted.map(|error| format!("{} operations failed because {}", error.count, error.words)),
    );
    limits
}

fn limit_of_agent(
    document: &Document,
    agent: &AgentResult,
    machine: MachineCounts,
) -> Option<String> {
    let name = &agent.name;
    let cpu = agent.sampled_cpu()?;
    if cpu.busiest_worker_share_mean >= WORKER_BUSY_SHARE {
        let busy = human::share(cpu.busiest_worker_share_mean);
        return Some(format!(
            "agent {name}: its busiest worker was {busy} busy: give it more CPUs, or add agents"
        ));
    }
    // An agent that sent nothing has no address of the target, yet a built-in one is on its
    // machine.
    let has_the_server = document.plan.builtin_target || agent.target_is_local;
    let is_shared = machine == MachineCounts::NotWithTheServer && has_the_server;
    let is_full = !is_shared && cpu.machine_busy_share_mean >= MACHINE_BUSY_SHARE;
    is_full.then(|| {
        format!(
            "agent {name}: its machine's CPUs were {} busy, {:.2} of them by the agent itself",
            human::share(cpu.machine_busy_share_mean),
            cpu.process_share_mean
        )
    })
}

/// How much room the busiest client had.
pub(super) fn room(document: &Document) -> Vec<String> {
    let Some(worker) = document.busiest_worker_share() else {
        return vec!["how busy the agents were is not known".to_owned()];
    };
    // A run that ended before the first sample knows its threads and not its machine; one that
    // fires is never quite idle.
    let machine = document
        .agents
        .iter()
        .filter_map(|agent| Some(agent.sampled_cpu()?.machine_busy_share_mean))
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
