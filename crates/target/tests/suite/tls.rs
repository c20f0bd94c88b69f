//! Handshakes: versions, keys, suites, resumption, client certificates, unsound certificates,
//! staples.

use crate::client::{Client, GET, roots, sound, trusting};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, DigitallySignedStruct, HandshakeKind, ProtocolVersion, SignatureScheme,
    SupportedProtocolVersion,
};
use std::sync::{Arc, Mutex};
use target::{
    CertificateDefect, Config, KeyKind, RunningTarget, ServerTls, ServerTlsVersion, TestAuthority,
};

fn start(tls: ServerTls) -> RunningTarget {
    RunningTarget::new(Config {
        tls: Some(tls),
        ..Config::default()
    })
    .unwrap()
}

fn exchange(client: &mut Client) {
    client.send(GET);
    assert_eq!(client.receive(sound().len()), sound());
}

#[test]
fn both_keys_and_both_versions_answer() {
    for key in [KeyKind::P256, KeyKind::Rsa2048] {
        let target = start(ServerTls {
            key,
            ..ServerTls::default()
        });
        for version in [&TLS12, &TLS13] {
            let mut client = Client::tls(&target, &trusting(&target, &[version])).unwrap();
            assert_eq!(client.session().protocol_version(), Some(version.version));
            exchange(&mut client);
        }
        let counts = target.stop();
        assert_eq!(
            (
                counts.handshakes_full,
                counts.handshakes_resumed,
                counts.responses
            ),
            (2, 0, 2)
        );
    }
}

#[test]
fn resumption_is_as_configured_and_counted() {
    // (tickets, cache, version) → resumed. rustls gives TLS 1.3 clients tickets for the cache too.
    let cases: [(bool, bool, &SupportedProtocolVersion, bool); 8] = [
        (false, false, &TLS12, false),
        (false, false, &TLS13, false),
        (true, false, &TLS12, true),
        (true, false, &TLS13, true),
        (false, true, &TLS12, true),
        (false, true, &TLS13, true),
        (true, true, &TLS12, true),
        (true, true, &TLS13, true),
    ];
    for (tickets, session_cache, version, resumed) in cases {
        let target = start(ServerTls {
            tickets,
            session_cache,
            ..ServerTls::default()
        });
        let config = trusting(
            &target,
            &[if version.version == ProtocolVersion::TLSv1_2 {
                &TLS12
            } else {
                &TLS13
            }],
        );
        let kinds: Vec<HandshakeKind> = (0..3)
            .map(|_| handshake_and_exchange(&target, &config))
            .collect();
        let later = if resumed {
            HandshakeKind::Resumed
        } else {
            HandshakeKind::Full
        };
        assert_eq!(
            kinds,
            [HandshakeKind::Full, later, later],
            "{tickets} {session_cache} {version:?}"
        );
        let counts = target.stop();
        let expected = if resumed { (1, 2) } else { (3, 0) };
        assert_eq!(
            (counts.handshakes_full, counts.handshakes_resumed),
            expected
        );
    }
}

fn handshake_and_exchange(target: &RunningTarget, config: &Arc<ClientConfig>) -> HandshakeKind {
    let mut client = Client::tls(target, config).unwrap();
    exchange(&mut client);
    client.handshake()
}

#[test]
fn versions_suites_and_groups_are_those_configured() {
    let target = start(ServerTls {
        versions: vec![ServerTlsVersion::V12],
        cipher_suites: Some(vec![0xc02b]),
        groups: Some(vec![0x0018]),
        ..ServerTls::default()
    });
    let client = Client::tls(&target, &trusting(&target, &[&TLS12, &TLS13])).unwrap();
    let session = client.session();
    assert_eq!(session.protocol_version(), Some(ProtocolVersion::TLSv1_2));
    assert_eq!(
        session
            .negotiated_cipher_suite()
            .map(|suite| u16::from(suite.suite())),
        Some(0xc02b)
    );
    assert_eq!(
        session
            .negotiated_key_exchange_group()
            .map(|group| u16::from(group.name())),
        Some(0x0018)
    );
}

#[test]
fn a_group_the_client_did_not_share_for_costs_a_retry() {
    let target = start(ServerTls {
        groups: Some(vec![0x0018]),
        ..ServerTls::default()
    });
    let kind = handshake_and_exchange(&target, &trusting(&target, &[&TLS13]));
    assert_eq!(kind, HandshakeKind::FullWithHelloRetryRequest);
    let counts = target.stop();
    assert_eq!((counts.handshakes_full, counts.handshakes_retried), (1, 1));
}

