//! What an agent spent over the parts of a run: the sums of what was observed of its machine.

use crate::{HostError, Observation, ProcessSecond, encoding};
use serde::{Deserialize, Serialize};

/// A shorter observation says nothing by itself: the kernel counts CPU time in steps of 10 ms.
pub const SHORTEST_OBSERVATION_NS: u64 = 200_000_000;

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

/// Means and maxima over observations. Shares of threads and process are of one CPU; of the machine
/// 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageFigures {
    /// Observations that were long enough for a maximum.
    pub samples: u32,
    /// Time that the observations cover.
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

/// A quantity weighted by time, with its largest observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Peaked {
    weighted: f64,
    max: f64,
}

impl UsageFigures {
    /// Adds what was observed of a machine and of the first of its processes.
    pub fn add(&mut self, observation: &Observation) {
        let elapsed_ns = observation.elapsed_ns;
        let is_long = elapsed_ns >= SHORTEST_OBSERVATION_NS;
        self.samples += u32::from(is_long);
        self.elapsed_ns += elapsed_ns;
        let add = |quantity: &mut Peaked, share: f32| {
            quantity.weighted += f64::from(share) * elapsed_ns as f64;
            if is_long {
                quantity.max = quantity.max.max(f64::from(share));
            }
        };
        let process = observation.processes.first();
        let of_process = |part: fn(&ProcessSecond) -> f32| process.map_or(0.0, part);
        add(&mut self.process, of_process(|process| process.cpus));
        let busiest = of_process(|process| process.busiest_thread_share);
        add(&mut self.busiest_worker, busiest);
        add(&mut self.machine_busy, observation.machine_busy);
        add(&mut self.steal, observation.steal);
        let rss_bytes = process.map_or(0, |process| process.rss_bytes);
        self.rss_bytes_max = self.rss_bytes_max.max(rss_bytes);
        self.tcp_retransmits += observation.tcp.retransmits;
        self.tcp_segments_sent += observation.tcp.segments_sent;
    }

    /// For a run too short to be observed: what its busiest load thread says of itself.
    /// Observations say more where there are any.
    pub fn without_samples(&mut self, elapsed_ns: u64, busiest_worker_share: f64) {
        if self.samples == 0 {
            let known = Peaked {
                weighted: busiest_worker_share * elapsed_ns as f64,
                max: busiest_worker_share,
            };
            *self = UsageFigures {
                samples: 1,
                elapsed_ns,
                busiest_worker: known,
                process: known,
                ..UsageFigures::default()
            };
        }
    }

    /// The process: mean and largest share.
    #[must_use]
    pub fn process_share(&self) -> (f64, f64) {
        self.process.over(self.elapsed_ns)
    }

    /// The busiest load thread of each observation: mean and largest share.
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
    use crate::{Observation, ProcessSecond};

    fn observation(elapsed_ms: u64, worker_share: f32) -> Observation {
        let worker = ProcessSecond {
            cpus: worker_share * 2.0,
            busiest_thread_share: worker_share,
            ..ProcessSecond::default()
        };
        Observation {
            elapsed_ns: elapsed_ms * 1_000_000,
            processes: vec![worker],
            ..Observation::default()
        }
    }

    #[test]
    fn means_are_weighted_by_time() {
        let mut figures = UsageFigures::default();
        figures.add(&observation(1_000, 0.5));
        figures.add(&observation(3_000, 0.25));
        assert_eq!(figures.busiest_worker_share(), (0.3125, 0.5));
        assert_eq!(figures.process_share(), (0.625, 1.0));
        let of_run = RunFigures {
            drain: figures,
            ..RunFigures::default()
        };
        assert_eq!(RunFigures::decode(&of_run.encode()).unwrap(), of_run);
        assert_eq!(UsageFigures::default().process_share(), (0.0, 0.0));
    }

    #[test]
    fn short_observation_counts_in_the_mean_alone() {
        let mut figures = UsageFigures::default();
        figures.add(&observation(900, 0.25));
        figures.add(&observation(100, 0.75));
        assert_eq!(figures.busiest_worker_share(), (0.3, 0.25));
        assert_eq!((figures.samples, figures.elapsed_ns), (1, 1_000_000_000));
    }

    #[test]
    fn short_run_is_known_by_its_threads_only() {
        let mut figures = UsageFigures::default();
        figures.add(&observation(50, 0.5));
        figures.without_samples(2_000, 0.75);
        assert_eq!(figures.busiest_worker_share(), (0.75, 0.75));
        figures.without_samples(2_000, 0.1);
        assert_eq!(figures.busiest_worker_share(), (0.75, 0.75));
    }
}
