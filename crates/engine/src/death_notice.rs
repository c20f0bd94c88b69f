//! Reports a worker that dies of a defect, so that the collector does not wait for its intervals.

use crate::worker::Handover;
use std::sync::mpsc::SyncSender;

/// Held by a worker's thread for its whole life.
pub(crate) struct DeathNotice {
    pub(crate) worker: usize,
    pub(crate) handover: SyncSender<Handover>,
}

impl Drop for DeathNotice {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The collector lives until every worker has ended.
            let _ = self.handover.send(Handover::Died {
                worker: self.worker,
            });
        }
    }
}
