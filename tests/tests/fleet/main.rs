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

/// What each of `agents` does of `total` operations: those of its share of the virtual users.
fn shares(total: u64, users: u64, agents: u64) -> Vec<u64> {
    let part = |of: u64, parts: u64, index: u64| of * (index + 1) / parts - of * index / parts;
    let mut shares = vec![0; agents as usize];
    // Full rounds of users go to every agent; the rest go to those with one more.
    let with_more = (0..agents).filter(|&agent| part(users, agents, agent) > users / agents);
    let full = (0..users / agents * agents).map(|user| user % agents);
    for (user, agent) in (0..).zip(full.chain(with_more)) {
        shares[agent as usize] += part(total, users, user);
    }
    shares
}
