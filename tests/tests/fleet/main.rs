//! Several agents and one result: nothing is lost or counted twice, and they begin together. Runs
//! alone, since it measures.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod identities;
mod merge;
mod monitors;
mod namespaces;
mod profiles;
mod skew;
mod staying;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: two CPUs hold one fleet.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A test that failed in here fails the others with its own message, not with the lock's.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Agent `index`'s share of `total` among `agents`.
fn share(total: u64, index: u64, agents: u64) -> u64 {
    total * (index + 1) / agents - total * index / agents
}
