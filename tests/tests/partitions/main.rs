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

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Tries for what depends on time: other programs may have had the CPU in one of them.
const TRIES: usize = 3;

/// Runs every case in a thread of its own, each until it holds in one of its tries, and tells of
/// all that do not.
fn each<C: Sync>(cases: &[C], name: impl Fn(&C) -> String, one_try: impl Fn(&C) -> Tried + Sync) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let one_try = &one_try;
        let running: Vec<_> = cases
            .iter()
            .map(|case| (name(case), scope.spawn(move || tried(|| one_try(case)))))
            .collect();
        let ended = running.into_iter().map(|(name, case)| (name, case.join()));
        ended
            .filter_map(|(name, ended)| match ended {
                Ok(Ok(())) => None,
                Ok(Err(wrong)) => Some(format!("{name}: {wrong}")),
                Err(_) => Some(format!("{name}: panicked, see above")),
            })
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Nothing, or what is wrong.
type Tried = Result<(), String>;

/// Until one try holds.
fn tried(one_try: impl Fn() -> Tried) -> Tried {
    let mut wrong = Vec::new();
    for number in 1..=TRIES {
        // What waits in vain panics, and may have waited for this machine.
        let why = match catch_unwind(AssertUnwindSafe(&one_try)) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => why,
            Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        println!("try {number}: {why}");
        wrong.push(why);
    }
    Err(wrong.join("\n"))
}

/// Nothing where it holds.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Tried {
    if holds { Ok(()) } else { Err(what()) }
}
