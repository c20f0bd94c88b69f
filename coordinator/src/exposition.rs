//! Shows the run under way to others: `/metrics` to programs that ask, the dashboard to people,
//! pushes to an OpenTelemetry collector. All of them share one document, which [`ViewerFeed`] asks
//! the record for at the pace of its viewers.

mod dashboard;
mod latest_run;
mod live_page;
mod liveliness;
mod metrics;
mod own_host;
mod port;
mod version_stream;
mod viewer_feed;
mod viewer_places;

pub(crate) use latest_run::LatestRun;
pub(crate) use viewer_feed::{ShowTimes, ViewerFeed};

use crate::otlp::{OtlpEndpoint, OtlpStream};
use dashboard::Dashboard;
use latest_run::FOLLOWERS_MAX;
use metrics::Metrics;
use port::Port;
use std::net::SocketAddr;

/// Most connections of programs at once.
const PROGRAMS_MAX: usize = 64;

/// Most connections of people at once. Each browser that follows a run has one for news and one for
/// pages, and some do not follow one yet.
const PEOPLE_MAX: usize = 2 * FOLLOWERS_MAX + 64;

/// Shows runs to others. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Exposition {
    latest: LatestRun,
    _ports: Vec<Port>,
    otlp: Option<OtlpStream>,
}

impl Exposition {
    /// Opens a port for programs and one for people, and begins to send to a collector, as far as
    /// each is asked for; `None` if nothing is. Says where each port is.
    ///
    /// # Errors
    /// A port cannot be opened, or pushes to a collector cannot be set up.
    pub(crate) async fn open(
        metrics: Option<SocketAddr>,
        dashboard: Option<SocketAddr>,
        otlp: Option<OtlpEndpoint>,
        say: impl Fn(String),
    ) -> anyhow::Result<Option<Exposition>> {
        let latest = LatestRun::new();
        let mut ports = Vec::new();
        if let Some(address) = metrics {
            let (listener, address) = port::listen(address, "--metrics").await?;
            say(format!("metrics at http://{address}/metrics"));
            let metrics = Metrics::new(latest.clone());
            ports.push(Port::open(listener, PROGRAMS_MAX, metrics));
        }
        if let Some(address) = dashboard {
            let (listener, address) = port::listen(address, "--dashboard").await?;
            let dashboard = Dashboard::new(address.ip(), latest.clone())?;
            say(format!("dashboard at {}", dashboard.url(address)));
            ports.push(Port::open(listener, PEOPLE_MAX, dashboard));
        }
        let otlp = otlp.map(|endpoint| OtlpStream::start(endpoint, latest.clone()));
        let otlp = otlp.transpose()?;
        let is_shown = !ports.is_empty() || otlp.is_some();
        Ok(is_shown.then_some(Exposition {
            latest,
            _ports: ports,
            otlp,
        }))
    }

    /// The place where runs show their documents.
    pub(crate) fn latest(&self) -> LatestRun {
        self.latest.clone()
    }

    /// Waits a moment for a run's last figures to arrive at the collector.
    pub(crate) async fn flush(&self) {
        if let Some(otlp) = &self.otlp {
            otlp.flush().await;
        }
    }

    /// News for the user since the last call.
    pub(crate) fn news(&mut self) -> Option<String> {
        self.otlp.as_mut()?.news()
    }

    /// Ends it, since no run follows: gives followers a moment to see the last run's result.
    pub(crate) async fn close(self) {
        self.latest.end().await;
    }
}
