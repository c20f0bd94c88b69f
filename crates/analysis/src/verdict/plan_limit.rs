//! Decides whether the plan itself is the limit: everything it allows at the same time was under
//! way, and answers took no longer for that, so that more would bring more.

use super::answers_by_load::AnswersByLoad;
use super::at_once::{AT_LIMIT, AtOnce, AtOnceBound};
use super::counted_seconds::{is_known, measured};
use super::phases::transfer_share;
use super::queueing::{Queueing, QueueingLook};
use super::sign::{is_nearly_all, weight};
use super::{RuleBound, RuleId, RuleReading, errors};
use crate::{Document, LoadRecord, MachineResult, MachineRole, MachineRow, human};

/// Share of the operations that must end in such seconds for the whole run's times to describe
/// them.
const AT_LIMIT_SHARE_MIN: f64 = 0.8;

/// Answers of an open loop that are alike show that they share nothing only if connections came
/// into use one after the other. For that, arrivals may be at most this many times what was
/// carried.
const BEYOND_MAX: f64 = 3.0;

/// Answers took at most this many round trips, on average as well: a few that wait long would show
/// in the mean.
const ROUND_TRIPS_MAX: f64 = 1.2;

/// Moving bytes took at most this share of the service time.
const TRANSFER_MAX: f64 = 0.25;

/// Most CPUs that the watched processes may use so that none of them can have waited for one, not
/// even behind a lock.
const IDLE_CPUS_MAX: f64 = 0.7;

/// Largest share of the time in which something waited for memory or a disk.
const IDLE_STALL_MAX: f64 = 0.1;

/// Share of the seconds that must be this idle.
const IDLE_SHARE_MIN: f64 = 0.8;

/// The client has room for more operations if its busiest worker is less busy than this.
const CLIENT_ROOM: f64 = 0.8;

const SECOND_NS: u64 = 1_000_000_000;

const BOUND: RuleBound = RuleBound::new(
    "all that the plan allows at once is under way, and answers take no longer",
    &[],
);

/// Evidence that answers did not wait for one another.
struct Proof {
    words: String,
    /// Throughput at the plan's limit, if it is known more precisely than over the whole run.
    per_second: Option<f64>,
}

/// Reads whether the plan is the limit. `is_blamed` means that something of the server, the network
/// or a shared machine may be the limit.
pub(super) fn reading(document: &Document, is_blamed: bool) -> RuleReading {
    let rule = match document.plan.load {
        LoadRecord::Closed {
            max_connections: None,
            ..
        } => RuleId::PlanUsers,
        _ => RuleId::PlanConnections,
    };
    let unknown = RuleReading::unknown(rule, BOUND);
    let Some(at_once) = AtOnce::new(document) else {
        return unknown;
    };
    let is_used = at_once.bound == AtOnceBound::Users || at_once.ran_out(document);
    if !is_used {
        let figure = match at_once.bound {
            AtOnceBound::SharedConnections => "steps found a connection".to_owned(),
            _ => "arrivals found a connection".to_owned(),
        };
        return RuleReading { figure, ..unknown };
    }
    let has_room = document.busiest_worker_share().unwrap_or(0.0) < CLIENT_ROOM;
    let is_clear = has_room && !is_blamed && !errors::lead(document);
    // A single operation at a time never waits for another, so its times prove nothing.
    let proof = proof(document, &at_once).filter(|_| is_clear && at_once.number > 1);
    let Some(proof) = proof else {
        let figure = at_once.in_use();
        return RuleReading { figure, ..unknown };
    };
    let figure = format!(
        "{}, and answers took no longer for it: {}",
        at_once.describe_gain(document, proof.per_second),
        proof.words
    );
    RuleReading {
        says: Some(format!("{figure}; {}", at_once.cure())),
        figure,
        distance: Some(1.0),
        ..unknown
    }
}

/// Returns what a run would have to do to distinguish the plan's limit from the server's, if the
/// plan's may be the limit.
pub(super) fn next_run(document: &Document) -> Option<String> {
    let at_once = AtOnce::new(document).filter(|at_once| at_once.ran_out(document))?;
    Some(format!(
        "{}: {}; {} for another run",
        at_once.in_use(),
        at_once.carries(document)?,
        at_once.cure()
    ))
}

fn proof(document: &Document, at_once: &AtOnce) -> Option<Proof> {
    by_load(document, at_once).or_else(|| {
        let is_throughout = !at_once.changes && is_at_limit_throughout(document, at_once);
        let is_moving = transfer_share(document).unwrap_or(0.0) > TRANSFER_MAX;
        let words = (is_throughout && !is_moving).then(|| by_times(document, at_once));
        words.flatten().map(|words| Proof {
            words,
            per_second: None,
        })
    })
}

