//! One worker: an OS thread with an event loop of its own. Nothing here is shared with another
//! worker but what is read.
//!
//! The loop waits for sockets until the next instant that matters ([`SocketWatch`]), then does what
//! is due. When something is due is the [`LoadSource`]'s business, until when the [`Timeline`]'s.
//! How an operation goes is in `operation`, `opening`, `streams` and `io`; what is recorded leaves
//! by the [`Ledger`], what is sent by the [`Sender`].

mod connector;
mod deadlines;
mod draining;
mod handover;
mod io;
mod ledger;
mod opening;
mod operation;
mod sender;
mod streams;
mod uploads;
mod watch;

use crate::clock::{RunClock, monotonic_ns};
use crate::connection::READ_BYTES;
use crate::endpoints::Endpoints;
use crate::http2;
use crate::lease::{FiringLease, StopMode, StopOrder};
use crate::poller::Poller;
use crate::random::Random;
use crate::request::Http1Requests;
use crate::slot::{Slots, seat_of};
use crate::source::{Arrival, LoadSource, Timeline};
use crate::spin::Spin;
use crate::timers::Timers;
use crate::tls::{Chains, WorkerTls};
use connector::{ConnectionRules, Connector};
use deadlines::Deadlines;
pub(crate) use handover::Handover;
pub use handover::{Cut, Spent, WorkerFigures};
use io::Unread;
use ledger::Ledger;
use measure::{CellId, Failure, Kind, NotSent, Recorder, Spare};
use plan::{HttpVersion, Plan};
use sender::Sender;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use uploads::Unsent;
use watch::{Patience, SocketWatch};

/// Arrivals that wait for a connection at most; what comes beyond is not sent.
const QUEUE: usize = 65_536;
/// Arrivals and users that begin before the sockets are looked at again, so that a burst of them
/// starves nobody.
const BEGUN_AT_ONCE: usize = 64;

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerPhase {
    /// Operations begin.
    Firing,
    /// Nothing begins; what has begun may finish. So much had been spent before.
    Draining { firing: Spent },
}

/// All a worker needs, of its own.
pub(crate) struct WorkerSetup {
    pub(crate) number: usize,
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: RunClock,
    pub(crate) lease: FiringLease,
    pub(crate) order: StopOrder,
    pub(crate) poller: Poller,
    pub(crate) endpoints: Endpoints,
    pub(crate) spin: Spin,
    pub(crate) tls: Option<WorkerTls>,
    pub(crate) source: LoadSource,
    pub(crate) recorder: Recorder,
    pub(crate) random: Random,
    pub(crate) handover: SyncSender<Handover>,
    pub(crate) spares: Receiver<Spare>,
    /// CPU the thread is pinned to.
    pub(crate) cpu: Option<u32>,
}

pub(crate) struct Worker {
    clock: RunClock,
    order: StopOrder,
    timeline: Timeline,
    source: LoadSource,
    phase: WorkerPhase,
    cut: Option<Cut>,
    random: Random,
    watch: SocketWatch,
    ledger: Ledger,
    requests: Http1Requests,
    /// The same requests for HTTP/2, where the plan speaks that.
    frames: Option<http2::HeaderBlocks>,
    rules: ConnectionRules,
    connector: Connector,
    tls: Option<WorkerTls>,
    chains: Chains,
    slots: Slots,
    /// Time-outs of operations.
    deadlines: Deadlines,
    /// Ends of pauses: think time, back-off, a user's next span.
    pauses: Timers,
    /// Open loop: slots that could send at once, the most recent last; seats without a connection.
    idle: Vec<u32>,
    free: Vec<u32>,
    /// Seats with HTTP/2 frames to send.
    dirty: Vec<u32>,
    queue: VecDeque<WaitingArrival>,
    in_flight: u32,
    unread: Vec<Unread>,
    uploads: Vec<Unsent>,
    buffer: Vec<u8>,
    sender: Sender,
    /// CPU the thread is pinned to, and CPU time of the thread before the run.
    cpu: Option<u32>,
    cpu_before_ns: u64,
}

/// An arrival that waits for a connection.
#[derive(Debug, Clone, Copy)]
struct WaitingArrival {
    arrival: Arrival,
    /// When the loop saw that it was due.
    noticed_at: u64,
}

