//! One worker: an OS thread with its own event loop. It shares only read-only data with other
//! workers.
//!
//! The loop waits for sockets until the next instant that matters ([`SocketWatch`]), then acts on
//! what is due. The [`LoadSource`] decides when operations are due, the [`Timeline`] until when.
//! `operation`, `opening`, `lanes` and `io` carry an operation out, `losses` takes it from a
//! connection that has ended. What is recorded leaves through the [`Ledger`], what is sent through
//! the [`Sender`].

mod arrivals;
mod connector;
mod deadlines;
mod draining;
mod handover;
mod io;
mod lanes;
mod ledger;
mod losses;
mod opening;
mod operation;
mod path_probe;
mod pooled;
mod recorded;
mod redirects;
mod sender;
mod sockets;
mod steps;
mod thread_account;
mod uploads;
mod users;
mod watch;
mod watched;

use crate::arrival::Waiting;
use crate::clock::{RunClock, monotonic_ns};
use crate::connection::READ_BYTES;
use crate::connection_key::ConnectionKey;
use crate::endpoints::Endpoints;
use crate::journeys::Journeys;
use crate::lease::{FiringLease, StopMode, StopOrder};
use crate::plan_requests::PlanRequests;
use crate::poller::{Poller, Ready};
use crate::random::Random;
use crate::request_tallies::RequestTallies;
use crate::resolver::Question;
use crate::script::Script;
use crate::seat::SeatTable;
use crate::source::{LoadSource, Timeline};
use crate::spin::Spin;
use crate::timers::Timers;
use crate::tls::WorkerTls;
use crate::tokens::Tokens;
use connector::{ConnectionRules, Connector};
use deadlines::Deadlines;
pub(crate) use handover::Handover;
pub use handover::{Cut, Spent, WorkerFigures};
use io::Unread;
use ledger::Ledger;
use losses::Loss;
use measure::{Kind, Recorder, Spare};
use path_probe::PathProbe;
use plan::Plan;
use sender::Sender;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use thread_account::ThreadAccount;
use uploads::Unsent;
use watch::{Patience, SocketWatch};

/// Arrivals and users that begin before the sockets are checked again, so that a burst of them
/// starves no socket.
const BEGUN_AT_ONCE: usize = 64;

/// The phase of a worker's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerPhase {
    /// Operations begin as the plan demands.
    Firing,
    /// Nothing begins; operations under way may finish. `firing` is what had been spent before.
    Draining { firing: Spent },
}

/// Everything that a worker needs and owns.
pub(crate) struct WorkerSetup {
    pub(crate) number: usize,
    pub(crate) plan: Arc<Plan>,
    pub(crate) tokens: Tokens,
    pub(crate) clock: RunClock,
    pub(crate) lease: FiringLease,
    pub(crate) order: StopOrder,
    pub(crate) poller: Poller,
    pub(crate) endpoints: Vec<Endpoints>,
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

/// An event that a worker acts on.
enum WorkerEvent {
    /// A wait is over: the lease and orders are checked.
    Woke,
    /// A connection had more to read, or a socket could take more, than one turn allows.
    MoreToRead(Unread),
    MoreToSend(Unsent),
    /// Something has happened to a socket.
    Ready(Ready),
    /// A lookup has ended.
    Resolved(Question, Result<SocketAddr, Kind>),
    /// The time of an operation is up.
    TimeIsUp {
        slot: u32,
    },
    /// A connection's own time is up.
    ConnectionTimeIsUp {
        seat: u32,
    },
    /// A user's pause is over.
    PauseIsOver {
        slot: u32,
    },
    /// The events of a turn have been handled: arrivals may be due, or the end.
    Tick,
}

/// Makes the load of one thread: events in, operations out.
pub(crate) struct Worker {
    clock: RunClock,
    order: StopOrder,
    timeline: Timeline,
    source: LoadSource,
    script: Script,
    /// What is under way, if the load is made of journeys.
    journeys: Option<Box<Journeys>>,
    phase: WorkerPhase,
    cut: Option<Cut>,
    random: Random,
    watch: SocketWatch,
    ledger: Ledger,
    requests: PlanRequests,
    rules: ConnectionRules,
    connector: Connector,
    tls: Option<WorkerTls>,
    seats: SeatTable,
    /// Time-outs of operations.
    deadlines: Deadlines,
    /// By seat: when its connection's own time is up.
    connection_timers: Timers,
    /// The ends of pauses: think time, back-off, a user's next span.
    pauses: Timers,
    /// Seats with HTTP/2 frames to send.
    dirty: Vec<u32>,
    queue: VecDeque<Waiting>,
    losses: VecDeque<Loss>,
    unread: Vec<Unread>,
    uploads: Vec<Unsent>,
    buffer: Vec<u8>,
    sender: Sender,
    account: ThreadAccount,
    path_probe: PathProbe,
}

impl Worker {
    pub(crate) fn new(setup: WorkerSetup) -> Worker {
        let plan = &setup.plan;
        let rules = ConnectionRules::new(plan);
        let tallies = RequestTallies::new(plan, &setup.tokens);
        let outlets = (setup.handover, setup.spares);
        let mut requests = PlanRequests::new(plan, &tallies);
        requests.pool_users = setup.source.pool_users().map(Box::new);
        Worker {
            script: Script::new(plan),
            journeys: Journeys::new(plan),
            requests,
            timeline: Timeline::new(plan),
            phase: WorkerPhase::Firing,
            cut: None,
            seats: SeatTable::new(plan.connection().http.streams()),
            deadlines: Deadlines::new(plan),
            connection_timers: Timers::default(),
            pauses: Timers::default(),
            dirty: Vec::new(),
            queue: VecDeque::new(),
            losses: VecDeque::new(),
            unread: Vec::new(),
            uploads: Vec::new(),
            buffer: vec![0; READ_BYTES],
            sender: Sender::new(setup.lease),
            account: ThreadAccount::new(setup.cpu),
            path_probe: PathProbe::default(),
            clock: setup.clock,
            order: setup.order,
            source: setup.source,
            random: setup.random,
            watch: SocketWatch::new(setup.poller, setup.spin, setup.clock),
            ledger: Ledger::new(setup.recorder, tallies, setup.number, outlets),
            rules,
            connector: Connector::new(setup.endpoints),
            tls: setup.tls,
        }
    }

