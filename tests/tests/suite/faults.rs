//! What goes wrong, end to end: each fault gives one clear message or one counted kind of failure,
//! has its documented exit code, and takes no longer than necessary.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod certificates;
mod enrolment;
mod files;
mod hand_made;
mod interruption;
mod losses;
mod output;
mod places;
mod plans;
mod renegotiation;
mod server_certificates;
mod targets;
mod terminal;

use interop::Finished;
use std::time::Duration;

/// Longest time for a failure before there is any load.
const AT_ONCE: Duration = Duration::from_secs(15);

/// Asserts that it ended with `code` without waiting for anything, and that one line of standard
/// error has all of these words.
fn assert_refused(finished: &Finished, code: i32, words: &[&str]) {
    let finished = finished.clean();
    assert_eq!(finished.code, code, "{finished}");
    assert!(finished.took < AT_ONCE, "{finished}");
    let is_told = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(
        finished.stderr.lines().any(is_told),
        "no line has {words:?}; {finished}"
    );
}
