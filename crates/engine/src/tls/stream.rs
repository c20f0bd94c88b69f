//! The TLS side of one connection: bytes from the socket in, plaintext and bytes for the socket
//! out. Buffers nothing.

use super::advance::{Advance, Broken};
use super::client_hello::offers_session;
use super::config::WorkerTls;
use super::early_data::{EarlyDataFate, is_end_of_early_data, put_early};
use super::keys::Keys;
use super::offer::{Hello, SessionVersions};
use super::record_cipher::RECORD_OVERHEAD;
use super::record_layer::RecordLayer;
use super::verifier::{Seen, Verifier};
use crate::key_log::OperationEnding;
use measure::{CertificateFault, HandshakeKind, Kind, Negotiated};
use rustls::Error;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{ConnectionState, EncodeTlsData, UnbufferedStatus, WriteTraffic};
use std::sync::Arc;

/// Largest plaintext of one record (RFC 8446 §5.1).
pub(crate) const FRAGMENT: usize = 16 * 1024;

/// The random of a ServerHello that is a HelloRetryRequest (RFC 8446 §4.1.3).
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

pub(crate) struct TlsStream {
    side: Side,
    /// Whether it is to carry more than one request.
    lasts: bool,
    /// The ClientHello carried a session; this is the index (in the recorder) of the address that
    /// issued it.
    pub(crate) offered: Option<u16>,
    /// A session was to be offered, but there was none.
    pub(crate) none_at_hand: bool,
    early_data: EarlyDataFate,
    retried: bool,
    answered: bool,
    /// The worker's verifier, shared by all of its connections: what it has seen is taken before
    /// another connection uses it.
    verifier: Arc<Verifier>,
    seen: Seen,
    /// The worker's secrets, likewise, if they are wanted; and this connection's, until they are
    /// written.
    keys: Option<Arc<Keys>>,
    secrets: String,
    /// The code of a fatal alert that went out unencrypted.
    alert_sent: Option<u8>,
}

/// The implementation that seals and opens records.
#[expect(
    clippy::large_enum_variant,
    reason = "it lies in its connection's own box; another one would be made for every connection"
)]
enum Side {
    Rustls(UnbufferedClientConnection),
    /// Our own record layer.
    Own(Box<RecordLayer>),
    /// Neither: taking over from rustls failed.
    Nobody,
}

impl TlsStream {
    /// Starts a handshake for the worker's current user. The `hello` goes to `outgoing`, followed
    /// by its early data, which is at most one record and fits into
    /// [`Sessions::early_data_room`](super::sessions::Sessions::early_data_room).
    pub(crate) fn new(
        tls: &WorkerTls,
        hello: Hello<'_>,
        outgoing: &mut Vec<u8>,
    ) -> Result<TlsStream, Broken> {
        let config = Arc::clone(tls.config(&hello));
        let Hello {
            name, offer, early, ..
        } = hello;
        let connection = UnbufferedClientConnection::new(config, name);
        let connection = connection.map_err(|error| Broken(kind(&error, None, None)))?;
        let mut stream = TlsStream {
            side: Side::Rustls(connection),
            lasts: tls.lasts,
            offered: None,
            none_at_hand: false,
            early_data: EarlyDataFate::None,
            retried: false,
            answered: false,
            verifier: Arc::clone(&tls.verifier),
            seen: Seen::default(),
            keys: tls.keys.clone(),
            secrets: String::new(),
            alert_sent: None,
        };
        let before = outgoing.len();
        stream.take_in(&mut [], early, outgoing, &mut |_| {})?;
        let found = tls
            .sessions
            .found()
            .filter(|(found, _)| offers_session(&outgoing[before..], *found));
        stream.offered = found.map(|(_, issuer)| issuer);
        let offers = tls.sessions_of(offer) != SessionVersions::NONE;
        stream.none_at_hand = offers && stream.offered.is_none();
        Ok(stream)
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(&self.side, Side::Rustls(connection) if connection.is_handshaking())
    }

