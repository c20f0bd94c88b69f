//! What the load loop says of itself: nothing of it belongs to a request or an address.

use crate::{Distribution, PathCounts};

/// How a worker's loop did in one second, or any sum of such.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// From a socket that was ready to its handling, at most; in the measured part. If the loop had
    /// slept, from its waking or the end of its wait, whichever came first; if it was at work, from
    /// its last look at the sockets. Turns and waits that were held up for a millisecond are in it
    /// too.
    pub loop_lag: Distribution,
    /// Integral of the operations under way over time: nanoseconds, summed over operations.
    pub open_ns: u64,
    /// When nothing began any more, run clock, where something else than the plan's own clock ended
    /// that (a number of requests in a closed loop, a stop, the end of a lease); 0 where nothing
    /// did. A sum has the latest.
    pub fired_until_ns: u64,
    /// The way to the server, as the kernel sees it; boxed, since clients are handed on.
    pub path: Box<PathCounts>,
}

impl Client {
    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Client) {
        self.loop_lag.merge(&other.loop_lag);
        self.open_ns = self.open_ns.saturating_add(other.open_ns);
        self.fired_until_ns = self.fired_until_ns.max(other.fired_until_ns);
        self.path.merge(&other.path);
    }
}

/// The same as a worker keeps it.
#[derive(Debug, Default)]
pub(crate) struct HotClient {
    pub(crate) client: Client,
    /// Operations under way, and since when this number holds.
    open: u64,
    since: u64,
}

impl HotClient {
    /// Operations under way.
    pub(crate) fn open(&self) -> u64 {
        self.open
    }

    /// One operation more from `at` on.
    #[inline]
    pub(crate) fn begin(&mut self, at: u64) {
        self.pass(at);
        self.open += 1;
    }

    /// One operation fewer from `at` on.
    #[inline]
    pub(crate) fn end(&mut self, at: u64) {
        self.pass(at);
        self.open = self.open.saturating_sub(1);
    }

    /// Time has passed up to `at`.
    #[inline]
    fn pass(&mut self, at: u64) {
        let passed = at.saturating_sub(self.since);
        self.since += passed;
        self.client.open_ns = self
            .client
            .open_ns
            .saturating_add(passed.saturating_mul(self.open));
    }

    /// What there is up to `at`; what is under way goes on in `fresh`'s memory.
    pub(crate) fn cut(&mut self, at: u64, fresh: Client) -> Client {
        self.pass(at);
        std::mem::replace(&mut self.client, fresh)
    }
}

impl Client {
    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.loop_lag.clear();
        self.path.clear();
        (self.open_ns, self.fired_until_ns) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_is_cut_at_any_instant_and_nothing_of_it_is_lost() {
        let mut hot = HotClient::default();
        hot.begin(100);
        hot.begin(300);
        assert_eq!(hot.cut(1000, Client::default()).open_ns, 900 + 700);
        hot.end(1500);
        assert_eq!(hot.cut(2000, Client::default()).open_ns, 2 * 500 + 500);
        hot.end(2001);
        hot.end(2002);
        assert_eq!(
            (hot.cut(9000, Client::default()).open_ns, hot.open()),
            (1, 0)
        );
    }
}
