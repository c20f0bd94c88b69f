//! One worker: an OS thread with an event loop of its own. Nothing here is shared with another
//! worker but what is read.
//!
//! The loop waits for sockets until the next instant that matters, then does what is due. When
//! something is due is the
//! [`Source`]'s business, how an operation goes is in `operation`, `opening`, `streams` and `io`,
//! and until when is the
//! [`Timeline`]'s.

mod draining;
mod io;
mod opening;
mod operation;
mod streams;
mod uploads;

use crate::clock::{RunClock, monotonic_ns};
use crate::connection::READ_BYTES;
use crate::endpoints::Endpoints;
use crate::http2;
use crate::lease::{Lease, Stop, StopOrder};
use crate::poller::{Events, Poller};
use crate::random::Random;
use crate::request::Requests;
use crate::slot::{Flight, Slots, seat_of};
use crate::source::{Arrival, Source, Timeline};
use crate::spin::Spin;
use crate::timers::Timers;
use crate::tls::{Chains, WorkerTls};
use io::Unread;
use measure::{CellId, Failure, Interval, Kind, NotSent, Recorder, Spare};
use plan::{HttpVersion, Plan, RequestsPerConnection};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use uploads::Unsent;

/// Arrivals that wait for a connection at most; what comes beyond is not sent.
const QUEUE: usize = 65_536;
/// Longest sleep, so that a stopped or forgotten worker sees its orders and its lease.
const LONGEST_WAIT_NS: u64 = 250_000_000;
/// Arrivals and users that begin before the sockets are looked at again, so that a burst of them
/// starves nobody.
const BEGUN_AT_ONCE: usize = 64;
/// A look at the sockets that takes longer has slept: they became ready while it did.
const SLEPT_NS: u64 = 10_000;

/// What a worker hands to the collector.
pub(crate) enum Handover {
    /// The worker's first act, at this instant of the monotonic clock.
    Began { worker: usize, at: u64 },
    /// Nothing begins any more.
    Draining { worker: usize },
    /// An interval that will not change any more; all of the worker's earlier ones came before it.
    Interval {
        worker: usize,
        number: u32,
        interval: Interval,
    },
    /// The worker has died of a defect, with what it had not handed over; nothing follows.
    Died { worker: usize },
    /// The worker has ended; nothing follows.
    Ended {
        worker: usize,
        figures: WorkerFigures,
    },
}

/// What a worker spent, from the start instant on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// Part of it that only waited for an arrival that was near.
    pub spun_ns: u64,
    /// Time it waited for events with nothing to do.
    pub idle_ns: u64,
    /// Time that passed.
    pub wall_ns: u64,
}

/// How a worker's run was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerFigures {
    /// What it spent while operations began.
    pub firing: Spent,
    /// What it spent in all, the drain included.
    pub whole: Spent,
    /// Kernel's number of the thread.
    pub thread_id: i32,
    /// CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Why it ended before its plan did.
    pub cut: Option<Cut>,
}

impl Spent {
    /// Share of the time in which the thread worked on a CPU, rather than waited there or
    /// elsewhere.
    #[must_use]
    pub fn working_share(&self) -> f64 {
        self.working_ns() as f64 / self.wall_ns.max(1) as f64
    }

    /// CPU time that the thread worked, rather than waited.
    #[must_use]
    pub fn working_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.spun_ns)
    }
}

/// What ended a worker's run before its plan did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// It was asked to stop.
    Stopped,
    /// Its lease ran out.
    LeaseExpired,
}

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Operations begin.
    Firing,
    /// Nothing begins; what has begun may finish.
    Draining,
}

/// All a worker needs, of its own.
pub(crate) struct Parts {
    pub(crate) number: usize,
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: RunClock,
    pub(crate) lease: Lease,
    pub(crate) order: StopOrder,
    pub(crate) poller: Poller,
    pub(crate) endpoints: Endpoints,
    pub(crate) spin: Spin,
    pub(crate) tls: Option<WorkerTls>,
    pub(crate) source: Source,
    pub(crate) recorder: Recorder,
    pub(crate) random: Random,
    pub(crate) handover: SyncSender<Handover>,
    pub(crate) spares: Receiver<Spare>,
    /// CPU the thread is pinned to.
    pub(crate) cpu: Option<u32>,
}

