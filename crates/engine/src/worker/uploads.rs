//! HTTP/1.1 requests too large for one write: the rest follows as the socket takes it.

use super::Worker;
use crate::body;

/// Windows of one connection before the others, timers and orders have their turn: 2 MiB.
const WINDOWS_AT_ONCE: usize = (2 << 20) / body::WINDOW;

/// A connection whose socket would take more; edge-triggered, the kernel does not tell again.
pub(super) struct Unsent {
    seat: u32,
    generation: u32,
}

impl Worker {
    /// Goes on with the connections that had more to send than their share.
    pub(super) fn upload_on(&mut self) {
        for Unsent { seat, generation } in std::mem::take(&mut self.uploads) {
            if self.slots.stands(seat, generation) {
                self.upload(seat);
            }
        }
    }

    /// Sends on with the seat's request until that is over, or its socket takes no more for now.
    pub(super) fn upload(&mut self, seat: u32) {
        for _ in 0..WINDOWS_AT_ONCE {
            let Some(connection) = self.slots.connection(seat) else {
                return;
            };
            // What waits goes first: see `on_ready`.
            if connection.has_unsent() || !connection.next_window(self.sender.plain()) {
                return;
            }
            if let Err(fault) = self.sender.wrap(seat, connection) {
                return self.on_fault(seat, fault);
            }
            if !self.flush(seat) {
                return;
            }
        }
        let generation = self.slots.seat(seat).generation;
        self.uploads.push(Unsent { seat, generation });
    }
}
