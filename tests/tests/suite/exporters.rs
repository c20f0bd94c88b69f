//! What a run tells other programs while it goes on: real programs accept it, and in the end they
//! have the figures of `result.json`.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod dashboard;
mod pushes;
mod scrapes;
