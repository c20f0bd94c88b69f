//! Samples this machine once a second while a run is measured, on a thread of its own.

use host::{Figures, Sampler, ThreadUsage};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(1);

/// A sampling under way.
#[derive(Debug)]
pub(crate) struct Sampling {
    /// Dropped to end it.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Figures>>,
}

impl Sampling {
    /// Samples from `warm_up` after `start_at` (monotonic clock, nanoseconds) on.
    pub(crate) fn start(warm_up: Duration, start_at: u64) -> Sampling {
        let wait = Duration::from_nanos(start_at.saturating_sub(engine::monotonic_ns())) + warm_up;
        let (end, ended) = channel::<()>();
        let sample = move || match ended.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => sample_until(|| ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout)),
            _ => Figures::default(),
        };
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(sample).ok();
        Sampling { end: Some(end), thread }
    }

    /// Ends the sampling; what was seen.
    pub(crate) fn finish(&mut self) -> Figures {
        self.end = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

/// Takes whole periods only: when the run has ended its load threads are gone, and a last sample would not see them.
fn sample_until(mut wait: impl FnMut() -> bool) -> Figures {
    let (sampler, mut figures) = (Sampler::new(), Figures::default());
    let mut earlier = sampler.sample().ok();
    while wait() {
        // A sample that cannot be read is left out: the next one covers its time.
        let Ok(now) = sampler.sample() else { continue };
        if let Some(earlier) = &earlier {
            figures.add(&now.since(earlier), is_worker);
        }
        earlier = Some(now);
    }
    figures
}

fn is_worker(thread: &ThreadUsage) -> bool {
    thread.name.starts_with("worker-")
}
