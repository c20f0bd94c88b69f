//! Decides whether the load needed a resource that is used up at the server. A thread that spins is
//! busy without load, too; and if no answer took longer than the fastest one, none waited for
//! anything there.

use super::RuleId;
use super::answers_by_load::AnswersByLoad;
use super::at_once::AtOnce;
use super::counted_seconds::{LATE_SECONDS, is_known, measured};
use super::queueing::{Queueing, QueueingLook};
use crate::{Document, MachineResult, MachineRole, MachineRow, ProcessRow, Row, human};

/// If the use without load is at least this share of that under load, the load is not what it is
/// used for.
const AS_BUSY: f64 = 0.8;

/// A second is nearly one without load if it has at most this share of the most answers per second,
/// and of the most operations under way.
const QUIET: f64 = 0.25;

/// Processes with at least this share of the busy CPU time are those that keep the machine busy.
const MOST: f64 = 0.5;

/// The server's own work for an answer takes at most this share of the fastest answer: the rest was
/// spent elsewhere.
const OWN_SHARE_MAX: f64 = 0.5;

/// Share of operations ending in an error from which the server refused some.
const REFUSED_SHARE: f64 = 0.01;

/// Connections waited throughout a second if at least this share of the samples saw some.
const WAITED_THROUGHOUT: f64 = 0.5;

const SECOND_NS: u64 = 1_000_000_000;

/// A rule, and why it does not blame a machine for what it saw there.
pub(super) type Pardon = (RuleId, String);

/// Returns why rules do not blame a machine for these seconds under load.
pub(super) fn pardons(
    document: &Document,
    machine: &MachineResult,
    rows: &[&MachineRow],
) -> Vec<Pardon> {
    let mut pardons = Vec::new();
    if let Some(why) = nobody_waited(document) {
        let rules = [
            RuleId::ServerCpus,
            RuleId::ServerThread,
            RuleId::ServerProcess,
            RuleId::ServerQuota,
            RuleId::ServerMemory,
            RuleId::ServerDisk,
        ];
        pardons.extend(rules.map(|rule| (rule, why.clone())));
    }
    pardons.extend(as_busy_without_load(document, machine, rows));
    if !has_refused(document, rows) {
        let why = "no connection waited throughout a second, was dropped or failed";
        pardons.push((RuleId::ServerDescriptors, why.to_owned()));
    }
    pardons
}

/// Returns why no answer can have waited for a resource of the server, if that is so.
fn nobody_waited(document: &Document) -> Option<String> {
    if !document.plan.stages.is_empty() {
        let answers = AnswersByLoad::new(document)?;
        let words = answers.took_no_longer().then(|| answers.in_words());
        return words.map(|words| format!("answers took no longer under more load: {words}"));
    }
    let at_once = AtOnce::new(document).filter(|_| !document.has_journeys())?;
    let early = at_once.early(document);
    let look = QueueingLook::new(document, early)?;
    let is_alone = matches!(look.queueing, Queueing::Alike | Queueing::Scattered);
    let (fastest_ns, own_ns) = (fastest_ns(document)?, own_ns(document)?);
    let is_elsewhere = own_ns <= OWN_SHARE_MAX * fastest_ns;
    (is_alone && is_elsewhere).then(|| {
        let usual = document.measured.percentile("service_time", 50.0);
        let usual = usual.map_or_else(String::new, human::percentile);
        format!(
            "answers took no longer for it ({usual} in the median, the fastest {}), and {} of that \
             at the server",
            human::time(fastest_ns),
            human::time(own_ns)
        )
    })
}

/// Returns the fastest answer of the run, including the warm-up: nothing was in its way.
fn fastest_ns(document: &Document) -> Option<f64> {
    let figures = [document.warm_up.as_ref(), Some(&document.measured)];
    let times = figures.into_iter().flatten();
    let times = times.filter_map(|figures| figures.times_by_outcome.get("ok")?.get("service_time"));
    let fastest = times.filter(|time| time.count > 0).map(|time| time.min_ns);
    fastest.min().map(|ns| ns as f64)
}

