//! Decides whether the client was in time, and how much room it had.

use super::counted_seconds::{Carried, CountedSeconds};
use super::server::{CPU_BUSY, WAITED, describe_throttling, memory, memory_in_words};
use super::sign::{Sign, Watched, WatchedRows};
use super::{BoundNumber, RuleBound, RuleId, RuleReading, is_target_local};
use crate::fault::cure;
use crate::{
    AgentResult, Document, ErrorFigure, GroupRow, MachineRole, MachineRow, ProcessRow, TcpRow,
    TimeFigure, human,
};
use measure::{Failure, Kind};

/// The client was not in time if more than 1 % is later than this: its loop noticing what was due
/// or ready, or an arrival getting its connection.
pub(super) const LATE_P99_MAX_NS: u64 = 10_000_000;

pub(super) const LATE_P99_MAX: BoundNumber = BoundNumber::TimeInDigits(LATE_P99_MAX_NS as f64);

const LATE: RuleBound = RuleBound::new(
    "{} above {}",
    &[BoundNumber::Percentile(99.0), LATE_P99_MAX],
);
const LATE_P999: RuleBound = RuleBound::new(
    "{} above {}",
    &[BoundNumber::Percentile(99.9), LATE_P99_MAX],
);
const LATE_P9999: RuleBound = RuleBound::new(
    "{} above {}",
    &[BoundNumber::Percentile(99.99), LATE_P99_MAX],
);

/// Returns the bound of a percentile of operations, beyond which lie 1 % of the arrivals.
pub(super) fn late_bound(percentile: f64) -> RuleBound {
    match percentile {
        ..=99.0 => LATE,
        ..=99.9 => LATE_P999,
        _ => LATE_P9999,
    }
}

/// Share of operations failing for want of ports or files above which the client was exhausted.
const EXHAUSTED_SHARE_MAX: f64 = 0.001;

const EXHAUSTED: RuleBound =
    RuleBound::new("{}", &[BoundNumber::ShareInDigits(EXHAUSTED_SHARE_MAX)]);

/// Share of the counted seconds that must show a limit of the client: beyond this, it affects more
/// than the slowest twentieth.
const PART: f64 = 0.05;

/// A machine that is full in this share of them leaves neither the client nor a server on it any
/// room.
const SHARED_PART: f64 = 0.5;

/// A worker thread that uses its CPU for this share of the time has no room.
const WORKER_BUSY: f64 = 0.9;

/// Share of a CPU that interrupts, a neighbour or the hypervisor take from a worker.
const TAKEN: f64 = 0.1;

/// Share of a quota's periods in which it throttled the client.
const THROTTLED: f64 = 0.05;

/// An agent that uses this share of its CPU quota was throttled by it now and then.
const QUOTA_USED: f64 = 0.8;

/// Signs of the client's own CPU use, whatever else runs on its machine.
const OWN: [Sign; 4] = [
    Sign {
        rule: RuleId::Worker,
        reach: |row| Some(worker(row)?.busiest_thread_share / WORKER_BUSY),
        words: |row| {
            let busy = worker(row).map_or(0.0, |worker| worker.busiest_thread_share);
            format!("its busiest worker was {} busy", human::share(busy))
        },
        bound: RuleBound::new("{}", &[BoundNumber::Share(WORKER_BUSY)]),
        cure: ": give it more CPUs, or add agents",
    },
    CPU_QUOTA_STOPS,
    CPU_QUOTA,
    Sign {
        rule: RuleId::ClientMemory,
        reach: |row| memory(row),
        words: memory_in_words,
        bound: RuleBound::new(
            "at its limit or swapping, and waited for {} of the time",
            &[BoundNumber::Share(WAITED)],
        ),
        cure: ": give it more memory, or add agents",
    },
];

const CPU_QUOTA_STOPS: Sign = Sign {
    rule: RuleId::QuotaStops,
    reach: |row| Some(row.group?.throttled / THROTTLED),
    words: describe_throttling,
    bound: RuleBound::new("{}", &[BoundNumber::Share(THROTTLED)]),
    cure: ": raise it, or add agents",
};

