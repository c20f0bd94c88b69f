//! `GET /metrics` for Prometheus.

use super::LatestRun;
use super::port::{Answer, Route, text};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{Request, StatusCode};
use report::PrometheusFormat;

/// The page for Prometheus.
#[derive(Debug)]
pub(crate) struct Metrics {
    latest: LatestRun,
}

impl Metrics {
    pub(crate) fn new(latest: LatestRun) -> Metrics {
        Metrics { latest }
    }

    async fn page(&self, format: PrometheusFormat) -> Answer {
        let Some(document) = self.latest.shown().document else {
            let nothing = text(StatusCode::OK, "# no run has begun\n");
            return with_type(nothing, PrometheusFormat::Text);
        };
        // A thousand agents make a long page; the control plane must go on meanwhile.
        let rendered = tokio::task::spawn_blocking(move || format.render(&document)).await;
        match rendered {
            Ok(page) => with_type(text(StatusCode::OK, page), format),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }
}

impl Route for Metrics {
    async fn answer<B: Send>(&self, request: Request<B>) -> Answer {
        match request.uri().path() {
            "/metrics" => self.page(negotiate(&request)).await,
            _ => text(StatusCode::NOT_FOUND, "there is /metrics\n"),
        }
    }
}

fn negotiate<B>(request: &Request<B>) -> PrometheusFormat {
    let fields = request.headers().get_all(ACCEPT).iter();
    let fields: Vec<&str> = fields.filter_map(|field| field.to_str().ok()).collect();
    PrometheusFormat::negotiate(&fields.join(","))
}

fn with_type(mut answer: Answer, format: PrometheusFormat) -> Answer {
    let kind = HeaderValue::from_static(format.content_type());
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}
