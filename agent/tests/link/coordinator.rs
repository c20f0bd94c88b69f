//! A coordinator that says what a test tells it to.

use control::{COORDINATOR_NAME, Digest, JoinSecret, LEASE, RunId, Token};
use proto::control_server::{Control, ControlServer};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Bytes, FromAgent, FromCoordinator, Grant, Hello, Resume, Welcome};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::DuplexStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tonic::codegen::tokio_stream::Stream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// Longer than anything takes here, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

const SECRET: [u8; 32] = [7; 32];

/// A coordinator that listens.
pub struct Coordinator {
    pub address: SocketAddr,
    pub token: Token,
    streams: mpsc::Receiver<Attached>,
}

/// One stream of an agent.
pub struct Attached {
    incoming: Streaming<FromAgent>,
    outgoing: mpsc::Sender<FromCoordinator>,
    /// The run for which beats get a lease.
    pub lease: Option<RunId>,
    /// When beats arrived.
    pub beats: Vec<Instant>,
}

impl Coordinator {
    pub async fn start() -> Coordinator {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tls, ca_sha256) = tls();
        let (attach, streams) = mpsc::channel(4);
        let (io, incoming) = mpsc::channel(4);
        tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(tls)), io));
        let service = ControlServer::new(Service { attach });
        let forever = std::future::pending();
        tokio::spawn(Server::builder().serve_with_incoming_shutdown(
            service,
            Received(incoming),
            forever,
        ));
        Coordinator {
            address,
            token: Token::new(ca_sha256.0, JoinSecret::new(SECRET)),
            streams,
        }
    }

    /// The next stream, before anything is sent on it.
    pub async fn stream(&mut self) -> Attached {
        timeout(PATIENCE, self.streams.recv())
            .await
            .expect("a stream in time")
            .expect("a server")
    }

    /// The next stream and its hello, after answering it.
    pub async fn welcome(&mut self, resume: Option<Resume>) -> (Attached, Hello) {
        let mut stream = self.stream().await;
        let Some(Up::Hello(hello)) = stream.next().await else {
            panic!("the first message is no hello")
        };
        let coordinator_id = Bytes::from_static(&[9; 16]);
        stream
            .say(Down::Welcome(Welcome {
                coordinator_version: "1".into(),
                clock_id: coordinator_id.clone(),
                coordinator_id,
                resumes: resume.into_iter().collect(),
            }))
            .await;
        (stream, hello)
    }
}

impl Attached {
    pub async fn say(&self, message: Down) {
        self.outgoing
            .send(FromCoordinator {
                message: Some(message),
            })
            .await
            .unwrap();
    }

    /// The agent's next message; `None` at the end. Beats are answered and left out.
    pub async fn next(&mut self) -> Option<Up> {
        loop {
            let message = timeout(PATIENCE, self.incoming.message())
                .await
                .expect("a message in time")
                .ok()??;
            match message.message? {
                Up::Beat(beat) => {
                    self.beats.push(Instant::now());
                    self.grant(beat.sequence).await;
                }
                message => return Some(message),
            }
        }
    }

    async fn grant(&self, sequence: u64) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let coordinator_at_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let lease_ns = self.lease.map_or(0, |_| LEASE.as_nanos() as u64);
        let run_id = self.lease.map(RunId::to_wire).unwrap_or_default();
        self.say(Down::Grant(Grant {
            sequence,
            coordinator_at_ns,
            lease_ns,
            run_id,
        }))
        .await;
    }
}

struct Service {
    attach: mpsc::Sender<Attached>,
}

#[tonic::async_trait]
impl Control for Service {
    type AttachStream = Outgoing;

    async fn attach(
        &self,
        request: Request<Streaming<FromAgent>>,
    ) -> Result<Response<Outgoing>, Status> {
        let authorization = request
            .metadata()
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        assert_eq!(authorization, Some(&*JoinSecret::new(SECRET).bearer()));
        let (outgoing, receiver) = mpsc::channel(64);
        let attached = Attached {
            incoming: request.into_inner(),
            outgoing,
            lease: None,
            beats: Vec::new(),
        };
        self.attach
            .send(attached)
            .await
            .map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(Outgoing(receiver)))
    }
}

struct Outgoing(mpsc::Receiver<FromCoordinator>);

impl Stream for Outgoing {
    type Item = Result<FromCoordinator, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|message| message.map(Ok))
    }
}

struct Received(mpsc::Receiver<std::io::Result<DuplexStream>>);

impl Stream for Received {
    type Item = std::io::Result<DuplexStream>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// Decrypts connections and passes their content on.
async fn accept(
    listener: TcpListener,
    tls: TlsAcceptor,
    io: mpsc::Sender<std::io::Result<DuplexStream>>,
) {
    while let Ok((tcp, _)) = listener.accept().await {
        tokio::spawn(relay(tls.clone(), tcp, io.clone()));
    }
}

async fn relay(tls: TlsAcceptor, tcp: TcpStream, io: mpsc::Sender<std::io::Result<DuplexStream>>) {
    let Ok(mut outside) = tls.accept(tcp).await else {
        return;
    };
    let (mut inside, server) = tokio::io::duplex(64 << 10);
    if io.send(Ok(server)).await.is_ok() {
        let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
    }
}

/// A certificate for the name that agents expect, and the hash of the CA behind it.
pub fn tls() -> (ServerConfig, Digest) {
    let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut ca = CertificateParams::new(Vec::<String>::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let leaf = CertificateParams::new(vec![COORDINATOR_NAME.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    let chain = vec![leaf.der().clone(), ca_certificate.der().clone()];
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap();
    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = config
        .with_no_client_auth()
        .with_single_cert(chain, private.into())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    (config, Digest::from_content(ca_certificate.der()))
}
