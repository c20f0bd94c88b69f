//! Where the operations of a run spent their time.

use crate::{Document, Figures};

/// Half of the slowest answers' tenth may take so many times the median where all of them stood
/// in one line.
const LINE_SPREAD_MAX: f64 = 2.0;

/// A median that is this many times the fastest answer is one that others were waited for in.
const LINE_GROWTH_MIN: f64 = 2.0;

/// What a service time is made of, but for names.
pub(super) const PHASES: [&str; 5] = ["connect", "handshake", "first_byte", "send", "receive"];

/// Waiting for the server to make an answer: handshakes and first bytes, by the service time.
pub(super) fn processing_share(document: &Document) -> Option<f64> {
    share(&document.measured, &["handshake", "first_byte"])
}

/// Moving bytes, by the service time.
pub(super) fn transfer_share(document: &Document) -> Option<f64> {
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

/// Whether answers waited for one another: the usual one takes several times the fastest, and few
/// take much longer than the usual one. Answers that are slow by themselves scatter more, or take
/// equally long.
pub(super) fn stood_in_line(document: &Document, phase: &str) -> bool {
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