const CPU_QUOTA: Sign = Sign {
    rule: RuleId::Quota,
    reach: |row| {
        let quota = row.group?.quota.filter(|&quota| quota > 0.0)?;
        Some(worker(row)?.cpus / (QUOTA_USED * quota))
    },
    words: |row| {
        let quota = row.group.and_then(|group| group.quota).unwrap_or(0.0);
        let used = worker(row).map_or(0.0, |worker| worker.cpus);
        format!("it used {used:.2} CPUs, and its quota is {quota:.2} CPUs")
    },
    bound: RuleBound::new("{} of the quota", &[BoundNumber::Share(QUOTA_USED)]),
    cure: ": raise it, or add agents",
};

/// Signs of what others take of its machine; they count unless the server may be one of the others.
const BY_OTHERS: [Sign; 3] = [
    Sign {
        rule: RuleId::WorkerCpu,
        reach: |row| {
            let (worker, waiting) = (worker(row)?, worker(row)?.busiest_thread_waiting);
            let wanted = worker.busiest_thread_share + waiting;
            let by_threads = (wanted / WORKER_BUSY).min(waiting / TAKEN);
            let taken = row.busiest_softirq.max(row.worst_steal);
            let beside = (worker.busiest_thread_share + taken) / WORKER_BUSY;
            let by_kernel = beside.min(row.busiest_cpu / CPU_BUSY).min(taken / TAKEN);
            Some(by_threads.max(by_kernel))
        },
        words: |row| {
            let worker = worker(row).cloned().unwrap_or_default();
            format!(
                "its busiest worker had {} of a CPU and waited {} of the time for it, beside {} \
                 of soft interrupts and {} of steal",
                human::share(worker.busiest_thread_share),
                human::share(worker.busiest_thread_waiting),
                human::share(row.busiest_softirq),
                human::share(row.worst_steal)
            )
        },
        bound: RuleBound::new(
            "{} together, and {} taken",
            &[BoundNumber::Share(WORKER_BUSY), BoundNumber::Share(TAKEN)],
        ),
        cure: ": give it a CPU of its own, or add agents",
    },
    MACHINE,
    Sign {
        rule: RuleId::Steal,
        reach: |row| Some(row.worst_steal / TAKEN),
        words: |row| {
            format!(
                "the hypervisor took {} of a CPU away",
                human::share(row.worst_steal)
            )
        },
        bound: RuleBound::new("{}", &[BoundNumber::Share(TAKEN)]),
        cure: ": take a machine of its own",
    },
];

/// A machine that others keep full takes nothing from a client that never waits for a CPU.
const MACHINE: Sign = Sign {
    rule: RuleId::ClientMachine,
    reach: |row| {
        let wanted = row.cpu_busy - row.cpu_niced;
        Some((wanted / CPU_BUSY).min(worker(row)?.longest_waiting / TAKEN))
    },
    words: |row| {
        format!(
            "its machine's CPUs were {} busy; the agent itself kept {:.2} CPUs busy",
            human::share(row.cpu_busy),
            worker(row).map_or(0.0, |worker| worker.cpus)
        )
    },
    bound: RuleBound::new(
        "{} without programs of a lower priority, and the agent waited for one for {} of the time",
        &[BoundNumber::Share(CPU_BUSY), BoundNumber::Share(TAKEN)],
    ),
    cure: "",
};

/// An agent watches its own process only.
fn worker(row: &MachineRow) -> Option<&ProcessRow> {
    row.processes.first()
}

/// A loop that did not look at its clock for this long was suspended, or its machine slept.
const STOOD_STILL_NS: u64 = 1_000_000_000;

const STOOD_STILL: RuleBound = RuleBound::new("{}", &[BoundNumber::Time(STOOD_STILL_NS as f64)]);

