//! Distinguishes answers that are slow by themselves from answers that wait in a queue: both leave
//! many operations under way at the end of a short run.

use crate::{Document, Row};

/// Answers that take longer than this share of the measured part can be the reason why operations
/// are under way at its end.
const SLOW_SHARE: f64 = 0.5;

/// Response times grow if those of the last third are this many times those of the first: a queue
/// that begins empty makes it about five.
const GROWTH_MIN: f64 = 2.0;

/// Means of answer times scatter; a deviation of more than this many standard errors is not
/// scatter.
const SIGMAS: f64 = 2.0;

/// Returns whether a backlog cannot be distinguished from answers that are slow by themselves: they
/// take long, and did so from the first second on.
pub(super) fn may_be_slow_by_themselves(document: &Document) -> bool {
    let service = document.measured.percentile("service_time", 50.0);
    let slow_ns = SLOW_SHARE * document.run.duration_ns as f64;
    let is_slow = service.is_some_and(|p50| p50.value_ns as f64 > slow_ns);
    is_slow && !response_times_grew(document)
}

/// Returns whether operations due late in the run waited longer than those due early, as they do in
/// a queue that fills. It can begin to fill in the warm-up, so that is included.
fn response_times_grew(document: &Document) -> bool {
    let run = &document.run;
    let end_ns = run.warm_up_ns.saturating_add(run.duration_ns);
    let is_offered =
        |row: &&Row| row.response_time_count > 0 && u64::from(row.second) * 1_000_000_000 < end_ns;
    let rows: Vec<&Row> = document.series.rows.iter().filter(is_offered).collect();
    let third = (rows.len() / 3).max(1);
    if rows.len() < 2 {
        return false;
    }
    let (early, late) = (
        Mean::new(&rows[..third]),
        Mean::new(&rows[rows.len() - third..]),
    );
    // Standard error of the logarithm of a ratio, for times whose standard deviation equals their
    // mean.
    let error = (1.0 / early.count + 1.0 / late.count).sqrt();
    late.response_ns >= early.response_ns * GROWTH_MIN.max((SIGMAS * error).exp())
}

/// Mean response time of what was due in some seconds.
struct Mean {
    count: f64,
    response_ns: f64,
}

impl Mean {
    fn new(rows: &[&Row]) -> Mean {
        let count: u64 = rows.iter().map(|row| row.response_time_count).sum();
        let sum = |row: &&Row| row.response_time_mean_ns * row.response_time_count as f64;
        Mean {
            count: count as f64,
            response_ns: rows.iter().map(sum).sum::<f64>() / count as f64,
        }
    }
}
