//! The page of the run under way: made once for each version that is asked for, however many ask.

use super::LatestRun;
use super::latest_run::ShownRun;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A page in the two forms that browsers accept.
#[derive(Debug)]
pub(crate) struct LivePage {
    version: u64,
    pub(crate) plain: Bytes,
    pub(crate) gzip: Bytes,
}

/// The newest page that was asked for.
#[derive(Debug)]
pub(crate) struct LivePages {
    latest: LatestRun,
    newest: Arc<Mutex<Option<Arc<LivePage>>>>,
}

impl LivePages {
    pub(crate) fn new(latest: LatestRun) -> LivePages {
        LivePages {
            latest,
            newest: Arc::default(),
        }
    }

    /// Returns the page of what is shown. Those who ask while it is made wait for it.
    ///
    /// # Errors
    /// The page cannot be made.
    pub(crate) async fn newest(&self) -> io::Result<Arc<LivePage>> {
        let (latest, newest) = (self.latest.clone(), Arc::clone(&self.newest));
        // In a task of its own: the viewer that asked may leave, and still only one page is made at
        // a time.
        let made = tokio::spawn(async move {
            let mut newest = newest.lock_owned().await;
            let shown = latest.shown();
            if let Some(page) = newest.as_ref().filter(|page| page.version == shown.version) {
                return Ok(Arc::clone(page));
            }
            // A long run has a long page; the control plane must go on meanwhile.
            let page = tokio::task::spawn_blocking(move || {
                let before = cpu_time();
                let page = LivePage::render(&shown);
                (page, cpu_time().saturating_sub(before))
            });
            let (page, took) = page.await.map_err(io::Error::other)?;
            let page = Arc::new(page?);
            latest.page_took(took);
            *newest = Some(Arc::clone(&page));
            Ok(page)
        });
        made.await.map_err(io::Error::other)?
    }
}

/// CPU time of this thread: on a busy machine a page takes longer, but costs no more.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl LivePage {
    fn render(shown: &ShownRun) -> io::Result<LivePage> {
        let page = report::live_page(shown.document.as_deref(), shown.version);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(page.as_bytes())?;
        Ok(LivePage {
            version: shown.version,
            gzip: gzip.finish()?.into(),
            plain: page.into(),
        })
    }
}
