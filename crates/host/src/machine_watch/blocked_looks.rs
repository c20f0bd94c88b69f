//! Threads that wait where nothing can wake them, looked at several times a second: mostly they
//! wait for a disk. The kernel adds that time up only where it is told to
//! (`kernel.task_delayacct`).

use super::process_reading::ProcessReading;
use crate::kernel::{KernelFiles, ProcessStat};
use std::collections::BTreeMap;

/// Threads of all processes that a look reads, at some 10 µs each.
const THREADS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct BlockedLooks {
    looks: u32,
    /// Looks that saw such a thread, by process.
    blocked: BTreeMap<u32, u32>,
}

impl BlockedLooks {
    pub(super) fn look(&mut self, files: &KernelFiles, processes: &[ProcessReading]) {
        self.looks += 1;
        let mut left = THREADS_MAX;
        for process in processes {
            let mut is_blocked = false;
            for file in process.thread_files().take(left) {
                left -= 1;
                is_blocked |= is_thread_blocked(files, &file);
            }
            if is_blocked {
                *self.blocked.entry(process.pid).or_default() += 1;
            }
        }
    }

    /// The time of the looks.
    pub(super) fn share(&self, pid: u32) -> f32 {
        let blocked = self.blocked.get(&pid).copied().unwrap_or(0);
        blocked as f32 / self.looks.max(1) as f32
    }
}

/// A thread may end at any moment.
fn is_thread_blocked(files: &KernelFiles, file: &str) -> bool {
    let stat = files.read_if_there(file).ok().flatten();
    let stat = stat.and_then(|stat| ProcessStat::parse(&stat).ok());
    stat.is_some_and(|stat| stat.is_blocked)
}
