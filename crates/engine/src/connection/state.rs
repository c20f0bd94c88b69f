//! The states of a connection, and what each of them holds.

use measure::Kind;

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// The transport is being connected.
    Connecting,
    /// The handshake is under way.
    Handshaking,
    /// Ready for requests, or with some under way.
    Open,
    /// A handshake without a request is done and our close is sent: the peer's close confirms it,
    /// and with it the operation.
    Confirming,
    /// Its last operation is over, and the peer is expected to close it until `until`.
    Ending { since: u64, until: u64 },
    /// The peer has not closed it in time, after `waited` nanoseconds; that is reported once.
    Overdue { waited: u64 },
    /// The end of the stream was the end of its last answer.
    Ended,
}

/// What is known of a connection's end while it lasts. Later ones outweigh earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Nothing ends it.
    Stands,
    /// The peer has closed its side, as the kernel reported.
    PeerEnded,
    /// The peer's TLS has sent close_notify: it meant the end.
    PeerClosed,
    /// Nothing can be sent any more, for this reason. What the peer sent before can be read.
    Broken(Kind),
}

impl Outlook {
    /// Notes that the peer has closed its side.
    #[inline]
    pub(super) fn end(&mut self) {
        if *self == Outlook::Stands {
            *self = Outlook::PeerEnded;
        }
    }

    /// Notes that the peer has said that nothing follows.
    pub(super) fn close(&mut self) {
        if !matches!(self, Outlook::Broken(_)) {
            *self = Outlook::PeerClosed;
        }
    }

    /// Notes why nothing can be sent any more.
    pub(super) fn break_by(&mut self, kind: Kind) {
        if !matches!(self, Outlook::Broken(_)) {
            *self = Outlook::Broken(kind);
        }
    }
}
