//! Rules about the path to the server, by its round trips: whether it has a queue, whether it had
//! room, or whether answers took nothing but a round trip.

use super::counted_seconds::measured;
use super::phases::transfer_share;
use super::{BoundNumber, RuleBound, RuleId, RuleReading};
use crate::{Document, LoadRecord, PathFigures, human};

/// Longest time for which a server's kernel may delay an acknowledgement, slightly more than
/// Linux's 40 ms: anything above has another cause.
const HELD_BACK_NS: f64 = 45e6;

/// The same bound when the client sends large bodies, whose segments are acknowledged at once.
const OF_BULK_NS: f64 = 10e6;

/// Least share of the time to the first byte that the queue takes.
const SHARE_MIN: f64 = 0.5;

/// Least share of the time in which sent bytes were unacknowledged, held in a queue on the way
/// there or back. Unlike the smoothed round trip it does not lag behind a long queue.
const BUSY_MIN: f64 = 0.8;

/// Largest part of that in which the server's receive window was full.
const PEER_MAX: f64 = 0.2;

/// A body that takes at least this many sent bytes is large: some fifty segments.
const BULK_BYTES: f64 = 72_000.0;

/// Bytes that fit into the first window of a connection (RFC 6928) make no queue of their own.
const WINDOW_BYTES: f64 = 14_600.0;

/// A path had room if round trips exceeded the shortest by no more than this,
const ROOM_NS: f64 = 1e6;

/// or by no more than this share of the service time,
const ROOM_SHARE: f64 = 0.1;

/// if no more of the segments than this were retransmitted or out of order,
const ROOM_DISORDER: f64 = 0.001;

/// if this many samples show it,
const SAMPLES_MIN: u64 = 20;

/// and, where bodies take the time, if this many operations were under way: a single one has its
/// queue behind its own request.
const MOVING_MIN: f64 = 2.0;

/// Bodies are lost on the way if this share of the segments arrived out of order.
const DISORDER: f64 = 0.01;

/// From this share of an answer's time on, the round trip is all of it.
const ALL: f64 = 0.95;

const QUEUE: RuleBound = RuleBound::new(
    "{}, and {} of the time to the first byte or {} of the time under way",
    &[
        BoundNumber::Time(HELD_BACK_NS),
        BoundNumber::Part(SHARE_MIN),
        BoundNumber::Share(BUSY_MIN),
    ],
);

/// The bound of a queue of large bodies that the client sends.
const QUEUE_OF_BULK: RuleBound = RuleBound::new(
    "{}, and {} of the time under way",
    &[BoundNumber::Time(OF_BULK_NS), BoundNumber::Share(BUSY_MIN)],
);

const ROUND_TRIP: RuleBound = RuleBound::new(
    "never: it only speaks for the server, from {} on",
    &[BoundNumber::Share(ALL)],
);

/// Facts known of the path.
pub(super) struct Way<'d> {
    document: &'d Document,
    path: &'d PathFigures,
    above_ns: f64,
    round_trip_ns: f64,
    first_byte_ns: f64,
    service_ns: f64,
}

