//! Response times over time as a table of counts that is small enough to draw.

use measure::Distribution;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most columns; in longer runs a column holds several seconds.
const COLUMNS_MAX: u32 = 240;

/// Rows per doubling of the time.
const ROWS_PER_DOUBLING: f64 = 3.0;

/// Most rows: 1 µs to an hour takes 96 at [`ROWS_PER_DOUBLING`].
const ROWS_MAX: usize = 100;

/// Response times by the second in which their operations were intended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeatMap {
    /// Seconds that a column holds.
    pub column_seconds: u32,
    /// Upper end of each row, ascending: a row holds times above the end of the row before.
    pub row_ends_ns: Vec<u64>,
    /// Columns in order; a column in which nothing was intended can be missing.
    pub columns: Vec<HeatColumn>,
}

/// A stretch of time in a heat map.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeatColumn {
    /// First second, on the run clock.
    pub second: u32,
    /// Operations by row.
    pub counts: Vec<u64>,
}

impl HeatMap {
    /// Builds the map of a run of `seconds` seconds; `times` are response times by their first
    /// second.
    pub(crate) fn new(seconds: u32, times: impl Iterator<Item = (u32, Distribution)>) -> HeatMap {
        let column_seconds = seconds.div_ceil(COLUMNS_MAX).max(1);
        let mut columns: BTreeMap<u32, Distribution> = BTreeMap::new();
        for (second, distribution) in times {
            let column = columns.entry(second / column_seconds).or_default();
            column.merge(&distribution);
        }
        let row_ends_ns = row_ends(columns.values());
        if row_ends_ns.is_empty() {
            return HeatMap::default(); // equal to what is read back: an empty map is not written
        }
        let column = |(number, distribution): (u32, Distribution)| HeatColumn {
            second: number * column_seconds,
            counts: counts(&distribution, &row_ends_ns),
        };
        HeatMap {
            column_seconds,
            columns: columns.into_iter().map(column).collect(),
            row_ends_ns,
        }
    }

    /// Returns whether there is nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.row_ends_ns.is_empty()
    }
}

/// Returns the row ends from the smallest value to the largest, spaced by a fixed factor. Each end
/// is a whole power of that factor, so that the maps of two runs have the same rows.
fn row_ends<'a>(columns: impl Iterator<Item = &'a Distribution>) -> Vec<u64> {
    let known = columns.filter(|distribution| distribution.count > 0);
    let bounds = known.map(|distribution| (distribution.min.max(1), distribution.max.max(1)));
    let Some((low, high)) = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return Vec::new();
    };
    let step = |ns: u64| ((ns as f64).log2() * ROWS_PER_DOUBLING).ceil() as i32;
    let end = |step: i32| 2_f64.powf(f64::from(step) / ROWS_PER_DOUBLING).ceil() as u64;
    let mut ends: Vec<u64> = (step(low)..=step(high)).map(end).take(ROWS_MAX).collect();
    // The last row also takes what lies above it, by rounding or overflow.
    if let Some(last) = ends.last_mut() {
        *last = (*last).max(high);
    }
    ends.dedup();
    ends
}

fn counts(distribution: &Distribution, row_ends_ns: &[u64]) -> Vec<u64> {
    let mut counts = vec![0_u64; row_ends_ns.len()];
    let Some(last) = counts.len().checked_sub(1) else {
        return counts;
    };
    for (at, count) in distribution.by_bucket_end() {
        let row = row_ends_ns.partition_point(|&end| end < at).min(last);
        counts[row] = counts[row].saturating_add(count);
    }
    counts[last] = counts[last].saturating_add(distribution.overflow);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        values.iter().for_each(|&value| distribution.record(value));
        distribution
    }

    #[test]
    fn every_value_is_in_the_row_that_it_belongs_to() {
        let day = 86_400_000_000_000;
        let times = [
            (0, recorded(&[1_000, 1_001, 40_000_000])),
            (7, recorded(&[0, 999, 5_000, day])),
        ];
        let map = HeatMap::new(8, times.into_iter());
        let sums: Vec<(u32, u64)> = map
            .columns
            .iter()
            .map(|column| (column.second, column.counts.iter().sum()))
            .collect();
        assert_eq!(sums, [(0, 3), (7, 4)]);
        let row = |ns: u64| map.row_ends_ns.partition_point(|&end| end < ns);
        let first = &map.columns[0];
        assert_eq!(first.counts[row(40_000_000)], 1);
        assert_eq!((row(1_000), first.counts[row(1_000)]), (row(1_001), 2));
        assert_eq!(map.columns[1].counts.last(), Some(&1), "above an hour");
        assert!(map.row_ends_ns.is_sorted() && map.row_ends_ns.len() <= ROWS_MAX);
    }

    #[test]
    fn long_run_has_no_more_columns_than_can_be_drawn() {
        let times = (0..3_599).map(|second| (second, recorded(&[1_000_000])));
        let map = HeatMap::new(3_599, times);
        assert_eq!((map.column_seconds, map.columns.len()), (15, 240));
        assert_eq!(map.columns[239].counts.iter().sum::<u64>(), 14);
    }

    #[test]
    fn nothing_measured_is_an_empty_map() {
        assert!(HeatMap::new(0, std::iter::empty()).is_empty());
        assert!(HeatMap::new(3, [(0, Distribution::default())].into_iter()).is_empty());
    }
}
