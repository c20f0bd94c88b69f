//! `coordinator import grpc://…`: asks a server that describes itself (gRPC's reflection) for the
//! descriptor set that plans name.

use crate::exit::Exit;
use crate::terminal;
use analysis::human::counted;
use anyhow::{Context as _, anyhow};
use hyper_util::rt::TokioIo;
use protobuf::{ReflectedSet, Reflection, ReflectionRequest, ReflectionResponse};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream::Stream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

/// How long a server may take to be connected to, and for each answer.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(20);
/// How long it may take for everything: some have thousands of files.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// The largest answer that is read: one file can be a whole set.
const ANSWER_MAX: usize = 32 << 20;
/// The service by which servers describe themselves, newest version first.
const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// A gRPC server, as typed: `grpc://HOST:PORT`, or `grpcs://HOST:PORT` for TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GrpcServer {
    is_secure: bool,
    /// A name or an address, without brackets.
    host: String,
    port: u16,
    /// Host and port, as typed.
    authority: String,
}

impl GrpcServer {
    /// Whether the argument of `import` means a server, and no file.
    pub(super) fn is_meant_by(argument: &str) -> bool {
        let scheme = argument.split_once("://").map(|(scheme, _)| scheme);
        matches!(scheme, Some("grpc" | "grpcs" | "http" | "https"))
    }
}

impl FromStr for GrpcServer {
    type Err = String;

    fn from_str(text: &str) -> Result<GrpcServer, String> {
        let wrong = |why: &str| {
            Err(format!(
                "{text}: {why}; write such as grpc://127.0.0.1:50051, or grpcs:// for TLS"
            ))
        };
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let is_secure = match scheme {
            "grpc" => false,
            "grpcs" => true,
            _ => return wrong("a log is a file, and a gRPC server has another scheme"),
        };
        let Ok(authority) = rest
            .trim_end_matches('/')
            .parse::<tonic::codegen::http::uri::Authority>()
        else {
            return wrong("this is no host with a port");
        };
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let has_port = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(port) => port,
            None if has_port => return wrong("this is no host with a port"),
            None if is_secure => 443,
            None => return wrong("it has no port"),
        };
        if host.is_empty() || authority.as_str().contains('@') {
            return wrong("this is no host with a port");
        }
        Ok(GrpcServer {
            is_secure,
            host,
            port,
            authority: authority.to_string(),
        })
    }
}

/// Prints the descriptor set of a server's services; of all if none is named.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn reflect(server: &GrpcServer, services: &[String]) -> anyhow::Result<Exit> {
    if io::stdout().is_terminal() {
        terminal::say("a descriptor set is no text; write it to a file by adding > api.binpb");
        return Ok(Exit::Usage);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    let asked = runtime.block_on(async {
        let asked = tokio::time::timeout(WAIT_MAX, ask(server, services)).await;
        asked.unwrap_or_else(|_| Err(anyhow!("no whole answer within {WAIT_MAX:?}")))
    });
    // A lookup that is still under way must not hold up the end.
    runtime.shutdown_background();
    let set = match asked {
        Ok(set) => set,
        Err(why) => {
            terminal::say(format_args!("{}: {why:#}", server.authority));
            return Ok(Exit::Usage);
        }
    };
    match write(&set.bytes) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            return Err(error).context("cannot write the descriptor set");
        }
        _ => terminal::say(summary(&server.authority, &set)),
    }
    Ok(Exit::Passed)
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()
}

fn summary(authority: &str, set: &ReflectedSet) -> String {
    let mut lines = vec![format!(
        "{authority}: {}, {}, {}",
        counted(set.services.len() as u64, "service"),
        counted(set.files as u64, "file"),
        counted(set.bytes.len() as u64, "byte")
    )];
    let line = |(service, methods): &(String, Vec<String>)| match &methods[..] {
        [] => format!("  {service}, without methods"),
        methods => format!("  {service}/{}", methods.join(", ")),
    };
    lines.extend(set.services.iter().map(line));
    lines.join("\n")
}

async fn ask(server: &GrpcServer, services: &[String]) -> anyhow::Result<ReflectedSet> {
    let channel = in_time(channel(server))
        .await
        .map_err(|it| refused(&it))??;
    for path in PATHS {
        match converse(channel.clone(), path, services).await {
            Err(Failed::Status(status)) if status.code() == Code::Unimplemented => {}
            Err(Failed::Status(status)) => return Err(refused(&status)),
            Err(Failed::Wrong(why)) => return Err(anyhow!(why)),
            Ok(set) => return Ok(set),
        }
    }
    Err(anyhow!(
        "does not describe itself; switch gRPC reflection on there, or make the file from the \
         .proto files: protoc --include_imports --descriptor_set_out=api.binpb api.proto"
    ))
}

fn refused(status: &Status) -> anyhow::Error {
    let cure = match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => {
            "; it asks for a login, so make the file from the .proto files by protoc or buf"
        }
        Code::Unavailable | Code::Internal | Code::Unknown => {
            "; is this a gRPC server, and does its port have TLS? grpc:// is without, grpcs:// with"
        }
        Code::NotFound => "; without --services all are taken",
        _ => "",
    };
    anyhow!("{} ({:?}){cure}", status.message(), status.code())
}