#[test]
fn options_that_do_not_exist_are_refused_by_name() {
    let suites = ServerTls {
        cipher_suites: Some(vec![0x002f]),
        ..ServerTls::default()
    };
    let groups = ServerTls {
        groups: Some(vec![0x0016]),
        ..ServerTls::default()
    };
    let client_ca = ServerTls {
        client_ca_pem: Some("nothing".to_owned()),
        ..ServerTls::default()
    };
    for (tls, message) in [
        (suites, "cipher suite 0x002f"),
        (groups, "group 0x0016"),
        (client_ca, "client CA"),
    ] {
        let error = RunningTarget::new(Config {
            tls: Some(tls),
            ..Config::default()
        })
        .err()
        .unwrap();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn a_client_certificate_is_required_and_counted() {
    let authority = TestAuthority::new(KeyKind::P256).unwrap();
    let stranger = TestAuthority::new(KeyKind::P256).unwrap();
    for version in [&TLS12, &TLS13] {
        let target = start(ServerTls {
            client_ca_pem: Some(authority.pem().to_owned()),
            ..ServerTls::default()
        });
        exchange(&mut Client::tls(&target, &identified(&target, version, &authority)).unwrap());
        for config in [
            trusting(&target, &[version]),
            identified(&target, version, &stranger),
        ] {
            assert!(refused_with_an_alert(&target, &config));
        }
        let counts = target.stop();
        assert_eq!(
            (
                counts.handshakes_full,
                counts.client_certificates,
                counts.handshakes_failed
            ),
            (1, 1, 2)
        );
    }
}

fn identified(
    target: &RunningTarget,
    version: &'static SupportedProtocolVersion,
    authority: &TestAuthority,
) -> Arc<ClientConfig> {
    let identity = authority.client("user").unwrap();
    let chain = vec![CertificateDer::from_pem_slice(identity.cert_pem.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).unwrap();
    let builder = ClientConfig::builder_with_protocol_versions(&[version])
        .with_root_certificates(roots(target));
    Arc::new(builder.with_client_auth_cert(chain, key).unwrap())
}

/// With TLS 1.3 a client learns only after its handshake that its certificate is refused.
fn refused_with_an_alert(target: &RunningTarget, config: &Arc<ClientConfig>) -> bool {
    let error = match Client::tls(target, config) {
        Err(error) => error,
        Ok(mut client) => client.receive_all().1.unwrap_err(),
    };
    let cause = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::AlertReceived(_)))
}

#[test]
fn unsound_certificates_have_just_their_fault() {
    use rustls::CertificateError::{
        ExpiredContext, NotValidForNameContext, NotValidYetContext, UnknownIssuer,
    };
    let check = |fault, fits: fn(&rustls::CertificateError) -> bool| {
        let target = start(ServerTls {
            certificate_fault: Some(fault),
            ..ServerTls::default()
        });
        let error = Client::tls(&target, &trusting(&target, &[&TLS13]))
            .err()
            .unwrap();
        let cause = error
            .get_ref()
            .and_then(|cause| cause.downcast_ref::<rustls::Error>());
        assert!(
            matches!(cause, Some(rustls::Error::InvalidCertificate(reason)) if fits(reason)),
            "{fault:?}: {error}"
        );
    };
    check(CertificateDefect::Expired, |reason| {
        matches!(reason, ExpiredContext { .. })
    });
    check(CertificateDefect::NotYetValid, |reason| {
        matches!(reason, NotValidYetContext { .. })
    });
    check(CertificateDefect::WrongName, |reason| {
        matches!(reason, NotValidForNameContext { .. })
    });
    check(CertificateDefect::SelfSigned, |reason| {
        matches!(reason, UnknownIssuer)
    });
}

#[test]
fn names_are_added_to_the_certificate() {
    let target = start(ServerTls {
        names: vec!["edge.test".to_owned(), "10.0.0.11".to_owned()],
        ..ServerTls::default()
    });
    let client = Client::tls(&target, &trusting(&target, &[&TLS13])).unwrap();
    let leaf = &client.session().peer_certificates().unwrap()[0];
    let leaf = rustls::server::ParsedCertificate::try_from(leaf).unwrap();
    for name in ["localhost", "127.0.0.1", "::1", "edge.test", "10.0.0.11"] {
        let name = ServerName::try_from(name).unwrap();
        rustls::client::verify_server_name(&leaf, &name).unwrap();
    }
}

#[test]
fn the_staple_is_sent_as_it_is() {
    let staple = b"whatever stands for an OCSP response".to_vec();
    for version in [&TLS12, &TLS13] {
        let target = start(ServerTls {
            ocsp_staple: Some(staple.clone()),
            ..ServerTls::default()
        });
        let seen = Arc::new(StapleSeen::default());
        let builder = ClientConfig::builder_with_protocol_versions(&[version]).dangerous();
        let config = builder
            .with_custom_certificate_verifier(seen.clone())
            .with_no_client_auth();
        Client::tls(&target, &Arc::new(config)).unwrap();
        assert_eq!(*seen.0.lock().unwrap(), staple);
    }
}

/// Accepts any certificate and keeps the staple that came with it.
#[derive(Debug, Default)]
struct StapleSeen(Mutex<Vec<u8>>);

impl ServerCertVerifier for StapleSeen {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        staple: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.0.lock().unwrap() = staple.to_vec();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
