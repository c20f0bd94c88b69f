//! Observes this machine in each second of the run clock, on a thread of its own. Warm-up, measured
//! part and drain are summed separately, and each may end within a second.

use crate::second_watch::{SecondWatch, Tell};
use engine::SpunTime;
use host::{MachineWatch, RunFigures, UsageFigures, WatchedProcesses};
use measure::Window;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Messages that nothing begins any more; a run sends only one.
const DRAINING_MAX: usize = 1;

/// This machine, as it is seen by a process that connects `port_pairs` pairs of addresses.
pub(crate) fn own_machine(port_pairs: usize) -> MachineWatch {
    // Workers that join later count too: they fire lost agents' shares.
    let own = WatchedProcesses::Own(engine::is_worker_thread);
    MachineWatch::new(own).with_port_pairs(port_pairs)
}

/// A sampling in progress.
#[derive(Debug)]
pub(crate) struct Sampling {
    /// Signals that nothing begins any more; dropped to end the sampling.
    draining: Option<SyncSender<()>>,
    thread: Option<JoinHandle<RunFigures>>,
}

impl Sampling {
    /// Samples from `start_at` on, which is the zero of the run clock in nanoseconds of the
    /// monotonic clock. The measured part is `window` of the run clock. Time that the workers have
    /// `spun` does not count as work. `tell` gets the observation of `machine` for each second.
    pub(crate) fn start(
        window: Window,
        start_at: u64,
        spun: SpunTime,
        machine: MachineWatch,
        tell: Tell,
    ) -> Sampling {
        let (draining, drains) = sync_channel(DRAINING_MAX);
        let seconds = SecondWatch::new(machine, start_at, tell);
        let clock = PartClock {
            start_at,
            from: start_at.saturating_add(window.from()),
            until: start_at.saturating_add(window.until()),
            drains,
            seconds: seconds.without(spun),
        };
        let thread = std::thread::Builder::new()
            .name("sampler".into())
            .spawn(move || clock.sample())
            .ok();
        Sampling {
            draining: Some(draining),
            thread,
        }
    }

    /// Notes that nothing begins any more: if the measured part was not over, it is now.
    pub(crate) fn draining(&self) {
        if let Some(draining) = &self.draining {
            // A thread that ended because of a defect samples nothing, and the run's figures then
            // say so. If a message is waiting already, it says the same.
            let _ = draining.try_send(());
        }
    }

