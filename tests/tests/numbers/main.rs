//! Numbers checked from outside, one test each: what a run says against what its server knows, with
//! odd values, distance, losses and too little CPU. Results that
//! depend on time must be right in one of a few tries; counts must be right in each.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod backlog;
mod control;
mod crowd;
mod distance;
mod drain;
mod rates;
mod reading;
mod stalls;
mod throttled;

use interop::{Finished, Pressure};
use reading::Reading;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tries for results that depend on time.
const TRIES: usize = 4;

/// One test at a time: two CPUs hold one run.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // What this thread starts comes before other programs; 0 is this thread, and only root may.
    let _ = rustix::process::setpriority_process(None, -20);
    // A test that failed in here fails the others with its own message, not with the lock's.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries until one try finds nothing wrong: other programs may have had the CPU in the others.
fn must_hold(mut one_try: impl FnMut() -> Result<(), String>) {
    let mut wrong = Vec::new();
    for number in 1..=TRIES {
        let watch = Pressure::watch();
        let found = one_try();
        let pressure = watch.end();
        match found {
            Ok(()) => return,
            Err(text) => {
                println!("try {number}: {text}; {pressure:?}");
                wrong.push(format!("{text}; {pressure:?}"));
            }
        }
    }
    panic!("it held in none of {TRIES} tries:\n{}", wrong.join("\n"));
}

/// Nothing, or what is wrong.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// A verdict that lets the numbers stand, and exit code 0. A machine that takes the client's CPU
/// away for a moment makes it late, so another try may hold.
fn must_be_trusted(finished: &Finished) -> Result<(), String> {
    let verdict = Reading::new(finished).verdict();
    ensure(finished.code == 0 && verdict != "invalid", || {
        finished.to_string()
    })
}

/// A plan for this URL and load; `more` has further lines.
fn plan(url: &str, load: &str, more: &str) -> String {
    format!("name = \"numbers\"\ntarget.url = {url:?}\nload = {{ {load} }}\n{more}\n")
}
