//! How much load, in which shape, and until when. Numbers apply to the whole cluster.

use crate::words::words;
use crate::{Problem, Rate, RecordedArrivals};
use std::sync::Arc;
use std::time::Duration;

/// Most virtual users, or open connections.
pub(crate) const MAX_CONNECTIONS: u32 = 10_000_000;
/// Most arrivals per second.
pub(crate) const MAX_RATE: f64 = 1e8;
/// Most operations of one run.
pub(crate) const MAX_REQUESTS: u64 = 1_000_000_000_000_000;

/// How much load, and until when.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Closed or open loop, with its initial amount.
    pub shape: Shape,
    /// Ramps and steps that follow, in order.
    pub stages: Vec<Stage>,
    /// When the measured part ends.
    pub end: End,
    /// Precedes the measured part; has totals of its own.
    pub warm_up: Duration,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// Time over which the first connections of a closed loop are spread evenly, to avoid a burst
    /// of SYNs.
    pub connect_ramp: Duration,
    /// The arrivals of a replay, in place of those that an open loop's rate would give; its shape
    /// has their mean rate.
    pub recorded: Option<Arc<RecordedArrivals>>,
    /// The loads of the plan's journeys, in its order, if they have their own; the shape's amount
    /// and the stages are then their sum.
    pub journeys: Vec<JourneyLoad>,
}

/// The load of one journey: in an open loop its arrivals, which are even, in a closed one its
/// virtual users.
#[derive(Debug, Clone, PartialEq)]
pub struct JourneyLoad {
    /// Arrivals per second, or virtual users, at the beginning; can be zero if a stage raises it.
    pub amount: f64,
    /// Ramps and steps that follow, in order.
    pub stages: Vec<Stage>,
}

/// Closed or open loop.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Virtual users, each with one operation at a time.
    Closed {
        /// Initial number of virtual users (can be 0 if a stage raises it).
        connections: u32,
        /// If journeys share connections: most open connections of the whole cluster. Otherwise
        /// each user has one.
        max_connections: Option<u32>,
        /// Pause between the end of an operation and the beginning of the next.
        think_time: Option<ThinkTime>,
    },
    /// Arrivals that do not depend on the answers.
    Open {
        /// Initial arrivals per second (can be zero if a stage raises it).
        rate: Rate,
        /// How arrivals are spaced.
        arrivals: Arrivals,
        /// Most open connections of the whole cluster.
        max_connections: u32,
        /// If journeys share connections: the users who make them, one at a time each, in the whole
        /// cluster. Otherwise each connection is a user's.
        users: Option<u32>,
    },
}

/// Spacing of open-loop arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Equal gaps while the rate is constant.
    Even,
    /// A seeded Poisson process.
    Poisson,
}

words!(Arrivals { Even => "even", Poisson => "poisson" });

/// Pause between operations of one virtual user, uniformly distributed between the two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkTime {
    /// Shortest pause.
    pub min: Duration,
    /// Longest pause; equal to `min` for a fixed pause.
    pub max: Duration,
}

/// A ramp to `to` over `over`; a step if `over` is zero; a hold if `to` is the amount before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Duration of the ramp or hold.
    pub over: Duration,
    /// Virtual users, or arrivals per second, at its end.
    pub to: f64,
}

/// When the measured part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After this time; nothing begins later.
    Duration(Duration),
    /// After exactly this many measured operations, ok or failed.
    Requests(u64),
}

impl Shape {
    /// The key of the virtual users of a closed loop.
    pub(crate) fn users_key(&self) -> &'static str {
        match self {
            Shape::Closed {
                max_connections: Some(_),
                ..
            } => "users",
            _ => "connections",
        }
    }
}

impl Load {
    /// The loads of journeys that have virtual users of their own; none of others.
    pub(crate) fn journeys_of_users(&self) -> &[JourneyLoad] {
        match self.shape {
            Shape::Closed { .. } => &self.journeys,
            Shape::Open { .. } => &[],
        }
    }

    /// The users whose journeys share connections, if they do.
    pub(crate) fn sharing_users(&self) -> Option<u32> {
        match self.shape {
            Shape::Open { users, .. } => users,
            Shape::Closed {
                max_connections, ..
            } => max_connections.and_then(|_| self.peak_users()),
        }
    }