    /// Runs from the start instant to the end of the drain. Never inlined, because the bench
    /// `instructions` counts within it.
    #[inline(never)]
    pub(crate) fn run(mut self) {
        self.account.begin();
        self.sleep_until_start();
        self.ledger.begin(monotonic_ns());
        self.seat_users();
        self.watch.begin();
        while !self.is_done() {
            self.turn();
        }
        self.leave();
    }

    /// Runs one turn of the loop: waits, then acts on everything that has happened, in this order.
    fn turn(&mut self) {
        let (ready, now) = self.watch.wait(self.patience());
        if let Some(lag) = self.watch.take_held_up() {
            self.ledger.roll(now);
            self.ledger.recorder.record_lag(now, lag);
        }
        self.on(WorkerEvent::Woke, now);
        for unread in std::mem::take(&mut self.unread) {
            self.on(WorkerEvent::MoreToRead(unread), now);
        }
        for unsent in std::mem::take(&mut self.uploads) {
            self.on(WorkerEvent::MoreToSend(unsent), now);
        }
        for index in 0..ready {
            self.on(WorkerEvent::Ready(self.watch.event(index)), now);
        }
        let now = self.clock.now();
        while let Some((question, found)) = self.connector.answer(now) {
            self.on(WorkerEvent::Resolved(question, found), now);
        }
        self.ledger.roll(now);
        // Each gets its own instant: if many end at once, the last must not seem to have begun
        // together with the first.
        while let Some(slot) = self.deadlines.pop(now) {
            self.on(WorkerEvent::TimeIsUp { slot }, self.clock.now());
        }
        while let Some(seat) = self.connection_timers.pop(now) {
            self.on(WorkerEvent::ConnectionTimeIsUp { seat }, self.clock.now());
        }
        for _ in 0..BEGUN_AT_ONCE {
            let Some(slot) = self.pauses.pop(now) else {
                break;
            };
            self.on(WorkerEvent::PauseIsOver { slot }, self.clock.now());
        }
        self.on(WorkerEvent::Tick, now);
    }

    /// Acts on an event. Each caller knows its variant, so with inlining no event is ever built.
    #[inline(always)]
    fn on(&mut self, event: WorkerEvent, now: u64) {
        match event {
            WorkerEvent::Woke => self.obey(now),
            WorkerEvent::MoreToRead(unread) => self.read_on(unread),
            WorkerEvent::MoreToSend(unsent) => self.upload_on(unsent),
            WorkerEvent::Ready(ready) => self.on_socket(ready),
            WorkerEvent::Resolved(question, found) => self.on_resolved(question, found, now),
            WorkerEvent::TimeIsUp { slot } => self.time_out(slot, now),
            WorkerEvent::ConnectionTimeIsUp { seat } => self.on_connection_timeout(seat, now),
            WorkerEvent::PauseIsOver { slot } => self.on_pause_over(slot, now),
            WorkerEvent::Tick => self.on_tick(now),
        }
        self.settle();
    }

    /// Handles a ready socket. An event of a socket that was closed in this turn is ignored.
    fn on_socket(&mut self, ready: Ready) {
        let key = ConnectionKey::of_token(ready.token);
        if self.seats.stands(key) {
            self.watch.begin_handling();
            self.on_ready(key, ready);
            self.settle();
            self.send_frames();
            self.keep_schedule();
        }
    }

