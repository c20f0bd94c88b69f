//! The engine against sound and broken servers of the `target` crate.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod hand_written;
mod loops;
mod support;
mod too_early;
