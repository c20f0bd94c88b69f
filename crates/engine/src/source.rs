//! When operations begin, and when no more do: the only place that distinguishes open from closed
//! loop.

use crate::arrival::Arrival;
use crate::pool_users::PoolUsers;
use crate::recorded_connections::RecordedConnections;
pub(crate) use measure::nanoseconds;
use measure::{Period, Window};
use plan::{
    Bookmark, End, Instants, Load, Plan, Portion, Schedule, Seats, Shape, UserOperations,
    VirtualUsers,
};
use std::ops::Range;

/// The part of a plan that a worker fires.
#[derive(Debug, Clone)]
pub(crate) struct Duty {
    /// The worker's part of the load.
    pub(crate) portion: Portion,
    /// It fires only what is due from here on; run clock.
    pub(crate) from: u64,
    /// Positions in the schedules, at `from` or before.
    pub(crate) bookmarks: Bookmarks,
}

/// How far an open loop's arrivals have been drawn, in both parts of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bookmarks {
    warm_up: Option<Bookmark>,
    measured: Option<Bookmark>,
    measured_from: u64,
}

/// The source of a worker's operations.
pub(crate) enum LoadSource {
    /// Virtual users, each of which begins its next operation when the last one is done.
    Closed(Users),
    /// Arrivals, each due at its own instant.
    Open(Box<ArrivalSchedule>),
}

/// The worker's virtual users and the operations that they may still begin.
pub(crate) struct Users {
    /// By seat, or place of those who share connections: number in the cluster and spans of
    /// activity (run clock).
    users: Vec<(u64, Vec<Range<u64>>)>,
    /// What they share, if that is anything.
    shared: Option<Box<UserPool>>,
    /// No user is active from this instant on.
    last_end: u64,
    warm_up: Box<UserOperations>,
    measured: UserOperations,
    /// When the last of a fixed number of operations began, run clock; 0 if there was none.
    last_begun_at: u64,
    /// When the measured part begins, run clock.
    measured_from: u64,
}

/// Users who share connections.
struct UserPool {
    users: Seats,
    connections: Seats,
}

/// The worker's part of the cluster's schedule on the run clock, warm-up first.
pub(crate) struct ArrivalSchedule {
    warm_up: Option<Instants>,
    measured: Option<Instants>,
    measured_from: u64,
    next: Option<Arrival>,
    /// Connections that this worker may open.
    seats: Seats,
    /// The users of this worker, if their journeys share connections.
    sharing: Option<Seats>,
    /// The connections of a log, if a replay repeats them.
    recorded: Option<RecordedConnections>,
}

/// When a user may begin operations, seen from a given instant; run clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserSpan {
    Now { until: u64 },
    Later { from: u64 },
    Never,
}

/// The periods of a run, and when its load ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// When the measured part begins; run clock.
    pub(crate) measured_from: u64,
    /// When nothing begins any more; `u64::MAX` if only a count ends the run.
    pub(crate) end_at: u64,
    /// When the measured part ends; if a number of arrivals ends it, with the last of them.
    /// `u64::MAX` if it ends with a number of operations of a closed loop.
    measured_until: u64,
}

impl Timeline {
    pub(crate) fn new(plan: &Plan) -> Timeline {
        let measured_from = nanoseconds(plan.load().warm_up);
        let end_at = match plan.load().end {
            End::Duration(duration) => measured_from.saturating_add(nanoseconds(duration)),
            End::Requests(_) => u64::MAX,
        };
        let span = plan.load().measured_span_ns();
        let measured_until = span.map_or(u64::MAX, |span| measured_from.saturating_add(span));
        Timeline {
            measured_from,
            end_at,
            measured_until,
        }
    }

    /// The measured part, as far as the plan determines when it ends.
    pub(crate) fn window(self) -> Window {
        Window::new(self.measured_from, self.measured_until)
    }

    /// Whether the measured part ends with the last of a number of operations, whenever that is.
    pub(crate) fn is_ended_by_count(self) -> bool {
        self.measured_until == u64::MAX
    }

    pub(crate) fn period(self, intended_at: u64) -> Period {
        if intended_at < self.measured_from {
            Period::WarmUp
        } else {
            Period::Measured
        }
    }
}

impl LoadSource {
    pub(crate) fn new(plan: &Plan, duty: &Duty, timeline: Timeline) -> LoadSource {
        match &plan.load().shape {
            Shape::Closed { .. } => LoadSource::Closed(Users::new(plan, duty, timeline)),
            Shape::Open { .. } => {
                LoadSource::Open(Box::new(ArrivalSchedule::new(plan.load(), duty)))
            }
        }
    }

