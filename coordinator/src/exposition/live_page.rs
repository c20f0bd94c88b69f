//! The page of the run that goes on: made once for each version that somebody wants, however many
//! do.

use super::LatestRun;
use super::latest_run::ShownRun;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Mutex;

/// A page in both of the forms that browsers take.
#[derive(Debug)]
pub(super) struct LivePage {
    version: u64,
    pub(super) plain: Bytes,
    pub(super) gzip: Bytes,
}

/// The newest page that somebody wanted.
#[derive(Debug)]
pub(super) struct LivePages {
    latest: LatestRun,
    newest: Mutex<Option<Arc<LivePage>>>,
}

impl LivePages {
    pub(super) fn new(latest: LatestRun) -> LivePages {
        LivePages {
            latest,
            newest: Mutex::new(None),
        }
    }

    /// The page of what is shown. Whoever asks while it is made waits for it.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) async fn newest(&self) -> io::Result<Arc<LivePage>> {
        let mut newest = self.newest.lock().await;
        let shown = self.latest.shown();
        if let Some(page) = newest.as_ref().filter(|page| page.version == shown.version) {
            return Ok(Arc::clone(page));
        }
        let begun = Instant::now();
        // A long run is a long page: the control plane goes on meanwhile.
        let page = tokio::task::spawn_blocking(move || LivePage::render(&shown)).await;
        let page = Arc::new(page.map_err(io::Error::other)??);
        self.latest.page_took(begun.elapsed());
        *newest = Some(Arc::clone(&page));
        Ok(page)
    }
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
