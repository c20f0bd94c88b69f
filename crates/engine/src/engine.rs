//! From a plan to running workers, and from their intervals to the agent's.

use crate::ceilings;
use crate::clock::RunClock;
use crate::collector::{Collector, Event};
use crate::death_notice::DeathNotice;
use crate::endpoints::{Endpoints, host_text, intern, policy_name};
use crate::key_log::{self, KeyFile};
use crate::lease::{FiringLease, StopMode, StopOrder};
use crate::policy::Policy;
use crate::poller::{Poller, Waker};
use crate::random::Random;
use crate::resolver::resolve;
use crate::source::{LoadSource, Timeline};
use crate::spin::{Spin, SpunTime};
use crate::tls::{Materials, TlsError, WorkerTls};
use crate::worker::{Handover, Worker, WorkerSetup};
use measure::{Recorder, Spare, Totals};
use plan::{Host, KeyLog, Owner, Plan, Rate};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Intervals that may wait for the collector, per worker: more than a minute of them.
const HANDOVERS: usize = 64;

/// Files an agent has open beside its connections, generously.
const FILES_BESIDE: u64 = 128;

/// An agent's place in a run and the threads it may use.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Which agent, from 0.
    pub agent: u32,
    /// Agents in the run.
    pub agents: u32,
    /// CPUs to pin one worker each to; an entry of `None` is a worker that is not pinned.
    pub cpus: Vec<Option<u32>>,
}

impl Placement {
    /// The agent's worker `number` among all workers.
    fn owner(&self, number: usize) -> Owner {
        Owner {
            agent: self.agent,
            agents: self.agents,
            worker: number as u32,
            workers: self.cpus.len() as u32,
        }
    }
}

/// Why a plan cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The target's name has no address.
    #[error(
        "target.url: the name {host} does not resolve ({reason}); check it, or give \
         target.addresses"
    )]
    Resolve {
        /// Name.
        host: String,
        /// What the resolver says.
        reason: String,
    },
    /// This agent may not fire there.
    #[error(
        "target: {address} (for {host}) is not among the addresses this agent may fire at; start \
         it with --allow {address} if you are entitled to load that machine"
    )]
    NotAllowed {
        /// Host of the plan.
        host: String,
        /// Address it resolves to.
        address: std::net::IpAddr,
    },
    /// The plan asks for more than the agent's ceilings.
    #[error(
        "{field}: this agent's share of {asked} is above its own ceiling of {ceiling}; use more \
         agents, ask for less, or raise {flag} on the agent"
    )]
    AboveCeiling {
        /// Field of the plan.
        field: &'static str,
        /// What this agent would have to do.
        asked: String,
        /// What it allows.
        ceiling: String,
        /// Flag that sets the ceiling.
        flag: &'static str,
    },
    /// The agent bounds its rate, and the plan has none.
    #[error(
        "load.connections: a closed loop sends as fast as it is answered, and this agent bounds its rate (--max-rate {ceiling}); write load.rate = \"{}\" or less in place of load.connections, which makes an open loop, or start the agent without --max-rate (--max-connections bounds a closed loop)", for_all(*ceiling, *agents)
    )]
    NoRate {
        /// What this agent allows.
        ceiling: Rate,
        /// Agents in the run.
        agents: u32,
    },
    /// More connections than the process may have open files.
    #[error(
        "load.connections: this agent's share is {asked}, and it may open {limit} files; raise \
         the hard limit (ulimit -Hn, LimitNOFILE=), or use more agents"
    )]
    OpenFiles {
        /// Connections of the share.
        asked: u32,
        /// Hard limit of open files.
        limit: u64,
    },
    /// More cells than a run may have.
    #[error(
        "request: {requests} requests at {addresses} addresses are kept apart as {cells} cells, \
         and a run has {most} at most; use fewer requests, or fewer addresses"
    )]
    TooManyCells {
        /// Requests of the plan.
        requests: usize,
        /// Addresses of the target.
        addresses: usize,
        /// Cells of both, in warm-up and measured part.
        cells: usize,
        /// Bound on them.
        most: usize,
    },
    /// The plan wants secrets written, and this agent does not.
    #[error(
        "tls.key_log: this agent writes no secrets of connections; start it, or `coordinator \
         start --local`, with --key-log DIR, or write key_log = \"off\""
    )]
    KeysNotAllowed,
    /// The file for secrets cannot be made.
    #[error(
        "tls.key_log: cannot make the file {path} ({reason}); name another folder by --key-log"
    )]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The operating system refuses something that every run needs.
    #[error("cannot set up a load thread: {0}")]
    System(#[from] std::io::Error),
}

