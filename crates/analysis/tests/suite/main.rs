//! Documents from intervals written by hand, and their verdicts.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod capacity;
mod collector;
mod comparison;
mod errors;
mod fleet;
mod generated;
mod journey_queues;
mod journeys;
mod knee;
mod limits;
mod machines;
mod path;
mod plan_bound;
mod plan_simulated;
mod queues;
mod random;
mod scene;
mod search;
mod slow_answers;
mod staged;
mod unwanted;
mod verdict;
