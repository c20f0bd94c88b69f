//! A connection as the worker sees it: bytes of a transport in, events of lanes out. Which protocol
//! it speaks, and over which transport, stays here; what its lanes are for is up to the worker.
//!
//! It has a fixed number of lanes: one in HTTP/1.1, `streams` in HTTP/2. After each read the worker
//! takes events with [`WorkerConnection::poll`] until there are none.

mod ends;
mod handshake;
mod http1;
mod intake;
mod lanes;
mod state;
mod transport;

use crate::http2::Http2Connection;
use crate::live_operation::SentRequest;
use crate::socket::Socket;
use crate::tls::Broken;
pub(crate) use ends::{AfterAnswer, Cancelled, LaneEnd};
use http1::Http1Lane;
pub(crate) use intake::{Received, TlsReply};
pub(crate) use lanes::RequestDeparture;
use measure::{CellId, FailureStage, Kind, PathSample};
use rustix::fd::OwnedFd;
use state::{ConnectionState, Outlook};
use std::net::SocketAddr;
use transport::Transport;

/// Plaintext and ciphertext of one read. Large, because big reads make downloads cheaper.
pub(crate) const READ_BYTES: usize = 128 * 1024;

/// If a server closes a connection within this time of a request, or within two round trips, it may
/// have started to close before the request arrived.
const CROSSING_NS: u64 = 5_000_000;

/// One connection of a worker.
pub(crate) struct WorkerConnection {
    transport: Transport,
    http: Http,
    state: ConnectionState,
    outlook: Outlook,
    /// The cell that its bytes are counted under: that of its latest operation.
    id: CellId,
    /// When bytes last came.
    heard_at: u64,
    /// Whether an operation has had its answer, or its handshake, on this connection.
    has_served: bool,
    /// Requests sent on it, and how many it may carry.
    requests_begun: u32,
    requests_each: u32,
    /// Lanes whose request has not been taken whole by the transport.
    unwritten: Vec<u32>,
}

/// The protocol of a connection.
#[expect(
    clippy::large_enum_variant,
    reason = "it lies in its connection's own box; another one would be made for every connection"
)]
enum Http {
    One(Http1Lane),
    Two(Box<Http2Connection>),
}

/// What a new connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// HTTP/1.1, or a handshake without a request.
    OneLane,
    /// HTTP/2, with this many lanes.
    Lanes {
        lanes: u32,
        /// Whether heads of answers are looked at.
        has_checks: bool,
        /// Whether requests may open sockets.
        has_sockets: bool,
    },
}

/// Why a read or write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferFault {
    /// The socket has failed.
    Socket(Kind),
    /// TLS cannot go on.
    Tls(Kind),
    /// A response that cannot be read, or a peer that breaks its protocol.
    Http(Kind),
}

impl From<Broken> for TransferFault {
    fn from(Broken(kind): Broken) -> TransferFault {
        TransferFault::Tls(kind)
    }
}

impl WorkerConnection {
    /// A connection over `socket`, which began to connect at `connect_at`, for `requests_each`
    /// requests; 0 if it is opened for its handshake alone.
    pub(crate) fn new(
        socket: Socket,
        purpose: ConnectionUse,
        requests_each: u32,
        id: CellId,
        connect_at: u64,
    ) -> WorkerConnection {
        let http = match purpose {
            ConnectionUse::OneLane => Http::One(Http1Lane::default()),
            ConnectionUse::Lanes {
                lanes,
                has_checks,
                has_sockets,
            } => {
                let mut session = Box::new(Http2Connection::new(lanes));
                if has_sockets {
                    session.expect_sockets();
                }
                if has_checks {
                    session.keep_texts();
                }
                Http::Two(session)
            }
        };
        // A single small request leaves in one write anyway, which saves this system call.
        if requests_each > 1 || matches!(http, Http::Two(_)) {
            socket.send_at_once();
        }
        WorkerConnection {
            transport: Transport::new(socket, connect_at),
            http,
            state: ConnectionState::Connecting,
            outlook: Outlook::Stands,
            id,
            heard_at: connect_at,
            has_served: false,
            requests_begun: 0,
            requests_each,
            unwritten: Vec::new(),
        }
    }