/// The rate of a plan of which each of its agents has this much.
fn for_all(ceiling: Rate, agents: u32) -> Rate {
    Rate::per_second(ceiling.as_per_second() * f64::from(agents.max(1))).unwrap_or(ceiling)
}

/// A plan that is ready to start: names resolved, files parsed, workers built and waiting.
pub struct Prepared {
    plan: Arc<Plan>,
    placement: Placement,
    addresses: Vec<SocketAddr>,
    workers: Vec<Setup>,
    spun: SpunTime,
    keys: Option<KeyFile>,
}

/// What a worker is built from; it goes to the worker's thread whole.
struct Setup {
    poller: Poller,
    tls: Option<WorkerTls>,
    endpoints: Endpoints,
    spin: Spin,
}

/// A run under way.
#[derive(Debug)]
pub struct Running {
    order: StopOrder,
    lease: FiringLease,
    wakers: Vec<Waker>,
    threads: Vec<JoinHandle<()>>,
    collector: Option<JoinHandle<()>>,
}

/// Gets everything ready for `plan` that can be ready before the start instant.
///
/// # Errors
/// Each says what to change.
pub fn prepare(
    plan: Arc<Plan>,
    placement: Placement,
    policy: Policy,
) -> Result<Prepared, PrepareError> {
    ceilings::check(&plan, &placement, &policy)?;
    check_open_files(&plan, &placement)?;
    let materials = Materials::new(&plan, placement.agent, placement.agents)?;
    let addresses = addresses(&plan)?;
    check_cells(plan.requests().len(), addresses.len())?;
    let name = policy_name(plan.target());
    if let Some(refused) = addresses
        .iter()
        .find(|address| !policy.allows(&name, address.ip(), address.port()))
    {
        let host = host_text(&plan.target().url.host);
        return Err(PrepareError::NotAllowed {
            host,
            address: refused.ip(),
        });
    }
    let log = plan.tls().map_or(KeyLog::Off, |tls| tls.key_log);
    let (keys, sink) = key_log::open(log, policy.key_log.as_deref())?.unzip();
    let policy = Arc::new(policy);
    let (mut workers, spun) = (Vec::new(), SpunTime::of_workers(placement.cpus.len()));
    for number in 0..placement.cpus.len() {
        let poller = Poller::new().map_err(std::io::Error::from)?;
        let places = plan.identities(placement.owner(number));
        let tls = materials
            .as_ref()
            .map(|materials| WorkerTls::new(materials, &places, sink.clone()))
            .transpose()?;
        let rank = placement.agent as usize * placement.cpus.len() + number;
        let endpoints = Endpoints::new(
            &plan,
            addresses.clone(),
            Arc::clone(&policy),
            rank,
            &poller.waker(),
        )?;
        let spin = Spin::new(policy.spin, spun.clone(), number);
        workers.push(Setup {
            poller,
            tls,
            endpoints,
            spin,
        });
    }
    Ok(Prepared {
        plan,
        placement,
        addresses,
        workers,
        spun,
        keys,
    })
}

fn addresses(plan: &Plan) -> Result<Vec<SocketAddr>, PrepareError> {
    let target = plan.target();
    if !target.addresses.is_empty() {
        let given = target.addresses.iter();
        return Ok(given
            .map(|address| SocketAddr::new(address.ip, address.port.unwrap_or(target.url.port)))
            .collect());
    }
    match &target.url.host {
        Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, target.url.port)]),
        Host::Name(name) => {
            let failed = |error: std::io::Error| PrepareError::Resolve {
                host: name.clone(),
                reason: error.to_string(),
            };
            let found = resolve(name).map_err(failed)?;
            Ok(found
                .into_iter()
                .map(|ip| SocketAddr::new(ip, target.url.port))
                .collect())
        }
    }
}

/// What every second and the totals have to hold follows from these two alone.
fn check_cells(requests: usize, addresses: usize) -> Result<(), PrepareError> {
    let (cells, most) = (Totals::cells_of(requests, addresses), Totals::CELLS_MAX);
    if cells > most {
        Err(PrepareError::TooManyCells {
            requests,
            addresses,
            cells,
            most,
        })
    } else {
        Ok(())
    }
}