    /// Processes bytes from the socket; plaintext goes to `sink`, bytes to send go to `outgoing`.
    pub(crate) fn process(
        &mut self,
        incoming: &mut [u8],
        outgoing: &mut Vec<u8>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Advance, Broken> {
        if let Side::Own(layer) = &mut self.side {
            return layer.process(incoming, outgoing, sink);
        }
        self.take_in(incoming, None, outgoing, sink)
    }

    fn take_in(
        &mut self,
        incoming: &mut [u8],
        early: Option<&[u8]>,
        outgoing: &mut Vec<u8>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Advance, Broken> {
        let handshaking = self.is_handshaking();
        let advance = self.advance(incoming, early, outgoing, sink);
        // Verifier and key log belong to the worker: what they have just noted is this
        // connection's.
        if handshaking {
            self.seen.add(self.verifier.take_seen());
            if let Some(keys) = &self.keys {
                keys.take(&mut self.secrets);
            }
        }
        advance
    }

    /// Notes the end of an operation on this connection: its secrets are written if the plan wants
    /// them.
    #[inline]
    pub(crate) fn operation_ended(&mut self, ending: impl FnOnce() -> OperationEnding) {
        if let Some(keys) = &self.keys {
            keys.judge(&mut self.secrets, ending());
        }
    }

    fn advance(
        &mut self,
        incoming: &mut [u8],
        mut early: Option<&[u8]>,
        outgoing: &mut Vec<u8>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Advance, Broken> {
        self.look_for_retry(incoming);
        let mut advance = Advance {
            consumed: 0,
            closed: false,
        };
        loop {
            let Side::Rustls(connection) = &mut self.side else {
                return Err(Broken(Kind::BadTls));
            };
            let UnbufferedStatus { discard, state } =
                connection.process_tls_records(&mut incoming[advance.consumed..]);
            let go_on = match state {
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    let before = outgoing.len();
                    encode(data, outgoing);
                    if let EarlyDataFate::Sent(bytes) = self.early_data
                        && is_end_of_early_data(&outgoing[before..])
                    {
                        self.early_data = EarlyDataFate::Accepted(bytes);
                    }
                    true
                }
                Ok(ConnectionState::TransmitTlsData(mut data)) => {
                    if let (Some(plain), Some(mut early)) =
                        (early.take(), data.may_encrypt_early_data())
                    {
                        self.early_data = put_early(plain.len(), outgoing, |room| {
                            early.encrypt(plain, room).ok()
                        });
                    }
                    data.done();
                    true
                }
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    // The records are decrypted already, so rustls never returns an error here.
                    while let Some(Ok(record)) = traffic.next_record() {
                        sink(record.payload);
                    }
                    true
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    advance.closed = true;
                    false
                }
                Ok(_) => false,
                Err(error) => {
                    return Err(self.fail(
                        &error,
                        &mut incoming[advance.consumed + discard..],
                        outgoing,
                    ));
                }
            };
            advance.consumed += discard;
            if !go_on {
                return Ok(advance);
            }
        }
    }

    /// Encrypts `plain` into `outgoing`; only once the handshake is done. `leftover` is the input
    /// that was not consumed: rustls may keep positions in it, and removes what it has finished
    /// with.
    pub(crate) fn encrypt(
        &mut self,
        plain: &[u8],
        leftover: &mut Vec<u8>,
        outgoing: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        if let Side::Own(layer) = &mut self.side {
            return layer.encrypt(plain, outgoing);
        }
        for fragment in plain.chunks(FRAGMENT) {
            let room = fragment.len() + RECORD_OVERHEAD;
            self.write(leftover, outgoing, room, |traffic, room| {
                traffic.encrypt(fragment, room).ok()
            })?;
        }
        // Only now: the write included everything that rustls had still to send, such as an answer
        // to a key update.
        self.take_over(leftover);
        Ok(())
    }

    /// Takes the records of a lasting connection over from rustls, after its first request: for a
    /// single one that would not pay. rustls may have processed half of what is in `leftover`, so
    /// this waits until `leftover` is empty.
    #[inline]
    fn take_over(&mut self, leftover: &[u8]) {
        if !self.lasts || !leftover.is_empty() {
            return;
        }
        // Taken over already.
        let Side::Rustls(connection) = &mut self.side else {
            return;
        };
        let is_ready = matches!(
            connection.process_tls_records(&mut []).state,
            Ok(ConnectionState::WriteTraffic(_))
        );
        // rustls has something to do first; the next request tries again.
        if !is_ready {
            return;
        }
        if let Side::Rustls(connection) = std::mem::replace(&mut self.side, Side::Nobody)
            && let Ok(layer) = RecordLayer::new(connection)
        {
            self.side = Side::Own(Box::new(layer));
        }
    }

    fn rustls(&mut self) -> Result<&mut UnbufferedClientConnection, Broken> {
        match &mut self.side {
            Side::Rustls(connection) => Ok(connection),
            Side::Own(_) | Side::Nobody => Err(Broken(Kind::BadTls)),
        }
    }

    /// Appends a close_notify to `outgoing`, if the handshake is far enough for one; `leftover` is
    /// as in `encrypt`.
    pub(crate) fn close(&mut self, leftover: &mut Vec<u8>, outgoing: &mut Vec<u8>) {
        if let Side::Own(layer) = &mut self.side {
            return layer.close(outgoing);
        }
        let _ = self.write(leftover, outgoing, RECORD_OVERHEAD, |traffic, room| {
            traffic.queue_close_notify(room).ok()
        });
    }

    fn write(
        &mut self,
        leftover: &mut Vec<u8>,
        outgoing: &mut Vec<u8>,
        room: usize,
        write: impl FnOnce(&mut WriteTraffic<'_, ClientConnectionData>, &mut [u8]) -> Option<usize>,
    ) -> Result<(), Broken> {
        loop {
            let UnbufferedStatus { discard, state } = self.rustls()?.process_tls_records(leftover);
            match state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let before = outgoing.len();
                    outgoing.resize(before + room, 0);
                    let written = write(&mut traffic, &mut outgoing[before..]);
                    outgoing.truncate(before + written.unwrap_or(0));
                    leftover.drain(..discard);
                    return written.map(|_| ()).ok_or(Broken(Kind::BadTls));
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, outgoing),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => {}
                Ok(_) => return Err(Broken(Kind::Eof)),
                Err(error) => return Err(self.fail(&error, &mut leftover[discard..], outgoing)),
            }
            leftover.drain(..discard);
        }
    }

