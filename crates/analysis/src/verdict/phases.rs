//! How much time the operations of a run spent in each phase.

use crate::{Document, Figures};

/// If all answers stood in one line, the 90th percentile is at most this many times the median.
const LINE_SPREAD_MAX: f64 = 2.0;

/// If the median is at least this many times the fastest answer, answers waited for others.
const LINE_GROWTH_MIN: f64 = 2.0;

/// Phases of the service time, except name resolution.
pub(super) const PHASES: [&str; 5] = ["connect", "handshake", "first_byte", "send", "receive"];

/// Returns the share of the service time spent waiting for the server to produce an answer:
/// handshakes and first bytes.
pub(super) fn processing_share(document: &Document) -> Option<f64> {
    share(&document.measured, &["handshake", "first_byte"])
}

/// Returns the share of the service time spent moving bytes; `None` if WebSockets were opened,
/// whose life counts as the time of an answer.
pub(super) fn transfer_share(document: &Document) -> Option<f64> {
    if document.websockets.iter().any(|sockets| sockets.opened > 0) {
        return None;
    }
    share(&document.measured, &["send", "receive"])
}

fn share(figures: &Figures, phases: &[&str]) -> Option<f64> {
    let total = |name: &str| {
        let time = figures.times.get(name)?;
        Some(time.mean_ns * time.count as f64)
    };
    let whole = total("service_time").filter(|&whole| whole > 0.0)?;
    let parts: f64 = phases.iter().filter_map(|phase| total(phase)).sum();
    Some(parts / whole)
}

/// Returns whether answers waited for one another: the usual answer takes several times as long as
/// the fastest, and few take much longer than the usual one. Answers that are slow by themselves
/// scatter more, or take equally long.
pub(super) fn is_queueing(document: &Document, phase: &str) -> bool {
    let of_ok = document.measured.times_by_outcome.get("ok");
    let Some(time) = of_ok.and_then(|times| times.get(phase)) else {
        return false;
    };
    let at = |percentile| Some(time.percentile(percentile)?.value_ns as f64);
    let Some((p50, p90)) = at(50.0).zip(at(90.0)) else {
        return false;
    };
    p50 >= LINE_GROWTH_MIN * time.min_ns as f64 && p90 <= LINE_SPREAD_MAX * p50
}
