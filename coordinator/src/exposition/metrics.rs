//! `GET /metrics` for Prometheus.

use super::LatestRun;
use super::port::{Answer, Route, text};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, StatusCode};

/// Prometheus's text format.
const METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// What programs see.
#[derive(Debug)]
pub(super) struct Metrics {
    latest: LatestRun,
}

impl Metrics {
    pub(super) fn new(latest: LatestRun) -> Metrics {
        Metrics { latest }
    }

    async fn page(&self) -> Answer {
        let Some(document) = self.latest.shown().document else {
            return typed(text(StatusCode::OK, "# no run has begun\n"));
        };
        // A thousand agents are a long page: the control plane goes on meanwhile.
        let rendered = tokio::task::spawn_blocking(move || report::prometheus(&document)).await;
        match rendered {
            Ok(page) => typed(text(StatusCode::OK, page)),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }
}

impl Route for Metrics {
    async fn answer<B: Send>(&self, request: Request<B>) -> Answer {
        match request.uri().path() {
            "/metrics" => self.page().await,
            _ => text(StatusCode::NOT_FOUND, "there is /metrics\n"),
        }
    }
}

fn typed(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(CONTENT_TYPE, METRICS_TYPE);
    answer
}
