//! What monitors saw of the server: something of it both used up and waited for.

use super::sign::{Asked, Sign, Watched};
use super::{LimitOf, RuleReading};
use crate::{MachineRow, ProcessRow, QueueRow, human};

/// A limit that is shown in at least this part of the seconds under load is one of the server.
pub(super) const PART: f64 = 0.5;

const CPU_BUSY: f64 = 0.95;
/// Part of the time for which something must have waited for what is used up.
const WAITED: f64 = 0.1;
const THREAD_BUSY: f64 = 0.95;
const PROCESS_BUSY: f64 = 0.95;
/// A process that used more than this part of its CPUs has threads on others too.
const PROCESS_BELIEVED: f64 = 1.05;
/// A machine, or its busiest thread, that is less busy than this has room.
const ROOM: f64 = 0.8;
const THROTTLED: f64 = 0.1;
const FILLED: f64 = 0.99;
const TRACKED: f64 = 0.95;
/// Page faults that waited for a disk, where nothing tells how long threads waited for memory.
const MAJOR_FAULTS: f64 = 100.0;

const SIGNS: [Sign; 8] = [
    Sign {
        rule: "server's CPUs",
        reach: cpus,
        words: |row| {
            format!(
                "its CPUs were {} busy, and threads waited for one",
                human::share(row.cpu_busy)
            )
        },
        bound: "95 %, and waited for 10 % of the time",
        cure: "",
    },
    Sign {
        rule: "server's thread",
        reach: thread,
        words: thread_in_words,
        bound: "95 % of one CPU, or all of the only one it may use",
        cure: "",
    },
    Sign {
        rule: "server's process",
        reach: |row| {
            let processes = row.processes.iter();
            processes
                .filter_map(|it| of_process(row, it))
                .reduce(f64::max)
        },
        words: process_in_words,
        bound: "95 % of the CPUs that it may use",
        cure: "",
    },
    Sign {
        rule: "server's CPU quota",
        reach: |row| Some(row.group?.throttled / THROTTLED),
        words: throttled_in_words,
        bound: "stopped in 10 % of the periods",
        cure: "",
    },
    Sign {
        rule: "accept queue",
        reach: accept_queue,
        words: accept_queue_in_words,
        bound: "full, or connections dropped",
        cure: "",
    },
    Sign {
        rule: "server's descriptors",
        reach: |row| {
            row.processes
                .iter()
                .filter_map(descriptors)
                .reduce(f64::max)
        },
        words: descriptors_in_words,
        bound: "99 %",
        cure: "",
    },
    Sign {
        rule: "server's memory",
        reach: memory,
        words: memory_in_words,
        bound: "at its limit or swapping, and waited for 10 % of the time",
        cure: "",
    },
    Sign {
        rule: "connection tracking",
        reach: tracking,
        words: |row| {
            let filled = row.conntrack.map_or_else(String::new, human::share);
            format!(
                "its connection tracking was {filled} full and dropped {}",
                row.conntrack_drops
            )
        },
        bound: "95 %, or connections dropped",
        cure: "",
    },
];