pub(crate) struct Worker {
    parts: Parts,
    events: Events,
    requests: Requests,
    /// The same requests for HTTP/2, where the plan speaks that.
    frames: Option<http2::HeaderBlocks>,
    timeline: Timeline,
    phase: Phase,
    cut: Option<Cut>,
    slots: Slots,
    /// Time-outs of operations.
    deadlines: Timers,
    /// Ends of pauses: think time, back-off, a user's next span.
    pauses: Timers,
    /// Open loop: slots that could send at once, the most recent last; seats without a connection.
    idle: Vec<u32>,
    free: Vec<u32>,
    /// Seats with HTTP/2 frames to send.
    dirty: Vec<u32>,
    queue: VecDeque<Waiting>,
    in_flight: u32,
    offering: f64,
    chains: Chains,
    backlog: VecDeque<Handover>,
    unread: Vec<Unread>,
    uploads: Vec<Unsent>,
    buffer: Vec<u8>,
    outgoing: Vec<u8>,
    plain: Vec<u8>,
    idle_ns: u64,
    /// CPU time of the thread before the run.
    cpu_before_ns: u64,
    /// What had been spent when nothing began any more.
    firing: Option<Spent>,
    /// When the sockets were looked at last.
    looked_at: u64,
    /// Since when the sockets that it found were ready, at most.
    ready_since: u64,
    /// The same of the socket that is being handled, until it is.
    unhandled_since: Option<u64>,
    handshake_only: bool,
    requests_each: u32,
}

/// An arrival that waits for a connection.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    arrival: Arrival,
    /// When the loop saw that it was due.
    noticed_at: u64,
}

impl Worker {
    pub(crate) fn new(parts: Parts) -> Worker {
        let plan = Arc::clone(&parts.plan);
        let requests_each = match plan.connection().requests {
            RequestsPerConnection::HandshakeOnly => 0,
            RequestsPerConnection::Limited(number) => number.get(),
            RequestsPerConnection::Unlimited => u32::MAX,
        };
        Worker {
            events: Events::new(),
            requests: Requests::new(&plan),
            frames: (plan.connection().http != HttpVersion::Http11)
                .then(|| http2::HeaderBlocks::new(&plan)),
            timeline: Timeline::new(&plan),
            phase: Phase::Firing,
            cut: None,
            slots: Slots::new(plan.connection().http.streams()),
            deadlines: Timers::default(),
            pauses: Timers::default(),
            idle: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            queue: VecDeque::new(),
            in_flight: 0,
            offering: 0.0,
            chains: Chains::default(),
            backlog: VecDeque::new(),
            unread: Vec::new(),
            uploads: Vec::new(),
            buffer: vec![0; READ_BYTES],
            outgoing: Vec::with_capacity(4096),
            plain: Vec::with_capacity(1024),
            idle_ns: 0,
            cpu_before_ns: 0,
            firing: None,
            looked_at: 0,
            ready_since: 0,
            unhandled_since: None,
            handshake_only: requests_each == 0,
            requests_each,
            parts,
        }
    }

    /// Runs from the start instant to the end of the drain.
    pub(crate) fn run(mut self) {
        self.cpu_before_ns = thread_cpu_ns();
        self.sleep_until_start();
        self.backlog.push_back(Handover::Began {
            worker: self.parts.number,
            at: monotonic_ns(),
        });
        self.deliver();
        self.seat_users();
        while !self.is_done() {
            self.turn();
        }
        self.leave();
    }

    /// One turn of the loop: wait, then sockets, lookups, time-outs, pauses, arrivals.
    fn turn(&mut self) {
        let (events, mut now) = self.wait();
        self.obey(now);
        self.read_on();
        self.upload_on();
        for index in 0..events {
            let ready = self.events.of(index);
            let (seat, generation) = seat_of(ready.token);
            if self.slots.stands(seat, generation) {
                self.unhandled_since = Some(self.ready_since);
                self.on_ready(seat, ready);
                self.send_frames();
                self.keep_schedule();
            }
        }
        now = self.parts.clock.now();
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
        let Some(due) = self.next_arrival() else {
            return;
        };
        let now = self.parts.clock.now();
        if due <= now {
            self.take_arrivals(now);
            self.send_frames();
        }
    }

