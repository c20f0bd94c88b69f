//! Signs that monitors saw of the server: a resource of it that was both used up and waited for.

use super::sign::{Sign, Watched};
use super::{BoundNumber, RuleBound, RuleId, RuleReading};
use crate::{MachineRow, ProcessRow, QueueRow, human};

/// Share of the seconds under load that must show a limit of the server.
pub(super) const PART: f64 = 0.5;

/// A machine that is busier than this has no room.
pub(super) const CPU_BUSY: f64 = 0.95;
/// Least share of the time for which something must have waited for the resource.
pub(super) const WAITED: f64 = 0.1;
const THREAD_BUSY: f64 = 0.95;
const PROCESS_BUSY: f64 = 0.95;
/// A process that used more than this share of its CPUs has threads on others, too.
const PROCESS_BELIEVED: f64 = 1.05;
/// Watched processes with at least this share of the busy CPU time are what keeps the machine busy.
const OWN_CPU: f64 = 0.8;
/// A machine that is less busy than this, its busiest thread included, has room.
const ROOM: f64 = 0.8;
const THROTTLED: f64 = 0.1;
const FILLED: f64 = 0.99;
const TRACKED: f64 = 0.95;
/// Page faults per second that waited for a disk: the bound used if the kernel does not report how
/// long threads waited for memory.
const MAJOR_FAULTS: f64 = 100.0;

/// Pages per second read from a disk again: fewer do no harm.
const READ_AGAIN: f64 = 100.0;
/// Least share of the time for which a watched process must have waited for a disk.
const DISK_WAITED: f64 = 0.4;

const SIGNS: [Sign; 9] = [
    Sign {
        rule: RuleId::ServerCpus,
        reach: cpus,
        words: cpus_in_words,
        bound: RuleBound::new(
            "{} without programs of a lower priority, and waited for {} of the time",
            &[BoundNumber::Share(CPU_BUSY), BoundNumber::Share(WAITED)],
        ),
        cure: "",
    },
    Sign {
        rule: RuleId::ServerThread,
        reach: thread,
        words: thread_in_words,
        bound: RuleBound::new(
            "{} of one CPU, or all of the only one it may use",
            &[BoundNumber::Share(THREAD_BUSY)],
        ),
        cure: "",
    },
    Sign {
        rule: RuleId::ServerProcess,
        reach: |row| {
            let processes = row.processes.iter();
            processes
                .filter_map(|it| of_process(row, it))
                .reduce(f64::max)
        },
        words: process_in_words,
        bound: RuleBound::new(
            "{} of the CPUs that it may use",
            &[BoundNumber::Share(PROCESS_BUSY)],
        ),
        cure: "",
    },
    Sign {
        rule: RuleId::ServerQuota,
        reach: |row| Some(row.group?.throttled / THROTTLED),
        words: describe_throttling,
        bound: RuleBound::new(
            "stopped in {} of the periods",
            &[BoundNumber::Share(THROTTLED)],
        ),
        cure: "",
    },
    Sign {
        rule: RuleId::AcceptQueue,
        reach: accept_queue,
        words: accept_queue_in_words,
        bound: RuleBound::new("full, or connections dropped", &[]),
        cure: "",
    },
    Sign {
        rule: RuleId::ServerDescriptors,
        reach: |row| {
            row.processes
                .iter()
                .filter_map(descriptors)
                .reduce(f64::max)
        },
        words: descriptors_in_words,
        bound: RuleBound::new("{}", &[BoundNumber::Share(FILLED)]),
        cure: "",
    },
    Sign {
        rule: RuleId::ServerMemory,
        reach: memory_of_server,
        words: memory_of_server_in_words,
        bound: RuleBound::new(
            "at its limit or swapping, and waited for {} of the time; or {} pages a second were \
             read again, and a disk held it up for {}",
            &[
                BoundNumber::Share(WAITED),
                BoundNumber::Count(READ_AGAIN),
                BoundNumber::Share(WAITED),
            ],
        ),
        cure: "",
    },
    Sign {
        rule: RuleId::ServerDisk,
        reach: disk,
        words: disk_in_words,
        bound: RuleBound::new(
            "a watched process waited for {} of the time, and the machine for {}",
            &[BoundNumber::Share(DISK_WAITED), BoundNumber::Share(WAITED)],
        ),
        cure: "",
    },
    Sign {
        rule: RuleId::ConnectionTracking,
        reach: tracking,
        words: |row| {
            let filled = row.conntrack.map_or_else(String::new, human::share);
            format!(
                "its connection tracking was {filled} full and dropped {}",
                row.conntrack_drops
            )
        },
        bound: RuleBound::new("{}, or connections dropped", &[BoundNumber::Share(TRACKED)]),
        cure: "",
    },
];

