//! What a run tells other programs while it goes on: programs that others wrote take it, and have
//! the figures of `result.json` in the end.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod dashboard;
mod pushes;
mod scrapes;
