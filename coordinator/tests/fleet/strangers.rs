//! Peers that take places and send nothing, or not enough.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::{LOOPBACK, PATIENCE, Script, fleet, request, until, until_done};
use crate::machine::Machine;
use agent::link::News;
use control::{JoinSecret, RunEvent, Token};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long a newcomer may take to join, whatever strangers do.
const JOINED_MAX: Duration = Duration::from_secs(5);

/// The last thing that a stranger does before it falls silent.
#[derive(Debug, Clone)]
enum Silence {
    Tcp,
    Tls,
    Preface,
    /// It asks for the stream with this token.
    Attach(Token),
}

/// Accepts any certificate: a stranger does not care whom it disturbs.
#[derive(Debug)]
struct Careless;

impl ServerCertVerifier for Careless {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn careless() -> TlsConnector {
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Careless))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// The connection that a stranger holds open. Errors are the coordinator's answer, and welcome.
enum Held {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Held {
    /// Waits until the coordinator ends it, and ignores whatever comes meanwhile.
    async fn ended(self) {
        let mut bytes = [0; 1024];
        match self {
            Held::Tcp(mut tcp) => while tcp.read(&mut bytes).await.is_ok_and(|n| n > 0) {},
            Held::Tls(mut tls) => while tls.read(&mut bytes).await.is_ok_and(|n| n > 0) {},
        }
    }
}

async fn stranger(to: SocketAddr, tls: TlsConnector, silence: Silence) -> Option<Held> {
    let tcp = TcpStream::connect(to).await.ok()?;
    if matches!(silence, Silence::Tcp) {
        return Some(Held::Tcp(tcp));
    }
    let name = ServerName::try_from(control::COORDINATOR_NAME).unwrap();
    let mut tls = Box::new(tls.connect(name, tcp).await.ok()?);
    let said = match silence {
        Silence::Tcp | Silence::Tls => Vec::new(),
        Silence::Preface => preface(),
        Silence::Attach(token) => [preface(), attach(&token)].concat(),
    };
    tls.write_all(&said).await.ok()?;
    Some(Held::Tls(tls))
}

/// The preface, and SETTINGS without any setting (RFC 9113, section 3.4).
fn preface() -> Vec<u8> {
    [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &frame(4, 0, 0, &[]),
    ]
    .concat()
}

/// HEADERS of a stream that stays open (only END_HEADERS), each a literal that is not indexed.
fn attach(token: &Token) -> Vec<u8> {
    let headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "coordinator.cannonade"),
        (":path", "/cannonade.control.v1.Control/Attach"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("authorization", &token.secret().bearer()),
    ];
    let mut block = Vec::new();
    for (name, value) in headers {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    frame(1, 4, 1, &block)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn raise_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).expect("raising to the hard limit");
}

/// Fires for some seconds, and sends nothing but intervals.
fn busy() -> Script {
    Script {
        interval_bytes: vec![100; 200],
        every: Duration::from_millis(50),
        ..Script::default()
    }
}

async fn assert_joins_within(most: Duration, to: SocketAddr, token: &Token) {
    let begun = Instant::now();
    let mut newcomer = Machine::start(to, token, Script::default());
    loop {
        if let News::Joined { .. } = newcomer.news().await {
            break;
        }
    }
    let took = begun.elapsed();
    assert!(took < most, "joined after {took:?}");
    newcomer.quit().await.expect("an idle agent leaves at once");
}

fn assert_nobody_was_lost(events: &[RunEvent]) {
    let is_loss =
        |event: &&RunEvent| matches!(event, RunEvent::Gone { .. } | RunEvent::Lost { .. });
    assert_eq!(events.iter().find(is_loss), None);
}

#[tokio::test]
async fn two_thousand_strangers_keep_no_agent_out_and_no_member_is_lost() {
    raise_files();
    let (fleet, token) = fleet().await;
    let to = fleet.address();
    let _member = Machine::start(to, &token, busy());
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    let mut seen = until(&mut events, |event| matches!(event, RunEvent::Began { .. })).await;
    let wrong = Token::new(token.ca_sha256(), JoinSecret::new([1; 32]));
    // Handshakes cost this process twice, as client and server, so there are fewer of them.
    let silences = [
        (1_200, Silence::Tcp),
        (200, Silence::Tls),
        (200, Silence::Preface),
        (200, Silence::Attach(wrong)),
        (200, Silence::Attach(token.clone())),
    ];
    let tls = careless();
    let mut coming = JoinSet::new();
    for (count, silence) in silences {
        for _ in 0..count {
            coming.spawn(stranger(to, tls.clone(), silence.clone()));
        }
    }
    // While they come in, their handshakes take most of this process's time.
    assert_joins_within(PATIENCE, to, &token).await;
    let all = timeout(PATIENCE, coming.join_all())
        .await
        .expect("an answer to each");
    assert_joins_within(JOINED_MAX, to, &token).await;
    // Each is sent away within its deadline; a busy machine gets some more time.
    let mut held = JoinSet::new();
    for one in all.into_iter().flatten() {
        held.spawn(one.ended());
    }
    let ended = timeout(Duration::from_secs(10), async {
        while held.join_next().await.is_some() {}
    });
    let ended = ended.await;
    assert!(ended.is_ok(), "{} strangers are still here", held.len());
    events.stop(control::Stop::Now).await;
    seen.extend(until_done(&mut events).await);
    assert_nobody_was_lost(&seen);
    fleet.shut_down().await;
}

#[tokio::test]
async fn slow_stranger_each_millisecond_keeps_no_agent_out() {
    raise_files();
    let (fleet, token) = fleet().await;
    let to = fleet.address();
    let _member = Machine::start(to, &token, busy());
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    let mut seen = until(&mut events, |event| matches!(event, RunEvent::Began { .. })).await;
    let flood = tokio::spawn(async move {
        let mut each = interval(Duration::from_millis(1));
        // If the machine falls behind, missed ticks do not come all at once.
        each.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut slow = JoinSet::new();
        for _ in 0..5_000 {
            each.tick().await;
            slow.spawn(trickle(to));
        }
        slow.join_all().await;
    });
    for _ in 0..10 {
        assert_joins_within(JOINED_MAX, to, &token).await;
    }
    flood.abort();
    events.stop(control::Stop::Now).await;
    seen.extend(until_done(&mut events).await);
    assert_nobody_was_lost(&seen);
    fleet.shut_down().await;
}

/// Sends half of a record's head, one byte now and then.
async fn trickle(to: SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(LOOPBACK).unwrap();
    let Ok(mut tcp) = socket.connect(to).await else {
        return;
    };
    let mut each = interval(Duration::from_millis(500));
    for byte in [0x16, 0x03, 0x01, 0x02] {
        each.tick().await;
        if tcp.write_all(&[byte]).await.is_err() {
            return;
        }
    }
}
