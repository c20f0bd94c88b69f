//! HTTP/1.1 requests too large for one write: the rest follows as the socket takes it.

use super::Worker;
use crate::body;

/// Windows of one connection before the others, timers and orders get their turn: 2 MiB.
const WINDOWS_AT_ONCE: usize = (2 << 20) / body::WINDOW;

/// A connection whose socket would take more. Being edge-triggered, the poller does not report it
/// again.
pub(super) struct Unsent {
    seat: u32,
    generation: u32,
}

impl Worker {
    /// Continues with a connection that had more to send than one turn allows.
    pub(super) fn upload_on(&mut self, unsent: Unsent) {
        if self.seats.stands(unsent.seat, unsent.generation) {
            self.upload(unsent.seat);
        }
    }

    /// Continues sending the seat's request until it is complete, or its socket takes no more for
    /// now.
    pub(super) fn upload(&mut self, seat: u32) {
        for _ in 0..WINDOWS_AT_ONCE {
            if !self.send_window(seat) {
                return;
            }
        }
        let generation = self.seats.seat(seat).generation;
        self.uploads.push(Unsent { seat, generation });
    }

    /// Sends the next window of the seat's request. Returns whether another one may follow at once.
    fn send_window(&mut self, seat: u32) -> bool {
        let Some(connection) = self.seats.connection(seat) else {
            return false;
        };
        // Unsent bytes go first: see `on_ready`.
        if connection.has_unsent() || !connection.next_window(self.sender.plain()) {
            return false;
        }
        match self.sender.wrap(seat, connection) {
            Ok(()) => self.flush(seat),
            Err(fault) => {
                self.on_fault(seat, fault);
                false
            }
        }
    }
}