/// Reads whether a loop stood still with no explanation in its own resources: no verdict is
/// possible then.
pub(super) fn read_stand_still(document: &Document, of_client: &[RuleReading]) -> RuleReading {
    let delay = document.measured.times.get("schedule_delay");
    let figures = delay.into_iter().chain(&document.client.loop_lag);
    let longest = figures.map(|figure| figure.max_ns).max().unwrap_or(0);
    let is_own = |reading: &RuleReading| {
        reading.says.is_some() && OWN.iter().any(|sign| sign.rule == reading.rule)
    };
    let speaks = longest >= STOOD_STILL_NS && !of_client.iter().any(is_own);
    let figure = format!("for {}", human::time(longest as f64));
    let bound = STOOD_STILL;
    RuleReading {
        rule: RuleId::StoodStill,
        says: speaks.then(|| {
            format!(
                "a client's loop stood still {figure} without using its CPU up (bound: {bound})"
            )
        }),
        acquits: None,
        figure,
        bound,
        distance: Some(longest as f64 / STOOD_STILL_NS as f64),
    }
}

/// Reads the rules that show whether the client is the limit.
pub(super) fn readings(document: &Document, seconds: &CountedSeconds) -> Vec<RuleReading> {
    let agents = agents(document, seconds, |_| true);
    let alone = self::agents(document, seconds, |agent| !has_the_server(document, agent));
    let own = OWN.iter().flat_map(|sign| sign.readings(&agents, PART));
    let by_others = BY_OTHERS
        .iter()
        .flat_map(|sign| sign.readings(&alone, PART));
    // It comes first because it explains the others: users that wait for a port do nothing else.
    let first = [read_exhaustion(document)];
    first.into_iter().chain(own).chain(by_others).collect()
}

/// Reads whether a machine shared by client and server is full: it is unknown which of them would
/// need more of it.
pub(super) fn read_shared_machine(
    document: &Document,
    seconds: &CountedSeconds,
) -> Vec<RuleReading> {
    let shared = agents(document, seconds, |agent| has_the_server(document, agent));
    if shared.is_empty() {
        return Vec::new();
    }
    let full = Sign {
        rule: RuleId::SharedMachine,
        reach: |row| Some(row.cpu_busy / CPU_BUSY),
        bound: RuleBound::new("{}", &[BoundNumber::Share(CPU_BUSY)]),
        ..MACHINE
    };
    full.readings(&shared, SHARED_PART)
}

/// An agent that sent nothing has no address of the target, but a built-in target is on its
/// machine.
fn has_the_server(document: &Document, agent: &AgentResult) -> bool {
    document.plan.builtin_target || agent.target_is_local
}

/// Returns these agents' machines in these seconds; if they were not reported by the second, by
/// means over the whole run.
fn agents<'a>(
    document: &'a Document,
    seconds: &CountedSeconds,
    is_wanted: impl Fn(&AgentResult) -> bool,
) -> Vec<Watched<'a>> {
    let agents = document.agents.iter().enumerate();
    let wanted = agents.filter(|(_, agent)| is_wanted(agent));
    let watched = wanted.filter_map(|(index, agent)| {
        let rows = seconds.rows(rows_of(document, index, agent));
        let rows = if rows.is_empty() {
            WatchedRows::OfTheRun(Box::new(mean_row(document, agent)?))
        } else {
            WatchedRows::BySecond(rows)
        };
        let who = format!("agent {}", agent.name);
        Some(Watched {
            who,
            rows,
            due_seconds: 0,
            pardons: Vec::new(),
        })
    });
    watched.collect()
}

/// Returns the rows of the agent's machine. If several agents share a name, their order identifies
/// them.
fn rows_of<'a>(document: &'a Document, index: usize, agent: &AgentResult) -> &'a [MachineRow] {
    let before = document.agents.iter().take(index);
    let nth = before.filter(|other| other.name == agent.name).count();
    let machines = document.machines.iter();
    let mut own =
        machines.filter(|machine| machine.role == MachineRole::Agent && machine.name == agent.name);
    own.nth(nth).map_or(&[], |machine| machine.rows.as_slice())
}

