//! curl as a client that shares no code with ours.

use crate::require;
use std::process::Command;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curl {
    /// Exit code, see curl(1).
    pub code: i32,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub error: String,
}

/// Calls curl with these arguments and a time-out of 10 s; `None` if it is not installed.
#[must_use]
pub fn curl(args: &[&str]) -> Option<Curl> {
    let output = Command::new(require("curl")?)
        .args(["-sS", "-m", "10"])
        .args(args)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().expect("nobody sends curl a signal");
    Some(Curl {
        code,
        output: text(&output.stdout),
        error: text(&output.stderr),
    })
}