impl Worker {
    pub(crate) fn new(setup: WorkerSetup) -> Worker {
        let plan = &setup.plan;
        let rules = ConnectionRules::new(plan);
        let speaks_http2 = plan.connection().http != HttpVersion::Http11;
        Worker {
            requests: Http1Requests::new(plan),
            frames: speaks_http2.then(|| http2::HeaderBlocks::new(plan)),
            timeline: Timeline::new(plan),
            phase: WorkerPhase::Firing,
            cut: None,
            slots: Slots::new(plan.connection().http.streams()),
            deadlines: Deadlines::new(plan),
            pauses: Timers::default(),
            idle: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            queue: VecDeque::new(),
            in_flight: 0,
            chains: Chains::default(),
            unread: Vec::new(),
            uploads: Vec::new(),
            buffer: vec![0; READ_BYTES],
            sender: Sender::new(setup.lease),
            cpu: setup.cpu,
            cpu_before_ns: 0,
            clock: setup.clock,
            order: setup.order,
            source: setup.source,
            random: setup.random,
            watch: SocketWatch::new(setup.poller, setup.spin, setup.clock),
            ledger: Ledger::new(setup.recorder, setup.number, setup.handover, setup.spares),
            rules,
            connector: Connector::new(setup.endpoints),
            tls: setup.tls,
        }
    }

    /// Runs from the start instant to the end of the drain.
    pub(crate) fn run(mut self) {
        self.cpu_before_ns = thread_cpu_ns();
        self.sleep_until_start();
        self.ledger.begin(monotonic_ns());
        self.seat_users();
        while !self.is_done() {
            self.turn();
        }
        self.leave();
    }

    /// One turn of the loop: wait, then sockets, lookups, time-outs, pauses, arrivals.
    fn turn(&mut self) {
        let (events, mut now) = self.watch.wait(self.patience());
        self.obey(now);
        self.read_on();
        self.upload_on();
        for index in 0..events {
            let ready = self.watch.event(index);
            let (seat, generation) = seat_of(ready.token);
            if self.slots.stands(seat, generation) {
                self.watch.begin_handling();
                self.on_ready(seat, ready);
                self.send_frames();
                self.keep_schedule();
            }
        }
        now = self.clock.now();
        self.take_answers(now);
        self.on_time(now);
    }

    /// Serves who waits for a connection, and takes the arrivals that are due already: a burst of
    /// answers must not hold them up.
    fn keep_schedule(&mut self) {
        if !self.queue.is_empty() {
            self.serve_queue();
            self.send_frames();
        }
        if let Some(due) = self.source.next_arrival() {
            let now = self.clock.now();
            if due <= now {
                self.take_arrivals(now);
                self.send_frames();
            }
        }
    }

    /// How long nothing is due.
    fn patience(&self) -> Patience {
        if !self.unread.is_empty() || !self.uploads.is_empty() {
            return Patience::Look;
        }
        let arrival = self.source.next_arrival();
        let end = (self.phase == WorkerPhase::Firing).then_some(self.timeline.end_at);
        let timers = [self.deadlines.next(), self.pauses.next()];
        let others = [arrival, end].into_iter().chain(timers).flatten();
        Patience::Until {
            due: others.fold(self.ledger.recorder.boundary(), u64::min),
            arrival,
        }
    }

    /// The ready socket is being handled at `at`.
    #[inline]
    fn note_lag(&mut self, at: u64) {
        if let Some(lag) = self.watch.take_lag(at) {
            self.ledger.recorder.lagged(at, lag);
        }
    }

    fn on_time(&mut self, now: u64) {
        self.ledger.roll(now);
        // Each with its own instant: of many at once, the last must not seem to have begun with the
        // first.
        while let Some(slot) = self.deadlines.pop(now) {
            self.time_out(slot, self.clock.now());
        }
        for _ in 0..BEGUN_AT_ONCE {
            let Some(slot) = self.pauses.pop(now) else {
                break;
            };
            self.begin_as_user(slot, self.clock.now());
        }
        self.serve_queue();
        self.take_arrivals(now);
        self.send_frames();
        if self.phase == WorkerPhase::Firing
            && (now >= self.timeline.end_at || self.source_is_dry(now))
        {
            self.drain();
        }
    }

    /// Looks at lease and orders.
    fn obey(&mut self, now: u64) {
        if self.cut != Some(Cut::LeaseExpired) && !self.sender.is_allowed() {
            self.cut_all(Cut::LeaseExpired, now);
        }
        match self.order.given() {
            Some(StopMode::Now) if self.in_flight > 0 || self.phase == WorkerPhase::Firing => {
                self.cut_all(Cut::Stopped, now)
            }
            Some(_) if self.phase == WorkerPhase::Firing => {
                self.cut = self.cut.max(Some(Cut::Stopped));
                self.drain();
            }
            _ => {}
        }
    }

