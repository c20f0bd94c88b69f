//! The moving-block bootstrap (Künsch 1989) over the rows of one run, which are its seconds unless
//! it is long: neighbouring ones are not independent, so whole blocks of them are drawn.

use crate::{Document, Row};
use measure::SplitMix;

/// Fewer rows than this say nothing.
const ROWS_MIN: usize = 16;

/// Draws; a standard error of them is known to 3 %.
const DRAWS: usize = 500;

/// A statistic of a run's rows with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) error: f64,
    /// Blocks that fit side by side: as good as independent values.
    pub(crate) blocks: u32,
}

/// The whole rows of the measured part.
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

/// `statistic` of `rows` with its standard error; `None` of too few rows, or where some draw has no
/// value.
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
    // Blocks of √n seconds: long enough to hold what a second has from the one before, and enough
    // blocks to tell how they scatter.
    let length = (number as f64).sqrt().ceil() as usize;
    let mut random = SplitMix::new(seed);
    let mut drawn = Vec::with_capacity(number + length);
    let mut values = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        drawn.clear();
        // The last block is cut, so that each draw has as many seconds as the run.
        while drawn.len() < number {
            let begin = random.below((number - length + 1) as u64) as usize;
            drawn.extend_from_slice(&rows[begin..begin + length]);
        }
        drawn.truncate(number);
        values.push(statistic(&drawn)?);
    }
    // Blocks hide what differs between blocks of this length: the variance within them is too small
    // by about this much.
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
