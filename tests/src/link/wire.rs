//! One direction of a link: which packets are lost, and when the others arrive. No I/O; time is an
//! argument.

use super::LinkQuality;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Counts of the packets of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets sent.
    pub sent: u64,
    /// Packets lost by chance, because the link was down, or because too many were under way.
    pub lost: u64,
    /// Those that have arrived.
    pub arrived: u64,
}

/// One direction.
pub(super) struct Wire {
    draw: Draw,
    /// When the previous packet has left; later than its arrival only if the rate is limited.
    free_at: Option<Instant>,
    /// In order of arrival.
    on_the_way: VecDeque<Packet>,
    /// Packets that others overtake, in no particular order.
    overtaken: Vec<Packet>,
    counts: LinkCounts,
}

struct Packet {
    due_at: Instant,
    bytes: Vec<u8>,
}

impl Wire {
    pub(super) fn new(seed: u64) -> Wire {
        Wire {
            draw: Draw(seed),
            free_at: None,
            on_the_way: VecDeque::new(),
            overtaken: Vec::new(),
            counts: LinkCounts::default(),
        }
    }

    /// A packet is sent.
    pub(super) fn send(&mut self, now: Instant, bytes: &[u8], quality: &LinkQuality) {
        self.counts.sent += 1;
        // Drawn for every packet, so that what else happens to a packet does not change which
        // others are lost.
        let (fate, jitter) = (self.draw.next(), self.draw.next());
        if !quality.is_up || fate < quality.loss || self.is_full(quality) {
            self.counts.lost += 1;
            return;
        }
        let begin = self.free_at.map_or(now, |free_at| free_at.max(now));
        let left_at = begin + sending_time(bytes.len(), quality.rate);
        self.free_at = Some(left_at);
        let alone = left_at + quality.delay + quality.jitter.mul_f64(jitter);
        // Drawn only if packets are reordered, which keeps the effects of older seeds.
        if quality.reordered > 0.0 && self.draw.next() < quality.reordered {
            self.overtaken.push(Packet {
                due_at: alone + quality.delay,
                bytes: bytes.to_vec(),
            });
            return;
        }
        let due_at = self
            .on_the_way
            .back()
            .map_or(alone, |before| before.due_at.max(alone));
        self.on_the_way.push_back(Packet {
            due_at,
            bytes: bytes.to_vec(),
        });
    }

    fn is_full(&self, quality: &LinkQuality) -> bool {
        self.on_the_way.len() + self.overtaken.len() >= quality.packets_max
    }

    /// When the next packet arrives.
    pub(super) fn next_at(&self) -> Option<Instant> {
        let in_order = self.on_the_way.front().map(|packet| packet.due_at);
        let overtaken = self.first_overtaken().map(|(_, due_at)| due_at);
        in_order.into_iter().chain(overtaken).min()
    }

    /// The next packet that has arrived.
    pub(super) fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.next_at().filter(|&due_at| due_at <= now)?;
        self.counts.arrived += 1;
        let overtaken = self
            .first_overtaken()
            .filter(|&(_, due_at)| self.on_the_way.front().is_none_or(|p| due_at < p.due_at));
        let packet = match overtaken {
            Some((index, _)) => Some(self.overtaken.swap_remove(index)),
            None => self.on_the_way.pop_front(),
        };
        packet.map(|packet| packet.bytes)
    }

    fn first_overtaken(&self) -> Option<(usize, Instant)> {
        let due = self.overtaken.iter().map(|packet| packet.due_at);
        due.enumerate().min_by_key(|&(_, due_at)| due_at)
    }

    pub(super) fn counts(&self) -> LinkCounts {
        self.counts
    }
}

fn sending_time(bytes: usize, rate: Option<u64>) -> Duration {
    rate.map_or(Duration::ZERO, |bits_per_second| {
        Duration::from_secs_f64(bytes as f64 * 8.0 / bits_per_second as f64)
    })
}