    /// The descriptor to poll.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        self.transport.descriptor()
    }

    /// Its local and its remote address; `None` once it is no longer connected.
    pub(crate) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.transport.ends()
    }

    /// The cell that its bytes are counted under.
    #[inline]
    pub(crate) fn id(&self) -> CellId {
        self.id
    }

    /// Counts its bytes under another cell from now on.
    #[inline]
    pub(crate) fn count_under(&mut self, id: CellId) {
        self.id = id;
    }

    /// Wire bytes written over its lifetime.
    #[inline]
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.transport.sent_bytes()
    }

    /// Wire bytes read over its lifetime.
    #[inline]
    pub(crate) fn received_bytes(&self) -> u64 {
        self.transport.received_bytes()
    }

    #[inline]
    pub(crate) fn is_connecting(&self) -> bool {
        self.state == ConnectionState::Connecting
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.state == ConnectionState::Open
    }

    /// Whether the peer's close confirms the operation under way.
    pub(crate) fn is_confirming(&self) -> bool {
        self.state == ConnectionState::Confirming
    }

    /// The stage in which its operations fail if it ends now.
    pub(crate) fn stage(&self) -> FailureStage {
        match self.state {
            ConnectionState::Connecting => FailureStage::Connect,
            ConnectionState::Handshaking => FailureStage::Tls,
            _ if self.requests_each == 0 => FailureStage::Tls,
            _ => FailureStage::Http,
        }
    }

    /// Why the transport failed; `None` if it did not.
    pub(crate) fn failure(&self) -> Option<Kind> {
        self.transport.failure()
    }

    /// Why nothing can be sent any more; `None` if something can.
    #[inline]
    pub(crate) fn broken(&self) -> Option<Kind> {
        match self.outlook {
            Outlook::Broken(kind) => Some(kind),
            Outlook::Stands | Outlook::PeerEnded | Outlook::PeerClosed => None,
        }
    }

    /// Notes why nothing can be sent any more.
    pub(crate) fn break_by(&mut self, kind: Kind) {
        self.outlook.break_by(kind);
    }

    /// Closes our side; the peer reads an end of stream.
    pub(crate) fn end_sending(&self) {
        self.transport.end_sending();
    }

    /// Makes closing the socket send a reset.
    pub(crate) fn reset_on_close(&self) {
        self.transport.reset_on_close();
    }

    /// Whether the peer meant an end of the stream. Under TLS anyone on the path can cut a
    /// connection, and only a close_notify comes from the peer itself (RFC 9112 §9.8).
    fn is_end_meant(&self) -> bool {
        self.transport.tls().is_none() || self.outlook == Outlook::PeerClosed
    }

    /// Samples the path at `now` if the connection is open, as the change since the last sample.
    pub(crate) fn probe_path(&mut self, now: u64) -> Option<PathSample> {
        self.transport.probe_path(now)
    }

    /// Whether the server cannot have worked on a request of this connection, which ended at `now`:
    /// the request never reached the server's kernel, or the close was already under way when it
    /// did.
    pub(crate) fn is_unseen(&self, sent: &SentRequest, now: u64) -> bool {
        let delivery = self.transport.delivery();
        let crossing = CROSSING_NS.max(delivery.map_or(0, |delivery| 2 * delivery.rtt_ns));
        let has_come = delivery.is_none_or(|delivery| delivery.acknowledged > sent.behind);
        !has_come || now.saturating_sub(sent.at) <= crossing
    }

    /// The transport is connected at `now`. Returns how long that took.
    pub(crate) fn connected(&mut self, now: u64) -> u64 {
        self.transport.connected(now)
    }

    /// Makes it ready for requests.
    pub(crate) fn open(&mut self) {
        self.state = ConnectionState::Open;
    }

    /// Waits from `now` until `until` for the peer to close; its last operation is over.
    pub(crate) fn await_end(&mut self, now: u64, until: u64) {
        self.state = ConnectionState::Ending { since: now, until };
    }

    /// How long it has waited at `now` for the peer to close; `None` if it does not.
    pub(crate) fn end_awaited_ns(&self, now: u64) -> Option<u64> {
        match self.state {
            ConnectionState::Ending { since, .. } => Some(now.saturating_sub(since)),
            _ => None,
        }
    }

    /// When [`WorkerConnection::on_timeout`] is to be called, whatever becomes of its operations.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        match self.state {
            ConnectionState::Ending { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Its own time is up at `now`; what follows from that is polled.
    pub(crate) fn on_timeout(&mut self, now: u64) {
        if let ConnectionState::Ending { since, until } = self.state
            && until <= now
        {
            let waited = now.saturating_sub(since);
            self.state = ConnectionState::Overdue { waited };
        }
    }

    /// Sends `outgoing` behind what is still unsent, and empties it. Returns whether everything
    /// went out. After an error nothing can be sent any more.
    #[inline]
    pub(crate) fn send(&mut self, outgoing: &mut Vec<u8>) -> Result<bool, Kind> {
        let sent = self.transport.send(outgoing, self.has_upload());
        if let Err(kind) = sent {
            self.outlook.break_by(kind);
        }
        sent
    }

    /// Whether output waits for the socket.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.transport.has_unsent()
    }

    /// Announces the close: GOAWAY in HTTP/2, close_notify if the connection is encrypted.
    pub(crate) fn notify_close(&mut self, outgoing: &mut Vec<u8>) {
        if let Http::Two(session) = &mut self.http
            && self.state == ConnectionState::Open
        {
            session.say_good_bye();
            // If TLS has failed the frames are not sent.
            let _ = self.wrap_frames(outgoing);
        }
        self.transport.notify_close(outgoing);
    }

    /// Announces our close and waits for the peer's, which confirms the handshake.
    pub(crate) fn confirm(&mut self, outgoing: &mut Vec<u8>) {
        self.state = ConnectionState::Confirming;
        self.notify_close(outgoing);
    }
}