/// What monitors say of the machines that they watched.
pub(super) fn readings(monitors: &[Watched<'_>]) -> Vec<RuleReading> {
    let asked = Asked {
        limit_of: LimitOf::Server,
        part: PART,
    };
    let readings = SIGNS.iter().map(|sign| sign.readings(monitors, asked));
    readings.flatten().collect()
}

/// Whether all of these had CPUs and threads to spare on average, waited for or not: a resource of
/// which nothing tells whether it is waited for proves no limit, and no room either.
pub(super) fn had_room(monitors: &[Watched<'_>]) -> bool {
    let busy = |row: &MachineRow| {
        let threads = row.processes.iter();
        let threads = threads.map(|process| process.busiest_thread_share);
        let processes = row.processes.iter();
        let processes = processes.filter_map(|process| of_process(row, process));
        let processes = processes.map(|reach| reach * PROCESS_BUSY);
        threads.chain(processes).fold(row.cpu_busy, f64::max)
    };
    monitors.iter().all(|monitor| {
        let rows = monitor.rows.all();
        let sum: f64 = rows.iter().map(|row| busy(row)).sum();
        sum < ROOM * rows.len() as f64
    })
}

fn cpus(row: &MachineRow) -> Option<f64> {
    let processes = row.processes.iter();
    let longest = processes
        .map(|process| process.longest_waiting)
        .reduce(f64::max);
    let waited = row.cpu_stall.into_iter().chain(longest).reduce(f64::max)?;
    Some((row.cpu_busy / CPU_BUSY).min(waited / WAITED))
}

/// The thread that is nearest to its end.
fn thread(row: &MachineRow) -> Option<f64> {
    let reaches = row.processes.iter().map(|process| of_thread(row, process));
    reaches.reduce(f64::max)
}

/// A thread that may use one CPU only has no more of it than interrupts and others leave.
fn of_thread(row: &MachineRow, process: &ProcessRow) -> f64 {
    let alone = process.busiest_thread_share / THREAD_BUSY;
    let beside = row.busiest_softirq + process.busiest_thread_waiting;
    let with_others = (process.busiest_thread_share + beside) / THREAD_BUSY;
    if process.busiest_thread_cpus == 1 {
        alone.max(with_others.min(row.busiest_cpu / CPU_BUSY))
    } else {
        alone
    }
}

/// A process whose threads share fewer CPUs than the machine has, however many threads these are.
/// Of one CPU it has no more than interrupts leave.
fn of_process(row: &MachineRow, process: &ProcessRow) -> Option<f64> {
    let allowed = f64::from(process.busiest_thread_cpus);
    let used = process.cpus / allowed;
    let is_known = process.busiest_thread_cpus > 0 && used <= PROCESS_BELIEVED;
    let reach = if process.busiest_thread_cpus == 1 {
        let beside = used + row.busiest_softirq;
        (beside / PROCESS_BUSY).min(row.busiest_cpu / CPU_BUSY)
    } else {
        used / PROCESS_BUSY
    };
    is_known.then_some(reach)
}

fn process_in_words(row: &MachineRow) -> String {
    let processes = row.processes.iter();
    let known = processes.filter_map(|process| Some((of_process(row, process)?, process)));
    let fullest = known.max_by(|(a, _), (b, _)| a.total_cmp(b));
    fullest.map_or_else(String::new, |(_, process)| {
        let allowed = process.busiest_thread_cpus;
        format!(
            "{} ({}) used {:.2} CPUs, and may use {allowed}; the busiest CPU was {} busy",
            process.name,
            process.pid,
            process.cpus,
            human::share(row.busiest_cpu)
        )
    })
}

fn thread_in_words(row: &MachineRow) -> String {
    let processes = row.processes.iter();
    let nearest = processes.max_by(|a, b| of_thread(row, a).total_cmp(&of_thread(row, b)));
    let Some(process) = nearest else {
        return "no thread was seen".to_owned();
    };
    let pinned = if process.busiest_thread_cpus == 1 {
        format!(
            ", the only one that it may use, which was {} busy",
            human::share(row.busiest_cpu)
        )
    } else {
        String::new()
    };
    format!(
        "thread {} of {} ({}) used {} of a CPU{pinned}",
        process.busiest_thread,
        process.name,
        process.pid,
        human::share(process.busiest_thread_share)
    )
}

fn throttled_in_words(row: &MachineRow) -> String {
    let group = row.group.unwrap_or_default();
    let quota = group.quota.unwrap_or(0.0);
    format!(
        "its quota of {quota:.2} CPUs stopped it in {} of the periods",
        human::share(group.throttled)
    )
}

fn accept_queue(row: &MachineRow) -> Option<f64> {
    let queue = row.accept_queue.as_ref().filter(|queue| queue.most > 0)?;
    let dropped = queue.dropped.unwrap_or(0).min(1) as f64;
    Some(if is_of_server(queue) {
        queue.fill().max(dropped)
    } else {
        0.0
    })
}

/// Whether load can have arrived there. Results of earlier versions do not say.
fn is_of_server(queue: &QueueRow) -> bool {
    queue.is_watched || queue.is_of_load || queue.dropped.is_none()
}

fn accept_queue_in_words(row: &MachineRow) -> String {
    let Some(queue) = &row.accept_queue else {
        return "no queue was seen".to_owned();
    };
    let waited = format!(
        "{} waited at {}, where {} may",
        human::counted(u64::from(queue.waiting), "connection"),
        queue.address,
        queue.most
    );
    let dropped = queue.dropped.map_or_else(String::new, |dropped| {
        let were = human::one_or_many(dropped, "was", "were");
        format!(", and {dropped} {were} dropped")
    });
    let whose = match &queue.holder[..] {
        _ if is_of_server(queue) => String::new(),
        "" => "; no load arrives there".to_owned(),
        holder => format!("; {holder} listens there, where no load arrives"),
    };
    format!("{waited}{dropped}{whose}")
}

fn descriptors(process: &ProcessRow) -> Option<f64> {
    let limit = process.descriptors_limit.filter(|&limit| limit > 0)?;
    Some(process.descriptors as f64 / limit as f64 / FILLED)
}

fn descriptors_in_words(row: &MachineRow) -> String {
    let processes = row.processes.iter();
    let known = processes.filter_map(|process| Some((descriptors(process)?, process)));
    let fullest = known.max_by(|(a, _), (b, _)| a.total_cmp(b));
    fullest.map_or_else(String::new, |(_, process)| {
        format!(
            "{} ({}) had {} of {} descriptors open",
            process.name,
            process.pid,
            process.descriptors,
            process.descriptors_limit.unwrap_or(0)
        )
    })
}

/// Memory that is short and was waited for.
pub(super) fn memory(row: &MachineRow) -> Option<f64> {
    let group = row.group.unwrap_or_default();
    if group.oom_kills > 0 {
        return Some(1.0 + group.oom_kills as f64);
    }
    let is_short = group.memory_limit_hits > 0 || row.swapped_pages > 0 || row.major_faults > 0;
    let waited = row
        .memory_stall
        .map_or(row.major_faults as f64 / MAJOR_FAULTS, |stall| {
            stall / WAITED
        });
    Some(if is_short { waited } else { 0.0 })
}

pub(super) fn memory_in_words(row: &MachineRow) -> String {
    let group = row.group.unwrap_or_default();
    format!(
        "it came up against its memory limit {}, swapped {}, had {}, and threads waited {} of the \
         time for memory",
        human::counted(group.memory_limit_hits, "time"),
        human::counted(row.swapped_pages, "page"),
        human::counted(row.major_faults, "major fault"),
        human::share(row.memory_stall.unwrap_or(0.0))
    )
}

fn tracking(row: &MachineRow) -> Option<f64> {
    let filled = row.conntrack.map(|filled| filled / TRACKED);
    let dropped = (row.conntrack_drops > 0).then_some(1.0);
    filled.into_iter().chain(dropped).reduce(f64::max)
}
