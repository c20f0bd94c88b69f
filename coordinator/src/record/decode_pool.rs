//! Decodes snapshots on as many threads as there are CPUs. Each result goes to whoever holds its
//! promise, so that order is the caller's.

use measure::{DecodeError, Snapshot, SnapshotDecoder};
use proto::Bytes;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Snapshots that wait for a thread, for each thread.
const WAITING_MAX: usize = 16;

/// A snapshot, or why there is none.
pub(super) type Decoded = Result<Snapshot, DecodeError>;

/// Decodes snapshots on several threads, which end when it is dropped.
#[derive(Debug)]
pub(super) struct DecodePool {
    /// Gone when the pool is dropped.
    jobs: Option<SyncSender<DecodeJob>>,
    threads: Vec<JoinHandle<()>>,
}

/// Gives a snapshot once it is decoded.
#[derive(Debug)]
pub(super) struct DecodePromise(Receiver<Decoded>);

#[derive(Debug)]
struct DecodeJob {
    encoded: Bytes,
    answer: SyncSender<Decoded>,
}

impl DecodePool {
    /// Starts a thread for each CPU that this process may use.
    pub(super) fn start() -> std::io::Result<DecodePool> {
        let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (jobs, waiting) = sync_channel(cpus * WAITING_MAX);
        let waiting = Arc::new(Mutex::new(waiting));
        let thread = |_| {
            let waiting = Arc::clone(&waiting);
            std::thread::Builder::new()
                .name("decode".to_owned())
                .spawn(move || decode(&waiting))
        };
        Ok(DecodePool {
            jobs: Some(jobs),
            threads: (0..cpus).map(thread).collect::<Result<_, _>>()?,
        })
    }

    /// Decodes this next; waits where all threads are busy and enough is waiting.
    pub(super) fn decode(&self, encoded: Bytes) -> DecodePromise {
        let (answer, promise) = sync_channel(1);
        let job = DecodeJob { encoded, answer };
        let jobs = self.jobs.as_ref().expect("gone only when dropped");
        jobs.send(job).expect("threads end with the pool");
        DecodePromise(promise)
    }
}

impl DecodePromise {
    /// Waits for it.
    pub(super) fn wait(self) -> Decoded {
        self.0.recv().expect("every job is answered")
    }
}

impl Drop for DecodePool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn decode(jobs: &Mutex<Receiver<DecodeJob>>) {
    let mut decoder = SnapshotDecoder::new();
    loop {
        let job = {
            let waiting = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.recv()
        };
        let Ok(DecodeJob { encoded, answer }) = job else {
            return; // the pool is gone
        };
        // Nobody may want it any more.
        let _ = answer.send(decoder.decode(&encoded));
    }
}