/// Returns one row of means over the whole run.
fn mean_row(document: &Document, agent: &AgentResult) -> Option<MachineRow> {
    let cpu = agent.sampled_cpu()?;
    let worker = ProcessRow {
        cpus: cpu.process_share_mean,
        busiest_thread_share: cpu.busiest_worker_share_mean,
        // Not known; on a full machine it is assumed to have waited.
        longest_waiting: TAKEN,
        ..ProcessRow::default()
    };
    let group = agent.facts.cpu_quota.map(|quota| GroupRow {
        quota: Some(f64::from(quota)),
        ..GroupRow::default()
    });
    Some(MachineRow {
        seconds: u32::try_from(document.run.duration_ns.div_ceil(1_000_000_000)).unwrap_or(1),
        elapsed_ns: document.run.duration_ns,
        cpu_busy: cpu.machine_busy_share_mean,
        busiest_cpu: cpu.machine_busy_share_mean,
        worst_steal: cpu.steal_share_mean,
        group,
        tcp: TcpRow {
            segments_sent: cpu.tcp_segments_sent,
            retransmits: cpu.tcp_retransmits,
            ..TcpRow::default()
        },
        processes: vec![worker],
        ..MachineRow::default()
    })
}

/// Returns the client's machines, for the network's rules.
pub(super) fn all_agents<'a>(document: &'a Document, seconds: &CountedSeconds) -> Vec<Watched<'a>> {
    agents(document, seconds, |_| true)
}

/// Returns whether the error means that ports or descriptors ran out.
pub(super) fn is_exhaustion(error: &ErrorFigure) -> bool {
    let kind = error.name.parse::<Failure>().map(|failure| failure.kind);
    matches!(kind, Ok(Kind::PortsExhausted | Kind::FilesExhausted))
}

/// Reads whether local ports or descriptors ran out.
fn read_exhaustion(document: &Document) -> RuleReading {
    let errors = document.measured.errors.iter();
    let exhausted = errors.filter(|error| is_exhaustion(error));
    let worst = exhausted.max_by(|a, b| a.share.total_cmp(&b.share));
    let share = worst.map_or(0.0, |error| error.share);
    let bound = EXHAUSTED;
    let says = worst.filter(|error| error.share > EXHAUSTED_SHARE_MAX);
    let cure = |error: &ErrorFigure| {
        let cure = error.name.parse().ok().and_then(cure);
        cure.map_or_else(String::new, |cure| format!(": {cure}"))
    };
    RuleReading {
        rule: RuleId::PortsAndDescriptors,
        says: says.map(|error| {
            format!(
                "{} ({}) failed because {} (bound: {bound}){}",
                human::counted(error.count, "operation"),
                human::share(share),
                error.words,
                cure(error)
            )
        }),
        acquits: None,
        figure: format!("{} of the operations failed for them", human::share(share)),
        bound,
        distance: Some(share / EXHAUSTED_SHARE_MAX),
    }
}

/// Reads whether the client's own loop was late for what was due or for what was ready.
pub(super) fn lateness(document: &Document) -> Vec<RuleReading> {
    let delay = document.measured.times.get("schedule_delay");
    let says = p99_if_late(delay).map(|p99| {
        format!(
            "the schedule was missed: the client noticed 1 % of the arrivals {} or more after \
             they were due (bound: {LATE_P99_MAX})",
            human::time(p99)
        )
    });
    let lag = document.client.loop_lag.as_ref();
    vec![
        late_reading(RuleId::ScheduleDelay, delay, says),
        late_reading(RuleId::LoopLag, lag, describe_lag(document)),
    ]
}

fn late_reading(rule: RuleId, figure: Option<&TimeFigure>, says: Option<String>) -> RuleReading {
    let Some(p99) = figure.and_then(|figure| figure.percentile(99.0)) else {
        return RuleReading::unknown(rule, LATE);
    };
    RuleReading {
        rule,
        says,
        acquits: None,
        figure: format!("p99 {}", human::percentile(p99)),
        bound: LATE,
        distance: Some(p99.value_ns as f64 / LATE_P99_MAX_NS as f64),
    }
}

/// Describes the loop's lag. It does not count if the server runs on the same machine, where the
/// two compete for the CPU, unless a quota that is used up explains it.
fn describe_lag(document: &Document) -> Option<String> {
    let p99 = p99_if_late(document.client.loop_lag.as_ref())
        .filter(|_| !is_target_local(document) || has_used_up_quota(document))?;
    Some(format!(
        "the client's loop handled 1 % of what its sockets had {} or more after it came, which \
         response times contain (bound: {LATE_P99_MAX})",
        human::time(p99)
    ))
}

