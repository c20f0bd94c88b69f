//! A connection after its handshake, without rustls's record layer, which makes a vector of every
//! record.
//!
//! rustls still owns the secrets: it derives those of a key update, and keeps the tickets that
//! come.

use super::advance::{Advance, Broken};
use super::record::{Cipher, Record, alert, content};
use measure::Kind;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

/// Messages after a handshake (RFC 8446 §4).
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;
/// By which a server of TLS 1.2 wishes to renegotiate (RFC 5246 §7.4.1.1).
const HELLO_REQUEST: u8 = 0;
/// Largest message after a handshake; tickets are far below.
const MAX_MESSAGE: usize = 64 * 1024;
/// Key updates, or wishes to renegotiate, without data between them: as many updates as rustls
/// bears.
const MAX_WISHES: u32 = 32;
/// Records under one key of TLS 1.3 before it is changed (RFC 8446 §5.5). TLS 1.2 cannot change it.
const KEY_LIFE: u64 = 1 << 24;
/// Fatal (RFC 8446 §6).
const FATAL: u8 = 2;
const WARNING: u8 = 1;

pub(super) struct Direct {
    kernel: KernelConnection<ClientConnectionData>,
    version: ProtocolVersion,
    sealer: Cipher,
    opener: Cipher,
    /// A handshake message that is not whole yet.
    message: Vec<u8>,
    /// Key updates and wishes to renegotiate since data last came.
    wishes: u32,
    /// The peer has asked for a new key of ours.
    is_asked: bool,
    closed: bool,
}

impl Direct {
    /// Takes a connection over whose handshake is done, and of which rustls holds no input.
    pub(super) fn new(connection: UnbufferedClientConnection) -> Result<Direct, Broken> {
        let refused = |_| Broken(Kind::BadTls);
        let (secrets, kernel) = connection
            .dangerous_into_kernel_connection()
            .map_err(refused)?;
        let version = kernel.protocol_version();
        let (sealer, opener) = (
            Cipher::new(secrets.tx, version)?,
            Cipher::new(secrets.rx, version)?,
        );
        Ok(Direct {
            kernel,
            version,
            sealer,
            opener,
            message: Vec::new(),
            wishes: 0,
            is_asked: false,
            closed: false,
        })
    }

    /// Puts `plain` into `outgoing`, encrypted.
    pub(super) fn encrypt(&mut self, plain: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        if self.sealer.sequence() >= KEY_LIFE && self.version == ProtocolVersion::TLSv1_3 {
            self.change_key(outgoing)?;
        }
        self.sealer.seal(content::APPLICATION_DATA, plain, outgoing)
    }

    /// Puts a close_notify into `outgoing`.
    pub(super) fn close(&mut self, outgoing: &mut Vec<u8>) {
        // What cannot be sealed any more is not said.
        let _ = self
            .sealer
            .seal(content::ALERT, &[WARNING, alert::CLOSE_NOTIFY], outgoing);
    }

