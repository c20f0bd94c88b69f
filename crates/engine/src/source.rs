//! When operations begin and when they end to begin: the one place that knows open from closed loop.

use measure::Period;
use plan::{Deal, End, Instants, Owner, Plan, Profile, Schedule, Shape, ThinkTime};
use std::ops::Range;
use std::time::Duration;

/// Where a worker's operations come from.
pub(crate) enum Source {
    /// Virtual users, each with its next operation when the last one is done.
    Closed(Users),
    /// Arrivals at instants of their own.
    Open(Box<Arrivals>),
}

/// The worker's virtual users and what they may still do.
pub(crate) struct Users {
    /// Number in the cluster and spans of activity (run clock), by slot.
    pub(crate) users: Vec<(u64, Vec<Range<u64>>)>,
    /// No user is active from here on.
    last_end: u64,
    pub(crate) think_time: Option<ThinkTime>,
    /// Measured operations that may still begin; `None`: only time ends it.
    budget: Option<u64>,
    begun: u64,
    rank: u64,
    stride: u64,
}

/// The worker's part of the cluster's schedule, warm-up first, on the run clock.
pub(crate) struct Arrivals {
    warm_up: Option<Instants>,
    measured: Option<Instants>,
    measured_from: u64,
    next: Option<Arrival>,
    /// Slots this worker may open.
    pub(crate) max_connections: u32,
    /// Deals slot numbers of the cluster out to this worker.
    slots: (Deal, Deal, Owner),
}

/// One arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Number in its part of the cluster's schedule.
    pub(crate) seq: u64,
    /// Run clock.
    pub(crate) intended_at: u64,
    pub(crate) period: Period,
}

/// When what begins belongs to which period, and until when anything begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// The measured part begins; run clock.
    pub(crate) measured_from: u64,
    /// Nothing begins any more; `u64::MAX` where only a count ends the run.
    pub(crate) end_at: u64,
}

impl Timeline {
    pub(crate) fn new(plan: &Plan) -> Timeline {
        let measured_from = nanoseconds(plan.load().warm_up);
        let end_at = match plan.load().end {
            End::Duration(duration) => measured_from.saturating_add(nanoseconds(duration)),
            End::Requests(_) => u64::MAX,
        };
        Timeline { measured_from, end_at }
    }

    pub(crate) fn period(self, intended_at: u64) -> Period {
        if intended_at < self.measured_from { Period::WarmUp } else { Period::Measured }
    }
}

impl Source {
    pub(crate) fn new(plan: &Plan, owner: Owner, timeline: Timeline) -> Source {
        match &plan.load().shape {
            Shape::Closed { think_time, .. } => Source::Closed(Users::new(plan, owner, timeline, *think_time)),
            Shape::Open { max_connections, .. } => Source::Open(Box::new(Arrivals::new(plan, owner, timeline, *max_connections))),
        }
    }
}

/// Deals `total` to the agents and an agent's part to its workers.
fn deals(total: Option<u64>, owner: Owner) -> (Deal, Deal, Owner) {
    let agents = Deal::new(total, owner.agents);
    (agents, Deal::new(agents.amount(owner.agent), owner.workers), owner)
}

/// The worker's `nth` item of the cluster's whole.
fn item((agents, workers, owner): &(Deal, Deal, Owner), nth: u64) -> Option<u64> {
    agents.item(owner.agent, workers.item(owner.worker, nth)?)
}

impl Users {
    fn new(plan: &Plan, owner: Owner, timeline: Timeline, think_time: Option<ThinkTime>) -> Users {
        let load = plan.load();
        let (warm_up, measured) = (Profile::warm_up(load), Profile::measured(load));
        let peak = measured.peak().ceil() as u64;
        let dealt = deals(Some(peak), owner);
        let initial = warm_up.amount_at(0);
        let begin = |user: u64| ramp_delay(user, initial, load.connect_ramp);
        let spans = |user: u64| active(user, &warm_up, &measured, timeline, begin(user));
        let users: Vec<(u64, Vec<Range<u64>>)> =
            (0..).map_while(|nth| item(&dealt, nth)).map(|user| (user, spans(user))).collect();
        let last_end = users.iter().flat_map(|(_, spans)| spans).map(|span| span.end).max().unwrap_or(0);
        let budget = match load.end {
            End::Duration(_) => None,
            End::Requests(total) => Some(budget(total, owner, &dealt.1)),
        };
        let rank = u64::from(owner.agent) * u64::from(owner.workers) + u64::from(owner.worker);
        let stride = u64::from(owner.agents) * u64::from(owner.workers);
        Users { users, last_end, think_time, budget, begun: 0, rank, stride }
    }

