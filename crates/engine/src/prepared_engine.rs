//! A plan that is ready to start.

use crate::collector::{Collector, Entrance, Event};
use crate::endpoints::port_pairs;
use crate::key_log::{KeyFile, KeySink};
use crate::lease::FiringLease;
use crate::outfitter::Outfitter;
use crate::prepare_error::PrepareError;
use crate::running_engine::RunningEngine;
use crate::source::{Bookmarks, Duty, Timeline};
use crate::spin::SpunTime;
use crate::worker_thread::WorkerResources;
use plan::LostAgents;
use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;

/// Intervals that can wait for the collector, per worker: more than a minute's worth.
const HANDOVERS: usize = 64;

/// A plan that is ready to start: names resolved, files parsed, workers built and waiting.
pub struct PreparedEngine {
    pub(crate) outfitter: Outfitter,
    pub(crate) workers: Vec<WorkerResources>,
    pub(crate) spun: SpunTime,
    pub(crate) keys: Option<KeyFile>,
    pub(crate) sink: Option<KeySink>,
}

impl PreparedEngine {
    /// Addresses that the load goes to; names that are resolved during the run can add others.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.outfitter.addresses
    }

    /// Number of load threads.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.workers.len() as u32
    }

    /// The measured part in nanoseconds of the run clock; it can end sooner, with
    /// [`Event::Draining`].
    #[must_use]
    pub fn window(&self) -> measure::Window {
        Timeline::new(&self.outfitter.plan).window()
    }

    /// Like [`port_pairs`], for the addresses that are known before the run.
    #[must_use]
    pub fn port_pairs(&self) -> usize {
        port_pairs(&self.outfitter.plan, &self.outfitter.addresses)
    }

    /// How long the workers have waited on their CPUs; it is updated during the run.
    #[must_use]
    pub fn spun(&self) -> SpunTime {
        self.spun.clone()
    }

    /// Starts the workers, which fire from `start_at` (monotonic clock, nanoseconds) on while
    /// `lease` holds. `on_event` is called on a thread of its own: if it blocks, it delays nothing
    /// but its own events.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn start(
        self,
        start_at: u64,
        lease: FiringLease,
        on_event: impl FnMut(Event) + Send + 'static,
    ) -> Result<RunningEngine, PrepareError> {
        let (handover, handed) = sync_channel(HANDOVERS * self.workers.len());
        let workers = self.workers.len();
        // Created first: if a later thread cannot be started, dropping it stops those that run.
        let mut running = RunningEngine::new(self.outfitter, start_at, lease);
        let mut spare_senders = Vec::new();
        let bookmarks = Bookmarks::new(&running.outfitter.plan);
        for (number, resources) in self.workers.into_iter().enumerate() {
            let placement = &running.outfitter.placement;
            let duty = Duty {
                portion: placement.owner(number).into(),
                from: 0,
                bookmarks: bookmarks.clone(),
            };
            let cpu = placement.cpus.get(number).copied().flatten();
            let starting = running.spawn(duty, cpu, resources, handover.clone())?;
            starting.begin_at(0);
            spare_senders.push(starting.spares);
        }
        let keys = self.keys.map(KeyFile::write).transpose()?;
        let redistributes = running.outfitter.plan.fleet().lost() == LostAgents::Redistribute;
        let collector = Collector::new(workers, handed, spare_senders, keys)
            .keeping_bookmarks(redistributes)
            .counting_tokens(running.outfitter.tokens.clone(), start_at);
        // The collector ends when the last worker has dropped its sender. The one in the entrance
        // goes once nothing begins any more, since no worker can join after that.
        running.attendance = Some(collector.attendance());
        collector.attendance().open(Entrance {
            handover,
            sink: self.sink,
            bookmarks,
        });
        running.collector = Some(
            std::thread::Builder::new()
                .name("collector".into())
                .spawn(move || collector.run(on_event))?,
        );
        Ok(running)
    }
}