    /// How long nothing is due.
    fn patience(&self) -> Patience {
        // The poller is edge-triggered: it does not report again what was left over in the last
        // turn.
        if !self.unread.is_empty() || !self.uploads.is_empty() {
            return Patience::Look;
        }
        let arrival = self.source.next_arrival();
        let end = (self.phase == WorkerPhase::Firing).then(|| self.nothing_begins_from());
        let timers = [
            self.deadlines.next(),
            self.connection_timers.next(),
            self.pauses.next(),
        ];
        let others = [arrival, end].into_iter().chain(timers).flatten();
        Patience::Until {
            due: others.fold(self.ledger.recorder.boundary(), u64::min),
            arrival,
            awaits_answers: self.ledger.recorder.under_way() > 0,
        }
    }

    /// Records how late a ready socket is handled, at `at`.
    #[inline]
    fn note_lag(&mut self, at: u64) {
        if let Some(lag) = self.watch.take_lag(at) {
            self.ledger.recorder.record_lag(at, lag);
        }
    }

    /// Begins what is due, and ends the load when its time has come.
    fn on_tick(&mut self, now: u64) {
        self.serve_queue();
        self.take_arrivals(now);
        self.send_frames();
        self.probe_path(now);
        if self.phase == WorkerPhase::Firing && now >= self.nothing_begins_from() {
            self.drain();
        }
    }

    /// Checks the lease and obeys orders.
    fn obey(&mut self, now: u64) {
        if self.cut != Some(Cut::LeaseExpired) && !self.sender.is_allowed() {
            self.cut_all(Cut::LeaseExpired, now);
        }
        match self.order.given() {
            Some(StopMode::Now) if self.seats.live() > 0 || self.phase == WorkerPhase::Firing => {
                self.cut_all(Cut::Stopped, now)
            }
            Some(_) if self.phase == WorkerPhase::Firing => self.cut_short(Cut::Stopped, now),
            // All of a number of requests have begun, and were to be measured until they end.
            Some(_) if self.timeline.is_ended_by_count() && self.end_measuring(now) => {
                self.cut_short(Cut::Stopped, now)
            }
            Some(_) if self.has_lasting_sockets() => self.cut_short(Cut::Stopped, now),
            _ => {}
        }
    }

    /// Whether sockets can be open that only a stop closes before their end.
    fn has_lasting_sockets(&self) -> bool {
        let is_of_count = self.timeline.end_at == u64::MAX;
        self.requests.has_sockets() && is_of_count && self.cut.is_none() && self.seats.live() > 0
    }

    /// Lets nothing begin from here on, although the plan has not ended.
    fn cut_short(&mut self, cut: Cut, now: u64) {
        self.cut = self.cut.max(Some(cut));
        self.end_measuring(now);
        self.drain();
        self.close_sockets(now);
    }

    /// Ends the measured part before the plan does. Returns whether it was still going on.
    fn end_measuring(&mut self, now: u64) -> bool {
        self.ledger.roll(now);
        self.ledger.recorder.close_window(now)
    }

    /// Ends everything at once; operations under way fail as cut.
    fn cut_all(&mut self, cut: Cut, now: u64) {
        self.cut_short(cut, now);
        for seat in 0..self.seats.seats() {
            if let Some(slot) = self.seats.busy_slot(seat) {
                let stage = self.stage_of(slot);
                self.fail(slot, stage, Kind::Cut, now);
            }
            self.give_up(seat);
        }
    }

    /// Lets nothing begin from here on.
    fn drain(&mut self) {
        if self.phase != WorkerPhase::Firing {
            return;
        }
        let now = self.clock.now();
        self.ledger.roll(now);
        if self.cut.is_none() && self.timeline.is_ended_by_count() {
            let of_steps = self.journeys.as_ref().map_or(0, |all| all.last_begun_at());
            let last = self.source.last_begun_at().max(of_steps);
            self.ledger.recorder.end_firing(last);
        }
        self.end_arrivals(now);
        let firing = self.account.spent(&self.watch, now);
        self.phase = WorkerPhase::Draining { firing };
        self.abandon_all_journeys(now);
        self.ledger.drain();
        self.close_sockets(now);
    }

    fn is_done(&self) -> bool {
        self.phase != WorkerPhase::Firing && self.seats.live() == 0
    }

    fn sleep_until_start(&mut self) {
        while self.order.given().is_none() {
            let left = self.clock.until_start();
            if left == 0 {
                return;
            }
            self.watch.sleep(left);
        }
        // Stopped before the start: the run clock is at 0, yet arrivals due at 0 must not begin.
        self.source.end_arrivals();
    }

    fn leave(mut self) {
        let whole = self.account.spent(&self.watch, self.clock.now());
        // The server is notified of the end of kept connections, as of any other.
        for seat in 0..self.seats.seats() {
            let now = self.clock.now();
            self.ledger.roll(now);
            self.close(seat);
        }
        self.seats.clear();
        let firing = match self.phase {
            WorkerPhase::Firing => whole,
            WorkerPhase::Draining { firing } => firing,
        };
        let figures = WorkerFigures {
            firing,
            whole,
            thread_id: rustix::thread::gettid().as_raw_nonzero().get(),
            cpu: self.account.cpu,
            cut: self.cut,
        };
        self.ledger.end(self.clock.now(), figures);
    }
}
