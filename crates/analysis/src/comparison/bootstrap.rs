//! The moving-block bootstrap (Künsch 1989) over the rows of one run, which are seconds unless the
//! run is long. Neighbouring rows are not independent, so whole blocks of them are drawn.

use crate::{Document, Row};
use measure::SplitMix;

/// With fewer rows than this there is no estimate.
const ROWS_MIN: usize = 16;

/// Number of draws, which gives a standard error to within 3 %.
const DRAWS: usize = 500;

/// A statistic of a run's rows and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) error: f64,
    /// Number of blocks that fit side by side, each as good as an independent value.
    pub(crate) blocks: u32,
}

/// Returns the rows that lie wholly in the measured part.
pub(crate) fn whole_rows(document: &Document) -> Vec<&Row> {
    let run = &document.run;
    let end_ns = run.warm_up_ns.saturating_add(run.duration_ns);
    let row_ns = u64::from(document.series.row_seconds) * 1_000_000_000;
    let is_whole = |row: &&Row| {
        let begin_ns = u64::from(row.second) * 1_000_000_000;
        begin_ns >= run.warm_up_ns && begin_ns.saturating_add(row_ns) <= end_ns
    };
    document.series.rows.iter().filter(is_whole).collect()
}

/// Estimates `statistic` of `rows` with its standard error; `None` if there are too few rows, or if
/// some draw has no value.
pub(crate) fn estimate(
    rows: &[&Row],
    statistic: impl Fn(&[&Row]) -> Option<f64>,
    seed: u64,
) -> Option<Estimate> {
    let number = rows.len();
    if number < ROWS_MIN {
        return None;
    }
    let value = statistic(rows)?;
    // Blocks of √n rows: long enough to keep what a row owes to the one before, and numerous enough
    // to show how blocks scatter.
    let length = (number as f64).sqrt().ceil() as usize;
    let mut random = SplitMix::new(seed);
    let mut drawn = Vec::with_capacity(number + length);
    let mut values = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        drawn.clear();
        // The last block is cut, so that each draw has as many rows as the run.
        while drawn.len() < number {
            let begin = random.below((number - length + 1) as u64) as usize;
            drawn.extend_from_slice(&rows[begin..begin + length]);
        }
        drawn.truncate(number);
        values.push(statistic(&drawn)?);
    }
    // Blocks hide differences over longer times than their own: the variance comes out too small by
    // about this factor.
    let hidden = number as f64 / (number - length) as f64;
    Some(Estimate {
        value,
        error: (variance(&values) * hidden).sqrt(),
        blocks: (number / length) as u32,
    })
}

fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}
