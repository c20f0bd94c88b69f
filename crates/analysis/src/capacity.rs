//! The results of searches side by side: the interval in which each variant's limit lies, and what
//! those intervals imply for the ratio.

use crate::comparison::CAPACITY;
use crate::search::Standing;
use crate::{
    ChangeFinding, Knee, LimitOutcome, LimitResult, LoadUnit, RegressionLimit, SearchRecord,
};
use serde::{Deserialize, Serialize};

/// From this ratio on, a factor is easier to read than a percentage.
const FACTOR_FROM: f64 = 2.0;

/// The result of a variant's searches.
///
/// A search ends between two amounts that were held, and knows nothing beyond that: its limit has
/// no distribution, and only another search can show how much searches differ. If there are
/// several, the outermost ends count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityRow {
    /// Name of the variant.
    pub variant: String,
    /// Number of searches behind the row.
    pub searches: u32,
    /// The quantity that the searches varied.
    pub amount: LoadUnit,
    /// Highest amount that passed, with none below it that failed; absent if not even the first
    /// passed.
    pub passed: Option<f64>,
    /// Lowest amount that failed, with none above it that passed; absent if none failed.
    pub failed: Option<f64>,
    /// Where throughput stops rising, from the first search that saw it.
    pub knee: Option<Knee>,
    /// Change against the first variant; absent for the first variant itself.
    pub change: Option<CapacityChange>,
}

/// A variant's limit compared with that of the first variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityChange {
    /// Lower bound of the ratio; 0 if there is none.
    pub low: f64,
    /// Upper bound of the ratio; absent if there is none.
    pub high: Option<f64>,
    /// The conclusion.
    pub finding: ChangeFinding,
    /// The change in words.
    pub text: String,
}

impl CapacityRow {
    /// Builds one row per variant. Variants without searches are left out, and so are those whose
    /// load is of another kind than the first's.
    #[must_use]
    pub fn from_searches(variants: &[(String, Vec<&SearchRecord>)]) -> Vec<CapacityRow> {
        let mut rows: Vec<CapacityRow> = Vec::new();
        for (name, searches) in variants {
            let Some(row) = CapacityRow::from_variant(name, searches) else {
                continue;
            };
            let change = rows
                .first()
                .filter(|first| first.amount == row.amount)
                .map(|first| CapacityChange::new(first, &row));
            if rows.is_empty() || change.is_some() {
                rows.push(CapacityRow { change, ..row });
            }
        }
        rows
    }

    fn from_variant(name: &str, searches: &[&SearchRecord]) -> Option<CapacityRow> {
        let amount = searches.first()?.bounds.amount();
        // If one search does not know an end, the row does not know it either.
        let passed: Option<Vec<f64>> = searches
            .iter()
            .map(|search| highest_passed(search))
            .collect();
        let failed: Option<Vec<f64>> = searches
            .iter()
            .map(|search| lowest_failed(search))
            .collect();
        // Take the outermost ends: everything the searches disagree on lies between them.
        let lowest = passed.and_then(|passed| passed.into_iter().reduce(f64::min));
        let highest = failed.and_then(|failed| failed.into_iter().reduce(f64::max));
        Some(CapacityRow {
            variant: name.to_owned(),
            searches: u32::try_from(searches.len()).unwrap_or(u32::MAX),
            amount,
            passed: lowest,
            failed: highest,
            knee: searches.iter().find_map(|search| search.knee.clone()),
            change: None,
        })
    }
}

/// Returns the highest amount that passes with none below it that fails. An amount passes if most
/// of its holds do, but it is no end if one of them contradicts the others.
fn highest_passed(search: &SearchRecord) -> Option<f64> {
    let held = Standing::all(&search.steps);
    // In ascending order, so that the first amount that does not pass stops the walk.
    let passing = held.iter().take_while(|held| held.passes());
    let clear = passing.filter(|held| held.failed == 0);
    clear.last().map(|held| held.amount)
}

/// Returns the lowest amount that fails with none above it that passes, by the same rules as
/// [`highest_passed`].
fn lowest_failed(search: &SearchRecord) -> Option<f64> {
    let held = Standing::all(&search.steps);
    let failing = held.iter().rev().take_while(|held| held.fails());
    let clear = failing.filter(|held| held.passed == 0);
    clear.last().map(|held| held.amount)
}