/// How a conversation failed.
enum Failed {
    /// The server ended it.
    Status(Status),
    /// The server said something that cannot be used.
    Wrong(String),
}

impl From<Status> for Failed {
    fn from(status: Status) -> Failed {
        Failed::Status(status)
    }
}

/// One conversation: a question, its answer, and so on.
async fn converse(
    channel: Channel,
    path: &'static str,
    names: &[String],
) -> Result<ReflectedSet, Failed> {
    let mut client = tonic::client::Grpc::new(channel).max_decoding_message_size(ANSWER_MAX);
    let lost = |error: tonic::transport::Error| Status::unavailable(error.to_string());
    in_time(client.ready()).await?.map_err(lost)?;
    let (questions, waiting) = mpsc::channel(1);
    let codec = tonic_prost::ProstCodec::<ReflectionRequest, ReflectionResponse>::default();
    let mut reflection = Reflection::new(names);
    let Some(mut question) = reflection.next_request() else {
        return Err(Failed::Wrong("nothing is asked".to_owned()));
    };
    // Servers may answer with headers only once they have read the first question.
    let ended = || Failed::Wrong("ended the conversation before its last answer".to_owned());
    questions.try_send(question).map_err(|_| ended())?;
    let request = tonic::Request::new(Questions(waiting));
    let path = PathAndQuery::from_static(path);
    let answers = in_time(client.streaming(request, path, codec)).await??;
    let mut answers = answers.into_inner();
    loop {
        let answer = in_time(answers.message()).await??.ok_or_else(ended)?;
        reflection.take(answer).map_err(Failed::Wrong)?;
        question = match reflection.next_request() {
            Some(question) => question,
            None => return reflection.finish().map_err(Failed::Wrong),
        };
        questions.send(question).await.map_err(|_| ended())?;
    }
}

/// Waits for one answer of the server.
async fn in_time<T>(answer: impl Future<Output = T>) -> Result<T, Status> {
    let answer = tokio::time::timeout(ANSWER_WAIT_MAX, answer).await;
    answer.map_err(|_| Status::deadline_exceeded(format!("no answer within {ANSWER_WAIT_MAX:?}")))
}

/// The questions of a conversation.
struct Questions(mpsc::Receiver<ReflectionRequest>);

impl Stream for Questions {
    type Item = ReflectionRequest;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

async fn channel(server: &GrpcServer) -> anyhow::Result<Channel> {
    let tcp = TcpStream::connect((server.host.as_str(), server.port)).await;
    let tcp = tcp.context("cannot connect; is the server up, and is this its port?")?;
    let scheme = if server.is_secure { "https" } else { "http" };
    let endpoint = Endpoint::try_from(format!("{scheme}://{}", server.authority))?;
    let connected = if server.is_secure {
        let name = ServerName::try_from(server.host.clone())?;
        let tls = TlsConnector::from(Arc::new(client_config()?))
            .connect(name, tcp)
            .await;
        let tls = tls.context(
            "TLS failed; grpc:// is without TLS, and SSL_CERT_FILE names a PEM file with the \
             authority of a private certificate",
        )?;
        over(&endpoint, TokioIo::new(tls)).await
    } else {
        over(&endpoint, TokioIo::new(tcp)).await
    };
    connected.context("HTTP/2 is not spoken there; grpc:// is without TLS, grpcs:// with")
}

/// Speaks HTTP/2 over a connection that is made already.
async fn over<C>(endpoint: &Endpoint, connection: C) -> Result<Channel, tonic::transport::Error>
where
    C: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let mut connection = Some(connection);
    let take = move |_| {
        let connection = connection.take();
        std::future::ready(connection.ok_or_else(|| io::Error::from(ErrorKind::NotConnected)))
    };
    endpoint
        .connect_with_connector(tower::service_fn(take))
        .await
}

fn client_config() -> anyhow::Result<ClientConfig> {
    let mut config = ClientConfig::builder()
        .with_root_certificates(exposition::platform_roots()?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_with_their_port() {
        let read = |text: &str| {
            text.parse::<GrpcServer>()
                .map(|it| (it.is_secure, it.host, it.port))
        };
        assert_eq!(read("grpc://a:50051"), Ok((false, "a".to_owned(), 50051)));
        assert_eq!(read("grpcs://a"), Ok((true, "a".to_owned(), 443)));
        assert_eq!(read("grpcs://[::1]:7/"), Ok((true, "::1".to_owned(), 7)));
        for (text, why) in [
            ("grpc://a", "it has no port"),
            ("grpc://", "this is no host with a port"),
            ("grpc://a:b", "this is no host with a port"),
            ("grpcs://a:b", "this is no host with a port"),
            ("grpcs://a:", "this is no host with a port"),
            ("grpc://a:70000", "this is no host with a port"),
            ("grpc://a:1/path", "this is no host with a port"),
            ("grpc://u:p@a:1", "this is no host with a port"),
            (
                "https://a:1",
                "a log is a file, and a gRPC server has another scheme",
            ),
        ] {
            let said = read(text).unwrap_err();
            let expected = format!("{text}: {why}; write such as grpc://127.0.0.1:50051");
            assert!(said.starts_with(&expected), "{said}");
        }
    }
}
