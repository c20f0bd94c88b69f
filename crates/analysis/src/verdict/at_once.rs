//! What a plan allows at the same time: connections, or virtual users with one each.

use super::counted_seconds::measured;
use crate::{Document, LoadRecord, Row, human};

/// Share of operations that waited for a connection, or found none, from which connections ran out.
const WAITED_SHARE_MIN: f64 = 0.01;

/// Least share of the operations the plan allows that are under way in a second at that limit.
pub(super) const AT_LIMIT: f64 = 0.75;

/// The most operations that can be under way.
pub(super) struct AtOnce {
    /// Number of operations.
    pub(super) number: u64,
    /// What bounds it.
    pub(super) bound: AtOnceBound,
    /// Whether stages of a closed loop change it.
    pub(super) changes: bool,
    /// Description, such as `10 connections`.
    words: String,
}

/// What bounds the operations under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtOnceBound {
    /// Virtual users with a connection each.
    Users,
    /// Connections that arrivals take, each for as long as it needs one.
    Connections,
    /// Connections that journeys share.
    SharedConnections,
}

impl AtOnce {
    /// Returns `None` if the server allows less than the plan does: the number is then not known. A
    /// journey with a connection of its own keeps that while it pauses, so the plan's number bounds
    /// journeys, not operations, and it is unknown how many of these may be under way.
    pub(super) fn new(document: &Document) -> Option<AtOnce> {
        let shared = document.plan.load.connections_shared();
        let is_unbounded = document.has_journeys() && shared.is_none();
        if document.measured.http2.limited_connections > 0 || is_unbounded {
            return None;
        }
        let streams = u64::from(document.plan.streams.unwrap_or(1));
        let each = if streams > 1 {
            format!(" of {streams} streams each")
        } else {
            String::new()
        };
        let of_connections = |max_connections: u32| AtOnce {
            number: u64::from(max_connections) * streams,
            bound: match shared {
                Some(_) => AtOnceBound::SharedConnections,
                None => AtOnceBound::Connections,
            },
            changes: false,
            words: human::counted(u64::from(max_connections), "connection") + &each,
        };
        let most_users = |first: u32| {
            let reached = document.plan.stages.iter().map(|stage| stage.to as u64);
            reached.fold(u64::from(first), u64::max)
        };
        match document.plan.load {
            LoadRecord::Open {
                max_connections, ..
            } => Some(of_connections(max_connections)),
            LoadRecord::Closed {
                connections,
                max_connections: Some(max_connections),
                ..
            } => {
                let shared = of_connections(max_connections);
                // Fewer users cannot use them all, and how often they pause is unknown.
                (shared.number < most_users(connections)).then_some(shared)
            }
            LoadRecord::Closed {
                connections,
                stages,
                ..
            } => {
                let users = most_users(connections);
                Some(AtOnce {
                    number: users * streams,
                    bound: AtOnceBound::Users,
                    changes: stages > 0,
                    words: human::counted(users, "user") + &each,
                })
            }
        }
    }

    /// Returns whether operations waited for a connection, or found none. Steps of journeys that
    /// share connections can also wait for a user, so that all must have been in use.
    pub(super) fn ran_out(&self, document: &Document) -> bool {
        let operations = &document.measured.operations;
        let waits = document.measured.times.get("connection_wait");
        let waited = waits
            .map_or(0, |waits| waits.count)
            .max(operations.not_sent);
        let has_waited = waited as f64 > WAITED_SHARE_MIN * operations.ended as f64;
        match self.bound {
            AtOnceBound::Users => false,
            AtOnceBound::Connections => has_waited,
            AtOnceBound::SharedConnections => has_waited && self.is_reached(document),
        }
    }

    /// Returns whether as many operations were under way in a second.
    fn is_reached(&self, document: &Document) -> bool {
        measured(document).any(|row| self.is_at_limit(row))
    }

    /// Returns whether as many operations were under way in this second.
    pub(super) fn is_at_limit(&self, row: &Row) -> bool {
        row.in_service >= AT_LIMIT * self.number as f64
    }

    /// Returns how many times as much was due as was carried; `None` if only the answers decide
    /// how much is due: users begin after them, and so do later steps of journeys.
    pub(super) fn beyond(&self, document: &Document) -> Option<f64> {
        let is_due = self.bound == AtOnceBound::Connections;
        offered_ratio(document).filter(|_| is_due)
    }

    /// Returns how many answers of the measured part can have come before a queue, if there was
    /// one, held everything that may be under way. An open loop fills it with what is due beyond
    /// what is carried.
    pub(super) fn early(&self, document: &Document) -> f64 {
        let before = document.warm_up.as_ref();
        let waits = |figures: &&crate::Figures| {
            let waits = figures.times.get("connection_wait");
            waits.is_some_and(|waits| waits.count > 0)
        };
        let is_full_before = if self.bound == AtOnceBound::Users {
            before.is_some_and(|figures| figures.operations.ended > self.number)
        } else {
            before.is_some_and(|figures| waits(&figures))
        };
        match offered_ratio(document) {
            _ if is_full_before => 0.0,
            None => self.number as f64,
            // The queue grows by beyond - 1 per operation carried, so this many arrivals fill it.
            Some(beyond) if beyond > 1.0 => self.number as f64 * beyond / (beyond - 1.0),
            Some(_) => f64::INFINITY,
        }
    }

    pub(super) fn in_use(&self) -> String {
        if self.bound == AtOnceBound::Users {
            format!("{} at most", self.words)
        } else {
            format!("all {} were in use", self.words)
        }
    }

    /// Describes how much they can carry, given how long answers take.
    pub(super) fn carries(&self, document: &Document) -> Option<String> {
        let mean_ns = mean_service_ns(document)?;
        Some(format!(
            "at these answer times (mean {}) they carry {}/s",
            human::time(mean_ns),
            human::number(self.number as f64 * 1e9 / mean_ns)
        ))
    }

    /// Describes how much they brought, as the first part of a sentence.
    pub(super) fn describe_gain(&self, document: &Document, per_second: Option<f64>) -> String {
        let mean_ns = mean_service_ns(document).unwrap_or(0.0);
        let measured = document.measured.rates.ok_per_second;
        let (rate, verb) = if self.bound == AtOnceBound::Users {
            (per_second.unwrap_or(measured), "bring")
        } else {
            (self.number as f64 * 1e9 / mean_ns, "can carry")
        };
        let up_to = if self.changes { "up to " } else { "" };
        format!(
            "{}/s is what {up_to}{} {verb} at these answer times (mean {})",
            human::number(rate),
            self.words,
            human::time(mean_ns)
        )
    }

    pub(super) fn cure(&self) -> &'static str {
        if self.bound == AtOnceBound::Users {
            "for more, write more users (load.connections)"
        } else {
            "raise load.max_connections"
        }
    }
}

/// Returns how many times as many operations were due as were carried; `None` in a closed loop. The
/// later steps of journeys that are held up are not due yet, and do not count.
fn offered_ratio(document: &Document) -> Option<f64> {
    let rates = &document.measured.rates;
    let is_open = matches!(document.plan.load, LoadRecord::Open { .. });
    is_open.then(|| rates.due_per_second / rates.operations_per_second)
}

fn mean_service_ns(document: &Document) -> Option<f64> {
    let figures = &document.measured;
    let of_ok = figures.times_by_outcome.get("ok");
    let of_ok = of_ok.and_then(|times| times.get("service_time"));
    let service = of_ok.or_else(|| figures.times.get("service_time"))?;
    (service.mean_ns > 0.0).then_some(service.mean_ns)
}
