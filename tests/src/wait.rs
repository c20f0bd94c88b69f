//! Waiting for other processes, always with a deadline.

use std::time::{Duration, Instant};

/// Longest time that a fixture waits for anything: a busy machine needs much of it to start Java.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Shortest time between two attempts.
const INTERVAL_MIN: Duration = Duration::from_millis(2);

/// Longest time between two attempts.
const INTERVAL_MAX: Duration = Duration::from_millis(20);

/// Calls `look` until it returns something.
///
/// # Panics
/// After [`DEADLINE`], naming `what`.
pub fn wait_until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    look_until(look).unwrap_or_else(|| panic!("waited {DEADLINE:?} for {what}"))
}

/// Calls `look` until it returns something, more rarely as time passes: tests run side by side, and
/// what they wait for needs the CPU. `None` after [`DEADLINE`].
pub(crate) fn look_until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started_at = Instant::now();
    loop {
        let found = look();
        if found.is_some() || started_at.elapsed() >= DEADLINE {
            return found;
        }
        std::thread::sleep((started_at.elapsed() / 8).clamp(INTERVAL_MIN, INTERVAL_MAX));
    }
}