    /// Whether the server accepted early data; `None` if no request went out as early data. Valid
    /// only once the handshake is done.
    pub(crate) fn early_data(&self) -> Option<bool> {
        match self.early_data {
            EarlyDataFate::None => None,
            EarlyDataFate::Sent(_) => Some(false),
            EarlyDataFate::Accepted(_) => Some(true),
        }
    }

    /// Bytes of early data on the wire, accepted by the server or not.
    pub(crate) fn early_bytes(&self) -> u64 {
        match self.early_data {
            EarlyDataFate::None => 0,
            EarlyDataFate::Sent(bytes) | EarlyDataFate::Accepted(bytes) => bytes as u64,
        }
    }

    /// The negotiated parameters; only once the handshake is done, and before the first request.
    pub(crate) fn negotiated(&self) -> Option<Negotiated> {
        let seen = self.seen;
        let kind = self.handshake_kind();
        let Side::Rustls(connection) = &self.side else {
            return None;
        };
        Some(Negotiated {
            version: connection.protocol_version().map_or(0, u16::from),
            suite: connection
                .negotiated_cipher_suite()
                .map_or(0, |suite| u16::from(suite.suite())),
            group: connection
                .negotiated_key_exchange_group()
                .map_or(0, |group| u16::from(group.name())),
            signature_scheme: seen.signature_scheme,
            alpn: connection.alpn_protocol().map_or_else(String::new, |name| {
                String::from_utf8_lossy(name).into_owned()
            }),
            kind,
            ocsp_staple: seen.ocsp_staple,
        })
    }

    /// Whether the handshake was full or resumed; only once it is done, and before the first
    /// request.
    pub(crate) fn handshake_kind(&self) -> HandshakeKind {
        let kind = match &self.side {
            Side::Rustls(connection) => connection.handshake_kind(),
            // Not asked for any more once the records are ours.
            Side::Own(_) | Side::Nobody => None,
        };
        let resumed = kind == Some(rustls::HandshakeKind::Resumed);
        match (resumed, self.retried) {
            (false, false) => HandshakeKind::Full,
            (false, true) => HandshakeKind::FullRetried,
            (true, false) => HandshakeKind::Resumed,
            (true, true) => HandshakeKind::ResumedRetried,
        }
    }

    /// The server's chain, leaf first; only before the first request.
    pub(crate) fn chain(&self) -> Option<&[rustls::pki_types::CertificateDer<'static>]> {
        if let Side::Rustls(connection) = &self.side {
            connection.peer_certificates()
        } else {
            None
        }
    }

    /// Notes whether the server's first record asks for another hello.
    fn look_for_retry(&mut self, incoming: &[u8]) {
        const RANDOM_AT: usize = 5 + 4 + 2; // record header, handshake header, version
        if !self.answered && incoming.len() >= RANDOM_AT + 32 {
            self.answered = true;
            self.retried = incoming[RANDOM_AT..RANDOM_AT + 32] == RETRY_RANDOM;
        }
    }

    /// Collects the alert that rustls wants to send, and names the failure.
    fn fail(&mut self, error: &Error, rest: &mut [u8], outgoing: &mut Vec<u8>) -> Broken {
        // Once only: after the alert rustls would look at the same broken input again.
        if let Ok(connection) = self.rustls()
            && let Ok(ConnectionState::EncodeTlsData(data)) =
                connection.process_tls_records(rest).state
        {
            let before = outgoing.len();
            encode(data, outgoing);
            // An unencrypted alert: of type 21, two bytes long, fatal (RFC 8446 §6).
            if let [21, _, _, 0, 2, 2, code] = outgoing[before..] {
                self.alert_sent = Some(code);
            }
        }
        self.seen.add(self.verifier.take_seen());
        Broken(kind(error, self.alert_sent, self.seen.fault))
    }
}

fn encode(mut data: EncodeTlsData<'_, ClientConnectionData>, outgoing: &mut Vec<u8>) {
    let before = outgoing.len();
    // A hello or a Finished fits; a chain of client certificates needs a second attempt.
    let mut room = 1024;
    loop {
        outgoing.resize(before + room, 0);
        match data.encode(&mut outgoing[before..]) {
            Ok(written) => return outgoing.truncate(before + written),
            Err(rustls::unbuffered::EncodeError::InsufficientSize(needed)) => {
                room = needed.required_size
            }
            Err(_) => return outgoing.truncate(before),
        }
    }
}

fn kind(error: &Error, alert_sent: Option<u8>, fault: Option<CertificateFault>) -> Kind {
    match error {
        Error::AlertReceived(alert) => Kind::AlertReceived(u8::from(*alert)),
        Error::InvalidCertificate(_) => Kind::Certificate(fault.unwrap_or(CertificateFault::Other)),
        Error::InvalidMessage(_) => Kind::BadTls,
        _ => alert_sent.map_or(Kind::BadTls, Kind::AlertSent),
    }
}
