//! Waiting for other processes, always with a deadline.

use std::time::{Duration, Instant};

/// Longest time that a fixture waits for anything: a busy machine needs much of it to start Java.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Time between two attempts.
const INTERVAL: Duration = Duration::from_millis(5);

/// Calls `look` until it returns something.
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
        std::thread::sleep(INTERVAL);
    }
}