    /// Waits for events until something is due; how many there are, and when it is then.
    fn wait(&mut self) -> (usize, u64) {
        let before = self.parts.clock.now();
        let due = self.next_due().min(before + LONGEST_WAIT_NS);
        if due <= before || !self.unread.is_empty() || !self.uploads.is_empty() {
            return self.look(before, 0);
        }
        let (events, now) = match self.parts.spin.begins_at(self.next_arrival()) {
            Some(begin) if begin <= before => self.spin(due, before),
            Some(begin) => self.look(before, begin.min(due) - before),
            None => self.look(before, due - before),
        };
        self.idle_ns += now.saturating_sub(before);
        (events, now)
    }

    /// Looks for events on the CPU until something is due.
    fn spin(&mut self, due: u64, before: u64) -> (usize, u64) {
        self.parts.spin.begin(before);
        loop {
            let (events, now) = self.look(before, 0);
            if events > 0 || now >= due {
                self.parts.spin.looked(now);
                return (events, now);
            }
            if !self.parts.spin.goes_on(now) {
                return (0, now);
            }
        }
    }

    /// Looks for events, asleep for at most `timeout` nanoseconds from `before` on.
    fn look(&mut self, before: u64, timeout: u64) -> (usize, u64) {
        // A failing epoll_wait (EBADF, EINVAL) would be a defect here; the loop goes on by its
        // timers.
        let events = self
            .parts
            .poller
            .wait(&mut self.events, timeout)
            .unwrap_or(0);
        let now = self.parts.clock.now();
        let has_slept = timeout > 0 && now.saturating_sub(before) > SLEPT_NS;
        self.ready_since = if has_slept { now } else { self.looked_at };
        self.looked_at = now;
        (events, now)
    }

    /// The ready socket is being handled at `at`.
    #[inline]
    fn note_lag(&mut self, at: u64) {
        if let Some(since) = self.unhandled_since.take() {
            self.parts.recorder.lagged(at, at.saturating_sub(since));
        }
    }

    fn next_arrival(&self) -> Option<u64> {
        match &self.parts.source {
            Source::Open(arrivals) => arrivals.next_at(),
            Source::Closed(_) => None,
        }
    }

