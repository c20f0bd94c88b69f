//! What a worker hands over by swap each second; it becomes a snapshot on the thread that receives it.

use crate::Snapshot;

/// One ended interval of one worker, in the recorder's own layout: handing it over costs the worker a few moves.
#[derive(Debug)]
pub struct Interval {}

/// An emptied interval. The recorder takes it back, so that the next interval allocates nothing.
#[derive(Debug)]
pub struct Spare {}

impl Interval {
    /// Number of the second of the run clock in which this was recorded.
    #[must_use]
    pub fn number(&self) -> u32 {
        unimplemented!()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        unimplemented!()
    }

    /// Merges what was recorded into `snapshot`, so that one snapshot can gather all workers.
    pub fn merge_into(self, _snapshot: &mut Snapshot) -> Spare {
        unimplemented!()
    }

    /// What was recorded, and the memory for a later interval.
    #[must_use]
    pub fn into_snapshot(self) -> (Snapshot, Spare) {
        let mut snapshot = Snapshot::default();
        let spare = self.merge_into(&mut snapshot);
        (snapshot, spare)
    }
}
