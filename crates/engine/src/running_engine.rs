//! A run under way: its threads and the orders that they take.

use crate::ceilings;
use crate::clock::{RunClock, monotonic_ns};
use crate::collector::{Attendance, Entrance};
use crate::lease::{FiringLease, StopMode, StopOrder};
use crate::open_files::check_open_files;
use crate::outfitter::Outfitter;
use crate::poller::Waker;
use crate::source::Duty;
use crate::spin::{Spin, SpunTime};
use crate::take_over_error::TakeOverError;
use crate::worker::Handover;
use crate::worker_thread::{StartingWorker, WorkerResources, WorkerThread};
use plan::{End, Portion, Seats, Shape, Share};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A share of an open loop whose start is longer ago is refused, because the arrivals due since
/// then would come in one burst. Below this it starts late, and is recorded as late.
const LATE_MAX: Duration = Duration::from_secs(1);

/// A run under way. Dropping it stops the workers and waits for them.
pub struct RunningEngine {
    pub(crate) outfitter: Outfitter,
    start_at: u64,
    lease: FiringLease,
    order: StopOrder,
    wakers: Vec<Waker>,
    threads: Vec<JoinHandle<()>>,
    /// The parts of lost agents' shares that are fired here, and from when.
    taken: Vec<(Portion, u64)>,
    /// The handle through which more workers join.
    pub(crate) attendance: Option<Attendance>,
    pub(crate) collector: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for RunningEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningEngine")
            .field("threads", &self.threads.len())
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

impl RunningEngine {
    /// Creates the run, without threads yet.
    pub(crate) fn new(outfitter: Outfitter, start_at: u64, lease: FiringLease) -> RunningEngine {
        RunningEngine {
            outfitter,
            start_at,
            lease,
            order: StopOrder::default(),
            wakers: Vec::new(),
            threads: Vec::new(),
            taken: Vec::new(),
            attendance: None,
            collector: None,
        }
    }

    /// Extends the lease if it holds. Returns whether it did.
    pub fn extend_lease(&self, boot_time: u64) -> bool {
        self.lease.extend(boot_time)
    }

    /// Ends the run before its plan does.
    pub fn stop(&self, stop: StopMode) {
        self.order.give(stop);
        self.wakers.iter().for_each(Waker::wake);
    }

    /// Also fires a part of a lost agent's share: everything that the plan has for it from `from`
    /// (monotonic clock, nanoseconds) on. `lost_agent` is that agent's index; `parts` locates the
    /// part within its share, as (part, number of parts), followed by another such pair each time
    /// the part was divided again.
    ///
    /// The part gets threads of its own, in proportion to its size. They are not pinned to CPUs and
    /// do not wait on them for near arrivals. What they record is in the agent's intervals,
    /// starting with the first that has not been reported. Taking the same part over again changes
    /// nothing.
    ///
    /// Returns the instant from which the part is fired: `from` for arrivals, none of which is left
    /// out however late they are; for users, who begin when they can, `from` or now, whichever is
    /// later.
    /// # Errors
    /// Fails if it cannot be fired here; the run goes on without it.
    pub fn take_over(
        &mut self,
        lost_agent: u32,
        parts: &[(u32, u32)],
        from: u64,
    ) -> Result<u64, TakeOverError> {
        let agents = self.outfitter.placement.agents;
        let portion =
            Portion::from_parts(lost_agent, agents, parts).ok_or(TakeOverError::NoPart)?;
        if let Some((_, from)) = self.taken.iter().find(|(taken, _)| *taken == portion) {
            return Ok(*from);
        }
        self.check_kind(&portion)?;
        let portions = self.dealt_to_workers(&portion);
        if portions.is_empty() {
            return Ok(from); // more parts than connections: this part is empty
        }
        self.check_amount(&portion, from)?;
        let entrance = self.entrance().ok_or(TakeOverError::Ended)?;
        let since_start = from.saturating_sub(self.start_at);
        // Drawn once, and before any worker joins, because every second waits for all that have
        // joined.
        let mut bookmarks = entrance.bookmarks.clone();
        bookmarks.advance_to(since_start);
        let (mut starting, before) = (Vec::new(), self.threads.len());
        for portion in portions {
            let duty = Duty {
                portion,
                from: since_start,
                bookmarks: bookmarks.clone(),
            };
            match self.spawn_for(duty, &entrance) {
                Ok(worker) => starting.push(worker),
                Err(error) => {
                    self.dismiss(before, starting);
                    return Err(error);
                }
            }
        }
        if !self.let_in(starting, before) {
            return Err(TakeOverError::Ended);
        }
        let fired_from = match self.outfitter.plan.load().shape {
            Shape::Open { .. } => from,
            Shape::Closed { .. } => from.max(monotonic_ns()),
        };
        self.taken.push((portion, fired_from));
        Ok(fired_from)
    }

