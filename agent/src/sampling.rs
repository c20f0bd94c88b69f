//! Samples this machine once a second while a run is measured, on a thread of its own.

use engine::SpunTime;
use host::{Figures, Sampler};
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
    /// Samples from `warm_up` after `start_at` (monotonic clock, nanoseconds) on. What the workers have `spun` is no work.
    pub(crate) fn start(warm_up: Duration, start_at: u64, spun: SpunTime) -> Sampling {
        let wait = Duration::from_nanos(start_at.saturating_sub(engine::monotonic_ns())) + warm_up;
        let (end, ended) = channel::<()>();
        let sample = move || match ended.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {
                sample_until(&spun, || ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout))
            }
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
fn sample_until(spun: &SpunTime, mut wait: impl FnMut() -> bool) -> Figures {
    let (sampler, mut figures) = (Sampler::new(), Figures::default());
    let workers: Vec<String> = (0..spun.by_worker().count()).map(engine::thread_name).collect();
    let look = || sampler.sample().map(|sample| (sample, spun.by_worker().collect::<Vec<u64>>()));
    let mut earlier = look().ok();
    while wait() {
        // A sample that cannot be read is left out: the next one covers its time.
        let Ok((now, spun)) = look() else { continue };
        if let Some((earlier, spun_before)) = &earlier {
            let mut usage = now.since(earlier);
            for (worker, (now, before)) in workers.iter().zip(spun.iter().zip(spun_before)) {
                usage.take_back(worker, now.saturating_sub(*before));
            }
            figures.add(&usage, |thread| workers.contains(&thread.name));
        }
        earlier = Some((now, spun));
    }
    figures
}
