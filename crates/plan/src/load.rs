//! How much load, in which shape, and until when. Numbers are for the whole cluster.

use crate::Rate;
use std::time::Duration;

/// How much load, and until when.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Closed or open loop, with its amount at the beginning.
    pub shape: Shape,
    /// Ramps and steps after the beginning, in order.
    pub stages: Vec<Stage>,
    /// When the measured part ends.
    pub end: End,
    /// Before the measured part; has totals of its own.
    pub warm_up: Duration,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// Spreads the first connections of a closed loop evenly over so long, so that they are no SYN burst.
    pub connect_ramp: Duration,
}

/// Closed or open loop.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// So many virtual users, each with one operation at a time.
    Closed {
        /// Virtual users at the beginning (0 is allowed where a stage raises it).
        connections: u32,
        /// Pause between an operation's end and the next one's begin.
        think_time: Option<ThinkTime>,
    },
    /// Arrivals whatever the answers do.
    Open {
        /// Arrivals per second at the beginning (zero is allowed where a stage raises it).
        rate: Rate,
        /// How arrivals are spaced.
        arrivals: Arrivals,
        /// Bound on open connections, whole cluster.
        max_connections: u32,
    },
}

/// Spacing of open-loop arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Equal gaps.
    Even,
    /// A seeded Poisson process.
    Poisson,
}

/// Pause between operations of one virtual user: uniform between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkTime {
    /// Shortest.
    pub min: Duration,
    /// Longest; equal to `min` for a fixed pause.
    pub max: Duration,
}

/// A ramp to `to` over `over`; a step where `over` is zero; a hold where `to` is what it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// How long.
    pub over: Duration,
    /// Virtual users, or arrivals per second, at its end.
    pub to: f64,
}

/// When the measured part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After so long; nothing begins later.
    Duration(Duration),
    /// After exactly so many measured operations, ok or failed.
    Requests(u64),
}
