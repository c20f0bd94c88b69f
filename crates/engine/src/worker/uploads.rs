//! HTTP/1.1 requests too large for one write: the rest follows as the socket takes it.

use super::Worker;
use crate::body;
use crate::connection_key::ConnectionKey;

/// Windows of one connection before the others, timers and orders get their turn: 2 MiB.
const WINDOWS_AT_ONCE: usize = (2 << 20) / body::WINDOW;

/// A connection whose socket would take more. Being edge-triggered, the poller does not report it
/// again.
pub(super) struct Unsent(ConnectionKey);

impl Worker {
    /// Continues with a connection that had more to send than one turn allows.
    pub(super) fn upload_on(&mut self, Unsent(key): Unsent) {
        if self.seats.stands(key) {
            self.upload(key.seat);
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
        self.uploads.push(Unsent(self.seats.key(seat)));
    }

    /// Sends the next window of the seat's request. Returns whether another one may follow at once.
    fn send_window(&mut self, seat: u32) -> bool {
        let Some(connection) = self.seats.connection(seat) else {
            return false;
        };
        // Unsent bytes go first: see `on_ready`.
        if connection.has_unsent() {
            return false;
        }
        match connection.wrap_window(self.sender.buffers(seat)) {
            Ok(was_left) => was_left && self.flush(seat),
            Err(fault) => {
                self.lose(seat, fault);
                false
            }
        }
    }
}