/// Looks for evidence in seconds with less under way. Journeys that begin together make the same
/// step in the same second, so that more under way can be other requests.
fn by_load(document: &Document, at_once: &AtOnce) -> Option<Proof> {
    let answers = AnswersByLoad::new(document);
    let answers = answers.filter(|_| at_once.bound != AtOnceBound::SharedConnections)?;
    let is_reached =
        at_once.bound == AtOnceBound::Users || answers.most() >= AT_LIMIT * at_once.number as f64;
    (is_reached && answers.took_no_longer()).then(|| Proof {
        words: answers.in_words(),
        per_second: (at_once.bound == AtOnceBound::Users).then(|| answers.most_per_second()),
    })
}

/// Returns whether the times of the whole run are those of seconds at the limit.
fn is_at_limit_throughout(document: &Document, at_once: &AtOnce) -> bool {
    let is_at_limit = |row: &&crate::Row| at_once.is_at_limit(row);
    let ended = |row: &crate::Row| row.ended;
    let all: u64 = measured(document).map(ended).sum();
    let at_limit: u64 = measured(document).filter(is_at_limit).map(ended).sum();
    at_once.bound == AtOnceBound::Users || at_limit as f64 >= AT_LIMIT_SHARE_MIN * all as f64
}

/// Looks for evidence in the distribution of the answers' times.
fn by_times(document: &Document, at_once: &AtOnce) -> Option<String> {
    if let Some(round_trip) =
        round_trip(document).filter(|_| at_once.bound != AtOnceBound::Connections)
    {
        return Some(round_trip);
    }
    let look = QueueingLook::new(document, at_once.early(document))?;
    let is_alone = look.queueing == Queueing::Alike
        && at_once
            .beyond(document)
            .is_some_and(|beyond| beyond <= BEYOND_MAX);
    let is_idle = is_nearly_idle(document);
    let is_shown = match look.queueing {
        Queueing::Alike => is_alone || is_idle,
        Queueing::Scattered => is_idle,
        Queueing::Unclear | Queueing::Line => false,
    };
    let watched = if is_idle {
        ", and what monitors watched was nearly idle"
    } else {
        ""
    };
    is_shown.then(|| {
        let p50 = look.times.percentile(50.0).map(human::percentile);
        format!(
            "{} took {} in the median and {} at least{watched}",
            look.phase_in_words(),
            p50.unwrap_or_default(),
            human::time(look.fastest_ns as f64)
        )
    })
}

/// Returns evidence if answers took one round trip, and so waited for nothing. A connect shows the
/// round trip, since the kernel answers it, whatever the server does.
fn round_trip(document: &Document) -> Option<String> {
    let connects = [document.warm_up.as_ref(), Some(&document.measured)];
    let connects = connects.into_iter().flatten();
    let connects = connects.filter_map(|figures| figures.times.get("connect"));
    let connect = connects.filter(|figure| figure.count > 0);
    let connect_ns = connect.map(|figure| figure.min_ns).min()?;
    let p50 = document.measured.percentile("first_byte", 50.0)?;
    let service_ns = document.measured.times.get("service_time")?.mean_ns;
    let longest_ns = service_ns.max(p50.value_ns as f64);
    (longest_ns <= ROUND_TRIPS_MAX * connect_ns as f64).then(|| {
        format!(
            "first bytes came after one round trip (p50 {}; a connect took {} at least)",
            human::percentile(p50),
            human::time(connect_ns as f64)
        )
    })
}

/// Returns whether monitors watched nearly all the time, and what they watched could have done much
/// more.
fn is_nearly_idle(document: &Document) -> bool {
    let run = &document.run;
    let first = run.warm_up_ns.div_ceil(SECOND_NS);
    let end = run.warm_up_ns.saturating_add(run.duration_ns);
    let end = end.div_ceil(SECOND_NS);
    let is_measured = |row: &&MachineRow| {
        let second = u64::from(row.second);
        is_known(row) && second >= first && second < end
    };
    let machines = document.machines.iter();
    let mut monitors = machines.filter(|machine| machine.role == MachineRole::Monitor);
    let is_idle = |machine: &MachineResult| {
        let rows = machine.rows.iter().filter(is_measured);
        let (idle, other): (Vec<_>, Vec<_>) = rows.partition(|row| is_idle_second(machine, row));
        let seconds = |rows: Vec<&MachineRow>| rows.into_iter().map(weight).sum();
        let (idle, other): (u64, u64) = (seconds(idle), seconds(other));
        let known = idle + other;
        known > 0
            && is_nearly_all(known, end.saturating_sub(first))
            && idle as f64 >= IDLE_SHARE_MIN * known as f64
    };
    document.is_watched() && monitors.all(is_idle)
}

/// Judges by the watched processes, or by the machine if there are none.
fn is_idle_second(machine: &MachineResult, row: &MachineRow) -> bool {
    let of_processes = row.processes.iter().map(|process| process.cpus);
    let cpus = if row.processes.is_empty() {
        row.cpu_busy * f64::from(machine.facts.cpus.max(1))
    } else {
        of_processes.sum()
    };
    let stalls = [row.memory_stall, row.io_stall];
    let is_stalled = stalls.iter().flatten().any(|&stall| stall > IDLE_STALL_MAX);
    cpus <= IDLE_CPUS_MAX && !is_stalled
}