impl<'d> Way<'d> {
    /// Returns `None` if nothing was sampled or answered.
    pub(super) fn new(document: &'d Document) -> Option<Way<'d>> {
        let path = document.path.as_ref()?;
        let median = |name| Some(document.measured.percentile(name, 50.0)?.value_ns as f64);
        Some(Way {
            document,
            path,
            above_ns: path.above_least.percentile(50.0)?.value_ns as f64,
            round_trip_ns: path.round_trip.percentile(50.0)?.value_ns as f64,
            first_byte_ns: median("first_byte").filter(|&ns| ns > 0.0)?,
            service_ns: median("service_time").filter(|&ns| ns > 0.0)?,
        })
    }

    /// Returns whether segments waited in a queue, whatever share of the time that took.
    pub(super) fn has_queue(&self) -> bool {
        self.above_ns >= self.bound_ns()
    }

    /// Returns whether answers and requests are too small to fill a link by themselves: a queue is
    /// then either most of their time, or not there.
    pub(super) fn is_of_small(&self) -> bool {
        let figures = &self.document.measured;
        let bytes = figures
            .bytes
            .wire_received_bytes
            .max(figures.bytes.wire_sent_bytes);
        bytes as f64 <= WINDOW_BYTES * figures.operations.ended.max(1) as f64
    }

    /// Returns how close a queue comes to being what the run waited for; from 1 on it is.
    pub(super) fn reach(&self) -> f64 {
        let height = self.above_ns / self.bound_ns();
        if self.sends_bulk() {
            height.min(self.path.busy_share / BUSY_MIN)
        } else {
            let share = self.above_ns / self.first_byte_ns / SHARE_MIN;
            height.min(share.max(self.path.busy_share / BUSY_MIN))
        }
    }

    /// Returns the share of the service time that segments may have waited on the path before the
    /// first byte.
    pub(super) fn waiting_share(&self) -> f64 {
        self.above_ns.min(self.first_byte_ns) / self.service_ns
    }

    /// Returns whether segments were lost or overtaken to an extent that only bodies cause.
    pub(super) fn is_disordered(&self) -> bool {
        self.path.disorder_share() >= DISORDER
    }

    /// Returns whether nothing waited on the path.
    pub(super) fn has_room(&self) -> bool {
        let is_low = self.above_ns <= ROOM_NS.max(ROOM_SHARE * self.service_ns);
        let is_moving = transfer_share(self.document).unwrap_or(0.0) >= 0.5;
        let is_alone = is_moving && under_way(self.document) < MOVING_MIN;
        let is_known = self.path.round_trip.count >= SAMPLES_MIN && !is_alone;
        let is_orderly = self.path.disorder_share() <= ROOM_DISORDER;
        is_low && is_orderly && is_known && !self.sends_bulk()
    }

    /// Returns whether answers took a round trip and next to nothing else.
    pub(super) fn is_all(&self) -> bool {
        self.path.least_ns as f64 >= ALL * self.service_ns
    }

    /// Returns whether large bodies are sent to a server that accepts them.
    fn sends_bulk(&self) -> bool {
        let figures = &self.document.measured;
        let sent = figures.bytes.wire_sent_bytes as f64;
        let is_taken = self.path.peer_limited_share <= PEER_MAX * self.path.busy_share;
        sent >= BULK_BYTES * figures.operations.ended.max(1) as f64 && is_taken
    }

    fn bound_ns(&self) -> f64 {
        if self.sends_bulk() {
            OF_BULK_NS
        } else {
            HELD_BACK_NS
        }
    }

    fn in_words(&self) -> String {
        let part = if self.sends_bulk() {
            format!(
                "bytes of bodies were under way for {} of the time",
                human::share(self.path.busy_share)
            )
        } else {
            format!(
                "of {} to the first byte, and requests were under way for {} of the time",
                human::time(self.first_byte_ns),
                human::share(self.path.busy_share)
            )
        };
        format!(
            "round trips took {} (median) against {} at least, so that segments waited \
             for {}, {part}",
            human::time(self.round_trip_ns),
            human::time(self.path.least_ns as f64),
            human::time(self.above_ns)
        )
    }

    fn room_in_words(&self) -> String {
        let lost = match self.path.disorder_share() {
            share if share > 0.0 => {
                format!("{} sent again or out of order", human::share(share))
            }
            _ => "no losses".to_owned(),
        };
        format!(
            "the link had room: round trips took {} (median) against {} at least, {lost}",
            human::time(self.round_trip_ns),
            human::time(self.path.least_ns as f64)
        )
    }
}

/// Reads whether a queue on the path is what the run waited for.
pub(super) fn queue(document: &Document) -> RuleReading {
    let Some(way) = Way::new(document) else {
        return RuleReading::unknown(RuleId::QueueOnTheWay, QUEUE);
    };
    let (figure, reach) = (way.in_words(), way.reach());
    let bound = if way.sends_bulk() {
        QUEUE_OF_BULK
    } else {
        QUEUE
    };
    RuleReading {
        rule: RuleId::QueueOnTheWay,
        says: (reach >= 1.0).then(|| format!("{figure} (bound: {bound})")),
        acquits: way.has_room().then(|| way.room_in_words()),
        figure,
        bound,
        distance: Some(reach),
    }
}

/// Reads whether answers took nothing but the round trip, which acquits the server.
pub(super) fn round_trip(document: &Document) -> RuleReading {
    let unknown = RuleReading::unknown(RuleId::RoundTrip, ROUND_TRIP);
    let Some(way) = Way::new(document) else {
        return unknown;
    };
    let figure = format!(
        "the shortest round trip, {}, is {} of the usual service time",
        human::time(way.path.least_ns as f64),
        human::share(way.path.least_ns as f64 / way.service_ns)
    );
    RuleReading {
        acquits: way
            .is_all()
            .then(|| format!("{figure}: nothing waited at the server")),
        figure,
        ..unknown
    }
}

/// Returns whether users waited for round trips and for nothing at the server, so that none of its
/// resources can have been their limit.
pub(super) fn is_all_round_trip(document: &Document) -> bool {
    let is_closed = matches!(document.plan.load, LoadRecord::Closed { .. });
    is_closed && Way::new(document).is_some_and(|way| way.is_all())
}

/// Returns the operations under way in the median second.
fn under_way(document: &Document) -> f64 {
    let mut seconds: Vec<f64> = measured(document).map(|row| row.in_service).collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(0.0)
}
