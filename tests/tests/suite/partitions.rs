//! Real processes that lose each other: links that are cut, slow or lossy, processes that are
//! killed or stopped at every stage of a run, coordinators that come back, and disks that fill up.
//! The load crosses the loopback of the agents' namespace, so a cut only affects the control link.
//! Cases that mostly wait run at the same time; the load is small.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod cuts;
mod disks;
mod field;
mod links;
mod losses;
mod resumption;
mod stages;
mod terminals;

use interop::{Tried, catch, play_side_by_side, try_up_to};

/// Tries for what depends on time: other programs may have had the CPU in one of them.
const TRIES: usize = 3;

/// Plays every case at once, each until it holds in one of its tries.
fn each<C: Sync>(
    cases: &[C],
    name: impl Fn(&C) -> String + Sync,
    one_try: impl Fn(&C) -> Tried + Sync,
) {
    play_up_to(cases.len(), cases, name, one_try);
}

/// The same with at most `at_once` cases at a time.
fn play_up_to<C: Sync>(
    at_once: usize,
    cases: &[C],
    name: impl Fn(&C) -> String + Sync,
    one_try: impl Fn(&C) -> Tried + Sync,
) {
    let play = |case: &&C| try_up_to(TRIES, || catch(|| one_try(case)));
    play_side_by_side(cases, at_once, |case| name(case), play);
}
