//! A plan that is ready to start.

use crate::clock::RunClock;
use crate::collector::{Collector, Event};
use crate::key_log::KeyFile;
use crate::lease::FiringLease;
use crate::placement::Placement;
use crate::prepare_error::PrepareError;
use crate::running_engine::RunningEngine;
use crate::source::Timeline;
use crate::spin::SpunTime;
use crate::worker_thread::{WorkerResources, WorkerThread};
use plan::Plan;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

/// Intervals that may wait for the collector, per worker: more than a minute of them.
const HANDOVERS: usize = 64;

/// A plan that is ready to start: names resolved, files parsed, workers built and waiting.
pub struct PreparedEngine {
    pub(crate) plan: Arc<Plan>,
    pub(crate) placement: Placement,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) workers: Vec<WorkerResources>,
    pub(crate) spun: SpunTime,
    pub(crate) keys: Option<KeyFile>,
}

impl PreparedEngine {
    /// Addresses the load will go to; names that are resolved during the run can add others.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Load threads.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.workers.len() as u32
    }

    /// The measured part, nanoseconds of the run clock; it may end sooner, with
    /// [`Event::Draining`].
    #[must_use]
    pub fn window(&self) -> measure::Window {
        Timeline::new(&self.plan).window()
    }

    /// How long the workers wait on their CPUs, as the run goes.
    #[must_use]
    pub fn spun(&self) -> SpunTime {
        self.spun.clone()
    }

    /// Starts the workers; they fire from `start_at` (monotonic clock, nanoseconds) on while
    /// `lease` holds. `on_event` is called on a thread of its own: it may block, which delays
    /// nothing but what it hears.
    ///
    /// # Errors
    /// Where a thread cannot be started.
    pub fn start(
        self,
        start_at: u64,
        lease: FiringLease,
        on_event: impl FnMut(Event) + Send + 'static,
    ) -> Result<RunningEngine, PrepareError> {
        let (handover, handed) = sync_channel(HANDOVERS * self.workers.len());
        let clock = RunClock::starting_at(start_at);
        let mut spare_senders = Vec::new();
        // Made first: where a later thread cannot be started, dropping it stops those that run
        // already.
        let mut running = RunningEngine::new(lease);
        for (number, resources) in self.workers.into_iter().enumerate() {
            let (spare, spares) = channel();
            spare_senders.push(spare);
            running.wakers.push(resources.poller.waker());
            let worker = WorkerThread {
                number,
                clock,
                lease: running.lease.clone(),
                order: running.order.clone(),
                plan: Arc::clone(&self.plan),
                placement: self.placement.clone(),
                handover: handover.clone(),
                spares,
                addresses: self.addresses.clone(),
            };
            running.threads.push(worker.spawn(resources)?);
        }
        // The collector ends when the last worker has dropped its own.
        drop(handover);
        let workers = running.threads.len();
        let keys = self.keys.map(KeyFile::write).transpose()?;
        let collect = move || Collector::new(workers, handed, spare_senders, keys).run(on_event);
        running.collector = Some(
            std::thread::Builder::new()
                .name("collector".into())
                .spawn(collect)?,
        );
        Ok(running)
    }
}
