//! What arrives on a connection: reads, and the events that they lead to.

use super::state::ConnectionState;
use super::{Http, TransferFault, WorkerConnection};
use crate::clock::RunClock;
use crate::http2::Violation;
use crate::lane_event::LaneEvent;
use crate::socket::Io;

/// The outcome of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing to read for now.
    Nothing,
    /// Bytes, read `at`. `more` if more may be readable at once, `closed` if the peer has announced
    /// that nothing follows.
    Bytes { at: u64, more: bool, closed: bool },
    /// End of the stream.
    End,
}

/// What becomes of the bytes that TLS wants to send after a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsReply {
    /// They leave at once: a handshake that goes on, or the answer to a key update.
    AtOnce,
    /// Our last handshake message leaves with the request that follows it.
    WithRequest,
    /// They are dropped: the connection is over for us.
    Never,
}

impl WorkerConnection {
    /// Reads once and processes the input: TLS first, then the answers. `ended` if the kernel has
    /// reported that the peer has closed its side.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        clock: RunClock,
        buffer: &mut [u8],
        outgoing: &mut Vec<u8>,
        ended: bool,
    ) -> Result<Received, TransferFault> {
        if ended {
            self.outlook.end();
        }
        let filled = match self.transport.read(buffer) {
            Ok(Io::Later) => return Ok(Received::Nothing),
            Ok(Io::Bytes(0)) => return Ok(Received::End),
            Ok(Io::Bytes(filled)) => filled,
            Err(kind) => return Err(TransferFault::Socket(kind)),
        };
        let at = clock.now();
        self.heard_at = at;
        if let Http::Two(session) = &mut self.http {
            session.note_time(at);
        }
        let closed = self.digest(&mut buffer[..filled], outgoing)?;
        if closed {
            self.outlook.close();
        }
        Ok(Received::Bytes {
            at,
            more: filled == buffer.len(),
            closed,
        })
    }

    /// Returns whether the peer has sent close_notify.
    #[inline]
    fn digest(&mut self, input: &mut [u8], outgoing: &mut Vec<u8>) -> Result<bool, TransferFault> {
        let is_early = self.state == ConnectionState::Handshaking;
        let http = &mut self.http;
        let mut fed = Ok(());
        let closed = self.transport.open(input, outgoing, |plain| {
            if fed.is_ok() && !plain.is_empty() {
                fed = match http {
                    Http::One(lane) => lane.feed(plain, is_early),
                    Http::Two(session) => session.feed(plain).map_err(|Violation(kind)| kind),
                };
            }
        })?;
        fed.map(|()| closed).map_err(TransferFault::Http)
    }

    /// What becomes of the bytes that TLS has put out while the last read was processed.
    pub(crate) fn tls_reply(&self) -> TlsReply {
        match self.state {
            ConnectionState::Open => TlsReply::AtOnce,
            ConnectionState::Handshaking if self.transport.is_handshaking() => TlsReply::AtOnce,
            ConnectionState::Handshaking => TlsReply::WithRequest,
            _ => TlsReply::Never,
        }
    }

    /// Takes the next event. None comes before the handshake is done, nor after the last operation.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<LaneEvent> {
        match self.state {
            ConnectionState::Open => match &mut self.http {
                Http::One(lane) => lane.poll(),
                Http::Two(session) => session.poll(),
            },
            ConnectionState::Handshaking if !self.transport.is_handshaking() => {
                Some(LaneEvent::Opened)
            }
            ConnectionState::Overdue { waited } => {
                self.state = ConnectionState::Ended;
                Some(LaneEvent::Overdue { waited })
            }
            _ => None,
        }
    }
}
