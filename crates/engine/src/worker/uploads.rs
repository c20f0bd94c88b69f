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
    /// Goes on with a connection that had more to send than its share.
    pub(super) fn upload_on(&mut self, unsent: Unsent) {
        if self.seats.stands(unsent.seat, unsent.generation) {
            self.upload(unsent.seat);
        }
    }

    /// Sends on with the seat's request until that is over, or its socket takes no more for now.
    pub(super) fn upload(&mut self, seat: u32) {
        for _ in 0..WINDOWS_AT_ONCE {
            if !self.send_window(seat) {
                return;
            }
        }
        let generation = self.seats.seat(seat).generation;
        self.uploads.push(Unsent { seat, generation });
    }

    /// Sends the next window of the seat's request; whether another one may follow at once.
    fn send_window(&mut self, seat: u32) -> bool {
        let Some(connection) = self.seats.connection(seat) else {
            return false;
        };
        // What waits goes first: see `on_ready`.
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