/// Random numbers from 0 up to 1, by SplitMix64 (Steele, Lea and Flood 2014).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// After how many milliseconds packets of 1,000 bytes arrive that are sent at once.
    fn arrivals_ms(packets: usize, quality: LinkQuality) -> Vec<u128> {
        let (mut wire, start) = (Wire::new(7), Instant::now());
        (0..packets).for_each(|_| wire.send(start, &[0; 1000], &quality));
        std::iter::from_fn(|| {
            let due_at = wire.next_at()?;
            assert_eq!(
                wire.receive(due_at - Duration::from_nanos(1)),
                None,
                "nothing arrives before it is due"
            );
            wire.receive(due_at).map(|_| (due_at - start).as_millis())
        })
        .collect()
    }

    #[test]
    fn packets_arrive_after_the_delay() {
        assert_eq!(
            arrivals_ms(
                3,
                LinkQuality {
                    delay: 10 * MS,
                    ..LinkQuality::default()
                }
            ),
            [10, 10, 10]
        );
    }

    #[test]
    fn rate_lets_packets_wait_for_those_before() {
        // 8,000 bits at 1 Mbit/s take 8 ms.
        let quality = LinkQuality {
            delay: 10 * MS,
            rate: Some(1_000_000),
            ..LinkQuality::default()
        };
        assert_eq!(arrivals_ms(3, quality), [18, 26, 34]);
    }

    #[test]
    fn link_that_was_idle_is_not_ahead_of_its_rate() {
        let (mut wire, start) = (Wire::new(7), Instant::now());
        let quality = LinkQuality {
            rate: Some(1_000_000),
            ..LinkQuality::default()
        };
        wire.send(start, &[0; 1000], &quality);
        wire.send(start + 100 * MS, &[0; 1000], &quality);
        wire.receive(start + 8 * MS).unwrap();
        assert_eq!(wire.next_at(), Some(start + 108 * MS));
    }

    #[test]
    fn losses_are_the_share_asked_for_and_follow_the_seed() {
        let quality = LinkQuality {
            loss: 0.02,
            packets_max: usize::MAX,
            ..LinkQuality::default()
        };
        let arrived = |seed| {
            let (mut wire, start) = (Wire::new(seed), Instant::now());
            (0..100_000).for_each(|_| wire.send(start, &[0], &quality));
            while wire.receive(start).is_some() {}
            assert_eq!(wire.counts().lost + wire.counts().arrived, 100_000);
            wire.counts().arrived
        };
        // Five standard deviations of 100,000 draws are 221.
        assert!(arrived(1).abs_diff(98_000) < 221, "{}", arrived(1));
        assert_eq!(arrived(1), arrived(1));
        assert_ne!(arrived(1), arrived(2));
    }

    #[test]
    fn jitter_spreads_arrivals_and_keeps_their_order() {
        let quality = LinkQuality {
            delay: 10 * MS,
            jitter: 10 * MS,
            ..LinkQuality::default()
        };
        let (mut wire, start) = (Wire::new(7), Instant::now());
        let number = |number: u32| number.to_be_bytes();
        (0..100).for_each(|index| wire.send(start + MS * index, &number(index), &quality));
        let received: Vec<Vec<u8>> =
            std::iter::from_fn(|| wire.receive(start + 1000 * MS)).collect();
        assert_eq!(
            received,
            (0..100)
                .map(|index| number(index).to_vec())
                .collect::<Vec<_>>()
        );
        let alone = (0..100).map(|index| {
            let sent_at = start + 20 * MS * index;
            wire.send(sent_at, &[0], &quality);
            let due_at = wire.next_at().unwrap();
            wire.receive(due_at).unwrap();
            due_at - sent_at
        });
        let mut delays: Vec<Duration> = alone.skip(20).collect();
        delays.sort_unstable();
        assert!(
            delays[0] >= 10 * MS
                && delays[0] < 11 * MS
                && delays[79] > 19 * MS
                && delays[79] < 20 * MS,
            "{delays:?}"
        );
    }

    #[test]
    fn packets_that_are_reordered_are_overtaken_and_arrive_all_the_same() {
        let quality = LinkQuality {
            delay: 10 * MS,
            reordered: 0.3,
            ..LinkQuality::default()
        };
        let (mut wire, start) = (Wire::new(7), Instant::now());
        (0..100u8)
            .for_each(|number| wire.send(start + MS * u32::from(number), &[number], &quality));
        let received: Vec<u8> = std::iter::from_fn(|| {
            let due_at = wire.next_at()?;
            wire.receive(due_at).map(|packet| packet[0])
        })
        .collect();
        let mut sorted = received.clone();
        sorted.sort_unstable();
        assert!(
            received != sorted && sorted.iter().copied().eq(0..100),
            "{received:?}"
        );
        assert_eq!(wire.counts().arrived, 100);
    }

    #[test]
    fn nothing_goes_through_a_link_that_is_down_or_full() {
        assert_eq!(
            arrivals_ms(
                3,
                LinkQuality {
                    is_up: false,
                    ..LinkQuality::default()
                }
            ),
            [0; 0]
        );
        assert_eq!(
            arrivals_ms(
                3,
                LinkQuality {
                    packets_max: 2,
                    ..LinkQuality::default()
                }
            ),
            [0, 0]
        );
    }
}
