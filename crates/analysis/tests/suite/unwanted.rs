//! Resources of the server that are used up, and whether the load needed them: a thread that spins,
//! programs that yield, descriptors that suffice; and disks and memory that were waited for.

use crate::limits::{
    changed, drop_connections, group, idle, phase, queue, run, thread, with_monitor,
};
use crate::scene::{CLOSED, QUIET, SECOND, Second};
use analysis::{
    BeforeLoadRow, Document, MachineRow, ProcessBeforeLoadRow, RuleId, RuleReading, Verdict,
    VerdictRecord, explain,
};

fn judged(document: &Document) -> (Verdict, String) {
    let record = VerdictRecord::new(document);
    (record.verdict, record.evidence.join("; "))
}

fn reading(document: &Document, rule: RuleId) -> RuleReading {
    let mut readings = explain(document).into_iter();
    readings.find(|reading| reading.rule == rule).unwrap()
}

/// Ten users at a server that takes the same time for all answers and gives `per_second` of them;
/// the time is spent on the way there.
fn far_away(rtt_ms: u64, per_second: u64) -> Document {
    let mut document = run(CLOSED, QUIET);
    for name in ["service_time", "first_byte"] {
        phase(
            &mut document,
            name,
            rtt_ms,
            rtt_ms + rtt_ms / 100,
            rtt_ms + rtt_ms / 20,
        );
    }
    document.measured.operations.ok = 4 * per_second;
    document.measured.operations.ended = 4 * per_second;
    document
}

/// Answers that scatter by themselves.
fn scattered() -> Document {
    let mut document = far_away(200, 50);
    for name in ["service_time", "first_byte"] {
        phase(&mut document, name, 10, 55, 91);
    }
    document
}

fn full_thread(share: f64) -> MachineRow {
    changed(|row| {
        thread(row).name = "haproxy".to_owned();
        thread(row).pid = 7;
        thread(row).cpus = share;
        thread(row).busiest_thread_share = share;
        row.cpu_busy = share / 2.0;
    })
}

#[test]
fn thread_that_is_full_while_no_answer_waited_is_no_limit() {
    for (rtt_ms, per_second, share) in [(200, 50, 0.992), (50, 200, 1.0), (500, 20, 0.96)] {
        let document = with_monitor(far_away(rtt_ms, per_second), &full_thread(share));
        let (verdict, evidence) = judged(&document);
        assert_ne!(verdict, Verdict::ServerBound, "{evidence}");
        assert!(evidence.contains("took no longer for it"), "{evidence}");
        let thread = reading(&document, RuleId::ServerThread);
        assert!(thread.acquits.is_some(), "{thread:?}");
        // If the fastest answer was as fast as a server with room makes it, others waited.
        let mut waiting = document.clone();
        for name in ["service_time", "first_byte"] {
            phase(&mut waiting, name, 1, rtt_ms, rtt_ms);
        }
        assert_eq!(judged(&waiting).0, Verdict::ServerBound);
        // That answer can have come in the warm-up.
        let mut warm = document.clone();
        warm.warm_up = Some(waiting.measured.clone());
        assert_eq!(judged(&warm).0, Verdict::ServerBound);
        // A single user's answers never wait for one another: it waits only for the server's own
        // work.
        let mut alone = document;
        alone.measured.operations.ok = 4_000 / rtt_ms;
        assert_eq!(judged(&alone).0, Verdict::ServerBound);
        // So does a server of which the monitor saw half of the measured part.
        alone.machines[2].rows.truncate(4);
        assert_eq!(judged(&alone).0, Verdict::ServerBound);
    }
}

#[test]
fn limit_that_was_seen_in_too_few_of_the_seconds_that_count_is_none() {
    let mut document = with_monitor(far_away(200, 5), &full_thread(1.0));
    assert_eq!(judged(&document).0, Verdict::ServerBound);
    let rows = document.machines[2].rows.clone();
    // Two of four seconds decide; of the other two nothing is known.
    document.machines[2].rows = rows[3..5].to_vec();
    let (verdict, evidence) = judged(&document);
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains(", in 2 of 4 s"), "{evidence}");
    document.machines[2].rows = rows[5..].to_vec();
    assert_ne!(judged(&document).0, Verdict::ServerBound);
    let thread = reading(&document, RuleId::ServerThread);
    assert_eq!(thread.figure, "monitor db: not known");
}

#[test]
fn second_of_several_is_quiet_if_all_of_it_was() {
    let mut document = with_monitor(scattered(), &full_thread(1.0));
    for row in &mut document.series.rows {
        (row.in_service, row.ended) = (10.0, 50);
    }
    let rows = &mut document.machines[2].rows;
    rows[0].seconds = 2;
    rows[0].elapsed_ns *= 2;
    rows.remove(1);
    for (second, is_limit) in [(0, true), (1, false)] {
        let row = &mut document.series.rows[second];
        (row.in_service, row.ended) = (1.0, 5);
        let (verdict, evidence) = judged(&document);
        let is_bound = verdict == Verdict::ServerBound;
        assert_eq!(is_bound, is_limit, "{second}: {evidence}");
    }
}

