//! A port that answers whoever looks, within bounds. What is answered is its route's.

use super::version_stream::VersionStream;
use anyhow::Context as _;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_tcp_user_timeout;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

/// Whoever says nothing for so long is not waited for.
const REQUEST_MAX: Duration = Duration::from_secs(10);

/// Whoever takes nothing of an answer for so long is not waited for, in milliseconds.
const TAKE_MAX_MS: u32 = 10_000;

/// After a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const TEXT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// What is answered: all at once, or news as it comes.
pub(super) type Answer = Response<Either<Full<Bytes>, VersionStream>>;

/// What a port answers.
pub(super) trait Route: Send + Sync + 'static {
    /// To a GET or HEAD.
    fn answer<B: Send>(&self, request: Request<B>) -> impl Future<Output = Answer> + Send;
}

/// A port at which something is shown. Dropping it closes the port.
#[derive(Debug)]
pub(super) struct Port {
    task: JoinHandle<()>,
}

/// Listens; `flag` asked for it.
///
/// # Errors
/// The address cannot be had.
pub(super) async fn listen(
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
    /// Answers as `route` does, so many connections at once; more wait.
    pub(super) fn open(listener: TcpListener, connections_max: usize, route: impl Route) -> Port {
        let room = Arc::new(Semaphore::new(connections_max));
        let task = tokio::spawn(serve(listener, room, Arc::new(route)));
        Port { task }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, room: Arc<Semaphore>, route: Arc<impl Route>) {
    // They end with this task.
    let mut viewers = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let route = Arc::clone(&route);
                viewers.spawn(async move {
                    look(stream, route).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
        while viewers.try_join_next().is_some() {}
    }
}

/// Answers one viewer until it goes, or says or takes nothing for too long.
async fn look(stream: TcpStream, route: Arc<impl Route>) {
    // Where the system refuses, its own and longer bound holds.
    let _ = set_tcp_user_timeout(&stream, TAKE_MAX_MS);
    let answered = service_fn(move |request| answer(request, Arc::clone(&route)));
    // A viewer that breaks off is no news.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_MAX)
        .serve_connection(TokioIo::new(stream), answered)
        .await;
}

async fn answer(request: Request<Incoming>, route: Arc<impl Route>) -> Result<Answer, Infallible> {
    Ok(match *request.method() {
        Method::GET | Method::HEAD => route.answer(request).await,
        _ => text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n"),
    })
}

/// An answer in words.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(text.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT_TYPE);
    response
}