impl CapacityChange {
    fn new(first: &CapacityRow, other: &CapacityRow) -> CapacityChange {
        // The lowest ratio is a sure pass over a sure failure, the highest a sure failure over a
        // sure pass.
        let low = other
            .passed
            .zip(first.failed)
            .map_or(0.0, |(passed, failed)| passed / failed);
        let high = other
            .failed
            .zip(first.passed)
            .map(|(failed, passed)| failed / passed);
        let finding = match high {
            _ if low > 1.0 => ChangeFinding::HigherIsBetter,
            Some(high) if high < 1.0 => ChangeFinding::LowerIsWorse,
            Some(_) if low > 0.0 => ChangeFinding::NoDifference,
            _ => ChangeFinding::Unknown,
        };
        CapacityChange {
            low,
            high,
            finding,
            text: words(low, high, finding),
        }
    }

    /// Returns the middle of the two ends, or the one end that is known.
    fn estimate(&self) -> f64 {
        self.high.map_or(self.low, |high| {
            if self.low > 0.0 {
                (self.low * high).sqrt() // ratios: geometric mean
            } else {
                high
            }
        })
    }
}

fn words(low: f64, high: Option<f64>, finding: ChangeFinding) -> String {
    let per_cent = |ratio: f64| (ratio - 1.0).abs() * 100.0;
    match (finding, high) {
        (ChangeFinding::HigherIsBetter, Some(high)) if high >= FACTOR_FROM => {
            format!("{low:.2} to {high:.2} times")
        }
        (ChangeFinding::HigherIsBetter, Some(high)) => {
            format!("higher by {:.1} to {:.1} %", per_cent(low), per_cent(high))
        }
        (ChangeFinding::HigherIsBetter, None) if low >= FACTOR_FROM => {
            format!("at least {low:.2} times")
        }
        (ChangeFinding::HigherIsBetter, None) => {
            format!("higher by at least {:.1} %", per_cent(low))
        }
        (ChangeFinding::LowerIsWorse, Some(high)) if low > 0.0 => {
            format!("lower by {:.1} to {:.1} %", per_cent(high), per_cent(low))
        }
        (ChangeFinding::LowerIsWorse, Some(high)) => {
            format!("lower by at least {:.1} %", per_cent(high))
        }
        (ChangeFinding::NoDifference, Some(high)) => {
            format!(
                "no difference beyond the steps of the searches (-{:.1} to +{:.1} %)",
                per_cent(low),
                per_cent(high)
            )
        }
        (_, Some(high)) => format!("cannot be told: at most {high:.2} times"),
        (_, None) if low > 0.0 => format!("cannot be told: at least {low:.2} times"),
        (_, None) => "cannot be told: nothing bounds it".to_owned(),
    }
}

impl RegressionLimit {
    /// Returns the default limit for searches: capacity lower by no more than 5 %.
    #[must_use]
    pub fn usual_of_searches() -> Vec<RegressionLimit> {
        vec![RegressionLimit {
            figure: CAPACITY.to_owned(),
            worse_by: 0.05,
        }]
    }

    /// Returns whether the limit is about the result of searches.
    #[must_use]
    pub fn is_of_searches(&self) -> bool {
        self.figure == CAPACITY
    }

    /// Judges every row but the first against every limit.
    #[must_use]
    pub fn judge_searches(limits: &[RegressionLimit], rows: &[CapacityRow]) -> Vec<LimitResult> {
        let changes = || {
            rows.iter()
                .filter_map(|row| Some((row, row.change.as_ref()?)))
        };
        limits
            .iter()
            .flat_map(|limit| changes().map(|(row, change)| limit.judge_search(row, change)))
            .collect()
    }

    fn judge_search(&self, row: &CapacityRow, change: &CapacityChange) -> LimitResult {
        LimitResult {
            limit: self.clone(),
            variant: row.variant.clone(),
            outcome: self.outcome_of_search(change),
            text: change.text.clone(),
        }
    }

    fn outcome_of_search(&self, change: &CapacityChange) -> LimitOutcome {
        let lowest = 1.0 - self.worse_by;
        match change.finding {
            _ if change.low >= lowest => LimitOutcome::Kept,
            finding if finding.is_worse() && change.estimate() < lowest => LimitOutcome::Regressed,
            _ => LimitOutcome::Unknown,
        }
    }
}