    /// The next instant at which something is due without an event.
    fn next_due(&self) -> u64 {
        let arrival = self.next_arrival();
        let end = (self.phase == Phase::Firing).then_some(self.timeline.end_at);
        let cut = Some(self.parts.recorder.boundary());
        let all = [arrival, end, cut, self.deadlines.next(), self.pauses.next()];
        all.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn on_time(&mut self, now: u64) {
        self.roll(now);
        // Each with its own instant: of many at once, the last must not seem to have begun with the
        // first.
        while let Some(slot) = self.deadlines.pop(now) {
            self.time_out(slot, self.parts.clock.now());
        }
        for _ in 0..BEGUN_AT_ONCE {
            let Some(slot) = self.pauses.pop(now) else {
                break;
            };
            self.begin_as_user(slot, self.parts.clock.now());
        }
        self.serve_queue();
        self.take_arrivals(now);
        self.send_frames();
        if self.phase == Phase::Firing && (now >= self.timeline.end_at || self.source_is_dry(now)) {
            self.drain();
        }
    }

    /// Looks at lease and orders.
    fn obey(&mut self, now: u64) {
        if self.cut != Some(Cut::LeaseExpired) && !self.parts.lease.holds() {
            self.cut_all(Cut::LeaseExpired, now);
        }
        match self.parts.order.given() {
            Some(Stop::Now) if self.in_flight > 0 || self.phase == Phase::Firing => {
                self.cut_all(Cut::Stopped, now)
            }
            Some(_) if self.phase == Phase::Firing => {
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
        if self.phase == Phase::Draining {
            return;
        }
        self.phase = Phase::Draining;
        self.pauses = Timers::default();
        let now = self.parts.clock.now();
        self.roll(now);
        if self.cut.is_some() || self.timeline.is_ended_by_count() {
            self.parts.recorder.close_window(now);
        }
        for waiting in std::mem::take(&mut self.queue) {
            self.not_sent(waiting, now);
        }
        // Arrivals that were due and not looked at yet are the client's failure, and are said.
        if let Source::Open(arrivals) = &mut self.parts.source {
            let late: Vec<Arrival> = std::iter::from_fn(|| arrivals.take(now)).collect();
            arrivals.end();
            late.into_iter().for_each(|arrival| {
                self.not_sent(
                    Waiting {
                        arrival,
                        noticed_at: now,
                    },
                    now,
                )
            });
        }
        self.firing = Some(self.spent(now));
        self.backlog.push_back(Handover::Draining {
            worker: self.parts.number,
        });
        self.deliver();
    }

    fn is_done(&self) -> bool {
        self.phase == Phase::Draining && self.in_flight == 0
    }

    /// Whether no operation can begin any more, whatever the time.
    fn source_is_dry(&self, now: u64) -> bool {
        match &self.parts.source {
            Source::Open(arrivals) => arrivals.next_at().is_none() && self.queue.is_empty(),
            Source::Closed(users) => users.are_dry(now),
        }
    }

    fn sleep_until_start(&mut self) {
        while self.parts.order.given().is_none() {
            let left = self.parts.clock.until_start();
            if left == 0 {
                return;
            }
            let _ = self
                .parts
                .poller
                .wait(&mut self.events, left.min(LONGEST_WAIT_NS));
        }
        // Stopped before the start: the run clock stands at 0, and yet nothing is due.
        if let Source::Open(arrivals) = &mut self.parts.source {
            arrivals.end();
        }
    }

    /// Closed loop: every user gets its slot, and begins when its span does.
    fn seat_users(&mut self) {
        let Source::Closed(users) = &self.parts.source else {
            return;
        };
        let seats: Vec<(u64, Option<u64>)> = users
            .users
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
        while let Some((question, found)) = self.parts.endpoints.answer(now) {
            self.on_resolved(question, found, now);
        }
    }

    /// An arrival that is never sent.
    fn not_sent(&mut self, waiting: Waiting, now: u64) {
        self.roll(now);
        let Waiting {
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
        self.parts.recorder.not_sent(&NotSent {
            key,
            intended_at,
            noticed_at,
            given_up_at: now,
            failure,
        });
    }

    /// Cuts the interval that `now` lies beyond, before anything of a later second is recorded.
    #[inline]
    fn roll(&mut self, now: u64) {
        while now >= self.parts.recorder.boundary() {
            self.hand_over(now);
        }
    }

    #[cold]
    fn hand_over(&mut self, now: u64) {
        let spare = self.parts.spares.try_recv().ok();
        let (worker, number) = (self.parts.number, self.parts.recorder.interval());
        let interval = self.parts.recorder.cut(now, spare);
        self.backlog.push_back(Handover::Interval {
            worker,
            number,
            interval,
        });
        self.deliver();
    }

    /// Gives the collector what it takes; the rest waits here rather than the load there.
    fn deliver(&mut self) {
        while let Some(next) = self.backlog.pop_front() {
            if let Err(TrySendError::Full(back)) = self.parts.handover.try_send(next) {
                self.backlog.push_front(back);
                return;
            }
        }
    }

    /// What the thread has spent up to now.
    fn spent(&self, now: u64) -> Spent {
        Spent {
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_before_ns),
            spun_ns: self.parts.spin.spun_ns(),
            idle_ns: self.idle_ns,
            wall_ns: now,
        }
    }

    fn leave(mut self) {
        let whole = self.spent(self.parts.clock.now());
        // The server is told of the end of kept connections as of that of any other.
        for seat in 0..self.slots.seats() {
            let now = self.parts.clock.now();
            self.roll(now);
            self.close(seat);
        }
        self.slots.clear();
        let now = self.parts.clock.now();
        self.roll(now);
        self.hand_over(now);
        let figures = WorkerFigures {
            firing: self.firing.unwrap_or(whole),
            whole,
            thread_id: rustix::thread::gettid().as_raw_nonzero().get(),
            cpu: self.parts.cpu,
            cut: self.cut,
        };
        self.backlog.push_back(Handover::Ended {
            worker: self.parts.number,
            figures,
        });
        for last in self.backlog {
            // The collector lives until every worker has ended; blocking here delays nothing any
            // more.
            let _ = self.parts.handover.send(last);
        }
    }
}

/// The operation goes to this address: counted as started there, wherever it may have gone before.
fn go_to(recorder: &mut Recorder, flight: &mut Flight, address: u16) {
    let before = flight.id;
    flight.id.address = address;
    if flight.counted && before != flight.id {
        recorder.moved(before, flight.id);
    }
    count_start(recorder, flight);
}

/// Counts the operation as started, once, under the address it goes to; one that never had one,
/// under none.
fn count_start(recorder: &mut Recorder, flight: &mut Flight) {
    if !std::mem::replace(&mut flight.counted, true) {
        recorder.started(flight.id);
    }
}

fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
