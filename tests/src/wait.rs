//! Waiting for another process, always with a deadline.

use std::time::{Duration, Instant};

/// How long anything that a fixture waits for may take.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks again and again until `look` gives something.
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
