//! Decodes snapshots on as many threads as there are CPUs. Each result goes to the holder of its
//! promise, so the caller keeps the order.

use super::byte_gate::{ByteGate, HeldBytes};
use measure::{DecodeError, Snapshot, SnapshotDecoder};
use proto::Bytes;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Room for encoded snapshots that wait for a thread: one second of a thousand agents.
const ENCODED_MAX_BYTES: usize = 64 << 20;

/// Room for decoded snapshots that wait to be merged. Each thread may exceed it by one snapshot and
/// no more: a hostile snapshot expands a thousandfold.
const DECODED_MAX_BYTES: usize = 32 << 20;

/// A snapshot, or why there is none.
pub(super) type Decoded = Result<Snapshot, DecodeError>;

/// Decodes snapshots on several threads, which end when it is dropped.
#[derive(Debug)]
pub(super) struct DecodePool {
    /// `None` once the pool is dropped.
    jobs: Option<Sender<DecodeJob>>,
    encoded: Arc<ByteGate>,
    threads: Vec<JoinHandle<()>>,
}

/// Returns a snapshot once it is decoded. Wait for promises in the order in which they were given:
/// if much is decoded already, the first of them is decoded next.
#[derive(Debug)]
pub(super) struct DecodePromise(Receiver<(Decoded, HeldBytes)>);

#[derive(Debug)]
struct DecodeJob {
    encoded: Bytes,
    _held: HeldBytes,
    answer: SyncSender<(Decoded, HeldBytes)>,
}

impl DecodePool {
    /// Starts a thread for each CPU that this process may use.
    pub(super) fn start() -> std::io::Result<DecodePool> {
        DecodePool::with_room(ENCODED_MAX_BYTES, ByteGate::new(DECODED_MAX_BYTES))
    }

    fn with_room(encoded_max: usize, decoded: Arc<ByteGate>) -> std::io::Result<DecodePool> {
        let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
        // Bounded by the bytes in it, not by its length.
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let thread = |_| {
            let (waiting, decoded) = (Arc::clone(&waiting), Arc::clone(&decoded));
            std::thread::Builder::new()
                .name("decode".to_owned())
                .spawn(move || decode(&waiting, &decoded))
        };
        Ok(DecodePool {
            jobs: Some(jobs),
            encoded: ByteGate::new(encoded_max),
            threads: (0..cpus).map(thread).collect::<Result<_, _>>()?,
        })
    }

    /// Queues a snapshot for decoding; blocks while the queue is full.
    pub(super) fn decode(&self, encoded: Bytes) -> DecodePromise {
        self.encoded.wait();
        let (answer, promise) = sync_channel(1);
        let job = DecodeJob {
            // A snapshot without bytes takes room in the queue, too.
            _held: self.encoded.hold(encoded.len() + size_of::<DecodeJob>()),
            encoded,
            answer,
        };
        let jobs = self.jobs.as_ref().expect("gone only when dropped");
        jobs.send(job).expect("threads end with the pool");
        DecodePromise(promise)
    }
}

impl DecodePromise {
    /// Waits for the snapshot.
    pub(super) fn wait(self) -> Decoded {
        let (decoded, _) = self.0.recv().expect("every job is answered");
        decoded
    }
}

impl Drop for DecodePool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

fn decode(jobs: &Mutex<Receiver<DecodeJob>>, decoded: &Arc<ByteGate>) {
    let mut decoder = SnapshotDecoder::new();
    loop {
        let job = {
            let waiting = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            // Under the lock, to keep jobs in order: the keeper waits for the first that is not
            // decoded.
            decoded.wait();
            waiting.recv()
        };
        let Ok(DecodeJob {
            encoded,
            _held,
            answer,
        }) = job
        else {
            return; // the pool is gone
        };
        let snapshot = decoder.decode(&encoded);
        let bytes = snapshot.as_ref().map_or(0, Snapshot::heap_bytes);
        // The promise may have been dropped.
        let _ = answer.send((snapshot, decoded.hold(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::operation;
    use std::time::Duration;

    /// A snapshot that takes some kilobytes of memory once decoded.
    fn encoded() -> Bytes {
        let mut snapshot = operation(0);
        let cell = snapshot.cells.values_mut().next().unwrap();
        let times = cell.response_times.values_mut().next().unwrap();
        (0..500).for_each(|ns| times.record(ns * 1_000_000));
        snapshot.encode().into()
    }

    #[test]
    fn what_is_decoded_and_not_merged_is_bounded_by_its_bytes() {
        let encoded = encoded();
        let one = Snapshot::decode(&encoded).unwrap().heap_bytes();
        assert!(one > 2_000, "{one}");
        let most = 4 * one;
        let decoded = ByteGate::new(most);
        let pool = DecodePool::with_room(1 << 20, Arc::clone(&decoded)).unwrap();
        let promises: Vec<DecodePromise> = (0..100).map(|_| pool.decode(encoded.clone())).collect();
        // Wait until nothing more is decoded.
        let mut before = 0;
        while decoded.held() < most || decoded.held() != before {
            before = decoded.held();
            std::thread::sleep(Duration::from_millis(20));
        }
        let threads = pool.threads.len();
        assert!(before <= most + threads * one, "{before}");
        for promise in promises {
            assert!(promise.wait().is_ok());
        }
        assert_eq!(decoded.held(), 0);
    }

    #[test]
    fn what_waits_to_be_decoded_is_bounded_by_its_bytes() {
        let encoded = encoded();
        let decoded = ByteGate::new(1);
        let pool = Arc::new(DecodePool::with_room(10 * encoded.len(), decoded).unwrap());
        let (sender, promises) = channel();
        let bringing = Arc::clone(&pool);
        let bringer = std::thread::spawn(move || {
            for _ in 0..100 {
                sender.send(bringing.decode(encoded.clone())).unwrap();
            }
        });
        let mut given = Vec::new();
        while let Ok(promise) = promises.recv_timeout(Duration::from_millis(500)) {
            given.push(promise);
        }
        assert!(given.len() < 100, "it is held up");
        let rest = promises.iter();
        let taken = given
            .into_iter()
            .chain(rest)
            .map(|promise| promise.wait().is_ok());
        assert_eq!(taken.filter(|is_ok| *is_ok).count(), 100);
        bringer.join().unwrap();
    }

    #[test]
    fn pool_ends_though_nobody_takes_what_it_decoded() {
        let pool = DecodePool::with_room(1 << 20, ByteGate::new(1)).unwrap();
        let promises: Vec<DecodePromise> = (0..50).map(|_| pool.decode(encoded())).collect();
        drop(promises);
        drop(pool);
    }
}