    /// Most open connections of the whole cluster.
    pub(crate) fn most_connections(&self) -> u32 {
        match self.shape {
            Shape::Open {
                max_connections, ..
            }
            | Shape::Closed {
                max_connections: Some(max_connections),
                ..
            } => max_connections,
            Shape::Closed { .. } => self.peak_users().unwrap_or(0),
        }
    }

    /// Seconds that a virtual user pauses between two operations or journeys, on average.
    pub(crate) fn mean_think_s(&self) -> f64 {
        match self.shape {
            Shape::Closed {
                think_time: Some(think),
                ..
            } => (think.min + think.max).as_secs_f64() / 2.0,
            Shape::Closed { .. } | Shape::Open { .. } => 0.0,
        }
    }

    /// Ends the load after `length` in total: without a warm-up, and with a ramp no longer than
    /// that.
    pub(crate) fn shorten(&mut self, length: Duration) {
        self.end = End::Duration(length);
        self.warm_up = Duration::ZERO;
        self.connect_ramp = self.connect_ramp.min(length);
    }

    /// Multiplies the load by `factor`; the error names the field that becomes too large or 0.
    pub(crate) fn multiply(&mut self, factor: u32) -> Result<(), Problem> {
        let times = f64::from(factor);
        let users_key = self.shape.users_key();
        let number = |key: &str, before: u32| {
            let product = before.checked_mul(factor);
            let product = product.filter(|product| *product <= MAX_CONNECTIONS);
            product.ok_or_else(|| beyond(key, f64::from(before) * times, MAX_CONNECTIONS))
        };
        match &mut self.shape {
            Shape::Closed {
                connections,
                max_connections,
                ..
            } => {
                // 0 is valid at the beginning, if a stage raises it.
                if *connections > 0 || factor == 0 {
                    *connections = users(users_key, f64::from(*connections) * times)?;
                }
                if let Some(max_connections) = max_connections {
                    *max_connections = number("max_connections", *max_connections)?;
                }
            }
            Shape::Open {
                rate: each,
                max_connections,
                users,
                ..
            } => {
                if each.as_per_second() > 0.0 || factor == 0 {
                    *each = rate(each.as_per_second() * times)?;
                }
                *max_connections = number("max_connections", *max_connections)?;
                if let Some(users) = users {
                    *users = number("users", *users)?;
                }
            }
        }
        let most = if let Shape::Closed { .. } = self.shape {
            f64::from(MAX_CONNECTIONS)
        } else {
            MAX_RATE
        };
        for journey in &mut self.journeys {
            journey.amount *= times;
            journey
                .stages
                .iter_mut()
                .for_each(|stage| stage.to *= times);
        }
        let peaks = self.journeys.iter().map(|it| it.profile().peak());
        let users: f64 = peaks.sum();
        if matches!(self.shape, Shape::Closed { .. }) && users > most {
            return Err(beyond(users_key, users, most));
        }
        for stage in &mut self.stages {
            stage.to *= times;
            if stage.to > most {
                return Err(beyond("stage", stage.to, most));
            }
        }
        if let End::Requests(requests) = &mut self.end {
            let product = requests
                .checked_mul(u64::from(factor))
                .filter(|product| *product <= MAX_REQUESTS);
            *requests = product
                .ok_or_else(|| beyond("requests", *requests as f64 * times, MAX_REQUESTS))?;
        }
        Ok(())
    }
}

/// Converts to a rate, if it is one that a load can have.
pub(crate) fn rate(per_second: f64) -> Result<Rate, Problem> {
    let rate = Rate::per_second(per_second)
        .filter(|rate| rate.as_per_second() > 0.0 && rate.as_per_second() <= MAX_RATE);
    rate.ok_or_else(|| beyond("rate", per_second, MAX_RATE))
}

/// Converts to a number of virtual users, given as `key`, if it is one that a load can have.
pub(crate) fn users(key: &str, number: f64) -> Result<u32, Problem> {
    let fits = number >= 1.0 && number <= f64::from(MAX_CONNECTIONS);
    if fits {
        Ok(number as u32)
    } else {
        Err(beyond(key, number, MAX_CONNECTIONS))
    }
}

fn beyond(key: &str, amount: f64, most: impl std::fmt::Display) -> Problem {
    let message = format!(
        "comes to {amount}, and must be above 0 and at most {most}; ask for another amount"
    );
    Problem {
        path: format!("load.{key}"),
        place: None,
        message,
    }
}
