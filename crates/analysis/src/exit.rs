//! The exit code that a result asks for.

use crate::{Document, Judgement, LoadRecord, Unit, Verdict};

/// A threshold failed, or every operation did.
pub(crate) const THRESHOLD_FAILED: u8 = 1;
/// The run is invalid as a measurement.
pub(crate) const INVALID: u8 = 3;

/// Returns the exit code that a result asks for.
///
/// 3 if the run cannot be trusted: `invalid`; `client-bound` or `network-bound` if the plan has
/// thresholds or `strict` is set; `degraded` if `strict` is set, since the plan allows it; if [its
/// load is not tested](Document::is_load_untested) and either a threshold is about times or rates,
/// or `strict` is set. Otherwise 1 if a threshold or every operation failed, otherwise 0. The codes
/// 2 (command line or plan), 4 (anything else) and 130 (interrupted) belong to the program; 2 and 4
/// take precedence over these.
#[must_use]
pub fn exit_code(document: &Document, strict: bool) -> u8 {
    let of_operations = if document.has_no_success() {
        THRESHOLD_FAILED
    } else {
        0
    };
    let conclusion = Conclusion::from(document);
    conclusion.exit_code(strict).max(of_operations)
}

/// The facts that a run's exit code depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conclusion<'a> {
    pub(crate) verdict: Verdict,
    /// See [`Document::is_load_untested`].
    pub(crate) is_load_untested: bool,
    pub(crate) thresholds: &'a [Judgement],
}

impl<'d> From<&'d Document> for Conclusion<'d> {
    fn from(document: &'d Document) -> Conclusion<'d> {
        Conclusion {
            verdict: document.verdict.verdict,
            is_load_untested: document.is_load_untested(),
            thresholds: &document.thresholds,
        }
    }
}

impl Conclusion<'_> {
    pub(crate) fn is_distrusted(self) -> bool {
        let is_of_client = matches!(self.verdict, Verdict::Invalid | Verdict::ClientBound);
        is_of_client || self.exit_code(false) == INVALID
    }

    pub(crate) fn exit_code(self, strict: bool) -> u8 {
        let asks = strict || !self.thresholds.is_empty();
        let asks_for_load = strict || self.thresholds.iter().any(Judgement::depends_on_load);
        match self.verdict {
            Verdict::Invalid => INVALID,
            Verdict::ClientBound | Verdict::NetworkBound if asks => INVALID,
            Verdict::Degraded if strict => INVALID,
            _ if self.is_load_untested && asks_for_load => INVALID,
            _ if self.thresholds.iter().any(|threshold| !threshold.passed) => THRESHOLD_FAILED,
            _ => 0,
        }
    }
}

impl Document {
    /// Whether its figures must not pass for the server's: the run is invalid or client-bound, or
    /// its thresholds make [`exit_code`] 3.
    #[must_use]
    pub fn is_distrusted(&self) -> bool {
        Conclusion::from(self).is_distrusted()
    }

    /// Returns whether nothing shows how the load that the plan asks for would have gone: an open
    /// loop is too short to tell, or the plan's own `max_connections` kept the load from being
    /// offered. Users with a connection each are themselves the load that was asked for.
    #[must_use]
    pub fn is_load_untested(&self) -> bool {
        let has_users_alone = matches!(
            self.plan.load,
            LoadRecord::Closed {
                max_connections: None,
                ..
            }
        );
        let is_plan_bound = self.verdict.verdict == Verdict::PlanBound;
        self.verdict.needed_ns.is_some() || (is_plan_bound && !has_users_alone)
    }
}

impl Judgement {
    /// Returns whether the figure changes if the load piles up: times and rates do, counts and
    /// shares of errors and handshakes do not.
    fn depends_on_load(&self) -> bool {
        matches!(self.unit, Unit::Ns | Unit::PerSecond | Unit::BytesPerSecond)
    }
}
