//! Sends the run under way to an OpenTelemetry collector. Only the end of a run waits for it, and
//! only for a moment: a run is worth as much without it.

mod collector;
mod endpoint;
mod headers;

pub use collector::platform_roots;
pub use endpoint::{NoOtlpEndpoint, OtlpEndpoint};

use crate::latest_run::{LatestRun, since_1970};
use analysis::Document;
use collector::{FailedPush, OtlpCollector};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

/// How often to check for a newer document, which is made about as often.
const PUSH_EVERY: Duration = Duration::from_secs(3);

/// How long the end of a run waits for its last figures to arrive.
const LAST_MAX: Duration = Duration::from_secs(6);

/// Room for lines that wait to be shown; the first of them say what is wrong.
const NEWS_MAX: usize = 8;

/// Sends runs to a collector. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct OtlpStream {
    /// Asks for the latest document to be sent now.
    asks: mpsc::Sender<oneshot::Sender<()>>,
    news: mpsc::Receiver<String>,
    task: JoinHandle<()>,
}

impl OtlpStream {
    /// Begins to send what `latest` shows.
    ///
    /// # Errors
    /// The environment's header fields are not valid, or there are no trusted roots.
    pub(crate) fn start(endpoint: OtlpEndpoint, latest: LatestRun) -> anyhow::Result<OtlpStream> {
        let (asks, asked) = mpsc::channel(1);
        let (teller, news) = mpsc::channel(NEWS_MAX);
        let pusher = OtlpPusher {
            name: endpoint.to_string(),
            collector: OtlpCollector::new(endpoint)?,
            latest,
            pushed: None,
            not_before: Instant::now(),
            is_failing: false,
            teller,
        };
        Ok(OtlpStream {
            asks,
            news,
            task: tokio::spawn(pusher.run(asked)),
        })
    }

    /// Sends the latest document, and waits a moment for it to arrive.
    pub(crate) async fn flush(&self) {
        let arrived = async {
            let (done, is_done) = oneshot::channel();
            // If the task is gone, nothing is waited for.
            let _ = self.asks.send(done).await;
            let _ = is_done.await;
        };
        let _ = timeout(LAST_MAX, arrived).await;
    }

    /// News for the user since the last call: that nothing arrives, or arrives again.
    pub(crate) fn news(&mut self) -> Option<String> {
        self.news.try_recv().ok()
    }
}

impl Drop for OtlpStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct OtlpPusher {
    /// The collector's name, for people.
    name: String,
    collector: OtlpCollector,
    latest: LatestRun,
    /// The document that arrived last.
    pushed: Option<Arc<Document>>,
    /// No push before this, as the collector asked.
    not_before: Instant,
    is_failing: bool,
    teller: mpsc::Sender<String>,
}

impl OtlpPusher {
    async fn run(mut self, mut asked: mpsc::Receiver<oneshot::Sender<()>>) {
        let mut ticks = interval(PUSH_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                ask = asked.recv() => {
                    let Some(done) = ask else { return };
                    self.push_last().await;
                    // The caller may have gone.
                    let _ = done.send(());
                }
                _ = ticks.tick() => {
                    if Instant::now() >= self.not_before {
                        self.push().await;
                    }
                }
            }
        }
    }

    /// Pushes the last document. No later push makes up for it, so it is repeated if the collector
    /// asks for that.
    async fn push_last(&mut self) {
        loop {
            sleep_until(self.not_before).await;
            self.push().await;
            if Instant::now() >= self.not_before {
                return;
            }
        }
    }

    async fn push(&mut self) {
        let latest = self.latest.shown().document;
        let is_new = |latest: &Arc<Document>| {
            let pushed = self.pushed.as_ref();
            pushed.is_none_or(|pushed| !Arc::ptr_eq(pushed, latest))
        };
        let Some(document) = latest.filter(is_new) else {
            return;
        };
        let (rendered, now) = (Arc::clone(&document), since_1970());
        // A thousand agents make a long message; the control plane must go on meanwhile.
        let body = tokio::task::spawn_blocking(move || report::otlp(&rendered, now)).await;
        let pushed = match body {
            Ok(body) => self.collector.push(body).await,
            Err(error) => Err(FailedPush {
                why: error.to_string(),
                pause: None,
                is_taken: false,
            }),
        };
        if let Err(FailedPush {
            pause: Some(pause), ..
        }) = &pushed
        {
            self.not_before = Instant::now() + *pause;
        }
        self.tell(pushed.as_ref().err());
        // A document that did not arrive is sent again.
        if pushed.map_or_else(|failed| failed.is_taken, |()| true) {
            self.pushed = Some(document);
        }
    }

    /// Reports what is new.
    fn tell(&mut self, failed: Option<&FailedPush>) {
        let name = &self.name;
        let line = match (failed, self.is_failing) {
            (Some(failed), false) => format!(
                "{} metrics at {name}: {}; the run goes on, and each push has all figures so far",
                if failed.is_taken { "not all" } else { "no" },
                failed.why
            ),
            (None, true) => format!("metrics at {name} again"),
            _ => return,
        };
        self.is_failing = failed.is_some();
        // The receiver may be gone, or full of lines that no one has read.
        let _ = self.teller.try_send(line);
    }
}
