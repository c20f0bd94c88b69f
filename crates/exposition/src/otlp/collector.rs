//! One push to a collector: a connection, a request, an answer.

use super::endpoint::OtlpEndpoint;
use super::headers::OtlpHeaders;
use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// How long a push may take: the next one has the same figures, and newer ones.
const PUSH_MAX: Duration = Duration::from_secs(3);

/// How many bytes of an answer are read.
const ANSWER_MAX: usize = 64 << 10;

/// The longest pause that a collector is granted.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The collector that pushes go to.
#[derive(Debug)]
pub(super) struct OtlpCollector {
    endpoint: OtlpEndpoint,
    headers: OtlpHeaders,
    /// `None` for plain HTTP.
    tls: Option<CollectorTls>,
}

/// A push that did not arrive, or not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedPush {
    /// Why, and what to do.
    pub(super) why: String,
    /// How long the collector asks not to be pushed to.
    pub(super) pause: Option<Duration>,
    /// Whether it took all but some points: OTLP forbids sending the same again.
    pub(super) is_taken: bool,
}

struct CollectorTls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl std::fmt::Debug for CollectorTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CollectorTls")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl OtlpCollector {
    /// A collector that is pushed to with the header fields of the environment.
    ///
    /// # Errors
    /// These are not valid, or this machine has no trusted roots for HTTPS.
    pub(super) fn new(endpoint: OtlpEndpoint) -> anyhow::Result<OtlpCollector> {
        let tls = endpoint
            .is_secure
            .then(|| CollectorTls::new(&endpoint.host));
        Ok(OtlpCollector {
            headers: OtlpHeaders::from_environment()?,
            tls: tls.transpose()?,
            endpoint,
        })
    }

    /// Sends the body of a push.
    pub(super) async fn push(&self, body: Vec<u8>) -> Result<(), FailedPush> {
        let sent = tokio::time::timeout(PUSH_MAX, self.send(body)).await;
        let late = || anyhow::anyhow!("no answer within {PUSH_MAX:?}");
        let sent = sent.unwrap_or_else(|_| Err(late()));
        let (head, answer) = sent.map_err(|error| FailedPush {
            why: format!(
                "{error:#}; does a collector take OTLP over HTTP there? that has port 4318, and \
                 4317 is gRPC"
            ),
            pause: None,
            is_taken: false,
        })?;
        judge(&head, &answer)
    }

    async fn send(&self, body: Vec<u8>) -> anyhow::Result<(Response<()>, Bytes)> {
        let tcp = TcpStream::connect(&self.addresses().await?[..]).await?;
        let Some(tls) = &self.tls else {
            return self.exchange(tcp, body).await;
        };
        let stream = tls.connector.connect(tls.name.clone(), tcp).await;
        self.exchange(stream.context("TLS")?, body).await
    }

    /// The collector's addresses. They are looked up on a thread that is never joined: a resolver
    /// that does not answer would otherwise hold up the end of the process.
    async fn addresses(&self) -> anyhow::Result<Vec<SocketAddr>> {
        let (host, port) = (self.endpoint.host.clone(), self.endpoint.port);
        let (tell, told) = oneshot::channel();
        let lookup = move || {
            let found = (host.as_str(), port).to_socket_addrs();
            // The caller may have stopped waiting.
            let _ = tell.send(found.map(Vec::from_iter));
        };
        std::thread::Builder::new()
            .name("lookup".to_owned())
            .spawn(lookup)?;
        Ok(told.await??)
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        body: Vec<u8>,
    ) -> anyhow::Result<(Response<()>, Bytes)> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The connection ends with this function.
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        let answer: Response<Incoming> = sender.send_request(self.request(body)?).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_MAX).collect().await;
        // The status says enough if the rest cannot be read.
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        Ok((Response::from_parts(head, ()), body))
    }

    fn request(&self, body: Vec<u8>) -> anyhow::Result<Request<Full<Bytes>>> {
        let mut request = Request::post(&self.endpoint.path)
            .header(HOST, &self.endpoint.authority)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .header(USER_AGENT, concat!("cannonade/", env!("CARGO_PKG_VERSION")))
            .header(CONNECTION, "close")
            .body(Full::new(Bytes::from(body)))?;
        request.headers_mut().extend(self.headers.fields());
        Ok(request)
    }
}

impl CollectorTls {
    fn new(host: &str) -> anyhow::Result<CollectorTls> {
        let config = ClientConfig::builder()
            .with_root_certificates(platform_roots().context("--otlp")?)
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned());
        Ok(CollectorTls {
            connector: TlsConnector::from(Arc::new(config)),
            name: name.with_context(|| format!("--otlp: {host} is no name of a server"))?,
        })
    }
}

/// The authorities that this machine trusts, or those of the file that `SSL_CERT_FILE` names.
///
/// # Errors
/// There are none.
pub fn platform_roots() -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // Some machines have roots that cannot be read; one that can is enough.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    anyhow::ensure!(
        added > 0,
        "this machine has no trusted roots; name a PEM file of them by SSL_CERT_FILE"
    );
    Ok(roots)
}

/// Judges an answer.
fn judge(head: &Response<()>, answer: &[u8]) -> Result<(), FailedPush> {
    let status = head.status();
    if status.is_success() {
        return match report::otlp_refusal(answer) {
            Some(why) => Err(FailedPush {
                why,
                pause: None,
                is_taken: true,
            }),
            None => Ok(()),
        };
    }
    let cure = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "; set what it asks for by OTEL_EXPORTER_OTLP_HEADERS"
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            "; no metrics are taken at this path"
        }
        _ => "",
    };
    // The statuses that OTLP calls retryable.
    let is_busy = matches!(status.as_u16(), 429 | 502 | 503 | 504);
    let after = head.headers().get(RETRY_AFTER);
    // Only seconds: a date (RFC 9110 §10.2.3) is ignored, and the next push comes as usual.
    let after = after.and_then(|after| after.to_str().ok()?.trim().parse().ok());
    let pause = after.filter(|_| is_busy).map(Duration::from_secs);
    Err(FailedPush {
        why: format!("it answers {status}{cure}"),
        pause: pause.map(|pause| pause.min(PAUSE_MAX)),
        is_taken: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_what_to_do() {
        let failed = |status: u16, after: Option<&str>| {
            let mut head = Response::builder().status(status);
            if let Some(after) = after {
                head = head.header(RETRY_AFTER, after);
            }
            judge(&head.body(()).unwrap(), b"").map_err(|failed| (failed.pause, failed.why))
        };
        assert_eq!(failed(200, None), Ok(()));
        let pause = |status, after| failed(status, after).unwrap_err().0;
        assert_eq!(pause(503, Some("7")), Some(Duration::from_secs(7)));
        assert_eq!(pause(429, Some("86400")), Some(PAUSE_MAX));
        assert_eq!(pause(503, Some("Fri, 31 Dec 2027 23:59:59 GMT")), None);
        assert_eq!(pause(400, Some("7")), None);
        let head = Response::builder().status(200).body(()).unwrap();
        let partial = judge(&head, b"\x0a\x05\x08\x03\x12\x01x").unwrap_err();
        assert!(
            partial.is_taken && partial.pause.is_none(),
            "{}",
            partial.why
        );
        let why = failed(401, None).unwrap_err().1;
        assert!(why.contains("OTEL_EXPORTER_OTLP_HEADERS"), "{why}");
    }
}
