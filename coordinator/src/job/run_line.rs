//! A run in one line.

use analysis::{Document, human};

/// Describes a run in one line: verdict, throughput, response times, errors, failed thresholds.
pub(super) fn describe(document: &Document) -> String {
    let measured = &document.measured;
    let at = |wanted| {
        measured
            .times
            .get("response_time")
            .and_then(|figure| figure.percentile(wanted))
    };
    let percentile = |wanted| at(wanted).map_or_else(|| "-".to_owned(), human::percentile);
    let failed = document
        .thresholds
        .iter()
        .filter(|judgement| !judgement.passed);
    let failed: String = failed
        .map(|judgement| format!("; failed: {}", judgement.miss()))
        .collect();
    format!(
        "{}: {}/s, response time p50 {}, p99 {}, errors {}{failed}",
        document.verdict.verdict.name(),
        human::number(measured.rates.ok_per_second),
        percentile(50.0),
        percentile(99.0),
        measured.operations.errors
    )
}