    /// Takes bytes from the socket; plaintext goes to `sink`, what must be sent to `outgoing`.
    pub(super) fn process(
        &mut self,
        incoming: &mut [u8],
        outgoing: &mut Vec<u8>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Advance, Broken> {
        let mut consumed = 0;
        while !self.closed {
            match self.opener.open(&mut incoming[consumed..]) {
                Ok(None) => break,
                Ok(Some((
                    length,
                    Record {
                        kind: content::APPLICATION_DATA,
                        plain,
                    },
                ))) if self.message.is_empty() => {
                    sink(plain);
                    self.wishes = 0;
                    consumed += length;
                }
                Ok(Some((length, Record { kind, plain }))) => {
                    let taken = match kind {
                        content::HANDSHAKE => take_handshake(&mut self.message, plain),
                        content::ALERT if self.message.is_empty() => {
                            Ok(Some(self.take_alert(plain)?))
                        }
                        _ => Err(alert::UNEXPECTED_MESSAGE),
                    };
                    consumed += length;
                    match taken {
                        Ok(Some(closed)) => self.closed = closed,
                        Ok(None) => self.take_messages(outgoing)?,
                        Err(code) => return Err(self.refuse(code, outgoing)),
                    }
                }
                Err(code) => return Err(self.refuse(code, outgoing)),
            }
        }
        // One answer to all that asked in this read (RFC 8446 §4.6.3).
        if std::mem::take(&mut self.is_asked) {
            self.change_key(outgoing)?;
        }
        Ok(Advance {
            consumed,
            closed: self.closed,
        })
    }

    /// Whether the peer has closed its side; an error is the alert that it sent.
    fn take_alert(&self, plain: &[u8]) -> Result<bool, Broken> {
        let &[level, code] = plain else {
            return Err(Broken(Kind::BadTls));
        };
        let is_warning = code == alert::USER_CANCELED
            || (self.version != ProtocolVersion::TLSv1_3 && level == WARNING);
        match code {
            alert::CLOSE_NOTIFY => Ok(true),
            _ if is_warning => Ok(false),
            _ => Err(Broken(Kind::AlertReceived(code))),
        }
    }

    /// Acts on the handshake messages that are whole.
    fn take_messages(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        while let Some(&[kind, l0, l1, l2]) = self.message.first_chunk::<4>() {
            let end = 4 + u32::from_be_bytes([0, l0, l1, l2]) as usize;
            if end > MAX_MESSAGE {
                return Err(self.refuse(alert::DECODE_ERROR, outgoing));
            }
            if self.message.len() < end {
                return Ok(());
            }
            let taken = self.take_message(kind, end, outgoing);
            self.message.drain(..end);
            taken?;
        }
        Ok(())
    }

    fn take_message(&mut self, kind: u8, end: usize, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        match (self.version, kind) {
            (ProtocolVersion::TLSv1_3, NEW_SESSION_TICKET) => {
                match self.kernel.handle_new_session_ticket(&self.message[4..end]) {
                    Ok(()) => Ok(()),
                    Err(_) => Err(self.refuse(alert::DECODE_ERROR, outgoing)),
                }
            }
            (ProtocolVersion::TLSv1_3, KEY_UPDATE) => {
                // It ends its record (RFC 8446 §5.1); and nobody has a reason for very many.
                self.wishes += 1;
                if self.message.len() != end || self.wishes > MAX_WISHES {
                    return Err(self.refuse(alert::UNEXPECTED_MESSAGE, outgoing));
                }
                match self.message[4..end] {
                    [asked @ (0 | 1)] => self.is_asked |= asked == 1,
                    _ => return Err(self.refuse(alert::DECODE_ERROR, outgoing)),
                }
                let secrets = self
                    .kernel
                    .update_rx_secret()
                    .map_err(|_| Broken(Kind::BadTls))?;
                self.opener = Cipher::new(secrets, self.version)?;
                Ok(())
            }
            (ProtocolVersion::TLSv1_2, HELLO_REQUEST) => self.decline(end, outgoing),
            _ => Err(self.refuse(alert::UNEXPECTED_MESSAGE, outgoing)),
        }
    }

    /// Says no to a HelloRequest, so that the server can go on or give up; one that hears nothing
    /// may wait for ever (RFC 5246 §7.2.2).
    fn decline(&mut self, end: usize, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        self.wishes += 1;
        if end != 4 || self.wishes > MAX_WISHES {
            return Err(self.refuse(alert::UNEXPECTED_MESSAGE, outgoing));
        }
        self.sealer.seal(
            content::ALERT,
            &[WARNING, alert::NO_RENEGOTIATION],
            outgoing,
        )
    }

    /// Says that our key changes, and changes it.
    fn change_key(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        self.sealer
            .seal(content::HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], outgoing)?;
        let secrets: (u64, ConnectionTrafficSecrets) = self
            .kernel
            .update_tx_secret()
            .map_err(|_| Broken(Kind::BadTls))?;
        self.sealer = Cipher::new(secrets, self.version)?;
        Ok(())
    }

    /// Says why the connection cannot go on.
    fn refuse(&mut self, code: u8, outgoing: &mut Vec<u8>) -> Broken {
        let _ = self.sealer.seal(content::ALERT, &[FATAL, code], outgoing);
        Broken(Kind::AlertSent(code))
    }
}

