//! One worker: an OS thread with an event loop of its own. Nothing here is shared with another worker but what is read.
//!
//! The loop waits for sockets until the next instant that matters, then does what is due. When something is due is the
//! [`Source`]'s business, how an operation goes is in `operation`, `opening`, `streams` and `io`, and until when is the
//! [`Timeline`]'s.

mod io;
mod opening;
mod operation;
mod streams;

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
use measure::{CellId, Failure, Interval, Kind, Recorder, Spare};
use plan::{HttpVersion, Plan, RequestsPerConnection};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

/// Arrivals that wait for a connection at most; what comes beyond is not sent.
const QUEUE: usize = 65_536;
/// Longest sleep, so that a stopped or forgotten worker sees its orders and its lease.
const LONGEST_WAIT_NS: u64 = 250_000_000;
/// Events and arrivals handled before the sockets are looked at again, so that a burst of arrivals starves nobody.
const ARRIVALS_AT_ONCE: usize = 64;

/// What a worker hands to the collector.
pub(crate) enum Handover {
    /// The worker's first act, at this instant of the monotonic clock.
    Began { worker: usize, at: u64 },
    /// An interval that will not change any more; all of the worker's earlier ones came before it.
    Interval { worker: usize, number: u32, interval: Interval },
    /// The worker has died of a defect, with what it had not handed over; nothing follows.
    Died { worker: usize },
    /// The worker has ended; nothing follows.
    Ended { worker: usize, figures: WorkerFigures },
}

/// What a worker spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerFigures {
    /// CPU time of the thread, from the start instant on.
    pub cpu_ns: u64,
    /// Part of it that only waited for an arrival that was near.
    pub spun_ns: u64,
    /// Time it waited for events with nothing to do.
    pub idle_ns: u64,
    /// Time from the start instant to the end of its drain.
    pub wall_ns: u64,
    /// Kernel's number of the thread.
    pub thread_id: i32,
    /// CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Why it ended before its plan did.
    pub cut: Option<Cut>,
}

