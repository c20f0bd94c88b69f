//! Bounds the memory of what waits between threads.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Counts bytes that wait, and holds up whoever brings more than there is room for.
#[derive(Debug)]
pub(super) struct ByteGate {
    most: usize,
    held: Mutex<usize>,
    freed: Condvar,
}

/// Bytes that wait; dropped where they do no longer.
#[derive(Debug)]
pub(super) struct HeldBytes {
    gate: Arc<ByteGate>,
    bytes: usize,
}

impl ByteGate {
    /// With room for so many bytes.
    pub(super) fn new(most: usize) -> Arc<ByteGate> {
        Arc::new(ByteGate {
            most,
            held: Mutex::new(0),
            freed: Condvar::new(),
        })
    }

    /// Waits until there is room: what comes next may be larger than what is left, so that one
    /// thing larger than all the room passes too.
    pub(super) fn wait(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |held: &mut usize| *held >= self.most;
        drop(self.freed.wait_while(held, is_full));
    }

    /// Counts these, however many they are.
    pub(super) fn hold(self: &Arc<ByteGate>, bytes: usize) -> HeldBytes {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
        HeldBytes {
            gate: Arc::clone(self),
            bytes,
        }
    }

    /// How many wait now.
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
