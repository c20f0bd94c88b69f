//! Tests of the crate through its public interface.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hdrhistogram;
mod journeys;
mod recorder;
#[path = "../scene/mod.rs"]
mod scene;
mod snapshot;
mod totals;
