//! The permission to fire, and orders that end it early.

use crate::clock::boot_time_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Permission to fire until an instant of the boot-time clock.
///
/// It is checked before every send, so a stopped process or a machine that slept sends nothing
/// after the lease has expired, whatever its timers say. It can be extended while it holds; once
/// expired it stays expired.
#[derive(Debug, Clone)]
pub struct FiringLease {
    until: Arc<AtomicU64>,
}

impl FiringLease {
    /// Creates a lease that holds until `boot_time` nanoseconds of the boot-time clock.
    #[must_use]
    pub fn until(boot_time: u64) -> FiringLease {
        FiringLease {
            until: Arc::new(AtomicU64::new(boot_time)),
        }
    }

    /// Creates a lease without end, for benches and tests that have no coordinator.
    #[must_use]
    pub fn unlimited() -> FiringLease {
        FiringLease::until(u64::MAX)
    }

    /// Extends a lease that still holds; never shortens it. Returns whether it holds afterwards.
    pub fn extend(&self, boot_time: u64) -> bool {
        let holds = self.holds();
        if holds {
            self.until.fetch_max(boot_time, Ordering::Relaxed);
        }
        holds
    }

    /// Ends it at once.
    pub fn revoke(&self) {
        self.until.store(0, Ordering::Relaxed);
    }

    /// Whether firing is allowed now.
    #[inline]
    #[must_use]
    pub fn holds(&self) -> bool {
        boot_time_ns() < self.until.load(Ordering::Relaxed)
    }
}

/// An order from outside to end a run before its plan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopMode {
    /// Nothing new begins; operations under way may finish until their time-out.
    Drain,
    /// Operations under way are cut.
    Now,
}

/// Passes a [`StopMode`] to the workers; the strongest order wins.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopOrder {
    order: Arc<AtomicU8>,
}

impl StopOrder {
    pub(crate) fn give(&self, stop: StopMode) {
        self.order.fetch_max(1 + stop as u8, Ordering::Relaxed);
    }

    pub(crate) fn given(&self) -> Option<StopMode> {
        match self.order.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopMode::Drain),
            _ => Some(StopMode::Now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_lease_cannot_be_extended() {
        let lease = FiringLease::until(1);
        assert!(!lease.holds());
        assert!(!lease.extend(u64::MAX));
        assert!(!lease.holds());
    }

    #[test]
    fn extending_never_shortens() {
        let lease = FiringLease::until(u64::MAX);
        assert!(lease.extend(5));
        assert!(lease.holds());
        lease.revoke();
        assert!(!lease.holds());
    }

    #[test]
    fn stronger_stop_wins() {
        let order = StopOrder::default();
        assert_eq!(order.given(), None);
        order.give(StopMode::Now);
        order.give(StopMode::Drain);
        assert_eq!(order.given(), Some(StopMode::Now));
    }
}