fn before_load(document: &mut Document, share: f64) {
    document.machines[2].before_load = Some(BeforeLoadRow {
        elapsed_ns: 400_000_000,
        cpu_busy: share / 2.0,
        processes: vec![ProcessBeforeLoadRow {
            pid: 7,
            cpus: share,
            busiest_thread_share: share,
        }],
    });
}

#[test]
fn thread_that_is_as_busy_without_load_is_no_limit() {
    for (before, is_limit) in [(0.99, false), (0.8, false), (0.75, true), (0.0, true)] {
        let mut document = with_monitor(scattered(), &full_thread(1.0));
        before_load(&mut document, before);
        let (verdict, evidence) = judged(&document);
        assert_eq!(
            verdict == Verdict::ServerBound,
            is_limit,
            "{before}: {evidence}"
        );
        assert_eq!(evidence.contains("without load"), !is_limit, "{evidence}");
    }
    // Activity before the load, but not in a second with hardly any load, was a startup.
    let mut document = with_monitor(scattered(), &full_thread(1.0));
    before_load(&mut document, 1.0);
    for row in &mut document.series.rows {
        (row.in_service, row.ended) = (10.0, 50);
    }
    document.series.rows[0].in_service = 1.0;
    document.series.rows[0].ended = 5;
    let quiet = &mut document.machines[2].rows[0];
    thread(quiet).busiest_thread_share = 0.1;
    thread(quiet).cpus = 0.1;
    assert_eq!(judged(&document).0, Verdict::ServerBound);
    // The same second with a full thread: it spins.
    document.machines[2].before_load = None;
    let quiet = &mut document.machines[2].rows[0];
    thread(quiet).busiest_thread_share = 0.99;
    assert_ne!(judged(&document).0, Verdict::ServerBound);
}

#[test]
fn cpus_that_programs_of_a_lower_priority_fill_are_no_limit() {
    for (niced, waited, is_limit) in [
        (0.95, 0.02, false),
        (0.95, 0.5, false),
        (0.06, 0.5, false),
        (0.04, 0.5, true),
        (0.04, 0.05, false),
        (0.0, 0.1, true),
    ] {
        let row = changed(|row| {
            (row.cpu_busy, row.cpu_niced, row.cpu_stall) = (1.0, niced, Some(0.9));
            thread(row).cpus = 0.4;
            thread(row).longest_waiting = waited;
        });
        let (verdict, evidence) = judged(&with_monitor(scattered(), &row));
        assert_eq!(
            verdict == Verdict::ServerBound,
            is_limit,
            "{niced} {waited}: {evidence}"
        );
        if is_limit {
            let who = "others kept 1.60 of 2 CPUs busy";
            assert!(evidence.contains(who), "{evidence}");
        }
    }
}

#[test]
fn threads_that_end_within_the_second_are_seen_waiting_by_the_machine() {
    for (own, is_limit) in [(1.7, true), (1.0, false)] {
        let row = changed(|row| {
            (row.cpu_busy, row.cpu_stall) = (1.0, Some(0.9));
            thread(row).cpus = own;
        });
        let (verdict, evidence) = judged(&with_monitor(scattered(), &row));
        assert_eq!(
            verdict == Verdict::ServerBound,
            is_limit,
            "{own}: {evidence}"
        );
    }
}

#[test]
fn open_descriptors_are_a_limit_where_connections_waited_or_failed() {
    let nearly = |open| {
        changed(move |row| {
            thread(row).descriptors = open;
            thread(row).descriptors_limit = Some(200);
        })
    };
    for open in [198, 199, 200] {
        let (verdict, evidence) = judged(&with_monitor(scattered(), &nearly(open)));
        assert_ne!(verdict, Verdict::ServerBound, "{evidence}");
        assert!(evidence.contains("no connection waited"), "{evidence}");
        let refusals: [fn(&mut MachineRow); 2] = [
            |row| queue(row).waited = 0.6,
            |row| drop_connections(row, 2),
        ];
        for refuse in refusals {
            let mut row = nearly(open);
            refuse(&mut row);
            let (verdict, evidence) = judged(&with_monitor(scattered(), &row));
            assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
            assert!(evidence.contains("of 200 descriptors open"), "{evidence}");
        }
        let mut failing = with_monitor(scattered(), &nearly(open));
        failing.measured.operations.failed = 3;
        assert_eq!(judged(&failing).0, Verdict::ServerBound);
    }
}

#[test]
fn pages_that_come_back_from_a_disk_are_a_want_of_memory() {
    // As observed: 6,600 major faults, 7,000 limit hits, and disks waited for 0.6 of the time.
    for (faults, refaults, is_memory) in [(6_600, 0, true), (0, 9_000, true), (20, 30, false)] {
        for memory_stall in [None, Some(0.0)] {
            let row = changed(|row| {
                (row.io_stall, row.memory_stall) = (Some(0.6), memory_stall);
                row.major_faults = faults;
                (thread(row).major_faults, thread(row).blocked) = (faults, 0.9);
                (group(row).memory_limit_hits, group(row).refaults) = (7_000, refaults);
            });
            let document = with_monitor(scattered(), &row);
            let (verdict, evidence) = judged(&document);
            assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
            let of_memory = reading(&document, RuleId::ServerMemory);
            let of_disk = reading(&document, RuleId::ServerDisk);
            assert_eq!(of_memory.says.is_some(), is_memory, "{of_memory:?}");
            assert_eq!(of_disk.says.is_some(), !is_memory, "{of_disk:?}");
        }
    }
}

