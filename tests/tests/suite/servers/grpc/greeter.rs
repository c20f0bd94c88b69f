//! A gRPC server made with tonic, which counts what it answers, and describes itself.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use interop::Pki;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use target::KeyKind;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;
use tonic::codegen::tokio_stream::Stream;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;

/// The service as its clients know it.
pub const PROTO: &str = r#"
    syntax = "proto3";
    package greet;
    service Greeter {
        rpc SayHello(Hello) returns (Hello);
        rpc Repeat(Hello) returns (stream Hello);
    }
    message Hello {
        string name = 1;
        int32 status = 2;
        repeated Hello more = 3;
        int32 times = 4;
        int32 every_ms = 5;
        int64 number = 6;
        repeated sint64 numbers = 7;
        double share = 8;
    }
"#;

#[derive(Clone, PartialEq, prost::Message)]
struct Hello {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    status: i32,
    #[prost(message, repeated, tag = "3")]
    more: Vec<Hello>,
    /// How often it is sent back in a stream, and how far apart.
    #[prost(int32, tag = "4")]
    times: i32,
    #[prost(int32, tag = "5")]
    every_ms: i32,
    #[prost(int64, tag = "6")]
    number: i64,
    #[prost(sint64, repeated, tag = "7")]
    numbers: Vec<i64>,
    #[prost(double, tag = "8")]
    share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Plain,
    Tls,
}

/// What the server saw.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub by_status: BTreeMap<i32, u64>,
    /// Names of messages, with those within them.
    pub by_name: BTreeMap<String, u64>,
    /// Numbers of messages that have any: `number`, `numbers` and `share` of the first within.
    pub by_numbers: BTreeMap<(i64, Vec<i64>, String), u64>,
    /// `x-id`, credentials and deadline of each call that has the first of these.
    pub fields: Vec<String>,
    /// Messages that were handed to the connections of streams.
    pub streamed: u64,
}

/// The server, which ends with its process.
pub struct Greeter {
    address: SocketAddr,
    transport: Transport,
    seen: Arc<Mutex<Seen>>,
}

impl Greeter {
    /// Starts it; after `longest` it lets a connection end (GOAWAY).
    pub fn start(transport: Transport, pki: &Pki, longest: Duration) -> Greeter {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let acceptor = (transport == Transport::Tls).then(|| acceptor(pki));
        let service = GreeterService(Arc::clone(&seen));
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        thread::spawn(move || runtime.block_on(serve(listener, acceptor, service, longest)));
        Greeter {
            address,
            transport,
            seen,
        }
    }

    pub fn url(&self) -> String {
        let port = self.address.port();
        match self.transport {
            Transport::Plain => format!("http://127.0.0.1:{port}/"),
            Transport::Tls => format!("https://localhost:{port}/"),
        }
    }

    pub fn transport(&self) -> Transport {
        self.transport
    }

    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

fn acceptor(pki: &Pki) -> TlsAcceptor {
    let files = pki.server(KeyKind::P256);
    let chain = CertificateDer::pem_file_iter(&files.cert).unwrap();
    let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    service: GreeterService,
    longest: Duration,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let (to_server, mut accepted) = tokio::sync::mpsc::channel::<io::Result<Socket>>(64);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, to_server) = (acceptor.clone(), to_server.clone());
            tokio::spawn(async move {
                let socket = match acceptor {
                    None => Ok(Socket::Plain(stream)),
                    Some(acceptor) => {
                        let accepted = acceptor.accept(stream).await;
                        accepted.map(|stream| Socket::Tls(Box::new(stream)))
                    }
                };
                if socket.is_ok() {
                    let _ = to_server.send(socket).await;
                }
            });
        }
    });
    let sockets = Polled(move |context: &mut Context<'_>| accepted.poll_recv(context));
    let server = Server::builder().max_connection_age(longest);
    server.serve_with_incoming(service, sockets).await.unwrap();
}

/// A function as a stream.
struct Polled<F>(F);

impl<F, T> Stream for Polled<F>
where
    F: FnMut(&mut Context<'_>) -> Poll<Option<T>> + Unpin,
{
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        (self.0)(context)
    }
}

#[derive(Clone)]
struct GreeterService(Arc<Mutex<Seen>>);

impl Service<http::Request<tonic::body::Body>> for GreeterService {
    type Response = http::Response<tonic::body::Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        if request.uri().path().starts_with("/grpc.reflection.") {
            return Box::pin(describe(request));
        }
        let service = self.clone();
        let is_streamed = match request.uri().path() {
            "/greet.Greeter/SayHello" => false,
            "/greet.Greeter/Repeat" => true,
            other => panic!("{other} is called"),
        };
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::default());
            Ok(match is_streamed {
                false => grpc.unary(service, request).await,
                true => grpc.server_streaming(service, request).await,
            })
        })
    }
}