    /// When the next arrival is due; `None` in a closed loop, whose users do not arrive.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        match self {
            LoadSource::Open(arrivals) => arrivals.next_at(),
            LoadSource::Closed(_) => None,
        }
    }

    /// Takes the next arrival of an open loop, if it is due at `now`.
    #[inline]
    pub(crate) fn take_arrival(&mut self, now: u64) -> Option<Arrival> {
        match self {
            LoadSource::Open(arrivals) => arrivals.take(now),
            LoadSource::Closed(_) => None,
        }
    }

    /// Drops the remaining arrivals.
    pub(crate) fn end_arrivals(&mut self) {
        if let LoadSource::Open(arrivals) = self {
            arrivals.next = None;
        }
    }

    /// The number in the cluster of this worker's `nth` connection, if it may open that many;
    /// `None` if virtual users have one each.
    pub(crate) fn connection_user(&self, nth: u32) -> Option<u64> {
        let seats = match self {
            LoadSource::Open(arrivals) => &arrivals.seats,
            LoadSource::Closed(users) => &users.shared.as_ref()?.connections,
        };
        seats.nth(nth).map(u64::from)
    }

    /// This worker's users, if their journeys share its connections.
    pub(crate) fn pool_users(&self) -> Option<PoolUsers> {
        match self {
            LoadSource::Open(arrivals) => arrivals.sharing.clone().map(PoolUsers::new),
            LoadSource::Closed(users) => {
                let pool = users.shared.as_ref()?;
                Some(PoolUsers::new(pool.users.clone()))
            }
        }
    }

    /// Whether each connection is a virtual user's, who begins an operation when the last one is
    /// done.
    #[inline]
    pub(crate) fn has_own_connections(&self) -> bool {
        match self {
            LoadSource::Open(_) => false,
            LoadSource::Closed(users) => users.shared.is_none(),
        }
    }

    /// The connections of a log, if a replay repeats them.
    pub(crate) fn recorded(&mut self) -> Option<&mut RecordedConnections> {
        match self {
            LoadSource::Open(arrivals) => arrivals.recorded.as_mut(),
            LoadSource::Closed(_) => None,
        }
    }

    /// Closed loop: the worker's users, with the instant at which each begins, if it ever does.
    pub(crate) fn users(&self) -> Vec<(u64, Option<u64>)> {
        match self {
            LoadSource::Closed(users) => users.begins().collect(),
            LoadSource::Open(_) => Vec::new(),
        }
    }

    /// Closed loop: takes the number of the next operation, which begins at `now`, among the
    /// cluster's operations in the same period; `None` if none may begin.
    #[inline(always)]
    pub(crate) fn next_of_user(&mut self, period: Period, now: u64) -> Option<u64> {
        match self {
            LoadSource::Closed(users) => users.take(period, now),
            LoadSource::Open(_) => None,
        }
    }

    /// From when nothing can begin any more, run clock, as far as that is known: no arrival is left
    /// or waits for its recorded connection, the last user's last span is over, or all of a number
    /// of operations have begun.
    #[inline]
    pub(crate) fn dry_from(&self) -> u64 {
        match self {
            // A worker that has none of the measured operations still has its part of the warm-up.
            LoadSource::Closed(users) if users.measured.remaining() == Some(0) => {
                users.measured_from.min(users.last_end)
            }
            LoadSource::Closed(users) => users.last_end,
            LoadSource::Open(arrivals) if arrivals.next_at().is_none() => arrivals.dry_from(),
            LoadSource::Open(_) => u64::MAX,
        }
    }

    /// Closed loop: when the last of a number of operations began; 0 if there was none.
    pub(crate) fn last_begun_at(&self) -> u64 {
        match self {
            LoadSource::Closed(users) => users.last_begun_at,
            LoadSource::Open(_) => 0,
        }
    }

    /// Closed loop: when the user of this seat or place is active, `now` or next.
    pub(crate) fn span(&self, seat: u32, now: u64) -> UserSpan {
        match self {
            LoadSource::Closed(users) => users.span(seat, now),
            LoadSource::Open(_) => UserSpan::Never,
        }
    }
}

impl Users {
    fn new(plan: &Plan, duty: &Duty, timeline: Timeline) -> Users {
        let load = plan.load();
        let all = VirtualUsers::new(load);
        let seats = Seats::users(load, &duty.portion);
        let spans = |user: u32| {
            // Only users active from the start connect together, so only they are spread.
            let place = all.initial_place(user).unwrap_or(0.0);
            let delay = (nanoseconds(load.connect_ramp) as f64 * place) as u64;
            starting_at(duty.from, active(all.active_spans(user), timeline, delay))
        };
        let users: Vec<(u64, Vec<Range<u64>>)> = seats
            .iter()
            .map(|user| (u64::from(user), spans(user)))
            .collect();
        let last_end = users
            .iter()
            .flat_map(|(_, spans)| spans)
            .map(|span| span.end)
            .max()
            .unwrap_or(0);
        let measured = UserOperations::after_warm_up(load, &duty.portion);
        let shared = Seats::sharing(load, duty.portion.clone()).map(|users| UserPool {
            users,
            connections: Seats::new(load, duty.portion.clone()),
        });
        Users {
            users,
            shared: shared.map(Box::new),
            last_end,
            warm_up: Box::new(measured.warm_up()),
            measured,
            last_begun_at: 0,
            measured_from: timeline.measured_from,
        }
    }

    /// Takes the number of the next operation, if one may begin.
    #[inline(always)]
    fn take(&mut self, period: Period, now: u64) -> Option<u64> {
        if period == Period::WarmUp {
            return self.warm_up.next();
        }
        let number = self.measured.next()?;
        if self.measured.remaining() == Some(0) {
            self.last_begun_at = now;
        }
        Some(number)
    }

