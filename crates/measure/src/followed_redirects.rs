//! How many redirects operations followed, by request and status.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Redirects that measured operations followed: answers that no operation ended with, so they are
/// not among the statuses of [`crate::Counters`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedRedirects(BTreeMap<(u16, u16), u64>);

impl FollowedRedirects {
    /// Counts redirects with `status` that operations of `request`, by its place in the plan,
    /// followed.
    pub fn count(&mut self, request: u16, status: u16, number: u64) {
        let count = self.0.entry((request, status)).or_default();
        *count = count.saturating_add(number);
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &FollowedRedirects) {
        for (&(request, status), &number) in &other.0 {
            self.count(request, status, number);
        }
    }

    /// The redirects of one request, by status.
    pub fn of_request(&self, request: u16) -> impl Iterator<Item = (u16, u64)> {
        let of_request = self.0.range((request, 0)..=(request, u16::MAX));
        of_request.map(|(&(_, status), &number)| (status, number))
    }

    /// Requests, statuses and numbers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        let all = self.0.iter();
        all.map(|(&(request, status), &number)| (request, status, number))
    }

    /// Whether none was followed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_of_a_request_are_summed_by_status() {
        let (mut all, mut more) = (FollowedRedirects::default(), FollowedRedirects::default());
        for (request, status, number) in [(1, 302, 2), (0, 301, 1), (1, 307, 5)] {
            all.count(request, status, number);
        }
        more.count(1, 302, 40);
        more.count(2, 302, u64::MAX);
        all.merge(&more);
        all.merge(&more);
        let of = |request| all.of_request(request).collect::<Vec<_>>();
        assert_eq!(of(1), [(302, 82), (307, 5)]);
        assert_eq!((of(0), of(2)), (vec![(301, 1)], vec![(302, u64::MAX)]));
        assert!(of(3).is_empty() && !all.is_empty());
    }
}
