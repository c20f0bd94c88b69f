//! Bounds the memory of what waits between threads.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Counts waiting bytes, and blocks producers while there is no room.
#[derive(Debug)]
pub(super) struct ByteGate {
    most: usize,
    held: Mutex<usize>,
    freed: Condvar,
}

/// Bytes that wait; to be dropped when they no longer do.
#[derive(Debug)]
pub(super) struct HeldBytes {
    gate: Arc<ByteGate>,
    bytes: usize,
}

impl ByteGate {
    /// A gate with room for `most` bytes.
    pub(super) fn new(most: usize) -> Arc<ByteGate> {
        Arc::new(ByteGate {
            most,
            held: Mutex::new(0),
            freed: Condvar::new(),
        })
    }

    /// Waits until there is any room. What comes next may be larger than the room left, so that
    /// something larger than the whole gate passes too.
    pub(super) fn wait(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |held: &mut usize| *held >= self.most;
        drop(self.freed.wait_while(held, is_full));
    }

    /// Counts `bytes`, even if that is more than the room left.
    pub(super) fn hold(self: &Arc<ByteGate>, bytes: usize) -> HeldBytes {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
        HeldBytes {
            gate: Arc::clone(self),
            bytes,
        }
    }

    /// How many bytes wait now.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        *self.held.lock().unwrap()
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let gate = &self.gate;
        *gate.held.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        gate.freed.notify_all();
    }
}
