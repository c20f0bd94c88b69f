//! The quality of a link.

use std::time::Duration;

/// The quality of a link in each direction. The default is up, without delay, loss or limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkQuality {
    /// From one end to the other; a round trip takes twice as long.
    pub delay: Duration,
    /// Added to the delay of each packet, uniformly from 0 to this. It does not reorder packets.
    pub jitter: Duration,
    /// Share of the packets that are lost.
    pub loss: f64,
    /// Share of the packets that take twice the delay, so that later packets overtake them.
    pub reordered: f64,
    /// Bits per second, including IP headers; `None` for no limit.
    pub rate: Option<u64>,
    /// Most packets under way in one direction; further ones are lost.
    pub packets_max: usize,
    /// Whether anything goes through.
    pub is_up: bool,
    /// Seed of losses and jitter: the same seed loses the same packets. Read only at the start.
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
