//! Counts by request of the plan and by a status.

use std::collections::BTreeMap;

/// Redirects that measured operations followed, by the status of HTTP: answers that no operation
/// ended with, so they are not among the statuses of [`crate::Counters`].
pub type FollowedRedirects = RequestCounts<u16>;

/// Statuses that measured gRPC calls ended with, expected or not.
pub type GrpcTally = RequestCounts<crate::GrpcStatus>;

/// What is counted of WebSockets in the measured part.
pub type WebSocketTally = RequestCounts<crate::WebSocketFact>;

/// Counts by request, by its place in the plan, and by the status `S`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCounts<S>(BTreeMap<u16, BTreeMap<S, u64>>);

impl<S> Default for RequestCounts<S> {
    fn default() -> RequestCounts<S> {
        RequestCounts(BTreeMap::new())
    }
}

impl<S: Copy + Ord> RequestCounts<S> {
    /// Adds to the count of `request` and `status`.
    pub fn count(&mut self, request: u16, status: S, number: u64) {
        let of_request = self.0.entry(request).or_default();
        let count = of_request.entry(status).or_default();
        *count = count.saturating_add(number);
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &RequestCounts<S>) {
        for (request, status, number) in other.iter() {
            self.count(request, status, number);
        }
    }

    /// The counts of one request, by status.
    pub fn of_request(&self, request: u16) -> impl Iterator<Item = (S, u64)> {
        let of_request = self.0.get(&request).into_iter().flatten();
        of_request.map(|(&status, &number)| (status, number))
    }

    /// Requests, statuses and counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, S, u64)> {
        self.0.iter().flat_map(|(&request, counts)| {
            let counts = counts.iter();
            counts.map(move |(&status, &number)| (request, status, number))
        })
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
    fn counts_of_a_request_are_summed_by_status() {
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
        let whole: Vec<_> = all.iter().collect();
        let expected = [(0, 301, 1), (1, 302, 82), (1, 307, 5), (2, 302, u64::MAX)];
        assert_eq!(whole, expected);
    }
}
