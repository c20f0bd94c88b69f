//! The thread of a worker: where it runs, and what it starts with.

use crate::clock::{RunClock, SECOND_NS};
use crate::death_notice::DeathNotice;
use crate::endpoints::{Endpoints, intern};
use crate::lease::{FiringLease, StopOrder};
use crate::poller::Poller;
use crate::random::Random;
use crate::source::{Duty, LoadSource, Timeline};
use crate::spin::Spin;
use crate::tls::WorkerTls;
use crate::tokens::Tokens;
use crate::worker::{Handover, Worker, WorkerSetup};
use measure::{Recorder, Spare};
use plan::Plan;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::thread::JoinHandle;

/// The parts of a worker that are made before the run and moved to its thread.
pub(crate) struct WorkerResources {
    pub(crate) poller: Poller,
    pub(crate) tls: Option<WorkerTls>,
    /// By place among the target's destinations.
    pub(crate) endpoints: Vec<Endpoints>,
    pub(crate) spin: Spin,
    pub(crate) tokens: Tokens,
}

/// A worker's thread before it runs: everything except what the thread makes itself.
pub(crate) struct WorkerThread {
    pub(crate) number: usize,
    pub(crate) clock: RunClock,
    pub(crate) lease: FiringLease,
    pub(crate) order: StopOrder,
    pub(crate) plan: Arc<Plan>,
    /// The agent's index, from 0.
    pub(crate) agent: u32,
    pub(crate) duty: Duty,
    /// CPU to pin the thread to.
    pub(crate) cpu: Option<u32>,
    pub(crate) handover: SyncSender<Handover>,
    pub(crate) spares: Receiver<Spare>,
    pub(crate) addresses: Vec<SocketAddr>,
}

/// A worker's thread that waits for the number of its first interval.
pub(crate) struct StartingWorker {
    pub(crate) begin: Sender<u32>,
    /// Returns the memory of its merged intervals.
    pub(crate) spares: Sender<Spare>,
}

impl StartingWorker {
    /// Lets it begin with interval `first`.
    pub(crate) fn begin_at(&self, first: u32) {
        // The thread waits for nothing else.
        let _ = self.begin.send(first);
    }
}

impl WorkerThread {
    /// Starts the thread. It begins work when it receives the number of its first interval, and
    /// ends if the sender is dropped instead.
    pub(crate) fn spawn(
        self,
        resources: WorkerResources,
        first: Receiver<u32>,
    ) -> std::io::Result<JoinHandle<()>> {
        let name = thread_name(self.number);
        let work = move || {
            if let Ok(first) = first.recv() {
                self.work(resources, first);
            }
        };
        std::thread::Builder::new().name(name).spawn(work)
    }

    fn work(self, resources: WorkerResources, first: u32) {
        let _death_notice = DeathNotice {
            worker: self.number,
            handover: self.handover.clone(),
        };
        pin(self.cpu);
        // By default the kernel may delay a timer by 50 µs for batching (prctl(2),
        // PR_SET_TIMERSLACK), which is too much for a schedule.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        if let Some(tls) = &resources.tls {
            tls.seed_thread();
        }
        let timeline = Timeline::new(&self.plan);
        let stream = u64::from(self.agent) << 32 | self.number as u64;
        let requests = u16::try_from(self.plan.requests().len()).unwrap_or(u16::MAX);
        let mut recorder = Recorder::new(requests).measuring(timeline.window());
        intern(&self.addresses, &mut recorder);
        skip_to(first, &mut recorder);
        Worker::new(WorkerSetup {
            number: self.number,
            clock: self.clock,
            lease: self.lease,
            order: self.order,
            poller: resources.poller,
            endpoints: resources.endpoints,
            spin: resources.spin,
            tls: resources.tls,
            source: LoadSource::new(&self.plan, &self.duty, timeline),
            recorder,
            random: Random::new(self.plan.load().seed, stream),
            handover: self.handover,
            spares: self.spares,
            plan: self.plan,
            tokens: resources.tokens,
            cpu: self.cpu,
        })
        .run();
    }
}

/// Makes `first` the recorder's next interval; the ones before it have been reported.
fn skip_to(first: u32, recorder: &mut Recorder) {
    if first > 0 {
        // It is empty, and no second waits for it.
        drop(recorder.cut(u64::from(first) * SECOND_NS, None));
    }
}

fn pin(cpu: Option<u32>) {
    // Without a CPU the kernel places the thread: the agent has more workers than CPUs, or the
    // worker joined during the run.
    let Some(cpu) = cpu else { return };
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    // If the CPU has gone away since it was chosen, the thread stays where the kernel puts it.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// The prefix of the names of workers' threads.
const NAME: &str = "worker-";

/// Whether a thread of this name is a worker's.
#[must_use]
pub fn is_worker_thread(name: &str) -> bool {
    let number = name.strip_prefix(NAME);
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// The name of an agent's worker thread `number`, as the system shows it.
#[must_use]
pub fn thread_name(number: usize) -> String {
    format!("{NAME}{number}")
}
