//! The record layer against rustls's server, and against a peer that sends what no server should.

use super::*;
use crate::tls::accepted_chains::AcceptedChains;
use crate::tls::record_cipher;
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

/// A client and a server that are not connected yet.
fn ends(suite: SupportedCipherSuite) -> (UnbufferedClientConnection, ServerConnection) {
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![suite],
        ..aws_lc_rs::default_provider()
    });
    let made =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("makes a certificate");
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
        AcceptedChains::default(),
        None,
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

/// The same after the handshake, and what the server has sent since.
fn connected(suite: SupportedCipherSuite) -> (RecordLayer, ServerConnection, Vec<u8>) {
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
        RecordLayer::new(client).unwrap_or_else(|Broken(kind)| panic!("not taken over: {kind}")),
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

/// Feeds `wire` to the client in pieces of `step`. Returns its plaintext, its answers, and whether
/// the server closed.
fn read(client: &mut RecordLayer, wire: &[u8], step: usize) -> (Vec<u8>, Vec<u8>, bool) {
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

/// Sends a body each way and compares what arrives.
fn exchange(client: &mut RecordLayer, server: &mut ServerConnection, step: usize) {
    let body: Vec<u8> = (0..50_000_u32).map(|byte| byte as u8).collect();
    let (mut to_server, mut to_client, mut came) = (Vec::new(), Vec::new(), vec![0; body.len()]);
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
        let (header, body) = answers.split_at(record_cipher::HEADER);
        assert_eq!(
            body.len(),
            usize::from(u16::from_be_bytes([header[3], header[4]])),
            "{asked} updates, one record"
        );
        give(&mut server, &mut { answers });
        exchange(&mut client, &mut server, usize::MAX);
    }
}

/// A server that sends what rustls's never would: the cipher that it seals with, and the one that
/// opens the client's records.
fn meet(client: &mut RecordLayer) -> (RecordCipher, RecordCipher) {
    let secrets = || ConnectionTrafficSecrets::Aes256Gcm {
        key: AeadKey::from([7; 32]),
        iv: Iv::new([1; 12]),
    };
    let cipher = || {
        RecordCipher::new((0, secrets()), client.version)
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
                    !answers.is_empty() || matches!(kind, Kind::AlertReceived(_) | Kind::BadTls),
                    "{kind}"
                )
            }
        }
    }
}
