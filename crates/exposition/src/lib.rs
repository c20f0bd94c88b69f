//! Shows the run under way to others: `/metrics` to programs that ask, the dashboard to people,
//! pushes to an OpenTelemetry collector. All of them share one document, which [`ViewerFeed`] asks
//! its maker for at the pace of its viewers. It does not know how a run is made.

mod dashboard;
mod latest_run;
mod live_page;
mod liveliness;
mod metrics;
mod otlp;
mod own_host;
mod port;
mod renewal;
mod version_stream;
mod viewer_feed;
mod viewer_places;

pub use latest_run::{Follower, LatestRun, ShownRun};
pub use otlp::{NoOtlpEndpoint, OtlpEndpoint, platform_roots};
pub use renewal::Renewal;
pub use viewer_feed::{ShowTimes, ViewerFeed};

use dashboard::Dashboard;
use latest_run::FOLLOWERS_MAX;
use metrics::Metrics;
use otlp::OtlpStream;
use port::Port;
use std::net::SocketAddr;

/// Most connections of programs at once.
const PROGRAMS_MAX: usize = 64;

/// Most connections of people at once. Each browser that follows a run has one for news and one for
/// pages, and some do not follow one yet.
const PEOPLE_MAX: usize = 2 * FOLLOWERS_MAX + 64;

/// Shows runs to others. Dropping it ends that.
#[derive(Debug)]
pub struct Exposition {
    latest: LatestRun,
    _ports: Vec<Port>,
    otlp: Option<OtlpStream>,
}

impl Exposition {
    /// Opens a port for programs and one for people, and begins to send to a collector, as far as
    /// each is asked for; `None` if nothing is. Says where each port is; `public_address` is how
    /// others reach an address of this machine.
    ///
    /// # Errors
    /// A port cannot be opened, or pushes to a collector cannot be set up.
    pub async fn open(
        metrics: Option<SocketAddr>,
        dashboard: Option<SocketAddr>,
        otlp: Option<OtlpEndpoint>,
        public_address: impl Fn(SocketAddr) -> String,
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
            let url = dashboard.url(&public_address(address));
            say(format!("dashboard at {url}"));
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
    #[must_use]
    pub fn latest(&self) -> LatestRun {
        self.latest.clone()
    }

    /// Waits a moment for a run's last figures to arrive at the collector.
    pub async fn flush(&self) {
        if let Some(otlp) = &self.otlp {
            otlp.flush().await;
        }
    }

    /// News for the user since the last call.
    pub fn news(&mut self) -> Option<String> {
        self.otlp.as_mut()?.news()
    }

    /// Ends it, since no run follows: gives followers a moment to see the last run's result.
    pub async fn close(self) {
        self.latest.end().await;
    }
}
