//! A port that answers viewers, within bounds. Its route decides what it answers.

use super::liveliness::{Liveliness, NotedStream};
use super::own_host::is_own_host;
use super::version_stream::VersionStream;
use super::viewer_places::ViewerPlaces;
use anyhow::Context as _;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A viewer that sends nothing for this long is not waited for.
const REQUEST_MAX: Duration = Duration::from_secs(10);

/// A viewer that takes nothing of an answer for this long is not waited for, in milliseconds.
#[cfg(target_os = "linux")]
const TAKE_MAX_MS: u32 = 10_000;

/// The pause after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const TEXT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Header fields of every answer: it must not be stored, shown inside another page, or revealed to
/// other sites. A page has a policy of its own for what it may load.
const GUARDS: [(HeaderName, HeaderValue); 5] = [
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("frame-ancestors 'none'"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
];

/// An answer: all at once, or news as it comes.
pub(crate) type Answer = Response<Either<Full<Bytes>, VersionStream>>;

/// The answers of a port.
pub(crate) trait Route: Send + Sync + 'static {
    /// Answers a GET or HEAD.
    fn answer<B: Send>(&self, request: Request<B>) -> impl Future<Output = Answer> + Send;
}

/// A port at which something is shown. Dropping it closes the port.
#[derive(Debug)]
pub(crate) struct Port {
    task: JoinHandle<()>,
}

/// Listens at `address`, as `flag` asked for.
///
/// # Errors
/// The address cannot be used.
pub(crate) async fn listen(
    address: SocketAddr,
    flag: &str,
) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| {
        format!("cannot listen on {address} for {flag}; name another ADDRESS:PORT")
    })?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

impl Port {
    /// Answers as `route` does, on this many connections at once. One more takes the place of the
    /// connection that was silent for longest.
    pub(crate) fn open(listener: TcpListener, connections_max: usize, route: impl Route) -> Port {
        let viewers = ViewerPlaces::new(connections_max);
        let task = tokio::spawn(serve(listener, viewers, Arc::new(route)));
        Port { task }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, mut viewers: ViewerPlaces, route: Arc<impl Route>) {
    let local = listener.local_addr();
    // Only programs of this machine can reach loopback, but its browsers do so for pages of
    // strangers.
    let is_on_loopback = local.is_ok_and(|address| address.ip().to_canonical().is_loopback());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                viewers.make_room().await;
                let liveliness = Liveliness::new();
                let viewer = Viewer {
                    route: Arc::clone(&route),
                    liveliness: Arc::clone(&liveliness),
                    is_on_loopback,
                };
                viewers.add(liveliness, viewer.look(stream));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// A viewer, on one connection.
struct Viewer<R> {
    route: Arc<R>,
    liveliness: Arc<Liveliness>,
    is_on_loopback: bool,
}

impl<R: Route> Viewer<R> {
    /// Answers until the viewer leaves, or sends or takes nothing for too long.
    async fn look(self, stream: TcpStream) {
        // If the system refuses, its own and longer bound holds.
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, TAKE_MAX_MS);
        let stream = NotedStream::new(stream, Arc::clone(&self.liveliness));
        let answered = service_fn(|request| self.answer(request));
        // A viewer that disconnects is not worth reporting.
        let _ = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_MAX)
            .serve_connection(TokioIo::new(stream), answered)
            .await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, Infallible> {
        let _answering = self.liveliness.answering();
        let mut answer = match *request.method() {
            // A stranger's page may have a name that leads to this machine (DNS rebinding); a
            // browser then takes our page for the stranger's.
            _ if self.is_on_loopback && !is_own_host(request.headers()) => {
                text(StatusCode::FORBIDDEN, "write localhost or an IP address\n")
            }
            Method::GET | Method::HEAD => self.route.answer(request).await,
            _ => text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n"),
        };
        answer.headers_mut().extend(GUARDS);
        Ok(answer)
    }
}

/// An answer of plain text.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(text.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT_TYPE);
    response
}
