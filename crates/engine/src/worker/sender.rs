//! Bytes on their way out: a request as plaintext, its ciphertext, and the socket that takes it.

use crate::connection::WorkerConnection;
use crate::lease::FiringLease;
use measure::Kind;

/// The buffers through which all connections of a worker send, one at a time, and the permission to
/// send.
///
/// Ciphertext for a seat waits here until that seat's [`Sender::send`], so that our last handshake
/// message leaves in one write with the request behind it. It is never sent by another seat.
pub(super) struct Sender {
    lease: FiringLease,
    /// A request, or a window of its body; the next one overwrites it.
    plain: Vec<u8>,
    /// Bytes that wait for the socket of `seat`.
    outgoing: Vec<u8>,
    seat: u32,
}

/// The outcome of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The lease has expired: the bytes are dropped, and nothing may be sent any more.
    LeaseExpired,
    /// The socket took `bytes`; `is_whole` if nothing is left waiting for it.
    Sent { bytes: u64, is_whole: bool },
    /// The socket took `bytes`, and then failed.
    Failed { bytes: u64, kind: Kind },
}

impl Sender {
    pub(super) fn new(lease: FiringLease) -> Sender {
        Sender {
            lease,
            plain: Vec::with_capacity(1024),
            outgoing: Vec::with_capacity(4096),
            seat: u32::MAX,
        }
    }

    /// Whether sending is allowed now.
    pub(super) fn is_allowed(&self) -> bool {
        self.lease.holds()
    }

    /// The buffer for the next request, emptied.
    #[inline]
    pub(super) fn plain(&mut self) -> &mut Vec<u8> {
        self.plain.clear();
        &mut self.plain
    }

    /// The buffer for the next request, emptied, and the one for this seat's ciphertext.
    #[inline]
    pub(super) fn buffers(&mut self, seat: u32) -> (&mut Vec<u8>, &mut Vec<u8>) {
        self.plain.clear();
        self.outgoing(seat);
        (&mut self.plain, &mut self.outgoing)
    }

    /// The buffer for this seat's ciphertext, with what waits for its socket already.
    #[inline]
    pub(super) fn outgoing(&mut self, seat: u32) -> &mut Vec<u8> {
        if self.seat != seat {
            // Left over from a connection that is gone.
            self.outgoing.clear();
            self.seat = seat;
        }
        &mut self.outgoing
    }

    /// The plaintext that was written last, and the buffer for this seat's ciphertext.
    #[inline]
    pub(super) fn written_and_outgoing(&mut self, seat: u32) -> (&[u8], &mut Vec<u8>) {
        self.outgoing(seat);
        (&self.plain, &mut self.outgoing)
    }

    /// Whether anything waits for the socket of this seat.
    #[inline]
    pub(super) fn has_outgoing(&self, seat: u32) -> bool {
        self.seat == seat && !self.outgoing.is_empty()
    }

    /// Bytes that wait for the socket of this seat.
    pub(super) fn outgoing_bytes(&self, seat: u32) -> u64 {
        if self.seat == seat {
            self.outgoing.len() as u64
        } else {
            0
        }
    }

    /// Drops what no socket has taken.
    pub(super) fn forget(&mut self) {
        self.outgoing.clear();
    }

    /// Passes waiting bytes to the seat's socket, if the lease holds.
    #[inline]
    pub(super) fn send(&mut self, seat: u32, connection: &mut WorkerConnection) -> SendOutcome {
        if !self.is_allowed() {
            self.forget();
            return SendOutcome::LeaseExpired;
        }
        let before = connection.sent_bytes();
        let sent = connection.send(self.outgoing(seat));
        let bytes = connection.sent_bytes() - before;
        match sent {
            Ok(is_whole) => SendOutcome::Sent { bytes, is_whole },
            Err(kind) => SendOutcome::Failed { bytes, kind },
        }
    }

    /// Sends the last bytes of a connection that is being dropped, as far as the socket takes them
    /// at once. Returns how many it took.
    pub(super) fn send_last(&mut self, seat: u32, connection: &mut WorkerConnection) -> u64 {
        let before = connection.sent_bytes();
        let _ = connection.send(self.outgoing(seat));
        connection.sent_bytes() - before
    }
}