#[test]
fn disk_is_the_servers_limit_where_it_waits_for_it() {
    // With a kernel that reports stalls, and with one that reports idle CPUs while a disk is busy.
    // The log that is written for an fsync counts as a stall of its writer: 0.16 was seen beside
    // 0.5.
    for (stall, idle) in [
        (Some(0.8), 0.0),
        (Some(0.16), 0.0),
        (None, 0.05),
        (None, 0.4),
    ] {
        for (blocked, is_limit) in [(0.9, true), (0.4, true), (0.3, false), (0.0, false)] {
            let row = changed(|row| {
                (row.io_stall, row.cpu_waiting_for_disk) = (stall, idle);
                thread(row).blocked = blocked;
            });
            let (verdict, evidence) = judged(&with_monitor(scattered(), &row));
            assert_eq!(
                verdict == Verdict::ServerBound,
                is_limit,
                "{blocked}: {evidence}"
            );
        }
    }
    // A lock in the kernel does not show at the disk.
    let row = changed(|row| (row.io_stall, thread(row).blocked) = (Some(0.09), 0.9));
    assert_ne!(
        judged(&with_monitor(scattered(), &row)).0,
        Verdict::ServerBound
    );
}

#[test]
fn room_is_claimed_by_whoever_saw_the_server_alone() {
    let claim = "waits for something";
    let says = |row: &MachineRow| {
        let document = with_monitor(crate::limits::overloaded(), row);
        judged(&document).1.contains(claim)
    };
    assert!(says(&idle()));
    // Another process is watched; nginx fills one of two CPUs, or four by a quarter each.
    for (cpus, busy, has_room) in [(2, 0.5, false), (4, 0.25, false), (2, 0.3, true)] {
        let other = changed(|row| {
            (row.cpus, row.cpu_busy) = (cpus, busy);
            queue(row).is_of_load = false;
        });
        assert_eq!(says(&other), has_room, "{cpus} {busy}");
        let unheld = changed(|row| {
            (row.cpus, row.cpu_busy) = (cpus, busy);
            queue(row).is_watched = false;
        });
        assert_eq!(says(&unheld), has_room, "{cpus} {busy}");
        let serving = changed(|row| (row.cpus, row.cpu_busy) = (cpus, busy));
        assert!(says(&serving), "{cpus} {busy}");
    }
    // A machine where no load arrives.
    let elsewhere = changed(|row| row.accept_queue = None);
    assert!(!says(&elsewhere));
    // Half of the time may have been full.
    let mut document = with_monitor(crate::limits::overloaded(), &idle());
    document.machines[2].rows.truncate(4);
    assert!(!judged(&document).1.contains(claim));
    // Nothing is known of a second machine of the server.
    let one = with_monitor(crate::limits::overloaded(), &idle());
    let mut document = with_monitor(one, &idle());
    assert!(judged(&document).1.contains(claim));
    document.machines[3].rows.clear();
    assert!(judged(&document).1.contains(claim), "it was restarted");
    document.machines[3].facts.hostname = "other".to_owned();
    assert!(!judged(&document).1.contains(claim), "one of the same name");
}

#[test]
fn monitor_that_missed_a_part_is_told_with_its_seconds() {
    let mut document = with_monitor(run(CLOSED, Second { ..QUIET }), &idle());
    assert!(!judged(&document).1.contains("watched until"));
    document.machines[2].rows.truncate(3);
    let evidence = judged(&document).1;
    let left = "monitor db watched until second 3 of 6 only";
    assert!(evidence.contains(left), "{evidence}");
    let mut document = with_monitor(run(CLOSED, Second { ..QUIET }), &idle());
    let rows = document.machines[2].rows.clone();
    for (known, seconds, when) in [
        (3..6, 4, ""),
        (4..6, 4, "watched from second 4 of 6 on only"),
        (4..6, 6, "watched from second 4 to 6 of 8 only"),
    ] {
        document.machines[2].rows = rows[known].to_vec();
        document.run.duration_ns = seconds * SECOND;
        let evidence = judged(&document).1;
        assert!(evidence.contains(when), "{evidence}");
        assert_eq!(evidence.contains("watched from"), !when.is_empty());
    }
    // It watched in no second that counts.
    let mut document = with_monitor(crate::limits::overloaded(), &idle());
    document.machines[2].rows.truncate(1);
    let evidence = judged(&document).1;
    assert!(
        evidence.contains("no monitor watched these seconds"),
        "{evidence}"
    );
    assert!(
        evidence.contains("watched until second 1 of 6 only"),
        "{evidence}"
    );
}