/// The descriptor set of [`PROTO`].
pub fn descriptors() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("greet.proto"), PROTO).unwrap();
    let set = protox::compile(["greet.proto"], [folder.path()]).unwrap();
    prost::Message::encode_to_vec(&set)
}

/// Answers by tonic's own reflection, in the older version if no other was asked for.
async fn describe(
    request: http::Request<tonic::body::Body>,
) -> Result<http::Response<tonic::body::Body>, std::convert::Infallible> {
    let set = descriptors();
    let builder = tonic_reflection::server::Builder::configure();
    let builder = builder.register_encoded_file_descriptor_set(&set);
    if request.uri().path().contains(".v1.") {
        return builder.build_v1().unwrap().call(request).await;
    }
    builder.build_v1alpha().unwrap().call(request).await
}

impl UnaryService<Hello> for GreeterService {
    type Response = Hello;
    type Future = BoxFuture<Response<Hello>, Status>;

    fn call(&mut self, request: Request<Hello>) -> Self::Future {
        let answer = self.answer(&request);
        Box::pin(async move { answer })
    }
}

/// Messages, and the status behind them.
type Messages = Pin<Box<dyn Stream<Item = Result<Hello, Status>> + Send>>;

impl ServerStreamingService<Hello> for GreeterService {
    type Response = Hello;
    type ResponseStream = Messages;
    type Future = BoxFuture<Response<Messages>, Status>;

    fn call(&mut self, request: Request<Hello>) -> Self::Future {
        let (answer, seen) = (self.answer(&request), Arc::clone(&self.0));
        let hello = request.into_inner();
        let (to_client, mut messages) = tokio::sync::mpsc::channel(1);
        tokio::spawn(async move {
            for _ in 0..hello.times {
                tokio::time::sleep(Duration::from_millis(hello.every_ms as u64)).await;
                if to_client.send(Ok(hello.clone())).await.is_err() {
                    return;
                }
                seen.lock().unwrap().streamed += 1;
            }
            if let Err(status) = answer {
                let _ = to_client.send(Err(status)).await;
            }
        });
        let messages = Polled(move |context: &mut Context<'_>| messages.poll_recv(context));
        Box::pin(async move { Ok(Response::new(Box::pin(messages) as Messages)) })
    }
}

impl GreeterService {
    fn answer(&self, request: &Request<Hello>) -> Result<Response<Hello>, Status> {
        let (fields, hello) = (request.metadata(), request.get_ref());
        let field = |name: &str| fields.get(name).map_or("", |value| value.to_str().unwrap());
        let mut seen = self.0.lock().unwrap();
        *seen.by_status.entry(hello.status).or_default() += 1;
        let more: Vec<&str> = hello.more.iter().map(|more| more.name.as_str()).collect();
        let name = format!("{} {}", hello.name, more.join(" "));
        *seen.by_name.entry(name).or_default() += 1;
        if let Some(inner) = hello.more.first().filter(|_| hello.number != 0) {
            let numbers = (hello.number, inner.numbers.clone(), inner.share.to_string());
            *seen.by_numbers.entry(numbers).or_default() += 1;
        }
        if !field("x-id").is_empty() {
            let all = ["x-id", "authorization", "grpc-timeout"].map(field);
            seen.fields.push(all.join(" "));
        }
        match hello.status {
            0 => Ok(Response::new(hello.clone())),
            // Some servers say what they were sent.
            code if hello.name == "credentials" => {
                let said = told_of_credentials(field("authorization"));
                Err(Status::new(Code::from_i32(code), said))
            }
            code => Err(Status::new(Code::from_i32(code), "as asked: 100 %")),
        }
    }
}

/// Credentials as servers repeat them: as they came, shortened, and the name with the password.
fn told_of_credentials(authorization: &str) -> String {
    let (_, word) = authorization.split_once(' ').unwrap();
    let decoded = BASE64_STANDARD.decode(word).unwrap_or_default();
    let decoded = String::from_utf8(decoded).unwrap_or_default();
    format!("not valid: {authorization}, {word:.10}...; {decoded}")
}

/// A connection with or without TLS.
enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connected for Socket {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

/// Makes the call on the stream of either kind.
macro_rules! of_either {
    ($socket:expr, $call:ident ( $($argument:expr),* )) => {
        match $socket.get_mut() {
            Socket::Plain(stream) => Pin::new(stream).$call($($argument),*),
            Socket::Tls(stream) => Pin::new(stream).$call($($argument),*),
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        of_either!(self, poll_read(context, buffer))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, poll_shutdown(context))
    }
}