/// Raises the soft limit of open files to the hard one, and compares it with the virtual users of
/// the share.
fn check_open_files(plan: &Plan, placement: &Placement) -> Result<(), PrepareError> {
    let limits = getrlimit(Resource::Nofile);
    // Raising to the hard limit needs no privilege (getrlimit(2)).
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limits.maximum,
            maximum: limits.maximum,
        },
    );
    let asked = plan
        .share(placement.agent, placement.agents)
        .peak_connections
        .unwrap_or(0);
    match limits.maximum {
        Some(limit) if u64::from(asked) + FILES_BESIDE > limit => {
            Err(PrepareError::OpenFiles { asked, limit })
        }
        _ => Ok(()),
    }
}

impl Prepared {
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
    ) -> Result<Running, PrepareError> {
        let (handover, handed) = sync_channel(HANDOVERS * self.workers.len());
        let (clock, mut spare_senders) = (RunClock::starting_at(start_at), Vec::new());
        // Made first: where a later thread cannot be started, dropping it stops those that run
        // already.
        let mut running = Running {
            order: StopOrder::default(),
            lease,
            wakers: Vec::new(),
            threads: Vec::new(),
            collector: None,
        };
        for (number, setup) in self.workers.into_iter().enumerate() {
            let (spare, spares) = channel();
            spare_senders.push(spare);
            running.wakers.push(setup.poller.waker());
            let run = Launch {
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
            let thread = std::thread::Builder::new().name(thread_name(number));
            running.threads.push(thread.spawn(move || run.work(setup))?);
        }
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

/// Everything of a worker but what its own thread makes.
struct Launch {
    number: usize,
    clock: RunClock,
    lease: FiringLease,
    order: StopOrder,
    plan: Arc<Plan>,
    placement: Placement,
    handover: SyncSender<Handover>,
    spares: Receiver<Spare>,
    addresses: Vec<SocketAddr>,
}

impl Launch {
    fn work(self, setup: Setup) {
        let _last_word = DeathNotice {
            worker: self.number,
            handover: self.handover.clone(),
        };
        let cpu = self.placement.cpus.get(self.number).copied().flatten();
        pin(cpu);
        // The kernel may delay a timer by 50 µs for the sake of batching (prctl(2),
        // PR_SET_TIMERSLACK); a schedule must not.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        if let Some(tls) = &setup.tls {
            tls.seed_thread();
        }
        let owner = self.placement.owner(self.number);
        let timeline = Timeline::new(&self.plan);
        let stream = u64::from(owner.agent) << 32 | self.number as u64;
        let mut recorder =
            Recorder::new(u16::try_from(self.plan.requests().len()).unwrap_or(u16::MAX))
                .measuring(timeline.window());
        intern(&self.addresses, &mut recorder);
        Worker::new(WorkerSetup {
            number: self.number,
            clock: self.clock,
            lease: self.lease,
            order: self.order,
            poller: setup.poller,
            endpoints: setup.endpoints,
            spin: setup.spin,
            tls: setup.tls,
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
    let Some(cpu) = cpu else { return };
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    // A CPU that went away since it was chosen leaves the thread where the kernel puts it.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

impl Running {
    /// Extends the lease, while it holds; whether it does.
    pub fn extend_lease(&self, boot_time: u64) -> bool {
        self.lease.extend(boot_time)
    }

    /// Ends the run before its plan does.
    pub fn stop(&self, stop: StopMode) {
        self.order.give(stop);
        self.wakers.iter().for_each(Waker::wake);
    }

    /// Waits until every worker has ended and every event is delivered.
    pub fn join(mut self) {
        self.wait();
    }

    fn wait(&mut self) {
        for thread in self.threads.drain(..).chain(self.collector.take()) {
            // A worker that panicked has said so on stderr; its missing figures show in the result.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop(StopMode::Now);
            self.wait();
        }
    }
}

/// Name of the thread of an agent's worker `number`, as the system shows it.
#[must_use]
pub fn thread_name(number: usize) -> String {
    format!("worker-{number}")
}

/// CPUs this process may use, by its affinity mask, which cgroups and `taskset` narrow.
#[must_use]
pub fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return vec![0];
    };
    (0..rustix::thread::CpuSet::MAX_CPU as u32)
        .filter(|&cpu| set.is_set(cpu as usize))
        .collect()
}

/// Spares go back to a worker through this.
pub(crate) type SpareSender = Sender<Spare>;