    /// Checks that such a portion can be fired here at all.
    fn check_kind(&self, portion: &Portion) -> Result<(), TakeOverError> {
        let plan = &self.outfitter.plan;
        if self.held().iter().any(|held| held.overlaps(portion)) {
            return Err(TakeOverError::Held);
        }
        let identities = plan.tls().map(|tls| tls.client_certificates.number());
        if identities.is_some_and(|number| number > 0) {
            return Err(TakeOverError::ClientCertificates);
        }
        match (&plan.load().shape, plan.load().end) {
            (Shape::Closed { .. }, End::Requests(_)) => Err(TakeOverError::Counted),
            _ => Ok(()),
        }
    }

    /// Checks that `portion` fits beside what is fired here already, and does not begin too late.
    fn check_amount(&self, portion: &Portion, from: u64) -> Result<(), TakeOverError> {
        let Outfitter {
            plan,
            placement,
            policy,
            ..
        } = &self.outfitter;
        // Users who begin late have missed nothing.
        if matches!(plan.load().shape, Shape::Open { .. }) {
            check_late(from)?;
        }
        let held = self.held();
        let all = held.iter().chain([portion]);
        let shares: Vec<Share> = all.map(|portion| plan.share_of(portion)).collect();
        ceilings::check_shares(plan, &shares, placement, policy)?;
        check_open_files(plan, &shares)?;
        Ok(())
    }

    /// Everything that the agent fires: its own share, and what it has taken over.
    fn held(&self) -> Vec<Portion> {
        let own = Portion::from(self.outfitter.placement.agent());
        [own]
            .into_iter()
            .chain(self.taken.iter().map(|(portion, _)| portion.clone()))
            .collect()
    }

    /// Divides the portion among as many threads as fit its size: as many as the lost agent had for
    /// it, if it had as many as this one. Empty if the portion is.
    fn dealt_to_workers(&self, portion: &Portion) -> Vec<Portion> {
        let Outfitter {
            plan, placement, ..
        } = &self.outfitter;
        let connections = Seats::new(plan.load(), portion.clone()).number();
        let threads = (placement.cpus.len() as f64 / portion.parts_number()).ceil() as u32;
        let workers = threads.max(1).min(connections);
        (0..workers)
            .map(|worker| portion.of_worker(worker, workers))
            .collect()
    }

    fn entrance(&self) -> Option<Entrance> {
        self.attendance.as_ref()?.entrance()
    }

    fn spawn_for(
        &mut self,
        duty: Duty,
        entrance: &Entrance,
    ) -> Result<StartingWorker, TakeOverError> {
        // Waiting times are kept per worker in a list made before the run, which has no entry for
        // workers that join later.
        let spin = Spin::new(false, SpunTime::of_workers(1), 0);
        let number = self.threads.len();
        let sink = entrance.sink.clone();
        let outfitter = &self.outfitter;
        let resources = outfitter.worker(number, &BTreeSet::new(), spin, sink)?;
        Ok(self.spawn(duty, None, resources, entrance.handover.clone())?)
    }

    /// Starts the thread of the next worker.
    pub(crate) fn spawn(
        &mut self,
        duty: Duty,
        cpu: Option<u32>,
        resources: WorkerResources,
        handover: SyncSender<Handover>,
    ) -> std::io::Result<StartingWorker> {
        let (spares, spared) = channel();
        let (begin, first) = channel();
        let waker = resources.poller.waker();
        let worker = WorkerThread {
            number: self.threads.len(),
            clock: RunClock::starting_at(self.start_at),
            lease: self.lease.clone(),
            order: self.order.clone(),
            plan: Arc::clone(&self.outfitter.plan),
            agent: self.outfitter.placement.agent,
            duty,
            cpu,
            handover,
            spares: spared,
            addresses: self.outfitter.addresses.clone(),
        };
        self.threads.push(worker.spawn(resources, first)?);
        self.wakers.push(waker);
        Ok(StartingWorker { begin, spares })
    }

    /// Lets the workers whose threads were started since `before` join the run, all of them, or
    /// none if it is too late.
    fn let_in(&mut self, starting: Vec<StartingWorker>, before: usize) -> bool {
        let spares = starting.iter().map(|worker| worker.spares.clone());
        let joined = self
            .attendance
            .as_ref()
            .and_then(|attendance| attendance.join(spares.collect()));
        match joined {
            Some(first) => starting.iter().for_each(|worker| worker.begin_at(first)),
            None => self.dismiss(before, starting),
        }
        joined.is_some()
    }

    /// Ends threads that have not begun work.
    fn dismiss(&mut self, before: usize, starting: Vec<StartingWorker>) {
        drop(starting);
        self.wakers.truncate(before);
        for thread in self.threads.drain(before..) {
            let _ = thread.join();
        }
    }

    /// Waits until every worker has ended and every event has been delivered.
    pub fn join(mut self) {
        self.wait();
    }

    fn wait(&mut self) {
        for thread in self.threads.drain(..).chain(self.collector.take()) {
            // A worker that panicked has printed so on stderr; its missing figures show in the
            // result.
            let _ = thread.join();
        }
    }
}

fn check_late(from: u64) -> Result<(), TakeOverError> {
    let by = Duration::from_nanos(monotonic_ns().saturating_sub(from));
    if by > LATE_MAX {
        return Err(TakeOverError::TooLate { by });
    }
    Ok(())
}

impl Drop for RunningEngine {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop(StopMode::Now);
            self.wait();
        }
    }
}
