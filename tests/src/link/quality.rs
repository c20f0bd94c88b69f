//! How good a link is.

use std::time::Duration;

/// How good a link is in each direction. The default is up, and has no delay, no loss and no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkQuality {
    /// From one end to the other; a round trip has two of them.
    pub delay: Duration,
    /// Added to the delay of each packet, evenly from nothing to this. It changes no order.
    pub jitter: Duration,
    /// Share of the packets that are lost.
    pub loss: f64,
    /// Share of the packets that take twice the delay, so that those behind them overtake.
    pub reordered: f64,
    /// Bits per second, headers of IP included; no limit where absent.
    pub rate: Option<u64>,
    /// Packets on the way in one direction; more are lost.
    pub packets_max: usize,
    /// Whether anything goes through.
    pub is_up: bool,
    /// Of losses and jitter: the same seed loses the same packets. Read once, at the start.
    pub seed: u64,
}

impl Default for LinkQuality {
    fn default() -> LinkQuality {
        LinkQuality {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            reordered: 0.0,
            rate: None,
            packets_max: 10_000,
            is_up: true,
            seed: 1,
        }
    }
}