    /// Ends everything at once; what was under way failed: cut.
    fn cut_all(&mut self, cut: Cut, now: u64) {
        self.cut = self.cut.max(Some(cut));
        self.drain();
        for seat in 0..self.slots.seats() {
            if let Some(slot) = self
                .slots
                .of_seat(seat)
                .find(|&slot| self.slots.is_flying(slot))
            {
                let stage = self.stage_of(slot);
                self.fail(slot, stage, Kind::Cut, now);
            }
            self.give_up(seat);
        }
    }

    /// Nothing begins from here on.
    fn drain(&mut self) {
        if self.phase != WorkerPhase::Firing {
            return;
        }
        self.pauses = Timers::default();
        let now = self.clock.now();
        self.ledger.roll(now);
        if self.cut.is_some() || self.timeline.is_ended_by_count() {
            self.ledger.recorder.close_window(now);
        }
        for waiting in std::mem::take(&mut self.queue) {
            self.not_sent(waiting, now);
        }
        // Arrivals that were due and not looked at yet are the client's failure, and are said.
        if let LoadSource::Open(arrivals) = &mut self.source {
            let late: Vec<Arrival> = std::iter::from_fn(|| arrivals.take(now)).collect();
            arrivals.end();
            late.into_iter().for_each(|arrival| {
                self.not_sent(
                    WaitingArrival {
                        arrival,
                        noticed_at: now,
                    },
                    now,
                )
            });
        }
        let firing = self.spent(now);
        self.phase = WorkerPhase::Draining { firing };
        self.ledger.drain();
    }

    fn is_done(&self) -> bool {
        self.phase != WorkerPhase::Firing && self.in_flight == 0
    }

    /// Whether no operation can begin any more, whatever the time.
    fn source_is_dry(&self, now: u64) -> bool {
        match &self.source {
            LoadSource::Open(arrivals) => arrivals.next_at().is_none() && self.queue.is_empty(),
            LoadSource::Closed(users) => users.are_dry(now),
        }
    }

    fn sleep_until_start(&mut self) {
        while self.order.given().is_none() {
            let left = self.clock.until_start();
            if left == 0 {
                return;
            }
            self.watch.sleep(left);
        }
        // Stopped before the start: the run clock stands at 0, and yet nothing is due.
        if let LoadSource::Open(arrivals) = &mut self.source {
            arrivals.end();
        }
    }

    /// Closed loop: every user gets its slot, and begins when its span does.
    fn seat_users(&mut self) {
        let users = match &self.source {
            LoadSource::Closed(users) => users.users.as_slice(),
            LoadSource::Open(_) => &[],
        };
        let seats: Vec<(u64, Option<u64>)> = users
            .iter()
            .map(|(user, spans)| (*user, spans.first().map(|span| span.start)))
            .collect();
        for (user, begin) in seats {
            let seat = self.slots.add(user);
            let Some(begin) = begin else { continue };
            self.slots
                .of_seat(seat)
                .for_each(|slot| self.pauses.set(slot, begin));
        }
    }

    fn take_answers(&mut self, now: u64) {
        while let Some((question, found)) = self.connector.endpoints.answer(now) {
            self.on_resolved(question, found, now);
        }
    }

    /// An arrival that is never sent.
    fn not_sent(&mut self, waiting: WaitingArrival, now: u64) {
        self.ledger.roll(now);
        let WaitingArrival {
            arrival,
            noticed_at,
        } = waiting;
        let key = CellId {
            period: arrival.period,
            request: self.requests.at(arrival.seq),
            address: 0,
        };
        let failure = Failure {
            stage: measure::FailureStage::Load,
            kind: Kind::NotSent,
        };
        let intended_at = arrival.intended_at;
        self.ledger.recorder.not_sent(&NotSent {
            key,
            intended_at,
            noticed_at,
            given_up_at: now,
            failure,
        });
    }

    /// What the thread has spent up to now.
    fn spent(&self, now: u64) -> Spent {
        Spent {
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_before_ns),
            spun_ns: self.watch.spun_ns(),
            idle_ns: self.watch.idle_ns(),
            wall_ns: now,
        }
    }

    fn leave(mut self) {
        let whole = self.spent(self.clock.now());
        // The server is told of the end of kept connections as of that of any other.
        for seat in 0..self.slots.seats() {
            let now = self.clock.now();
            self.ledger.roll(now);
            self.close(seat);
        }
        self.slots.clear();
        let firing = match self.phase {
            WorkerPhase::Firing => whole,
            WorkerPhase::Draining { firing } => firing,
        };
        let figures = WorkerFigures {
            firing,
            whole,
            thread_id: rustix::thread::gettid().as_raw_nonzero().get(),
            cpu: self.cpu,
            cut: self.cut,
        };
        self.ledger.end(self.clock.now(), figures);
    }
}

fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
