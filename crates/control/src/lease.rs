//! The firing lease as the agent keeps it.

use crate::{Boot, LEASE};
use std::time::Duration;

/// Permission to fire, from the coordinator, for one run.
///
/// It runs from the instant the agent *sent* the beat, on the agent's boot-time clock: whatever
/// delays beat or grant only shortens it, and a machine that slept wakes up without one. Once it
/// has run out it is over for good, even if a grant is on its way that would have been in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    until: Boot,
    expired: bool,
}

impl Lease {
    /// The first grant for a beat sent at `sent`; nothing if that is over already.
    pub(crate) fn begin(sent: Boot, length: Duration, now: Boot) -> Option<Lease> {
        let until = end(sent, length);
        (now < until).then_some(Lease {
            until,
            expired: false,
        })
    }

    /// A grant for a beat sent at `sent`. The new end, if that is later and the lease has not run
    /// out.
    pub(crate) fn extend(&mut self, sent: Boot, length: Duration, now: Boot) -> Option<Boot> {
        let until = end(sent, length);
        if self.expires(now) || until <= self.until {
            return None;
        }
        self.until = until;
        Some(until)
    }

    /// Whether it has run out by `now`; it stays so.
    pub(crate) fn expires(&mut self, now: Boot) -> bool {
        self.expired |= now >= self.until;
        self.expired
    }

    pub(crate) fn until(&self) -> Boot {
        self.until
    }
}

/// Never longer than [`LEASE`], whatever the coordinator grants.
fn end(sent: Boot, length: Duration) -> Boot {
    sent.after(length.min(LEASE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Boot {
        Boot(seconds * SECOND)
    }

    #[test]
    fn lease_runs_from_the_beat_and_not_from_its_grant() {
        let lease = Lease::begin(at(10), LEASE, at(14)).unwrap();
        assert_eq!(lease.until(), at(15));
        assert_eq!(Lease::begin(at(10), LEASE, at(15)), None);
    }

    #[test]
    fn expired_lease_is_not_extended_by_a_grant_that_would_have_been_in_time() {
        let mut lease = Lease::begin(at(10), LEASE, at(10)).unwrap();
        assert_eq!(lease.extend(at(11), LEASE, at(11)), Some(at(16)));
        assert_eq!(lease.extend(at(15), LEASE, at(16)), None);
        assert!(lease.expires(at(11)), "once run out, always run out");
    }

    #[test]
    fn grants_out_of_order_or_of_no_time_never_shorten_it() {
        let mut lease = Lease::begin(at(10), LEASE, at(10)).unwrap();
        assert_eq!(lease.extend(at(9), LEASE, at(11)), None);
        assert_eq!(lease.extend(at(11), Duration::ZERO, at(11)), None);
        assert_eq!(lease.until(), at(15));
    }

    #[test]
    fn coordinator_cannot_grant_more_than_a_lease() {
        assert_eq!(
            Lease::begin(at(10), Duration::MAX, at(10)).unwrap().until(),
            at(15)
        );
    }
}
