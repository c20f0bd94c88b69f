//! A run under way: its threads, and what can be said to them.

use crate::lease::{FiringLease, StopMode, StopOrder};
use crate::poller::Waker;
use std::thread::JoinHandle;

/// A run under way. Dropping it stops the workers and waits for them.
#[derive(Debug)]
pub struct RunningEngine {
    pub(crate) order: StopOrder,
    pub(crate) lease: FiringLease,
    pub(crate) wakers: Vec<Waker>,
    pub(crate) threads: Vec<JoinHandle<()>>,
    pub(crate) collector: Option<JoinHandle<()>>,
}

impl RunningEngine {
    /// Without threads yet.
    pub(crate) fn new(lease: FiringLease) -> RunningEngine {
        RunningEngine {
            order: StopOrder::default(),
            lease,
            wakers: Vec::new(),
            threads: Vec::new(),
            collector: None,
        }
    }

    /// Extends the lease, while it holds; whether it does.
    pub fn extend_lease(&self, boot_time: u64) -> bool {
        self.lease.extend(boot_time)
    }

    /// Ends the run before its plan does.
    pub fn stop(&self, stop: StopMode) {
        self.order.give(stop);
        self.wakers.iter().for_each(Waker::wake);
    }

    /// Waits until every worker has ended and every event is delivered.
    pub fn join(mut self) {
        self.wait();
    }

    fn wait(&mut self) {
        for thread in self.threads.drain(..).chain(self.collector.take()) {
            // A worker that panicked has said so on stderr; its missing figures show in the result.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningEngine {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop(StopMode::Now);
            self.wait();
        }
    }
}
