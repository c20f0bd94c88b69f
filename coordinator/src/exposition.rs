//! Shows the run that goes on to other programs: `GET /metrics` to Prometheus, pushes to an
//! OpenTelemetry collector. All of them share one document, which the record makes anyway to save
//! it.

use crate::otlp::{OtlpEndpoint, OtlpStream};
use crate::terminal;
use analysis::Document;
use anyhow::Context as _;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use report::PrometheusFormat;
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

    pub(crate) fn document(&self) -> Option<Arc<Document>> {
        self.0.borrow().clone()
    }
}

/// Where runs are shown. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Exposition {
    latest: LatestRun,
    _port: Option<MetricsPort>,
    otlp: Option<OtlpStream>,
}

/// A port for who looks. Dropping it closes the port.
#[derive(Debug)]
struct MetricsPort(JoinHandle<()>);

impl Exposition {
    /// Begins to show what runs put there, to those that are asked for; `None` where none is.
    ///
    /// # Errors
    /// A port cannot be had, or a collector cannot be spoken to from here.
    pub(crate) async fn open(
        metrics: Option<SocketAddr>,
        otlp: Option<OtlpEndpoint>,
    ) -> anyhow::Result<Option<Exposition>> {
        if metrics.is_none() && otlp.is_none() {
            return Ok(None);
        }
        let latest = LatestRun::new();
        let port = match metrics {
            Some(address) => Some(MetricsPort::open(address, latest.clone()).await?),
            None => None,
        };
        let otlp = otlp.map(|endpoint| OtlpStream::start(endpoint, latest.clone()));
        Ok(Some(Exposition {
            latest,
            _port: port,
            otlp: otlp.transpose()?,
        }))
    }

    /// Where runs put what is to be shown.
    pub(crate) fn latest(&self) -> LatestRun {
        self.latest.clone()
    }

    /// Waits for a run's last figures to arrive where they are sent to, for a moment.
    pub(crate) async fn flush(&self) {
        if let Some(otlp) = &self.otlp {
            otlp.flush().await;
        }
    }

    /// What the user should know since the last call.
    pub(crate) fn news(&mut self) -> Option<String> {
        self.otlp.as_mut()?.news()
    }
}

impl MetricsPort {
    async fn open(address: SocketAddr, latest: LatestRun) -> anyhow::Result<MetricsPort> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| {
            format!("cannot listen on {address} for --metrics; name another ADDRESS:PORT")
        })?;
        let address = listener.local_addr()?;
        terminal::say(format_args!("metrics at http://{address}/metrics"));
        Ok(MetricsPort(tokio::spawn(serve(listener, latest))))
    }
}

impl Drop for MetricsPort {
    fn drop(&mut self) {
        self.0.abort();
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
        (true, "/metrics") => metrics(accepted(&request), latest).await,
        (true, _) => text(StatusCode::NOT_FOUND, "there is /metrics\n".to_owned()),
    };
    Ok(answer)
}

fn accepted(request: &Request<Incoming>) -> PrometheusFormat {
    let fields = request.headers().get_all(ACCEPT).iter();
    let fields: Vec<&str> = fields.filter_map(|field| field.to_str().ok()).collect();
    PrometheusFormat::accepted(&fields.join(","))
}

async fn metrics(format: PrometheusFormat, latest: LatestRun) -> Response<Full<Bytes>> {
    let Some(document) = latest.document() else {
        return text(StatusCode::OK, "# no run has begun\n".to_owned());
    };
    // A thousand agents are a long page: the control plane goes on meanwhile.
    let rendered = tokio::task::spawn_blocking(move || format.render(&document)).await;
    match rendered {
        Ok(page) => typed(StatusCode::OK, format, page),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    typed(status, PrometheusFormat::Text, text.into_bytes())
}

fn typed(status: StatusCode, format: PrometheusFormat, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