    /// Each user's number, and the instant at which it first begins, if it ever does.
    fn begins(&self) -> impl Iterator<Item = (u64, Option<u64>)> {
        self.users.iter().map(|(user, spans)| {
            let first = spans.first();
            (*user, first.map(|span| span.start))
        })
    }

    /// The span of the user of `seat` that contains `now`, or else the next one.
    fn span(&self, seat: u32, now: u64) -> UserSpan {
        let Some((_, spans)) = self.users.get(seat as usize) else {
            return UserSpan::Never; // the seat of a draining connection has no user of its own
        };
        // Spans are in order: the first that has not ended is the current or the next one.
        match spans.iter().find(|span| span.end > now) {
            Some(span) if span.start <= now => UserSpan::Now { until: span.end },
            Some(span) => UserSpan::Later { from: span.start },
            None => UserSpan::Never,
        }
    }
}

/// The spans of the run clock in which a user is active, which is so in these spans of the warm-up
/// and the measured part; it begins `delay` later if it is active from the start.
fn active(
    (warm_up, measured): (Vec<Range<u64>>, Vec<Range<u64>>),
    timeline: Timeline,
    delay: u64,
) -> Vec<Range<u64>> {
    let from = timeline.measured_from;
    let clip = |span: Range<u64>| span.start.min(from)..span.end.min(from);
    let shift = |span: Range<u64>| span.start.saturating_add(from)..span.end.saturating_add(from);
    let all = warm_up.into_iter().map(clip);
    let all = all.chain(measured.into_iter().map(shift));
    let mut spans: Vec<Range<u64>> = Vec::new();
    for span in all.filter(|span| !span.is_empty()) {
        // A user active across the end of the warm-up is not interrupted there.
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

/// The rest of `spans` from `from` on.
fn starting_at(from: u64, mut spans: Vec<Range<u64>>) -> Vec<Range<u64>> {
    spans.retain(|span| span.end > from);
    if let Some(first) = spans.first_mut() {
        first.start = first.start.max(from);
    }
    spans
}

impl Bookmarks {
    /// Bookmarks at the start of the run.
    pub(crate) fn new(plan: &Plan) -> Bookmarks {
        let at_zero = |schedule: Schedule| schedule.bookmark();
        Bookmarks {
            warm_up: Schedule::warm_up(plan.load()).map(at_zero),
            measured: Schedule::after_warm_up(plan.load()).map(at_zero),
            measured_from: Timeline::new(plan).measured_from,
        }
    }

    /// Advances to `at` of the run clock.
    pub(crate) fn advance_to(&mut self, at: u64) {
        if let Some(warm_up) = &mut self.warm_up {
            warm_up.advance_to(at.min(self.measured_from));
        }
        if let Some(measured) = &mut self.measured {
            measured.advance_to(at.saturating_sub(self.measured_from));
        }
    }
}

impl ArrivalSchedule {
    fn new(load: &Load, duty: &Duty) -> ArrivalSchedule {
        let seats = Seats::new(load, duty.portion.clone());
        let Bookmarks {
            warm_up,
            measured,
            measured_from,
        } = &duty.bookmarks;
        let part_of = |bookmark: &Option<Bookmark>, zero: u64| {
            let instants = bookmark.as_ref()?.instants(seats.place()?.clone());
            Some(instants.starting_at(duty.from.saturating_sub(zero)))
        };
        let mut arrivals = ArrivalSchedule {
            warm_up: part_of(warm_up, 0),
            measured: part_of(measured, *measured_from),
            measured_from: *measured_from,
            next: None,
            seats,
            sharing: Seats::sharing(load, duty.portion.clone()),
            recorded: load.recorded.as_ref().and_then(RecordedConnections::new),
        };
        arrivals.advance();
        arrivals
    }

    /// When the next arrival is due.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.next.map(|arrival| arrival.intended_at)
    }

    /// From when nothing can begin any more, once the last arrival has been taken.
    fn dry_from(&self) -> u64 {
        let is_waiting = |recorded: &RecordedConnections| recorded.waiting() > 0;
        match &self.recorded {
            Some(recorded) if is_waiting(recorded) => u64::MAX,
            Some(_) | None => 0,
        }
    }

    /// Takes the next arrival, if it is due at `now`.
    fn take(&mut self, now: u64) -> Option<Arrival> {
        let due = self.next.filter(|arrival| arrival.intended_at <= now)?;
        self.advance();
        Some(due)
    }

    fn advance(&mut self) {
        if let Some(warm_up) = &mut self.warm_up {
            if let Some((seq, intended_at)) = warm_up.next() {
                self.next = Some(Arrival {
                    seq,
                    intended_at,
                    period: Period::WarmUp,
                });
                return;
            }
            self.warm_up = None;
        }
        let from = self.measured_from;
        let due = |(seq, at)| Arrival {
            seq,
            intended_at: from + at,
            period: Period::Measured,
        };
        self.next = self.measured.as_mut().and_then(Iterator::next).map(due);
    }
}
