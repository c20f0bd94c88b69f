//! The thread of a worker: where it runs, and what it begins with.

use crate::clock::RunClock;
use crate::death_notice::DeathNotice;
use crate::endpoints::{Endpoints, intern};
use crate::lease::{FiringLease, StopOrder};
use crate::placement::Placement;
use crate::poller::Poller;
use crate::random::Random;
use crate::source::{LoadSource, Timeline};
use crate::spin::Spin;
use crate::tls::WorkerTls;
use crate::worker::{Handover, Worker, WorkerSetup};
use measure::{Recorder, Spare};
use plan::Plan;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread::JoinHandle;

/// What a worker has that is made before the run; it goes to the worker's thread whole.
pub(crate) struct WorkerResources {
    pub(crate) poller: Poller,
    pub(crate) tls: Option<WorkerTls>,
    pub(crate) endpoints: Endpoints,
    pub(crate) spin: Spin,
}

/// A worker's thread before it runs: everything but what the thread makes itself.
pub(crate) struct WorkerThread {
    pub(crate) number: usize,
    pub(crate) clock: RunClock,
    pub(crate) lease: FiringLease,
    pub(crate) order: StopOrder,
    pub(crate) plan: Arc<Plan>,
    pub(crate) placement: Placement,
    pub(crate) handover: SyncSender<Handover>,
    pub(crate) spares: Receiver<Spare>,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl WorkerThread {
    /// Starts the thread.
    pub(crate) fn spawn(self, resources: WorkerResources) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new()
            .name(thread_name(self.number))
            .spawn(move || self.work(resources))
    }

    fn work(self, resources: WorkerResources) {
        let _death_notice = DeathNotice {
            worker: self.number,
            handover: self.handover.clone(),
        };
        let cpu = self.placement.cpus.get(self.number).copied().flatten();
        pin(cpu);
        // The kernel may delay a timer by 50 µs for the sake of batching (prctl(2),
        // PR_SET_TIMERSLACK); a schedule must not.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        if let Some(tls) = &resources.tls {
            tls.seed_thread();
        }
        let owner = self.placement.owner(self.number);
        let timeline = Timeline::new(&self.plan);
        let stream = u64::from(owner.agent) << 32 | self.number as u64;
        let requests = u16::try_from(self.plan.requests().len()).unwrap_or(u16::MAX);
        let mut recorder = Recorder::new(requests).measuring(timeline.window());
        intern(&self.addresses, &mut recorder);
        Worker::new(WorkerSetup {
            number: self.number,
            clock: self.clock,
            lease: self.lease,
            order: self.order,
            poller: resources.poller,
            endpoints: resources.endpoints,
            spin: resources.spin,
            tls: resources.tls,
            source: LoadSource::new(&self.plan, owner, timeline),
            recorder,
            random: Random::new(self.plan.load().seed, stream),
            handover: self.handover,
            spares: self.spares,
            plan: self.plan,
            cpu,
        })
        .run();
    }
}

fn pin(cpu: Option<u32>) {
    // The agent has more workers than CPUs: they share them as the kernel likes.
    let Some(cpu) = cpu else { return };
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    // A CPU that went away since it was chosen leaves the thread where the kernel puts it.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// Name of the thread of an agent's worker `number`, as the system shows it.
#[must_use]
pub fn thread_name(number: usize) -> String {
    format!("worker-{number}")
}