/// Returns whether a quota is used up in as many seconds as its rules ask for: the kernel suspends
/// such an agent for the rest of each period.
fn has_used_up_quota(document: &Document) -> bool {
    let seconds = CountedSeconds::of_client(document, Carried::Wholly);
    let agents = all_agents(document, &seconds);
    let quotas = [&CPU_QUOTA_STOPS, &CPU_QUOTA].into_iter();
    let mut readings = quotas.flat_map(|sign| sign.readings(&agents, PART));
    readings.any(|reading| reading.says.is_some())
}

/// Returns the 99th percentile if it is too late.
fn p99_if_late(figure: Option<&TimeFigure>) -> Option<f64> {
    let p99 = figure?.percentile(99.0)?.value_ns;
    (p99 > LATE_P99_MAX_NS).then_some(p99 as f64)
}

/// Describes how much room the busiest client had, on average and in its fullest second.
pub(super) fn room(document: &Document) -> Vec<String> {
    let Some(mean) = document.busiest_worker_share() else {
        return vec!["how busy the agents were is not known".to_owned()];
    };
    let seconds = CountedSeconds::of_client(document, Carried::Wholly);
    let agents = document.agents.iter().enumerate();
    let most = agents.filter_map(|(index, agent)| {
        let rows = seconds.rows(rows_of(document, index, agent));
        MostBusy::new(agent, &rows)
    });
    let most = most.fold(MostBusy::default(), MostBusy::or_more);
    // A run that ended before the first sample knows its threads' use but not its machine's: while
    // it fires, a machine is never quite idle.
    let machine = if most.machine > 0.0 {
        format!(
            ", machines' CPUs together at most {}",
            human::share(most.machine)
        )
    } else {
        String::new()
    };
    // A row of a long run holds several seconds, and the mean over them.
    let over = match most.seconds {
        0 | 1 => String::new(),
        seconds => format!(" (over {seconds} s)"),
    };
    let room = format!(
        "workers were at most {} busy (mean {}){machine}{over}",
        human::share(most.worker.max(mean)),
        human::share(mean)
    );
    let signing = describe_signing(document);
    [room].into_iter().chain(signing).collect()
}

/// Describes what digests and signatures cost the client, beside all of its CPU time.
pub(super) fn describe_signing(document: &Document) -> Option<String> {
    let signing = document.client.signing?;
    let agents = document.agents.iter().filter_map(AgentResult::sampled_cpu);
    let all: f64 = agents.map(|cpu| cpu.process_share_mean).sum();
    let of_all = if all > 0.0 {
        format!(", of {} that agents used", human::share(all))
    } else {
        String::new()
    };
    let what = human::one_or_many(
        signing.made,
        "digest or signature",
        "digests and signatures",
    );
    Some(format!(
        "signing took {} of a CPU{of_all}, by an estimate: {} {what}, {} each",
        human::share(signing.cpus),
        signing.made,
        human::time(signing.mean_ns())
    ))
}

/// The fullest second of an agent.
#[derive(Debug, Clone, Copy, Default)]
struct MostBusy {
    worker: f64,
    machine: f64,
    /// Length of the longest row.
    seconds: u32,
}

impl MostBusy {
    /// Takes these rows of its machine, or the agent's own samples if there are none.
    fn new(agent: &AgentResult, rows: &[&MachineRow]) -> Option<MostBusy> {
        let rows = rows.iter().map(|row| MostBusy {
            worker: worker(row).map_or(0.0, |worker| worker.busiest_thread_share),
            machine: row.cpu_busy,
            seconds: row.seconds,
        });
        let sampled = || {
            let cpu = agent.sampled_cpu()?;
            Some(MostBusy {
                worker: cpu.busiest_worker_share_max,
                machine: cpu.machine_busy_share_max,
                seconds: 1,
            })
        };
        rows.reduce(MostBusy::or_more).or_else(sampled)
    }

    fn or_more(self, other: MostBusy) -> MostBusy {
        MostBusy {
            worker: self.worker.max(other.worker),
            machine: self.machine.max(other.machine),
            seconds: self.seconds.max(other.seconds),
        }
    }
}