/// Reads the signs on the machines that monitors watched.
pub(super) fn readings(monitors: &[Watched<'_>]) -> Vec<RuleReading> {
    let readings = SIGNS.iter().map(|sign| sign.readings(monitors, PART));
    readings.flatten().collect()
}

/// Returns whether these monitors saw CPUs and threads to spare on average, whether or not anything
/// waited for them: a resource of which the wait is not known proves neither a limit nor room. They
/// must have watched nearly all the time, and at least one of them must have seen the server.
pub(super) fn saw_room(monitors: &[Watched<'_>]) -> bool {
    let has_room = |monitor: &Watched<'_>| {
        let rows = monitor.rows.all();
        let sum: f64 = rows.iter().map(|row| busy(row)).sum();
        monitor.is_complete() && sum < ROOM * rows.len() as f64
    };
    let mut rows = monitors.iter().flat_map(|monitor| monitor.rows.all());
    rows.any(saw_server) && monitors.iter().all(has_room)
}

/// Returns whether load arrives on this machine, as far as is known. Results of earlier versions do
/// not have it.
fn saw_server(row: &MachineRow) -> bool {
    row.cpus == 0 || row.accept_queue.as_ref().is_some_and(is_of_server)
}

/// Returns how busy the busiest part of a machine and its watched processes is. If these do not
/// serve the load themselves, any thread could be full that the busy CPU time allows for, which the
/// mean over CPUs hides.
fn busy(row: &MachineRow) -> f64 {
    let queue = row.accept_queue.as_ref();
    let serves = queue.is_some_and(|queue| queue.is_watched && queue.is_of_load);
    let any_thread = if serves {
        0.0
    } else {
        row.cpu_busy * f64::from(row.cpus)
    };
    let threads = row.processes.iter();
    let threads = threads.map(|process| process.busiest_thread_share);
    let processes = row.processes.iter();
    let processes = processes.filter_map(|process| of_process(row, process));
    let processes = processes.map(|reach| reach * PROCESS_BUSY);
    let most = threads.chain(processes).fold(row.cpu_busy, f64::max);
    most.max(any_thread)
}

fn cpus(row: &MachineRow) -> Option<f64> {
    let waited = cpu_wait(row)?;
    Some((wanted_cpu(row) / CPU_BUSY).min(waited / WAITED))
}

/// CPU time used by programs of a lower priority is given up to the server at once.
fn wanted_cpu(row: &MachineRow) -> f64 {
    (row.cpu_busy - row.cpu_niced).max(0.0)
}

/// Returns for how long threads of watched processes waited for a CPU, or any thread if no process
/// was chosen. Only the machine's figure includes threads that end within the second; it counts if
/// nearly all that runs are watched processes.
fn cpu_wait(row: &MachineRow) -> Option<f64> {
    let processes = row.processes.iter();
    let longest = processes
        .map(|process| process.longest_waiting)
        .reduce(f64::max);
    let is_own = row.cpus == 0 || own_cpus(row) >= OWN_CPU * busy_cpus(row);
    let any = row.cpu_stall.filter(|_| row.processes.is_empty() || is_own);
    longest.into_iter().chain(any).reduce(f64::max)
}

fn own_cpus(row: &MachineRow) -> f64 {
    row.processes.iter().map(|process| process.cpus).sum()
}

/// Returns how many CPUs were busy.
fn busy_cpus(row: &MachineRow) -> f64 {
    row.cpu_busy * f64::from(row.cpus)
}

fn cpus_in_words(row: &MachineRow) -> String {
    let busy = human::share(row.cpu_busy);
    let niced = if row.cpu_niced > 0.0 {
        let niced = human::share(row.cpu_niced);
        format!(" ({niced} by programs of a lower priority, which do not count)")
    } else {
        String::new()
    };
    let others = (busy_cpus(row) - own_cpus(row)).max(0.0);
    let others = if row.processes.is_empty() || row.cpus == 0 {
        String::new()
    } else {
        let cpus = human::counted(u64::from(row.cpus), "CPU");
        format!(", others kept {others:.2} of {cpus} busy")
    };
    let waited = human::share(cpu_wait(row).unwrap_or(0.0));
    format!(
        "its CPUs were {busy} busy{niced}{others}, and threads waited {waited} of the time for one"
    )
}

/// Returns how close the busiest thread is to its limit.
fn thread(row: &MachineRow) -> Option<f64> {
    let reaches = row.processes.iter().map(|process| of_thread(row, process));
    reaches.reduce(f64::max)
}

/// A thread that may use only one CPU gets no more of it than interrupts and others leave.
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

/// Returns how close a process is to its limit if its threads share fewer CPUs than the machine
/// has, however many threads there are. Of a single CPU it gets no more than interrupts leave.
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

pub(super) fn describe_throttling(row: &MachineRow) -> String {
    let group = row.group.unwrap_or_default();
    let quota = group.quota.unwrap_or(0.0);
    format!(
        "its quota of {quota:.2} CPUs stopped it in {} of the periods",
        human::share(group.throttled)
    )
}

fn accept_queue(row: &MachineRow) -> Option<f64> {
    let queue = row.accept_queue.as_ref().filter(|queue| queue.most > 0)?;
    // The listener's own count includes segments that belong to no connection, such as those of a
    // handshake that was retransmitted. So a drop counts only if the kernel reports that some queue
    // had no room.
    let no_room = row.tcp.listen_overflows.max(row.tcp.request_queue_drops);
    let dropped = queue.dropped.unwrap_or(0).min(no_room).min(1) as f64;
    Some(if is_of_server(queue) {
        queue.fill().max(dropped)
    } else {
        0.0
    })
}

/// Returns whether load can have arrived there. Results of earlier versions do not have it.
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

/// Returns how close memory is to being short and waited for.
pub(super) fn memory(row: &MachineRow) -> Option<f64> {
    let group = row.group.unwrap_or_default();
    if group.oom_kills > 0 {
        return Some(1.0 + group.oom_kills as f64);
    }
    let is_short = group.memory_limit_hits > 0 || row.swapped_pages > 0 || row.major_faults > 0;
    // A row of a long run covers several seconds.
    let faults_per_second = row.major_faults as f64 * 1e9 / row.elapsed_ns.max(1) as f64;
    let waited = row
        .memory_stall
        .map_or(faults_per_second / MAJOR_FAULTS, |stall| stall / WAITED);
    Some(if is_short { waited } else { 0.0 })
}

pub(super) fn memory_in_words(row: &MachineRow) -> String {
    let group = row.group.unwrap_or_default();
    format!(
        "it hit its memory limit {}, swapped {}, had {}, and threads waited {} of the time for \
         memory",
        human::counted(group.memory_limit_hits, "time"),
        human::counted(row.swapped_pages, "page"),
        human::counted(row.major_faults, "major fault"),
        human::share(row.memory_stall.unwrap_or(0.0))
    )
}

/// Returns how close memory is to being short, also counting pages that had to be read from a disk
/// again, and the wait for them.
fn memory_of_server(row: &MachineRow) -> Option<f64> {
    let by_disk = disk_wait(row, WAITED).filter(|_| read_again(row) >= READ_AGAIN);
    memory(row).into_iter().chain(by_disk).reduce(f64::max)
}

fn memory_of_server_in_words(row: &MachineRow) -> String {
    let pages = human::counted(read_again(row) as u64, "page");
    let waited = longest_block(row).map_or_else(String::new, |waited| {
        let waited = human::share(waited);
        format!(", and {waited} of it for a disk, from which {pages} a second came again")
    });
    format!("{}{waited}", memory_in_words(row))
}

/// Returns the pages per second that were read again after their eviction: pages of files, of swap,
/// and of mapped files in faults of watched processes.
fn read_again(row: &MachineRow) -> f64 {
    let of_group = row.group.map_or(0, |group| group.refaults);
    let of_processes: u64 = row.processes.iter().map(|it| it.major_faults).sum();
    let pages = of_group.max(of_processes) as f64;
    pages * 1e9 / row.elapsed_ns.max(1) as f64
}

/// Returns how close a disk is to being the limit: watched processes waited for it, and not for
/// want of memory.
fn disk(row: &MachineRow) -> Option<f64> {
    let reach = disk_wait(row, DISK_WAITED)?;
    let is_memory = read_again(row) >= READ_AGAIN;
    Some(if is_memory { 0.0 } else { reach })
}

fn disk_in_words(row: &MachineRow) -> String {
    let longest = row
        .processes
        .iter()
        .max_by(|a, b| a.blocked.total_cmp(&b.blocked));
    let who = longest.map_or_else(
        || "watched processes".to_owned(),
        |process| format!("{} ({})", process.name, process.pid),
    );
    format!(
        "{who} waited {} of the time for a disk",
        human::share(longest_block(row).unwrap_or(0.0))
    )
}

/// Returns how close a watched process comes to waiting for a disk for this share of the time,
/// which shows as uninterruptible sleep. Locks of the kernel can hold it there as well, so the
/// machine must have waited for a disk, too. The machine's wait is shorter: writing a log on behalf
/// of a process counts only in part as its wait.
fn disk_wait(row: &MachineRow, part: f64) -> Option<f64> {
    let idle = row.cpu_waiting_for_disk * f64::from(row.cpus);
    let of_machine = row.io_stall.unwrap_or(idle);
    Some((longest_block(row)? / part).min(of_machine / WAITED))
}

/// Returns the longest share of time that a process was in uninterruptible sleep.
fn longest_block(row: &MachineRow) -> Option<f64> {
    let processes = row.processes.iter();
    processes.map(|process| process.blocked).reduce(f64::max)
}

fn tracking(row: &MachineRow) -> Option<f64> {
    let filled = row.conntrack.map(|filled| filled / TRACKED);
    let dropped = (row.conntrack_drops > 0).then_some(1.0);
    filled.into_iter().chain(dropped).reduce(f64::max)
}
