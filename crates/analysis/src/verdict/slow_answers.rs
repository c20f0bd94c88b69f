//! Answers that are slow by themselves, told from answers that wait in a queue: both leave many
//! operations under way at the end of a short run.

use crate::{Document, Row};

/// Answers that take longer than this part of the measured part may be what leaves operations under
/// way at its end.
const SLOW_SHARE: f64 = 0.5;

/// Response times of the last third are so many times those of the first one where they grow: a
/// queue that begins empty makes it about five.
const GROWTH_MIN: f64 = 2.0;

/// Means of answer times scatter; more than so many standard errors is no scatter.
const SIGMAS: f64 = 2.0;

/// Whether a backlog cannot be told from answers that are slow by themselves: they take long, and
/// took as long from the first second on.
pub(super) fn may_be_slow_by_themselves(document: &Document) -> bool {
    let service = document.measured.percentile("service_time", 50.0);
    let slow_ns = SLOW_SHARE * document.run.duration_ns as f64;
    let is_slow = service.is_some_and(|p50| p50.value_ns as f64 > slow_ns);
    is_slow && !response_times_grew(document)
}

/// Whether what was due late in the run waited for longer than what was due early, as it does in a
/// queue that fills. A queue may begin to fill in the warm-up, so that counts too.
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
    // Standard error of the logarithm of a ratio, for times that scatter as much as they are long.
    let error = (1.0 / early.count + 1.0 / late.count).sqrt();
    late.response_ns >= early.response_ns * GROWTH_MIN.max((SIGMAS * error).exp())
}

/// Response times of what was due in some seconds.
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
