//! Sums over a cell's counters: how many operations were sent, ended or failed, and their shares.
//! The counts come from other machines, so sums saturate.

use measure::{Counters, Failure, Kind};

/// Operations begun, without arrivals that were never sent.
pub(crate) fn begun_and_sent(counters: &Counters) -> u64 {
    counters
        .operations_begun()
        .saturating_sub(not_sent(counters))
}

/// Ended operations without arrivals that were never sent.
pub(crate) fn sent_and_ended(counters: &Counters) -> u64 {
    counters
        .operations_ended()
        .saturating_sub(not_sent(counters))
}

/// Ended operations that did not end ok.
pub(crate) fn errors(counters: &Counters) -> u64 {
    counters.timed_out.saturating_add(counters.failed)
}

/// Adds counts up, saturating: they come from other machines.
pub(crate) fn sum<'a>(counts: impl Iterator<Item = &'a u64>) -> u64 {
    counts.fold(0, |sum: u64, &count| sum.saturating_add(count))
}

/// Arrivals that could not be sent.
pub(crate) fn not_sent(counters: &Counters) -> u64 {
    sum(counters
        .failures
        .iter()
        .filter(|(failure, _)| is_not_sent(**failure))
        .map(|(_, count)| count))
}

/// Returns whether the failure is that of an arrival that could not be sent.
pub(crate) fn is_not_sent(failure: Failure) -> bool {
    matches!(failure.kind, Kind::NotSent | Kind::NoLease)
}

/// Arrivals that could not be sent because the agent's lease had ended, or ended just then.
pub(crate) fn without_lease(counters: &Counters) -> u64 {
    let failures = counters.failures.iter();
    sum(failures
        .filter(|(failure, _)| failure.kind == Kind::NoLease)
        .map(|(_, count)| count))
}

/// Failures whose name is `prefix`, or begins with it and a dot.
pub(crate) fn count_under(counters: &Counters, prefix: &str) -> u64 {
    let is_under = |name: String| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    sum(counters
        .failures
        .iter()
        .filter(|(failure, _)| is_under(failure.to_string()))
        .map(|(_, count)| count))
}

/// Returns `part` over `whole`; `None` if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::FailureStage;

    fn failure(stage: FailureStage, kind: Kind) -> Failure {
        Failure { stage, kind }
    }

    #[test]
    fn prefix_counts_whole_words_only() {
        let mut counters = Counters {
            failed: 6,
            ..Counters::default()
        };
        counters
            .failures
            .insert(failure(FailureStage::Http, Kind::Status(503)), 1);
        counters
            .failures
            .insert(failure(FailureStage::Http, Kind::Status(50)), 2);
        counters
            .failures
            .insert(failure(FailureStage::Tls, Kind::BadTls), 3);
        for (prefix, count) in [
            ("http", 3),
            ("http.status", 3),
            ("http.status.50", 2),
            ("http.stat", 0),
            ("tls", 3),
            ("dns", 0),
        ] {
            assert_eq!(count_under(&counters, prefix), count, "{prefix}");
        }
    }
}
