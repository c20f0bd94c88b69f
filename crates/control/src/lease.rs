//! The firing lease as the agent keeps it.

use crate::{Boot, LEASE};
use std::time::Duration;

/// No run has a longer lease, whatever its coordinator says: for so long an agent may fire that
/// nobody is in charge of.
pub const LEASE_MAX: Duration = Duration::from_secs(120);

/// Permission to fire, from the coordinator, for one run.
///
/// It runs from the instant the agent *sent* the beat, on the agent's boot-time clock: whatever
/// delays beat or grant only shortens it, and a machine that slept wakes up without one. Once it
/// has run out it is over for good, even if a grant is on its way that would have been in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    until: Boot,
    longest: Duration,
    expired: bool,
}

impl Lease {
    /// The first grant for a beat sent at `sent`, in a run whose leases last `longest` at most;
    /// nothing if that is over already.
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

    /// A grant for a beat sent at `sent`. The new end, if that is later and the lease has not run
    /// out.
    pub(crate) fn extend(&mut self, sent: Boot, length: Duration, now: Boot) -> Option<Boot> {
        let until = sent.after(length.min(self.longest));
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

/// The longest lease of a run whose coordinator named `lease_ns`, where 0 stands for [`LEASE`].
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