/// Returns the time that the watched machines spent per answer, on their CPUs and waiting for
/// disks: that of the watched processes, or of all that ran if none was chosen. `None` if nothing
/// is known of a machine: it may have spent any time.
fn own_ns(document: &Document) -> Option<f64> {
    let ok = document.measured.operations.ok;
    let monitors = document.machines.iter();
    let monitors = monitors.filter(|machine| machine.role == MachineRole::Monitor);
    let used = monitors.map(|machine| mean_use(document, machine));
    let used: f64 = used.sum::<Option<f64>>()?;
    (ok > 0).then(|| used * document.run.duration_ns as f64 / ok as f64)
}

/// Returns how many CPUs and disks a machine kept busy on average, over what is known of the
/// measured part: a monitor may have missed some of it.
fn mean_use(document: &Document, machine: &MachineResult) -> Option<f64> {
    let (mut spent_ns, mut known_ns) = (0.0, 0.0);
    for row in document.measured_rows(machine) {
        let processes = row.processes.iter();
        let of_processes: f64 = processes.map(|it| it.cpus + it.blocked).sum();
        let busy = if row.processes.is_empty() {
            row.cpu_busy * f64::from(row.cpus)
        } else {
            of_processes
        };
        spent_ns += busy * row.elapsed_ns as f64;
        known_ns += row.elapsed_ns as f64;
    }
    (known_ns > 0.0).then(|| spent_ns / known_ns)
}

/// Returns pardons for processes and threads that spin, by the rules that would blame them.
fn as_busy_without_load(
    document: &Document,
    machine: &MachineResult,
    rows: &[&MachineRow],
) -> Vec<Pardon> {
    let Some(quiet) = CpusInUse::without_load(document, machine) else {
        return Vec::new();
    };
    let Some(loaded) = CpusInUse::mean(rows) else {
        return Vec::new();
    };
    let is_as_busy = |quiet: f64, loaded: f64| loaded > 0.0 && quiet >= AS_BUSY * loaded;
    let mut pardons = Vec::new();
    let told = |of: &str, quiet: f64, loaded: f64| {
        format!(
            "{of} {} without load, and {} under it",
            human::number(quiet),
            human::number(loaded)
        )
    };
    if is_as_busy(quiet.thread, loaded.thread) {
        let why = format!(
            "its busiest thread was {} busy without load",
            human::share(quiet.thread)
        );
        pardons.push((RuleId::ServerThread, why));
    }
    if is_as_busy(quiet.cpus, loaded.cpus) {
        let why = told(
            "its processes kept that many CPUs busy:",
            quiet.cpus,
            loaded.cpus,
        );
        if loaded.cpus >= MOST * loaded.machine {
            pardons.push((RuleId::ServerCpus, why.clone()));
        }
        pardons.push((RuleId::ServerProcess, why));
    }
    pardons
}

/// CPUs in use on a machine.
#[derive(Debug, Clone, Copy, Default)]
struct CpusInUse {
    machine: f64,
    /// CPUs used by the watched processes.
    cpus: f64,
    /// CPU share of the busiest of their threads.
    thread: f64,
}

impl CpusInUse {
    /// Returns the use before the load, or in seconds with hardly any; the smaller of the two.
    fn without_load(document: &Document, machine: &MachineResult) -> Option<CpusInUse> {
        let before = machine.before_load.as_ref().map(|before| {
            let threads = before.processes.iter().map(|it| it.busiest_thread_share);
            CpusInUse {
                machine: 0.0,
                cpus: before.processes.iter().map(|it| it.cpus).sum(),
                thread: threads.fold(0.0, f64::max),
            }
        });
        let rows = machine.rows.iter();
        let quiet = rows.filter(|row| is_known(row) && is_quiet(document, row));
        let quiet = CpusInUse::mean(&quiet.collect::<Vec<_>>());
        before.into_iter().chain(quiet).reduce(|a, b| CpusInUse {
            machine: a.machine.min(b.machine),
            cpus: a.cpus.min(b.cpus),
            thread: a.thread.min(b.thread),
        })
    }

