//! The time that a worker's thread spends.

use super::handover::Spent;
use super::watch::SocketWatch;

/// CPU time of a worker's thread since its run began.
pub(super) struct ThreadAccount {
    /// The CPU that the thread is pinned to.
    pub(super) cpu: Option<u32>,
    cpu_before_ns: u64,
}

impl ThreadAccount {
    pub(super) fn new(cpu: Option<u32>) -> ThreadAccount {
        ThreadAccount {
            cpu,
            cpu_before_ns: 0,
        }
    }

    /// Starts counting; called on the thread itself.
    pub(super) fn begin(&mut self) {
        self.cpu_before_ns = thread_cpu_ns();
    }

    /// The time spent up to `now` of the run clock.
    pub(super) fn spent(&self, watch: &SocketWatch, now: u64) -> Spent {
        Spent {
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_before_ns),
            spun_ns: watch.spun_ns(),
            idle_ns: watch.idle_ns(),
            wall_ns: now,
        }
    }
}

fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
