//! Shows the run that goes on to programs that look: `GET /metrics` for Prometheus. All who look
//! share one document, which the record makes anyway to save it.

use crate::terminal;
use analysis::Document;
use anyhow::Context as _;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

/// Who looks at once; more wait.
const VIEWERS_MAX: usize = 64;

/// Whoever says nothing for so long is not waited for.
const REQUEST_MAX: Duration = Duration::from_secs(10);

/// After a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Prometheus's text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The place where a run's latest document stands.
#[derive(Debug, Clone)]
pub(crate) struct LatestRun(watch::Sender<Option<Arc<Document>>>);

impl LatestRun {
    fn new() -> LatestRun {
        LatestRun(watch::Sender::new(None))
    }

    /// Puts a newer one there.
    pub(crate) fn show(&self, document: Document) {
        self.0.send_replace(Some(Arc::new(document)));
    }

    fn document(&self) -> Option<Arc<Document>> {
        self.0.borrow().clone()
    }
}

/// A port at which runs are shown. Dropping it closes the port.
#[derive(Debug)]
pub(crate) struct Exposition {
    latest: LatestRun,
    task: JoinHandle<()>,
}

impl Exposition {
    /// Opens the port.
    ///
    /// # Errors
    /// It cannot be had.
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Exposition> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| {
            format!("cannot listen on {address} for --metrics; name another ADDRESS:PORT")
        })?;
        let address = listener.local_addr()?;
        terminal::say(format_args!("metrics at http://{address}/metrics"));
        let latest = LatestRun::new();
        let task = tokio::spawn(serve(listener, latest.clone()));
        Ok(Exposition { latest, task })
    }

    /// Where runs put what is to be shown.
    pub(crate) fn latest(&self) -> LatestRun {
        self.latest.clone()
    }
}

impl Drop for Exposition {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, latest: LatestRun) {
    let room = Arc::new(Semaphore::new(VIEWERS_MAX));
    // They end with this task.
    let mut viewers = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let latest = latest.clone();
                viewers.spawn(async move {
                    look(stream, latest).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
        while viewers.try_join_next().is_some() {}
    }
}

/// Answers one viewer until it goes, or says nothing for too long.
async fn look(stream: TcpStream, latest: LatestRun) {
    let answered = service_fn(move |request| answer(request, latest.clone()));
    // A viewer that breaks off is no news.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_MAX)
        .serve_connection(TokioIo::new(stream), answered)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    latest: LatestRun,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let answer = match (is_read, request.uri().path()) {
        (false, _) => text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned()),
        (true, "/metrics") => metrics(latest).await,
        (true, _) => text(StatusCode::NOT_FOUND, "there is /metrics\n".to_owned()),
    };
    Ok(answer)
}

async fn metrics(latest: LatestRun) -> Response<Full<Bytes>> {
    let Some(document) = latest.document() else {
        return text(StatusCode::OK, "# no run has begun\n".to_owned());
    };
    // A thousand agents are a long page: the control plane goes on meanwhile.
    let rendered = tokio::task::spawn_blocking(move || report::prometheus(&document)).await;
    match rendered {
        Ok(page) => text(StatusCode::OK, page),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(METRICS_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
