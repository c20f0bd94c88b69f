//! What the plan's load counts: operations, or journeys of several operations each.

use crate::{Document, JourneyFigures};

/// The load of the measured part in its own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LoadCounts {
    /// The unit's name, such as `operation`.
    pub(crate) unit: &'static str,
    /// Units that were due, begun or not.
    pub(crate) due: u64,
    /// Units that were due and could not be begun.
    pub(crate) not_sent: u64,
    /// Units begun per second.
    pub(crate) begun_per_second: f64,
    /// Operations due for each unit that was due; 1 if the unit is an operation.
    pub(crate) operations_each: f64,
}

impl Document {
    /// Returns whether the plan's load is made of journeys.
    #[must_use]
    pub fn has_journeys(&self) -> bool {
        !self.journeys.is_empty()
    }

    /// Returns the load in the plan's unit, by figures of the measured part and of journeys.
    pub(crate) fn load_counts(&self) -> LoadCounts {
        let (operations, rates) = (&self.measured.operations, &self.measured.rates);
        if !self.has_journeys() {
            return LoadCounts {
                unit: "operation",
                due: operations.ended,
                not_sent: operations.not_sent,
                begun_per_second: rates.started_per_second,
                operations_each: 1.0,
            };
        }
        let sum = |of: fn(&JourneyFigures) -> u64| {
            let journeys = self.journeys.iter().map(of);
            journeys.fold(0, u64::saturating_add)
        };
        let (begun, not_sent) = (sum(|it| it.begun), sum(|it| it.not_sent));
        let due = begun.saturating_add(not_sent);
        let due_per_second: f64 = self.journeys.iter().map(|it| it.due_per_second).sum();
        let operations_due = operations.started.saturating_add(operations.not_sent);
        LoadCounts {
            unit: "journey",
            due,
            not_sent,
            begun_per_second: due_per_second * begun as f64 / due.max(1) as f64,
            // A journey that fails early has fewer operations than the plan gives it.
            operations_each: (operations_due as f64 / due.max(1) as f64).max(1.0),
        }
    }
}
