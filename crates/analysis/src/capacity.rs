//! What searches found, side by side: between which amounts the limit of each variant lies, and
//! what that says of their ratio.

use crate::comparison::CAPACITY;
use crate::search::Standing;
use crate::{
    ChangeFinding, Knee, LimitOutcome, LimitResult, LoadUnit, RegressionLimit, SearchRecord,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From this ratio on, a factor is easier to read than per cent.
const FACTOR_FROM: f64 = 2.0;

/// What the searches of a variant found.
///
/// A search ends between two amounts that were held, and that is all it knows: its limit has no
/// distribution, and how much another search would differ shows only where there is another. Of
/// several searches the outer ends count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRow {
    /// Name of the variant.
    pub variant: String,
    /// Searches behind it.
    pub searches: u32,
    /// What was varied.
    pub amount: LoadUnit,
    /// Highest amount that passed, with none below it that failed; absent where not even the first
    /// passed.
    pub passed: Option<f64>,
    /// Lowest amount that failed, with none above it that passed; absent where nothing did.
    pub failed: Option<f64>,
    /// Where throughput stops rising, of the first search in which that was seen.
    pub knee: Option<Knee>,
    /// Against the first variant; absent for itself.
    pub change: Option<CapacityChange>,
}

/// A limit against that of the first variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityChange {
    /// The ratio is no less; 0 where nothing bounds it.
    pub low: f64,
    /// The ratio is no more; absent where nothing bounds it.
    pub high: Option<f64>,
    /// What can be said.
    pub finding: ChangeFinding,
    /// The change in words.
    pub text: String,
}

impl CapacityRow {
    /// Of each variant with its searches; those without any, or of another kind of load than the
    /// first, are left out.
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
        // An end that one search does not know is not known.
        let passed: Option<Vec<f64>> = searches.iter().map(|search| passed(search)).collect();
        let failed: Option<Vec<f64>> = searches.iter().map(|search| failed(search)).collect();
        // The outer ends: whatever the searches disagree on lies between them.
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

/// The highest amount that passes with none below it that fails. An amount does what most of its
/// holds do, but is no end where one of them contradicts the others.
fn passed(search: &SearchRecord) -> Option<f64> {
    let held = Standing::all(&search.steps);
    // Ascending, so that the first amount that does not pass ends it.
    let passing = held.iter().take_while(|held| held.passes());
    let clear = passing.filter(|held| held.failed == 0);
    clear.last().map(|held| held.amount)
}

/// The lowest amount that fails with none above it that passes; as [`passed`].
fn failed(search: &SearchRecord) -> Option<f64> {
    let held = Standing::all(&search.steps);
    let failing = held.iter().rev().take_while(|held| held.fails());
    let clear = failing.filter(|held| held.passed == 0);
    clear.last().map(|held| held.amount)
}

impl CapacityChange {
    fn new(first: &CapacityRow, other: &CapacityRow) -> CapacityChange {
        // The ratio lies between what is sure to pass over what is sure to fail, and the reverse.
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

    /// The middle of the two ends, or the end that is known.
    fn estimate(&self) -> f64 {
        self.high.map_or(self.low, |high| {
            if self.low > 0.0 {
                (self.low * high).sqrt() // of ratios the geometric middle
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
    /// What is asked of searches where nobody says: a limit that is lower by no more than 5 %.
    #[must_use]
    pub fn usual_of_searches() -> Vec<RegressionLimit> {
        vec![RegressionLimit {
            figure: CAPACITY.to_owned(),
            worse_by: 0.05,
        }]
    }

    /// Whether it is about what searches find.
    #[must_use]
    pub fn is_of_searches(&self) -> bool {
        self.figure == CAPACITY
    }

    /// Judges every row but the first, for every limit.
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
