//! What an agent spent over the parts of a run, from one sample a second.

use crate::{HostError, ThreadUsage, Usage, encoding};
use serde::{Deserialize, Serialize};

/// What an agent spent in each part of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Before the measured part.
    pub warm_up: UsageFigures,
    /// While load was offered and measured.
    pub measured: UsageFigures,
    /// After it, until the last operation had ended.
    pub drain: UsageFigures,
}

impl RunFigures {
    /// A version byte and the figures.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(self)
    }

    /// Reads what [`RunFigures::encode`] wrote.
    ///
    /// # Errors
    /// Where the bytes are of another version, or broken.
    pub fn decode(bytes: &[u8]) -> Result<RunFigures, HostError> {
        encoding::decode(bytes, "figures of an agent")
    }
}

/// Means and maxima over samples. Shares of threads and process are of one CPU; of the machine 0 to
/// 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageFigures {
    /// Samples behind the sums.
    pub samples: u32,
    /// Time the samples cover.
    pub elapsed_ns: u64,
    process: Peaked,
    busiest_worker: Peaked,
    machine_busy: Peaked,
    steal: Peaked,
    /// Largest resident memory.
    pub rss_bytes_max: u64,
    /// TCP segments sent again by this network namespace.
    pub tcp_retransmits: u64,
    /// TCP segments sent by it.
    pub tcp_segments_sent: u64,
}

/// A quantity weighted by time, with its largest sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Peaked {
    weighted: f64,
    max: f64,
}

impl UsageFigures {
    /// Adds what was used between two samples; `is_worker` tells load threads from others.
    pub fn add(&mut self, usage: &Usage, is_worker: impl Fn(&ThreadUsage) -> bool) {
        let seconds = usage.elapsed_ns as f64;
        self.samples += 1;
        self.elapsed_ns += usage.elapsed_ns;
        self.process.add(
            f64::from(usage.process.user_share) + f64::from(usage.process.system_share),
            seconds,
        );
        let busiest = usage
            .busiest_thread(is_worker)
            .map_or(0.0, |thread| f64::from(thread.cpu_share));
        self.busiest_worker.add(busiest, seconds);
        self.machine_busy
            .add(1.0 - f64::from(usage.machine.total.idle_share), seconds);
        self.steal
            .add(f64::from(usage.machine.total.steal_share), seconds);
        self.rss_bytes_max = self.rss_bytes_max.max(usage.process.rss_bytes);
        self.tcp_retransmits += usage.tcp.retransmits;
        self.tcp_segments_sent += usage.tcp.segments_sent;
    }

    /// For a run too short to be sampled: what its busiest load thread says of itself. Samples say
    /// more where there are any.
    pub fn without_samples(&mut self, elapsed_ns: u64, busiest_worker_share: f64) {
        if self.samples == 0 {
            self.elapsed_ns = elapsed_ns;
            self.samples = 1;
            self.busiest_worker
                .add(busiest_worker_share, elapsed_ns as f64);
            self.process.add(busiest_worker_share, elapsed_ns as f64);
        }
    }

    /// The process: mean and largest share.
    #[must_use]
    pub fn process_share(&self) -> (f64, f64) {
        self.process.over(self.elapsed_ns)
    }

    /// The busiest load thread of each sample: mean and largest share.
    #[must_use]
    pub fn busiest_worker_share(&self) -> (f64, f64) {
        self.busiest_worker.over(self.elapsed_ns)
    }

    /// All CPUs of the machine, not idle: mean and largest share.
    #[must_use]
    pub fn machine_busy_share(&self) -> (f64, f64) {
        self.machine_busy.over(self.elapsed_ns)
    }

    /// CPU time the hypervisor took away: mean share.
    #[must_use]
    pub fn steal_share(&self) -> f64 {
        self.steal.over(self.elapsed_ns).0
    }
}

impl Peaked {
    fn add(&mut self, share: f64, weight: f64) {
        self.weighted += share * weight;
        self.max = self.max.max(share);
    }

    fn over(self, elapsed_ns: u64) -> (f64, f64) {
        if elapsed_ns == 0 {
            (0.0, 0.0)
        } else {
            (self.weighted / elapsed_ns as f64, self.max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RunFigures, UsageFigures};
    use crate::{ProcessUsage, ThreadUsage, Usage};

    fn usage(elapsed_ns: u64, worker_share: f32) -> Usage {
        let thread = |name: &str, cpu_share| ThreadUsage {
            name: name.into(),
            cpu_share,
            ..ThreadUsage::default()
        };
        Usage {
            elapsed_ns,
            process: ProcessUsage {
                user_share: worker_share,
                ..ProcessUsage::default()
            },
            threads: vec![thread("worker-0", worker_share), thread("other", 1.0)],
            ..Usage::default()
        }
    }

    #[test]
    fn means_are_weighted_by_time_and_only_workers_count() {
        let mut figures = UsageFigures::default();
        figures.add(&usage(1_000, 0.5), |thread| {
            thread.name.starts_with("worker")
        });
        figures.add(&usage(3_000, 0.25), |thread| {
            thread.name.starts_with("worker")
        });
        assert_eq!(figures.busiest_worker_share(), (0.3125, 0.5));
        let of_run = RunFigures {
            drain: figures,
            ..RunFigures::default()
        };
        assert_eq!(RunFigures::decode(&of_run.encode()).unwrap(), of_run);
        assert_eq!(UsageFigures::default().process_share(), (0.0, 0.0));
    }

    #[test]
    fn short_run_is_known_by_its_threads_only() {
        let mut figures = UsageFigures::default();
        figures.without_samples(2_000, 0.75);
        assert_eq!(figures.busiest_worker_share(), (0.75, 0.75));
        figures.without_samples(2_000, 0.1);
        assert_eq!(figures.busiest_worker_share(), (0.75, 0.75));
    }
}
