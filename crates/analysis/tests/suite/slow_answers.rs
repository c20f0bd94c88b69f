//! Backlogs of queues, and of answers that are slow by themselves.

use crate::limits::{idle, overloaded, phase, with_monitor};
use crate::scene::MS;
use analysis::{Document, Verdict, VerdictRecord};

/// An overloaded open loop whose median answer takes longer than half of its four measured seconds.
/// `response_ms` is the mean response time of the operations due in each second, beginning with the
/// two seconds of warm-up.
fn slow(service_ms: u64, due_in_a_second: u64, response_ms: [u64; 6]) -> Document {
    let mut document = overloaded();
    phase(&mut document, "service_time", 1, service_ms, service_ms * 2);
    phase(&mut document, "first_byte", 1, service_ms, service_ms * 2);
    for (row, ms) in document.series.rows.iter_mut().zip(response_ms) {
        row.response_time_mean_ns = (ms * MS) as f64;
        row.response_time_count = due_in_a_second;
    }
    document
}

fn judged(document: &Document) -> (Verdict, String) {
    let record = VerdictRecord::new(document);
    (record.verdict, record.evidence.join("; "))
}

#[test]
fn queue_that_fills_is_told_from_slow_answers_however_far_beyond_capacity() {
    for (what, service_ms, due, response_ms) in [
        ("twice", 2100, 200, [500, 1000, 1500, 2000, 2500, 3000]),
        (
            "four times",
            7000,
            400,
            [1500, 4500, 7500, 10_500, 13_500, 16_500],
        ),
        ("from the middle on", 2500, 100, [5, 5, 5, 500, 2500, 4500]),
        ("few answers", 2100, 10, [250, 900, 1500, 2000, 2500, 3000]),
    ] {
        let document = slow(service_ms, due, response_ms);
        let (verdict, evidence) = judged(&document);
        assert_eq!(verdict, Verdict::ServerBound, "{what}: {evidence}");
        assert!(!evidence.contains("a longer one"), "{what}: {evidence}");
        let (verdict, evidence) = judged(&with_monitor(document, &idle()));
        assert_eq!(verdict, Verdict::ServerBound, "{what}: {evidence}");
    }
}

#[test]
fn answers_that_are_slow_from_the_first_second_on_prove_no_queue() {
    for (what, service_ms, due, response_ms) in [
        ("constant", 3000, 200, [3000; 6]),
        ("scattered", 2500, 50, [2400, 2700, 2300, 2900, 2600, 3100]),
        (
            "few of them, which scatter",
            2500,
            2,
            [1000, 1400, 2000, 2900, 2600, 3100],
        ),
        (
            "faster later",
            3000,
            200,
            [6000, 5000, 4000, 3000, 2000, 1000],
        ),
    ] {
        let (verdict, evidence) = judged(&slow(service_ms, due, response_ms));
        assert_eq!(verdict, Verdict::Undetermined, "{what}: {evidence}");
        let doubt = "as long from its beginning on, so a longer one may say otherwise";
        assert!(evidence.contains(doubt), "{what}: {evidence}");
    }
    // Answers that take less than half of the run cannot explain a growing backlog.
    let (verdict, evidence) = judged(&slow(1900, 200, [1900; 6]));
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
}