    /// Ends the sampling. Returns what was sampled.
    pub(crate) fn finish(&mut self) -> RunFigures {
        self.draining = None;
        self.thread
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

/// Separates a run's parts, by the monotonic clock and by what the run signals.
struct PartClock {
    start_at: u64,
    from: u64,
    until: u64,
    drains: Receiver<()>,
    /// Served while the clock waits.
    seconds: SecondWatch,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    /// The time has passed.
    Elapsed,
    /// Nothing begins any more.
    Draining,
    /// The run is over, and its load threads are gone.
    Over,
}

impl PartClock {
    fn sample(mut self) -> RunFigures {
        let mut figures = RunFigures::default();
        let mut waited = self.wait_until(self.start_at);
        if waited == Waited::Elapsed && self.from > self.start_at {
            waited = self.wait_until(self.from);
            figures.warm_up = self.end_part(waited);
        }
        if waited == Waited::Elapsed {
            waited = self.wait_until(self.until);
            figures.measured = self.end_part(waited);
        }
        if waited != Waited::Over {
            while self.wait_until(u64::MAX) != Waited::Over {}
            figures.drain = self.end_part(Waited::Over);
        }
        figures
    }

    /// Waits for this instant of the monotonic clock, and observes the seconds meanwhile.
    fn wait_until(&mut self, end: u64) -> Waited {
        loop {
            let next = end.min(self.seconds.wake_at());
            let left = next.saturating_sub(engine::monotonic_ns());
            match self.drains.recv_timeout(Duration::from_nanos(left)) {
                // A second that ends at this very instant belongs to the part that ends here.
                Err(RecvTimeoutError::Timeout) if self.seconds.wake_at() <= end => {
                    self.seconds.wake();
                }
                Err(RecvTimeoutError::Timeout) => return Waited::Elapsed,
                Ok(()) => return Waited::Draining,
                Err(RecvTimeoutError::Disconnected) => return Waited::Over,
            }
        }
    }

    fn end_part(&mut self, waited: Waited) -> UsageFigures {
        match waited {
            Waited::Elapsed | Waited::Draining => self.seconds.end_part(),
            Waited::Over => self.seconds.finish(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use host::Observation;

    /// Uses a CPU for this long.
    fn burn(time: Duration) {
        let end = std::time::Instant::now() + time;
        while std::time::Instant::now() < end {
            std::hint::spin_loop();
        }
    }

    fn milliseconds(ms: u64) -> u64 {
        ms * 1_000_000
    }

    /// Up to two tries may fail, because other programs may have had the CPU.
    pub(crate) fn in_one_of_three_tries(one_try: fn()) {
        let held = (0..2).any(|_| std::panic::catch_unwind(one_try).is_ok());
        if !held {
            one_try();
        }
    }

    #[test]
    fn parts_of_a_run_are_sampled_apart_to_their_last_instant() {
        in_one_of_three_tries(sample_parts_of_a_run);
    }

    fn sample_parts_of_a_run() {
        let window = Window::new(milliseconds(300), milliseconds(1600));
        let (told, observed) = std::sync::mpsc::channel();
        let mut sampling = Sampling::start(
            window,
            engine::monotonic_ns(),
            SpunTime::of_workers(1),
            own_machine(1),
            Box::new(move |second, observation| drop(told.send((second, observation)))),
        );
        std::thread::Builder::new()
            .name(engine::thread_name(0))
            .spawn(|| {
                burn(Duration::from_millis(1600));
                std::thread::sleep(Duration::from_millis(2600));
            })
            .unwrap()
            .join()
            .unwrap();
        let figures = sampling.finish();
        let seconds = |figures: &UsageFigures| figures.elapsed_ns as f64 / 1e9;
        assert!(
            (0.25..1.0).contains(&seconds(&figures.warm_up)),
            "{figures:?}"
        );
        assert!(
            (1.2..2.5).contains(&seconds(&figures.measured)),
            "{figures:?}"
        );
        assert!(figures.drain.samples >= 1, "{figures:?}");
        let busy = figures.measured.busiest_worker_share().0;
        assert!(
            busy > 3.0 * figures.drain.busiest_worker_share().0 && busy > 0.2,
            "{figures:?}"
        );
        // 4.2 seconds of the run clock: four whole ones, and a last part that is long enough.
        let observed: Vec<(u32, Observation)> = observed.iter().collect();
        let seconds: Vec<u32> = observed.iter().map(|(second, _)| *second).collect();
        assert!(seconds.starts_with(&[0, 1, 2, 3]), "{seconds:?}");
        let process = |second: usize| &observed[second].1.processes[0];
        assert_eq!(process(0).busiest_thread, engine::thread_name(0));
        assert!(
            process(0).busiest_thread_share > 0.2 && process(3).busiest_thread_share < 0.1,
            "{observed:?}"
        );
    }

    #[test]
    fn measured_part_without_an_end_lasts_until_nothing_begins_any_more() {
        in_one_of_three_tries(sample_without_an_end);
    }

    fn sample_without_an_end() {
        let mut sampling = Sampling::start(
            Window::new(0, u64::MAX),
            engine::monotonic_ns(),
            SpunTime::of_workers(1),
            own_machine(1),
            Box::new(|_, _| {}),
        );
        std::thread::sleep(Duration::from_millis(500));
        sampling.draining();
        std::thread::sleep(Duration::from_millis(1300));
        let figures = sampling.finish();
        assert_eq!(
            (figures.warm_up.samples, figures.measured.samples),
            (0, 1),
            "{figures:?}"
        );
        assert!(
            figures.measured.elapsed_ns < milliseconds(1200) && figures.drain.samples >= 1,
            "{figures:?}"
        );
    }

    #[test]
    fn run_that_is_over_at_once_has_no_samples() {
        in_one_of_three_tries(sample_a_run_that_is_over_at_once);
    }

    fn sample_a_run_that_is_over_at_once() {
        let mut sampling = Sampling::start(
            Window::new(0, milliseconds(50)),
            engine::monotonic_ns(),
            SpunTime::of_workers(2),
            own_machine(1),
            Box::new(|_, _| {}),
        );
        std::thread::sleep(Duration::from_millis(80));
        let figures = sampling.finish();
        assert_eq!(
            (figures.measured.samples, figures.drain.samples),
            (0, 0),
            "{figures:?}"
        );
    }
}