    /// Number of the next operation in the cluster, where one may begin at `now`.
    pub(crate) fn take(&mut self, period: Period) -> Option<u64> {
        if period == Period::Measured
            && let Some(budget) = &mut self.budget
        {
            *budget = budget.checked_sub(1)?;
        }
        self.begun += 1;
        Some(self.rank + (self.begun - 1) * self.stride)
    }

    /// Whether nothing can begin from `now` on.
    pub(crate) fn are_dry(&self, now: u64) -> bool {
        now >= self.last_end || self.budget == Some(0)
    }

    /// The span of `slot` that holds `now`, or else the next one.
    pub(crate) fn span(&self, slot: u32, now: u64) -> Option<Range<u64>> {
        self.users.get(slot as usize)?.1.iter().find(|span| span.end > now).cloned()
    }
}

/// The worker's part of `total` operations: its agent's part, dealt to the workers that have users to do them.
fn budget(total: u64, owner: Owner, users: &Deal) -> u64 {
    let of_agent = Deal::new(Some(total), owner.agents).amount(owner.agent);
    let part = seat(owner, users).and_then(|seat| Deal::new(of_agent, seat.workers).amount(seat.worker));
    part.unwrap_or(0)
}

/// The worker's place among those of its agent that have users or connections; the others can do nothing.
fn seat(owner: Owner, places: &Deal) -> Option<Owner> {
    let seated: Vec<u32> = (0..owner.workers).filter(|&worker| places.amount(worker) > Some(0)).collect();
    let place = seated.iter().position(|&worker| worker == owner.worker)?;
    Some(Owner { worker: place as u32, workers: seated.len() as u32, ..owner })
}

/// Initial users do not all connect at once where the plan spreads them.
fn ramp_delay(user: u64, initial: f64, ramp: Duration) -> u64 {
    if (user as f64) < initial { (nanoseconds(ramp) as f64 * user as f64 / initial) as u64 } else { 0 }
}

/// Spans of the run clock in which `user` is active.
fn active(user: u64, warm_up: &Profile, measured: &Profile, timeline: Timeline, delay: u64) -> Vec<Range<u64>> {
    let user = u32::try_from(user).unwrap_or(u32::MAX);
    let from = timeline.measured_from;
    let clip = |span: Range<u64>| span.start.min(from)..span.end.min(from);
    let shift = |span: Range<u64>| span.start.saturating_add(from)..span.end.saturating_add(from);
    let all = warm_up.active_spans(user).into_iter().map(clip).chain(measured.active_spans(user).into_iter().map(shift));
    let mut spans: Vec<Range<u64>> = Vec::new();
    for span in all.filter(|span| !span.is_empty()) {
        match spans.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ => spans.push(span),
        }
    }
    if let Some(first) = spans.first_mut().filter(|first| first.start == 0) {
        first.start = delay.min(first.end);
    }
    spans
}

impl Arrivals {
    fn new(plan: &Plan, owner: Owner, timeline: Timeline, max_connections: u32) -> Arrivals {
        let slots = deals(Some(u64::from(max_connections)), owner);
        let own = slots.1.amount(owner.worker).unwrap_or(0);
        let seat = seat(owner, &slots.1);
        let mut arrivals = Arrivals {
            warm_up: seat.and_then(|seat| Some(Schedule::warm_up(plan.load())?.of(seat))),
            measured: seat.and_then(|seat| Some(Schedule::measured(plan.load())?.of(seat))),
            measured_from: timeline.measured_from,
            next: None,
            max_connections: u32::try_from(own).unwrap_or(u32::MAX),
            slots,
        };
        arrivals.advance();
        arrivals
    }

    /// When the next arrival is due.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.next.map(|arrival| arrival.intended_at)
    }

    /// The next arrival, where it is due at `now`.
    pub(crate) fn take(&mut self, now: u64) -> Option<Arrival> {
        let due = self.next.filter(|arrival| arrival.intended_at <= now)?;
        self.advance();
        Some(due)
    }

    /// Drops all that is to come.
    pub(crate) fn end(&mut self) {
        self.next = None;
    }

    /// Number in the cluster of this worker's `nth` slot.
    pub(crate) fn user(&self, nth: u32) -> u64 {
        item(&self.slots, u64::from(nth)).unwrap_or(u64::from(nth))
    }

    fn advance(&mut self) {
        if let Some(warm_up) = &mut self.warm_up {
            if let Some((seq, intended_at)) = warm_up.next() {
                self.next = Some(Arrival { seq, intended_at, period: Period::WarmUp });
                return;
            }
            self.warm_up = None;
        }
        let from = self.measured_from;
        let due = |(seq, at)| Arrival { seq, intended_at: from + at, period: Period::Measured };
        self.next = self.measured.as_mut().and_then(Iterator::next).map(due);
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
