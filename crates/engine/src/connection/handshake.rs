//! A connection's handshake: how it starts, and what it agreed on.

use super::WorkerConnection;
use super::state::ConnectionState;
use crate::key_log::OperationEnding;
use crate::tls::{Broken, Hello, TlsStream, WorkerTls};
use measure::{HandshakeKind, Negotiated};
use rustls::pki_types::CertificateDer;

/// ALPN's name of HTTP/2 over TLS (RFC 9113 §3.2).
const H2: &str = "h2";

/// What a finished handshake agreed on, and what it took.
pub(crate) struct FinishedHandshake<'a> {
    pub(crate) negotiated: Negotiated,
    /// The server's certificates, if the handshake was a full one.
    pub(crate) chain: Option<&'a [CertificateDer<'static>]>,
    /// The address (its index in the recorder) that had issued the session that was offered.
    pub(crate) offered: Option<u16>,
    pub(crate) none_at_hand: bool,
    pub(crate) early_data: Option<bool>,
    /// Wire bytes both ways, without early data, which belongs to the request.
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) begun_at: u64,
    /// Whether ALPN chose the protocol that the connection speaks.
    pub(crate) is_as_asked: bool,
}

impl WorkerConnection {
    /// Starts the handshake: the `hello` goes to `outgoing`, followed by its early data. Returns
    /// whether that went with it.
    pub(crate) fn begin_handshake(
        &mut self,
        tls: &WorkerTls,
        hello: Hello<'_>,
        outgoing: &mut Vec<u8>,
    ) -> Result<bool, Broken> {
        self.state = ConnectionState::Handshaking;
        self.transport.start_tls(tls, hello, outgoing)
    }

    /// What the handshake agreed on, with `unsent` bytes of it still to be sent; `None` if there
    /// was none.
    pub(crate) fn finished_handshake(&self, unsent: u64) -> Option<FinishedHandshake<'_>> {
        let stream = self.transport.tls()?;
        let negotiated = stream.negotiated()?;
        let encrypted = self.sent_bytes() + unsent;
        let is_full = matches!(
            negotiated.kind,
            HandshakeKind::Full | HandshakeKind::FullRetried
        );
        Some(FinishedHandshake {
            chain: stream.chain().filter(|_| is_full),
            offered: stream.offered,
            none_at_hand: stream.none_at_hand,
            early_data: stream.early_data(),
            sent_bytes: encrypted.saturating_sub(stream.early_bytes()),
            received_bytes: self.received_bytes(),
            begun_at: self.transport.connected_at(),
            is_as_asked: !self.is_shared() || negotiated.alpn == H2,
            negotiated,
        })
    }

    /// Whether the server took early data; `None` if none was sent. Valid only once the handshake
    /// is done.
    pub(crate) fn early_data(&self) -> Option<bool> {
        self.transport.tls().and_then(TlsStream::early_data)
    }

    /// Notes the end of an operation: the connection's secrets are written if the plan wants them.
    #[inline]
    pub(crate) fn operation_ended(&mut self, ending: impl FnOnce() -> OperationEnding) {
        if let Some(tls) = self.transport.tls_mut() {
            tls.operation_ended(ending);
        }
    }
}
