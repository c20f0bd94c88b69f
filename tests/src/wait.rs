//! Waiting for other processes, always with a deadline.

use std::time::{Duration, Instant};

/// Longest time that a fixture waits for anything: a busy machine needs much of it to start Java.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Shortest time between two attempts.
const INTERVAL_MIN: Duration = Duration::from_millis(2);

/// Longest time between two attempts.
const INTERVAL_MAX: Duration = Duration::from_millis(20);

/// Calls `look` until it returns something, more rarely as time passes: tests run side by side, and
/// what they wait for needs the CPU.
///
/// # Panics
/// After [`DEADLINE`], naming `what`.
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started_at = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            started_at.elapsed() < DEADLINE,
            "waited {DEADLINE:?} for {what}"
        );
        std::thread::sleep((started_at.elapsed() / 8).clamp(INTERVAL_MIN, INTERVAL_MAX));
    }
}