impl WorkerFigures {
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
    frames: Option<http2::Requests>,
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
    queue: VecDeque<Arrival>,
    in_flight: u32,
    begun: u64,
    offering: f64,
    chains: Chains,
    backlog: VecDeque<Handover>,
    unread: Vec<Unread>,
    buffer: Vec<u8>,
    outgoing: Vec<u8>,
    plain: Vec<u8>,
    body: Vec<u8>,
    idle_ns: u64,
    handshake_only: bool,
    requests_each: u32,
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
            frames: (plan.connection().http != HttpVersion::Http11).then(|| http2::Requests::new(&plan)),
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
            begun: 0,
            offering: 0.0,
            chains: Chains::default(),
            backlog: VecDeque::new(),
            unread: Vec::new(),
            buffer: vec![0; READ_BYTES],
            outgoing: Vec::with_capacity(4096),
            plain: Vec::with_capacity(1024),
            body: Vec::new(),
            idle_ns: 0,
            handshake_only: requests_each == 0,
            requests_each,
            parts,
        }
    }

    /// Runs from the start instant to the end of the drain.
    pub(crate) fn run(mut self) {
        let cpu_before = thread_cpu_ns();
        self.sleep_until_start();
        self.backlog.push_back(Handover::Began { worker: self.parts.number, at: monotonic_ns() });
        self.deliver();
        self.seat_users();
        while !self.is_done() {
            self.turn();
        }
        self.leave(cpu_before);
    }

    /// One turn of the loop: wait, then sockets, lookups, time-outs, pauses, arrivals.
    fn turn(&mut self) {
        let (events, mut now) = self.wait();
        self.obey(now);
        self.read_on();
        for index in 0..events {
            let ready = self.events.of(index);
            let (seat, generation) = seat_of(ready.token);
            if self.slots.stands(seat, generation) {
                self.on_ready(seat, ready);
                self.send_frames();
                self.keep_schedule();
            }
        }
        now = self.parts.clock.now();
        self.take_answers(now);
        self.on_time(now);
    }

    /// Takes the arrivals that are due already: a burst of answers must not hold them up.
    fn keep_schedule(&mut self) {
        let Some(due) = self.next_arrival() else { return };
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
        if due <= before || !self.unread.is_empty() {
            return self.look(0);
        }
        let (events, now) = match self.parts.spin.begins_at(self.next_arrival()) {
            Some(begin) if begin <= before => self.spin(due, before),
            Some(begin) => self.look(begin.min(due) - before),
            None => self.look(due - before),
        };
        self.idle_ns += now.saturating_sub(before);
        (events, now)
    }

    /// Looks for events on the CPU until something is due.
    fn spin(&mut self, due: u64, before: u64) -> (usize, u64) {
        self.parts.spin.begin(before);
        loop {
            let (events, now) = self.look(0);
            if events > 0 || now >= due {
                self.parts.spin.looked(now);
                return (events, now);
            }
            if !self.parts.spin.goes_on(now) {
                return (0, now);
            }
        }
    }

    /// Looks for events, asleep for at most `timeout` nanoseconds.
    fn look(&mut self, timeout: u64) -> (usize, u64) {
        // A failing epoll_wait (EBADF, EINVAL) would be a defect here; the loop goes on by its timers.
        let events = self.parts.poller.wait(&mut self.events, timeout).unwrap_or(0);
        (events, self.parts.clock.now())
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
        // Each with its own instant: of many at once, the last must not seem to have begun with the first.
        while let Some(slot) = self.deadlines.pop(now) {
            self.time_out(slot, self.parts.clock.now());
        }
        while let Some(slot) = self.pauses.pop(now) {
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
            Some(Stop::Now) if self.in_flight > 0 || self.phase == Phase::Firing => self.cut_all(Cut::Stopped, now),
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
            if let Some(slot) = self.slots.of_seat(seat).find(|&slot| self.slots.is_flying(slot)) {
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
        for arrival in std::mem::take(&mut self.queue) {
            self.not_sent(arrival, now);
        }
        // Arrivals that were due and not looked at yet are the client's failure, and are said.
        if let Source::Open(arrivals) = &mut self.parts.source {
            let late: Vec<Arrival> = std::iter::from_fn(|| arrivals.take(now)).collect();
            arrivals.end();
            late.into_iter().for_each(|arrival| self.not_sent(arrival, now));
        }
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
            let _ = self.parts.poller.wait(&mut self.events, left.min(LONGEST_WAIT_NS));
        }
        // Stopped before the start: the run clock stands at 0, and yet nothing is due.
        if let Source::Open(arrivals) = &mut self.parts.source {
            arrivals.end();
        }
    }

    /// Closed loop: every user gets its slot, and begins when its span does.
    fn seat_users(&mut self) {
        let Source::Closed(users) = &self.parts.source else { return };
        let seats: Vec<(u64, Option<u64>)> =
            users.users.iter().map(|(user, spans)| (*user, spans.first().map(|span| span.start))).collect();
        for (user, begin) in seats {
            let seat = self.slots.add(user);
            let Some(begin) = begin else { continue };
            self.slots.of_seat(seat).for_each(|slot| self.pauses.set(slot, begin));
        }
    }

    fn take_answers(&mut self, now: u64) {
        while let Some((question, found)) = self.parts.endpoints.answer(now) {
            self.on_resolved(question, found, now);
        }
    }

    /// An arrival that is never sent.
    fn not_sent(&mut self, arrival: Arrival, now: u64) {
        self.roll(now);
        let id = CellId { period: arrival.period, request: self.requests.nth(self.begun), address: 0 };
        self.begun += 1;
        self.parts.recorder.not_sent(id, Failure { stage: measure::Stage::Load, kind: Kind::NotSent });
    }

    /// Cuts the interval that `now` lies beyond, before anything of a later second is recorded.
    #[inline]
    fn roll(&mut self, now: u64) {
        if now >= self.parts.recorder.boundary() {
            self.hand_over(now);
        }
    }

    #[cold]
    fn hand_over(&mut self, now: u64) {
        let spare = self.parts.spares.try_recv().ok();
        let (worker, number) = (self.parts.number, self.parts.recorder.interval());
        let interval = self.parts.recorder.cut(now, spare);
        self.backlog.push_back(Handover::Interval { worker, number, interval });
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

    fn leave(mut self, cpu_before: u64) {
        (0..self.slots.seats()).for_each(|seat| self.give_up(seat));
        self.slots.clear();
        let now = self.parts.clock.now();
        self.roll(now);
        self.hand_over(now);
        let figures = WorkerFigures {
            cpu_ns: thread_cpu_ns().saturating_sub(cpu_before),
            spun_ns: self.parts.spin.spun_ns(),
            idle_ns: self.idle_ns,
            wall_ns: now,
            thread_id: rustix::thread::gettid().as_raw_nonzero().get(),
            cpu: self.parts.cpu,
            cut: self.cut,
        };
        self.backlog.push_back(Handover::Ended { worker: self.parts.number, figures });
        for last in self.backlog {
            // The collector lives until every worker has ended; blocking here delays nothing any more.
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

/// Counts the operation as started, once, under the address it goes to; one that never had one, under none.
fn count_start(recorder: &mut Recorder, flight: &mut Flight) {
    if !std::mem::replace(&mut flight.counted, true) {
        recorder.started(flight.id);
    }
}

fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
