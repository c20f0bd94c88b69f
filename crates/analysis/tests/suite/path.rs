//! What round trips show: a queue on the path, a path that had room, and times that are all path.

use crate::limits::{
    changed, downloading, idle, overloaded, phase, run, speaks, thread, with_monitor,
};
use crate::scene::{CLOSED, QUIET};
use analysis::{Document, PathFigures, PercentileFigure, TimeFigure, Verdict, VerdictRecord};

/// A figure with this median over 400 samples.
fn median(ns: u64) -> TimeFigure {
    TimeFigure {
        count: 400,
        percentiles: vec![PercentileFigure {
            percentile: 50.0,
            value_ns: ns,
            at_least: false,
        }],
        ..TimeFigure::default()
    }
}

/// The same run over a path whose round trips take `least_us` at least, and `above_us` more.
fn over(mut document: Document, least_us: u64, above_us: u64) -> Document {
    document.path = Some(PathFigures {
        round_trip: median((least_us + above_us) * 1000),
        above_least: median(above_us * 1000),
        least_ns: least_us * 1000,
        busy_share: 0.3,
        segments_sent: 10_000,
        segments_received: 10_000,
        ..PathFigures::default()
    });
    document
}

/// Users that wait this long for small answers, nearly all of it for the first byte.
fn waiting(ms: u64) -> Document {
    let mut document = run(CLOSED, QUIET);
    phase(&mut document, "service_time", ms / 2, ms, ms);
    phase(&mut document, "first_byte", ms / 2, ms, ms);
    let bytes = &mut document.measured.bytes;
    (bytes.wire_received_bytes, bytes.wire_sent_bytes) = (100_000, 10_000);
    document
}

fn judged(document: &Document) -> (Verdict, String) {
    let record = VerdictRecord::new(document);
    (record.verdict, record.evidence.join("; "))
}

#[test]
fn queue_on_the_way_is_the_networks_also_where_answers_are_small() {
    // 1 kB over 2 Mbit/s with 10, 40 and 100 users, and 10 kB sent by 40 users over 5 Mbit/s.
    for (ms, above_us) in [(52, 49_000), (207, 163_000), (520, 430_000), (669, 654_000)] {
        let queue = over(waiting(ms), 1200, above_us);
        let (verdict, evidence) = judged(&queue);
        assert_eq!(verdict, Verdict::NetworkBound, "{ms} ms: {evidence}");
        assert!(evidence.contains("against 1.20 ms at least"), "{evidence}");
    }
    // A queue so long that the smoothed round trip lags behind it.
    let mut trailing = over(waiting(1390), 12_100, 267_000);
    assert!(!speaks(&trailing, "queue on the way"));
    if let Some(path) = &mut trailing.path {
        path.busy_share = 0.97;
    }
    assert_eq!(judged(&trailing).0, Verdict::NetworkBound);
    let queue = over(overloaded(), 1200, 80_000);
    assert_eq!(judged(&queue).0, Verdict::NetworkBound);
}

#[test]
fn acknowledgements_that_a_server_holds_back_are_no_queue() {
    for (ms, above_us) in [(40, 39_000), (41, 41_000), (300, 44_000), (300, 140_000)] {
        let document = over(waiting(ms), 1000, above_us);
        assert!(
            !speaks(&document, "queue on the way"),
            "{above_us} µs of {ms} ms"
        );
    }
    assert!(!speaks(&waiting(300), "queue on the way"), "not known");
    let server = over(overloaded(), 1000, 39_000);
    assert_eq!(judged(&server).0, Verdict::ServerBound);
}

#[test]
fn bytes_that_wait_for_the_server_are_not_the_networks() {
    let monitored = |document| with_monitor(document, &idle());
    let paced = over(monitored(downloading(CLOSED)), 500, 9000);
    let (verdict, evidence) = judged(&paced);
    assert_eq!(verdict, Verdict::Undetermined, "{evidence}");
    assert!(
        evidence.contains("the link had room: round trips took 9.50 ms (median) against 500 µs"),
        "{evidence}"
    );
    // Small answers whose second half waits for a lock.
    let mut locked = over(monitored(downloading(CLOSED)), 30, 16_000);
    locked.measured.bytes.wire_received_bytes = 1200 * locked.measured.operations.ended;
    assert_ne!(judged(&locked).0, Verdict::NetworkBound);
}

#[test]
fn bytes_that_wait_in_a_queue_or_are_lost_are_the_networks() {
    let large = || {
        let mut document = with_monitor(downloading(CLOSED), &idle());
        document.measured.bytes.wire_received_bytes = 200_000 * document.measured.operations.ended;
        document
    };
    let queue = over(large(), 10_000, 50_000);
    assert_eq!(judged(&queue).0, Verdict::NetworkBound);
    let mut lossy = over(large(), 10_000, 21_000);
    assert_eq!(judged(&lossy).0, Verdict::Undetermined);
    if let Some(path) = &mut lossy.path {
        path.segments_out_of_order = 400;
    }
    assert_eq!(judged(&lossy).0, Verdict::NetworkBound);
}

#[test]
fn large_bodies_that_are_sent_show_a_lower_queue_unless_the_server_takes_no_more() {
    let sending = |above_us| {
        let mut document = over(waiting(1500), 10_000, above_us);
        document.measured.bytes.wire_sent_bytes = 1_000_000 * document.measured.operations.ended;
        if let Some(path) = &mut document.path {
            path.busy_share = 0.95;
        }
        document
    };
    assert_eq!(judged(&sending(30_000)).0, Verdict::NetworkBound);
    assert!(!speaks(&sending(5000), "queue on the way"));
    let mut slow_reader = sending(30_000);
    if let Some(path) = &mut slow_reader.path {
        path.peer_limited_share = 0.9;
    }
    assert!(!speaks(&slow_reader, "queue on the way"));
}

#[test]
fn server_is_not_in_doubt_for_losses_where_the_way_had_room() {
    let dropped = changed(|row| row.tcp.retransmits = 200);
    let document = with_monitor(overloaded(), &dropped);
    assert_eq!(judged(&document).0, Verdict::Undetermined);
    let room = over(document, 200, 30);
    let (verdict, evidence) = judged(&room);
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("the link had room"), "{evidence}");
}

#[test]
fn one_body_at_a_time_does_not_show_that_the_way_had_room() {
    let mut document = over(downloading(CLOSED), 500, 100);
    assert!(judged(&document).1.contains("the link had room"));
    for row in &mut document.series.rows {
        row.in_service = 1.0;
    }
    assert!(!judged(&document).1.contains("the link had room"));
}

#[test]
fn round_trip_that_is_all_of_the_time_acquits_the_server() {
    let full = changed(|row| thread(row).busiest_thread_share = 0.99);
    let near = over(with_monitor(waiting(201), &full), 1000, 100);
    assert_eq!(judged(&near).0, Verdict::ServerBound);
    for (ms, least_ms) in [(201, 200), (21, 20)] {
        let document = with_monitor(waiting(ms), &full);
        let far = over(document, least_ms * 1000, 200);
        let (verdict, evidence) = judged(&far);
        assert_ne!(verdict, Verdict::ServerBound, "{evidence}");
        assert!(
            evidence.contains("nothing waited at the server"),
            "{evidence}"
        );
    }
}