/// Adds to the handshake message under way; none of it may be empty (RFC 8446 §5.1). `None` means
/// that there is one to look at.
fn take_handshake(message: &mut Vec<u8>, plain: &[u8]) -> Result<Option<bool>, u8> {
    if plain.is_empty() {
        return Err(alert::UNEXPECTED_MESSAGE);
    }
    message.extend_from_slice(plain);
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::record;
    use crate::tls::verifier::Verifier;
    use plan::Verify;
    use rustls::client::{ClientSessionMemoryCache, Resumption};
    use rustls::crypto::cipher::{AeadKey, Iv};
    use rustls::crypto::{CryptoProvider, aws_lc_rs};
    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use rustls::unbuffered::ConnectionState;
    use rustls::{
        ClientConfig, Error, RootCertStore, ServerConfig, ServerConnection, SupportedCipherSuite,
    };
    use std::io::{Read as _, Write as _};
    use std::sync::Arc;

    /// A client and a server, not connected yet.
    fn ends(suite: SupportedCipherSuite) -> (UnbufferedClientConnection, ServerConnection) {
        let provider = Arc::new(CryptoProvider {
            cipher_suites: vec![suite],
            ..aws_lc_rs::default_provider()
        });
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])
            .expect("makes a certificate");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("is a key");
        let versions = [suite.version()];
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![made.cert.der().clone()], key)
            })
            .expect("a server's configuration");
        let verifier = Arc::new(Verifier::new(
            Verify::None,
            None,
            Arc::new(RootCertStore::empty()),
            Arc::clone(&provider),
        ));
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .expect("a client's configuration")
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        client.enable_secret_extraction = true;
        client.resumption = Resumption::store(Arc::new(ClientSessionMemoryCache::new(8)));
        let name = ServerName::try_from("localhost").expect("is a name");
        let client = UnbufferedClientConnection::new(Arc::new(client), name).expect("a client");
        (
            client,
            ServerConnection::new(Arc::new(server)).expect("a server"),
        )
    }

    /// The same after the handshake, and what the server has said since.
    fn connected(suite: SupportedCipherSuite) -> (Direct, ServerConnection, Vec<u8>) {
        let (mut client, mut server) = ends(suite);
        let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
        while client.is_handshaking() || server.is_handshaking() {
            loop {
                let status = client.process_tls_records(&mut to_client);
                let (discard, go_on) = match status.state.expect("the handshake goes well") {
                    ConnectionState::EncodeTlsData(mut data) => {
                        let mut room = [0; 4096];
                        let length = data.encode(&mut room).expect("there is room");
                        to_server.extend_from_slice(&room[..length]);
                        (status.discard, true)
                    }
                    ConnectionState::TransmitTlsData(data) => {
                        data.done();
                        (status.discard, true)
                    }
                    _ => (status.discard, false),
                };
                to_client.drain(..discard);
                if !go_on {
                    break;
                }
            }
            give(&mut server, &mut to_server);
            take(&mut server, &mut to_client);
            if !client.is_handshaking() {
                break;
            }
        }
        give(&mut server, &mut to_server);
        take(&mut server, &mut to_client);
        (
            Direct::new(client).unwrap_or_else(|Broken(kind)| panic!("not taken over: {kind}")),
            server,
            to_client,
        )
    }

    fn give(server: &mut ServerConnection, bytes: &mut Vec<u8>) {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).expect("reads from memory");
            server
                .process_new_packets()
                .expect("what the client says is legal");
        }
        bytes.clear();
    }

    fn take(server: &mut ServerConnection, bytes: &mut Vec<u8>) {
        while server.wants_write() {
            server.write_tls(bytes).expect("writes to memory");
        }
    }

    /// What the client makes of `wire` in pieces of `step`, and its answers.
    fn read(client: &mut Direct, wire: &[u8], step: usize) -> (Vec<u8>, Vec<u8>, bool) {
        let (mut plain, mut answers, mut held, mut closed) =
            (Vec::new(), Vec::new(), Vec::new(), false);
        for piece in wire.chunks(step) {
            held.extend_from_slice(piece);
            let advance = client.process(&mut held, &mut answers, &mut |bytes| {
                plain.extend_from_slice(bytes)
            });
            let advance = advance.unwrap_or_else(|Broken(kind)| panic!("broken: {kind}"));
            held.drain(..advance.consumed);
            closed |= advance.closed;
        }
        assert!(closed || held.is_empty(), "{} bytes are left", held.len());
        (plain, answers, closed)
    }

    /// Sends a body each way and holds what arrives against it.
    fn exchange(client: &mut Direct, server: &mut ServerConnection, step: usize) {
        let body: Vec<u8> = (0..50_000_u32).map(|byte| byte as u8).collect();
        let (mut to_server, mut to_client, mut came) =
            (Vec::new(), Vec::new(), vec![0; body.len()]);
        client
            .encrypt(&body, &mut to_server)
            .unwrap_or_else(|Broken(kind)| panic!("broken: {kind}"));
        let mut rest = to_server.as_slice();
        let mut length = 0;
        while !rest.is_empty() {
            server.read_tls(&mut rest).expect("reads from memory");
            server
                .process_new_packets()
                .expect("what the client says is legal");
            length += server.reader().read(&mut came[length..]).unwrap_or(0);
        }
        assert!(came == body, "the server has another body");
        server.writer().write_all(&body).expect("takes a body");
        take(server, &mut to_client);
        let (plain, answers, closed) = read(client, &to_client, step);
        assert!(plain == body && !closed, "the client has another body");
        give(server, &mut { answers });
    }

    #[test]
    fn every_suite_is_spoken_as_rustls_does() {
        for &suite in aws_lc_rs::ALL_CIPHER_SUITES {
            // The certificate is an ECDSA one.
            if format!("{:?}", suite.suite()).contains("RSA") {
                continue;
            }
            for step in [1, 700, usize::MAX] {
                let (mut client, mut server, said) = connected(suite);
                assert_eq!(
                    read(&mut client, &said, step).0,
                    b"",
                    "{suite:?}: tickets are no data"
                );
                exchange(&mut client, &mut server, step);
                exchange(&mut client, &mut server, step);
                server.send_close_notify();
                let mut last = Vec::new();
                take(&mut server, &mut last);
                assert!(
                    read(&mut client, &last, step).2,
                    "{suite:?}: the close is seen"
                );
                let mut words = Vec::new();
                client.close(&mut words);
                let mut rest = words.as_slice();
                server.read_tls(&mut rest).expect("reads from memory");
                assert!(
                    server
                        .process_new_packets()
                        .expect("a legal close")
                        .peer_has_closed(),
                    "{suite:?}"
                );
            }
        }
    }

    #[test]
    fn keys_change_both_ways() {
        for suite in [
            aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384,
            aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ] {
            let (mut client, mut server, said) = connected(suite);
            read(&mut client, &said, 1);
            for _ in 0..3 {
                server.refresh_traffic_keys().expect("TLS 1.3 changes keys");
                exchange(&mut client, &mut server, 3);
                let mut words = Vec::new();
                client
                    .change_key(&mut words)
                    .unwrap_or_else(|Broken(kind)| panic!("broken: {kind}"));
                give(&mut server, &mut words);
                exchange(&mut client, &mut server, 3);
            }
        }
    }

    #[test]
    fn key_updates_of_one_read_have_one_answer() {
        let (mut client, mut server, said) =
            connected(aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256);
        read(&mut client, &said, usize::MAX);
        for asked in [1, 2, 5] {
            let mut wire = Vec::new();
            for _ in 0..asked {
                server.refresh_traffic_keys().expect("TLS 1.3 changes keys");
                take(&mut server, &mut wire);
            }
            let (_, answers, _) = read(&mut client, &wire, usize::MAX);
            let (header, body) = answers.split_at(record::HEADER);
            assert_eq!(
                body.len(),
                usize::from(u16::from_be_bytes([header[3], header[4]])),
                "{asked} updates, one record"
            );
            give(&mut server, &mut { answers });
            exchange(&mut client, &mut server, usize::MAX);
        }
    }

    /// A server that says what rustls's never would: what it seals with, and what it opens the
    /// client's records with.
    fn meet(client: &mut Direct) -> (Cipher, Cipher) {
        let secrets = || ConnectionTrafficSecrets::Aes256Gcm {
            key: AeadKey::from([7; 32]),
            iv: Iv::new([1; 12]),
        };
        let cipher = || {
            Cipher::new((0, secrets()), client.version)
                .unwrap_or_else(|Broken(kind)| panic!("broken: {kind}"))
        };
        let (sealer, opener) = (cipher(), cipher());
        (client.sealer, client.opener) = (cipher(), cipher());
        (sealer, opener)
    }

    #[test]
    fn wish_to_renegotiate_is_declined_each_time_and_the_connection_goes_on() {
        let (mut client, _, _) =
            connected(aws_lc_rs::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384);
        let (mut sealer, mut opener) = meet(&mut client);
        for _ in 0..3 {
            let mut wire = Vec::new();
            sealer
                .seal(content::HANDSHAKE, &[HELLO_REQUEST, 0, 0, 0], &mut wire)
                .expect("seals");
            sealer
                .seal(content::APPLICATION_DATA, b"body", &mut wire)
                .expect("seals");
            let (plain, mut answers, closed) = read(&mut client, &wire, usize::MAX);
            assert!(plain == b"body" && !closed);
            let answer = opener
                .open(&mut answers)
                .expect("opens")
                .map(|(_, record)| (record.kind, record.plain.to_vec()));
            assert_eq!(
                answer,
                Some((content::ALERT, vec![WARNING, alert::NO_RENEGOTIATION]))
            );
        }
    }

    #[test]
    fn wishes_to_renegotiate_without_data_between_them_are_bounded() {
        let (mut client, _, _) =
            connected(aws_lc_rs::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384);
        let (mut sealer, _) = meet(&mut client);
        for number in 0..=MAX_WISHES {
            let (mut wire, mut answers) = (Vec::new(), Vec::new());
            sealer
                .seal(content::HANDSHAKE, &[HELLO_REQUEST, 0, 0, 0], &mut wire)
                .expect("seals");
            let taken = client.process(&mut wire, &mut answers, &mut |_| panic!("it is no data"));
            assert_eq!(taken.is_ok(), number < MAX_WISHES, "request {number}");
        }
    }

    #[test]
    fn what_nobody_should_say_ends_the_connection() {
        let suite = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
        let cases: [(&str, u8, &[u8], Kind); 6] = [
            (
                "a handshake message",
                content::HANDSHAKE,
                &[1, 0, 0, 0],
                Kind::AlertSent(alert::UNEXPECTED_MESSAGE),
            ),
            (
                "a key update of two bytes",
                content::HANDSHAKE,
                &[KEY_UPDATE, 0, 0, 2, 0, 0],
                Kind::AlertSent(alert::DECODE_ERROR),
            ),
            (
                "a ticket of nothing",
                content::HANDSHAKE,
                &[NEW_SESSION_TICKET, 0, 0, 0],
                Kind::AlertSent(alert::DECODE_ERROR),
            ),
            (
                "an endless message",
                content::HANDSHAKE,
                &[4, 0xff, 0xff, 0xff],
                Kind::AlertSent(alert::DECODE_ERROR),
            ),
            (
                "a type of its own",
                99,
                &[0],
                Kind::AlertSent(alert::UNEXPECTED_MESSAGE),
            ),
            (
                "an alert",
                content::ALERT,
                &[FATAL, 80],
                Kind::AlertReceived(80),
            ),
        ];
        for (what, kind, plain, expected) in cases {
            let (mut client, _, _) = connected(suite);
            let (mut peer, _) = meet(&mut client);
            let (mut wire, mut answers) = (Vec::new(), Vec::new());
            peer.seal(kind, plain, &mut wire)
                .unwrap_or_else(|Broken(kind)| panic!("broken: {kind}"));
            let broken = client
                .process(&mut wire, &mut answers, &mut |_| {})
                .map(|_| ());
            assert!(
                matches!(broken, Err(Broken(kind)) if kind == expected),
                "{what}: {broken:?}"
            );
            assert_eq!(
                answers.is_empty(),
                matches!(expected, Kind::AlertReceived(_)),
                "{what}"
            );
        }
    }

    #[test]
    fn key_updates_without_data_between_them_are_bounded() {
        let (mut client, mut server, said) =
            connected(aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256);
        read(&mut client, &said, usize::MAX);
        for number in 0..=MAX_WISHES {
            server.refresh_traffic_keys().expect("TLS 1.3 changes keys");
            let (mut wire, mut answers) = (Vec::new(), Vec::new());
            take(&mut server, &mut wire);
            let taken = client.process(&mut wire, &mut answers, &mut |_| panic!("it is no data"));
            assert_eq!(taken.is_ok(), number < MAX_WISHES, "update {number}");
        }
    }

    #[test]
    fn record_that_was_meddled_with_ends_the_connection() {
        let (mut client, mut server, said) =
            connected(aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256);
        read(&mut client, &said, usize::MAX);
        server.writer().write_all(b"body").expect("takes a body");
        let (mut wire, mut answers) = (Vec::new(), Vec::new());
        take(&mut server, &mut wire);
        *wire.last_mut().expect("there is a record") ^= 1;
        let broken = client.process(&mut wire, &mut answers, &mut |_| panic!("it is no data"));
        assert!(matches!(
            broken,
            Err(Broken(Kind::AlertSent(alert::BAD_RECORD_MAC)))
        ));
        let mut rest = answers.as_slice();
        server.read_tls(&mut rest).expect("reads from memory");
        let told = server
            .process_new_packets()
            .expect_err("the server is told");
        assert_eq!(
            told,
            Error::AlertReceived(rustls::AlertDescription::BadRecordMac)
        );
    }

    #[test]
    fn bytes_at_random_are_refused_and_said_so() {
        let (mut client, _, _) = connected(aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256);
        let mut byte = 1_u32;
        for length in 0..2000 {
            let mut wire: Vec<u8> = std::iter::repeat_with(|| {
                byte = byte.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (byte >> 24) as u8
            })
            .take(length)
            .collect();
            let mut answers = Vec::new();
            match client.process(&mut wire, &mut answers, &mut |_| panic!("it is no data")) {
                Ok(advance) => assert!(advance.consumed <= length),
                Err(Broken(kind)) => {
                    assert!(
                        !answers.is_empty()
                            || matches!(kind, Kind::AlertReceived(_) | Kind::BadTls),
                        "{kind}"
                    )
                }
            }
        }
    }
}
