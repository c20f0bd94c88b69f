//! Exact division of a whole among agents, and of an agent's part among its workers.

use crate::{Load, Portion, Rate, Schedule, Seats, Shape, UserOperations, VirtualUsers};

/// One agent's share of a load, for a person to read before the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Initial number of virtual users; `None` for an open loop.
    pub connections: Option<u32>,
    /// Most virtual users at any time; `None` for an open loop.
    pub peak_connections: Option<u32>,
    /// Initial arrivals per second; `None` for a closed loop. Agents interleave, so each has an
    /// equal part.
    pub rate: Option<Rate>,
    /// Most arrivals per second at any time; `None` for a closed loop, which has no limit: it sends
    /// as fast as it is answered.
    pub peak_rate: Option<Rate>,
    /// Most requests of a replay in one second, as its log has them; `None` for another load, or
    /// without the log at hand.
    pub peak_second: Option<u64>,
    /// Most open connections; `None` for a closed loop whose virtual users have one each.
    pub max_connections: Option<u32>,
    /// Measured operations, if their number is known before the run: with `requests`, or with even
    /// arrivals.
    pub requests: Option<u64>,
}

impl Share {
    /// Most open connections, in any loop. Users who share them need no more than one each.
    #[must_use]
    pub fn most_connections(&self) -> Option<u32> {
        match (self.max_connections, self.peak_connections) {
            (Some(most), Some(users)) => Some(most.min(users)),
            (most, users) => most.or(users),
        }
    }

    /// Most open connections of virtual users, who open as many as soon as they begin; `None` for
    /// an open loop, which opens them as arrivals need them.
    #[must_use]
    pub fn connections_of_users(&self) -> Option<u32> {
        self.peak_connections.and(self.most_connections())
    }

    /// The field of the plan that bounds connections.
    #[must_use]
    pub fn connections_field(&self) -> &'static str {
        match (self.max_connections, self.peak_connections) {
            (Some(most), Some(users)) if users <= most => "load.users",
            (Some(_), _) => "load.max_connections",
            (None, _) => "load.connections",
        }
    }

    /// Computes the share of `portion`. Every whole number, summed over all portions, is the
    /// load's.
    pub(crate) fn new(load: &Load, portion: &Portion) -> Share {
        let seats = Seats::new(load, portion.clone());
        // Portions without a connection are left out, and the others get more.
        let place = seats.place().unwrap_or(portion);
        let requests = match &load.shape {
            Shape::Closed { .. } => UserOperations::after_warm_up(load, portion).remaining(),
            Shape::Open { .. } => {
                Schedule::after_warm_up(load).and_then(|schedule| schedule.amount(place))
            }
        };
        let each = |rate: Rate| Rate::per_second(rate.as_per_second() / place.divisor());
        match load.shape {
            Shape::Closed {
                max_connections, ..
            } => {
                let (all, own) = (VirtualUsers::new(load), Seats::users(load, portion));
                let initial = |&user: &u32| all.initial_place(user).is_some();
                Share {
                    connections: Some(own.iter().filter(initial).count() as u32),
                    peak_connections: Some(own.number()),
                    rate: None,
                    peak_rate: None,
                    peak_second: None,
                    max_connections: max_connections.map(|_| seats.number()),
                    requests,
                }
            }
            Shape::Open { rate, .. } => Share {
                connections: None,
                peak_connections: None,
                rate: each(rate),
                peak_rate: load.peak_rate().and_then(each),
                peak_second: load
                    .recorded
                    .as_ref()
                    .and_then(|log| log.peak_second(place)),
                max_connections: Some(seats.number()),
                requests,
            },
        }
    }
}
