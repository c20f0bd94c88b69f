//! What was recorded in one interval, or the sum of any number of them.

use crate::{CellKey, Counters, Distribution, Metric, Outcome};
use std::collections::BTreeMap;

/// What was recorded in one second of one worker or agent, or any sum of such.
///
/// Merging is exact, commutative and associative; the empty snapshot is its neutral element. `Snapshot::encode` and
/// `Snapshot::decode` are the versioned wire format: histograms as HdrHistogram V2 deflate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Figures by key.
    pub cells: BTreeMap<CellKey, Cell>,
}

/// Figures of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Counts.
    pub counters: Counters,
    /// Times by outcome and metric, response time apart.
    pub times: BTreeMap<(Outcome, Metric), Distribution>,
    /// Response times by outcome and intended second of the run clock.
    pub response_times: BTreeMap<(Outcome, u32), Distribution>,
}
