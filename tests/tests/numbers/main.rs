//! Numbers checked from outside, one test each: what a run says against what its server knows, with
//! odd values, distance, losses and too little CPU, and how far apart agents begin. Results that
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
mod skew;
mod stalls;
mod steps;
mod throttled;

use interop::{Finished, Tried, ensure, must_hold_in};
use reading::Reading;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tries for results that depend on time.
const TRIES: usize = 4;

/// Lets tests that need most of a CPU run one at a time, beside those that mostly wait.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    come_first();
    // If a test fails in here, the others must fail with their own message, not with that of the
    // lock.
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Programs started by this thread get priority over others.
fn come_first() {
    // `None` is this thread, and only root may do this.
    let _ = rustix::process::setpriority_process(None, -20);
}

/// Repeats until a try finds nothing wrong: in the others, other programs may have had the CPU.
fn must_hold(one_try: impl FnMut() -> Tried) {
    must_hold_in(TRIES, one_try);
}

/// Checks for a verdict that lets the numbers stand, and exit code 0. If the machine takes the
/// client's CPU away for a moment, the client is late, so another try may succeed.
fn must_be_trusted(finished: &Finished) -> Tried {
    let verdict = Reading::new(finished).verdict();
    ensure(finished.code == 0 && verdict != "invalid", || {
        finished.to_string()
    })
}

/// A plan for this URL and load; `more` has further lines.
fn plan(url: &str, load: &str, more: &str) -> String {
    format!("name = \"numbers\"\ntarget.url = {url:?}\nload = {{ {load} }}\n{more}\n")
}
