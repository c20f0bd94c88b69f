//! What became of the tokens that requests carry, by credential.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the token of one credential, and which requests had it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenTally {
    /// Times a token was fetched.
    pub fetched: u64,
    /// Times a token was asked for and did not come.
    pub not_fetched: u64,
    /// Times the token expired before there was a new one.
    pub ran_out: u64,
    /// When that first happened, on the run clock; 0 before the start. A sum has the earliest.
    pub first_ran_out_ns: Option<u64>,
    /// Requests that had a token.
    pub requests: RequestsByPart,
    /// Those among them whose token had expired when their bytes were written.
    pub expired: RequestsByPart,
}

/// Requests that were written, by the part of the run that their operation belongs to. One that is
/// sent again, or to where a redirect leads, counts again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestsByPart {
    /// Those of the warm-up.
    pub warm_up: u64,
    /// Those of the measured part.
    pub measured: u64,
}

/// The tallies of all credentials whose tokens are fetched, by their place among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TokenTallies(BTreeMap<u16, TokenTally>);

impl RequestsByPart {
    fn merge(&mut self, other: RequestsByPart) {
        self.warm_up = self.warm_up.saturating_add(other.warm_up);
        self.measured = self.measured.saturating_add(other.measured);
    }
}

impl TokenTally {
    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &TokenTally) {
        let &TokenTally {
            fetched,
            not_fetched,
            ran_out,
            first_ran_out_ns,
            requests,
            expired,
        } = other;
        self.fetched = self.fetched.saturating_add(fetched);
        self.not_fetched = self.not_fetched.saturating_add(not_fetched);
        self.ran_out = self.ran_out.saturating_add(ran_out);
        let instants = [self.first_ran_out_ns, first_ran_out_ns];
        self.first_ran_out_ns = instants.into_iter().flatten().min();
        self.requests.merge(requests);
        self.expired.merge(expired);
    }
}

impl TokenTallies {
    /// Adds to the tally of the credential at this place; one without content leaves no trace.
    pub fn add(&mut self, place: u16, tally: &TokenTally) {
        if *tally != TokenTally::default() {
            self.0.entry(place).or_default().merge(tally);
        }
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &TokenTallies) {
        for (&place, tally) in &other.0 {
            self.add(place, tally);
        }
    }

    /// Places and tallies, in the plan's order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &TokenTally)> {
        self.0.iter().map(|(&place, tally)| (place, tally))
    }

    /// The tally of the credential at this place.
    #[must_use]
    pub fn of(&self, place: u16) -> TokenTally {
        self.0.get(&place).copied().unwrap_or_default()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_has_the_earliest_instant_and_no_empty_tally() {
        let part = |fetched, first_ran_out_ns| TokenTally {
            fetched,
            first_ran_out_ns,
            ran_out: u64::from(first_ran_out_ns.is_some()),
            ..TokenTally::default()
        };
        let parts = [part(1, None), part(0, Some(9)), part(2, Some(4))];
        let mut orders = [TokenTallies::default(), TokenTallies::default()];
        parts.iter().for_each(|part| orders[0].add(3, part));
        parts.iter().rev().for_each(|part| orders[1].add(3, part));
        orders[1].add(4, &TokenTally::default());
        assert_eq!(orders[0], orders[1]);
        let sum = TokenTally {
            fetched: 3,
            ran_out: 2,
            first_ran_out_ns: Some(4),
            ..TokenTally::default()
        };
        assert_eq!(orders[0].of(3), sum);
    }
}
