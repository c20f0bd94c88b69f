//! The exit code that a result asks for.

use crate::{Document, Judgement, Verdict};

/// A threshold failed, or all that was tried.
pub(crate) const THRESHOLD_FAILED: u8 = 1;
/// The run is invalid as a measurement.
pub(crate) const INVALID: u8 = 3;

/// 3 where the run cannot be trusted: `invalid`; `client-bound` where the plan has thresholds or
/// `strict` is set; `degraded` where `strict` is set, since the plan allows it. Else 1 where a
/// threshold failed, or every operation; else 0. The codes 2 (command line or plan), 4 (anything
/// else) and 130 (interrupted) belong to the program; 2 and 4 come before these.
#[must_use]
pub fn exit_code(document: &Document, strict: bool) -> u8 {
    let of_operations = if document.has_no_success() {
        THRESHOLD_FAILED
    } else {
        0
    };
    code(document.verdict.verdict, &document.thresholds, strict).max(of_operations)
}

pub(crate) fn code(verdict: Verdict, thresholds: &[Judgement], strict: bool) -> u8 {
    let asks = strict || !thresholds.is_empty();
    match verdict {
        Verdict::Invalid => INVALID,
        Verdict::ClientBound if asks => INVALID,
        Verdict::Degraded if strict => INVALID,
        _ if thresholds.iter().any(|threshold| !threshold.passed) => THRESHOLD_FAILED,
        _ => 0,
    }
}