    fn mean(rows: &[&MachineRow]) -> Option<CpusInUse> {
        let count = rows.len() as f64;
        let mean =
            |of: &dyn Fn(&MachineRow) -> f64| rows.iter().map(|row| of(row)).sum::<f64>() / count;
        let threads = |row: &MachineRow| {
            let shares = row.processes.iter().map(|it| it.busiest_thread_share);
            shares.fold(0.0, f64::max)
        };
        let cpus = |of: &ProcessRow| of.cpus;
        (!rows.is_empty()).then(|| CpusInUse {
            machine: mean(&|row| row.cpu_busy * f64::from(row.cpus)),
            cpus: mean(&|row| row.processes.iter().map(cpus).sum()),
            thread: mean(&threads),
        })
    }
}

/// Returns whether a second of a machine had hardly any load.
fn is_quiet(document: &Document, row: &MachineRow) -> bool {
    let most = |of: fn(&Row) -> f64| measured(document).map(of).fold(0.0, f64::max);
    let ended = |row: &Row| row.ended as f64 / f64::from(row.seconds.max(1));
    let (most_ended, most_under_way) = (most(ended), most(|row| row.in_service));
    let is_quiet = |known: &Row| {
        ended(known) <= QUIET * most_ended && known.in_service <= QUIET * most_under_way
    };
    // In a long run a machine's rows may cover more seconds than those of the load.
    let end = |second: u32, seconds: u32| second.saturating_add(seconds.max(1));
    let meets = |known: &&Row| {
        known.second < end(row.second, row.seconds) && row.second < end(known.second, known.seconds)
    };
    let mut covered = 0;
    for known in document.series.rows.iter().filter(meets) {
        if !is_quiet(known) {
            return false;
        }
        covered += known.seconds.max(1);
    }
    covered >= row.seconds.max(1)
}

/// Returns whether the server let connections wait or fail, judged by operations that failed and by
/// its accept queue.
fn has_refused(document: &Document, rows: &[&MachineRow]) -> bool {
    let operations = &document.measured.operations;
    let failed = operations.failed.saturating_add(operations.timed_out);
    let queues = rows.iter().filter_map(|row| row.accept_queue.as_ref());
    let mut queues = queues.filter(|queue| queue.is_watched || queue.is_of_load);
    failed as f64 > REFUSED_SHARE * operations.ended as f64
        || queues.any(|queue| queue.waited >= WAITED_THROUGHOUT || queue.dropped > Some(0))
}

/// Describes monitors that reported nothing before some second of the measured part, or nothing
/// more from some second on.
pub(super) fn monitors_that_missed_a_part(document: &Document) -> Vec<String> {
    let run = &document.run;
    let whole = run.warm_up_ns.saturating_add(run.duration_ns) / SECOND_NS;
    let begin = run.warm_up_ns.div_ceil(SECOND_NS);
    let monitors = document.machines.iter();
    let monitors = monitors.filter(|machine| machine.role == MachineRole::Monitor);
    let missed = monitors.filter_map(|machine| {
        let (first, last) = (machine.rows.first()?, machine.rows.last()?);
        let from = first.second;
        let until = last.second.saturating_add(last.seconds.max(1));
        let has_left = u64::from(until) + LATE_SECONDS < whole;
        let was_late = u64::from(from) > begin + LATE_SECONDS;
        let when = match (was_late, has_left) {
            (false, false) => return None,
            (false, true) => format!("until second {until} of {whole} only"),
            (true, false) => format!("from second {from} of {whole} on only"),
            (true, true) => format!("from second {from} to {until} of {whole} only"),
        };
        Some(format!("monitor {} watched {when}", machine.name))
    });
    missed.collect()
}
