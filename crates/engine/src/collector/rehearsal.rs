//! A collector without workers, for benches: the caller hands over the intervals. Runs do not use
//! it.

use super::{Collector, Event};
use crate::worker::Handover;
use measure::{Interval, Spare};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Intervals that can wait, as many as in a run.
const HANDOVERS: usize = 64;

/// The collector of an agent with one worker, which is the caller.
pub struct CollectorRehearsal {
    handover: SyncSender<Handover>,
    spares: Receiver<Spare>,
    thread: JoinHandle<()>,
}

impl CollectorRehearsal {
    /// Starts it; `on_event` is called as in a run.
    pub fn start(on_event: impl FnMut(Event) + Send + 'static) -> CollectorRehearsal {
        let (handover, handed) = sync_channel(HANDOVERS);
        let (spare, spares) = channel();
        let thread =
            std::thread::spawn(move || Collector::new(1, handed, vec![spare], None).run(on_event));
        CollectorRehearsal {
            handover,
            spares,
            thread,
        }
    }

    /// Hands an interval over, and returns the memory of an earlier one.
    ///
    /// # Panics
    /// Panics if the collector has panicked.
    pub fn hand_over(&self, interval: Interval) -> Option<Spare> {
        let number = interval.number();
        self.handover
            .send(Handover::Interval {
                worker: 0,
                number,
                interval,
            })
            .expect("the collector goes on until the end");
        self.spares.try_recv().ok()
    }

    /// Ends the run. Every event has been emitted when this returns.
    ///
    /// # Panics
    /// Panics if the collector has panicked.
    pub fn end(self) {
        drop(self.handover);
        self.thread.join().expect("the collector does not panic");
    }
}
