//! The firing lease, as the agent keeps it.

use crate::{Boot, LEASE};
use std::time::Duration;

/// Upper bound of every lease, whatever the coordinator asks for: it limits how long an agent can
/// fire with no coordinator in charge.
pub const LEASE_MAX: Duration = Duration::from_secs(120);

/// Permission to fire, granted by the coordinator for one run.
///
/// It runs from the instant at which the agent *sent* the beat, on the agent's boot-time clock. A
/// delay of the beat or of the grant can therefore only shorten it, and a machine that slept wakes
/// up without a lease. Once it has expired it stays expired, even if a grant that would have been
/// in time is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    until: Boot,
    longest: Duration,
    expired: bool,
}

impl Lease {
    /// Starts a lease from the first grant, for a beat sent at `sent`, in a run whose leases last
    /// at most `longest`. Returns `None` if it has already expired.
    pub(crate) fn begin(
        sent: Boot,
        length: Duration,
        longest: Duration,
        now: Boot,
    ) -> Option<Lease> {
        let until = sent.after(length.min(longest));
        (now < until).then_some(Lease {
            until,
            longest,
            expired: false,
        })
    }

    /// Extends the lease by a grant for a beat sent at `sent`. Returns the new end if it is later
    /// than the old one and the lease has not expired.
    pub(crate) fn extend(&mut self, sent: Boot, length: Duration, now: Boot) -> Option<Boot> {
        let until = sent.after(length.min(self.longest));
        if self.expires(now) || until <= self.until {
            return None;
        }
        self.until = until;
        Some(until)
    }

    /// Whether the lease has expired by `now`. Once expired, it stays expired.
    pub(crate) fn expires(&mut self, now: Boot) -> bool {
        self.expired |= now >= self.until;
        self.expired
    }

    pub(crate) fn until(&self) -> Boot {
        self.until
    }
}

/// The longest lease of a run whose coordinator named `lease_ns`, where 0 means [`LEASE`].
pub(crate) fn longest(lease_ns: u64) -> Duration {
    match lease_ns {
        0 => LEASE,
        ns => Duration::from_nanos(ns).min(LEASE_MAX),
    }
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
        let lease = Lease::begin(at(10), LEASE, LEASE, at(14)).unwrap();
        assert_eq!(lease.until(), at(15));
        assert_eq!(Lease::begin(at(10), LEASE, LEASE, at(15)), None);
    }

    #[test]
    fn expired_lease_is_not_extended_by_a_grant_that_would_have_been_in_time() {
        let mut lease = Lease::begin(at(10), LEASE, LEASE, at(10)).unwrap();
        assert_eq!(lease.extend(at(11), LEASE, at(11)), Some(at(16)));
        assert_eq!(lease.extend(at(15), LEASE, at(16)), None);
        assert!(lease.expires(at(11)), "once run out, always run out");
    }

    #[test]
    fn grants_out_of_order_or_of_no_time_never_shorten_it() {
        let mut lease = Lease::begin(at(10), LEASE, LEASE, at(10)).unwrap();
        assert_eq!(lease.extend(at(9), LEASE, at(11)), None);
        assert_eq!(lease.extend(at(11), Duration::ZERO, at(11)), None);
        assert_eq!(lease.until(), at(15));
    }

    #[test]
    fn coordinator_cannot_grant_more_than_the_longest_lease_of_its_run() {
        let long = Duration::from_secs(30);
        for (asked, longest, until) in [(Duration::MAX, LEASE, 15), (Duration::MAX, long, 40)] {
            let lease = Lease::begin(at(10), asked, longest, at(10)).unwrap();
            assert_eq!(lease.until(), at(until));
        }
        let mut lease = Lease::begin(at(10), long, long, at(10)).unwrap();
        assert_eq!(lease.extend(at(11), Duration::MAX, at(11)), Some(at(41)));
    }

    #[test]
    fn lease_of_a_run_has_a_default_and_a_ceiling() {
        assert_eq!(longest(0), LEASE);
        assert_eq!(longest(30 * SECOND), Duration::from_secs(30));
        assert_eq!(longest(u64::MAX), LEASE_MAX);
    }
}
