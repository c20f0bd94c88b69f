//! How many bodies were not sent because the server answered first, by request.

use std::collections::BTreeMap;

/// Bodies of measured operations that waited for leave (`Expect: 100-continue`) and were not sent,
/// since the answer came in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WithheldBodies(BTreeMap<u16, u64>);

impl WithheldBodies {
    /// Counts bodies of `request`, by its place in the plan.
    pub fn count(&mut self, request: u16, number: u64) {
        let count = self.0.entry(request).or_default();
        *count = count.saturating_add(number);
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &WithheldBodies) {
        for (&request, &number) in &other.0 {
            self.count(request, number);
        }
    }

    /// Requests and numbers, in the plan's order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        self.0.iter().map(|(&request, &number)| (request, number))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
