//! The offset between an agent's monotonic clock and the coordinator's, with its error bound.

use crate::clock::nanoseconds;
use crate::{ClockReading, FleetTime, Mono};
use std::collections::VecDeque;
use std::time::Duration;

/// Samples that are kept: at one beat per second, the last minute. An older one says little, and is
/// wrong if a clock was slewed since.
const SAMPLES: usize = 64;

/// How fast two clocks may drift apart. NTP slews by up to 500 ppm, but two machines that are both
/// corrected drift apart no faster than an uncorrected quartz would, which stays below 100 ppm.
const DRIFT_PPM: u64 = 100;

/// The offset, as a range that many round trips narrow down.
///
/// The coordinator read its clock at some instant between sending the beat and receiving the grant,
/// so each round trip bounds the offset from below and from above. With age the range widens, as
/// the clocks drift apart. The true offset lies within all of these ranges at once: a trip that was
/// quick on its way out and another that was quick on its way back bound it together, more tightly
/// than half of either trip. A quiet burst before the start therefore serves for seconds, until
/// beats during the run take its place.
#[derive(Debug, Clone, Default)]
pub struct ClockOffset {
    samples: VecDeque<Sample>,
}

/// When a beat was sent and its grant received, by the agent's clock, and when the coordinator
/// handled it.
#[derive(Debug, Clone, Copy)]
struct Sample {
    sent: Mono,
    coordinator_at: FleetTime,
    received: Mono,
}

/// The range of the offset, both ends included.
#[derive(Debug, Clone, Copy)]
struct OffsetRange {
    low_ns: i128,
    high_ns: i128,
}

impl ClockOffset {
    /// Adds a round trip: a beat was sent at `sent` and handled at `coordinator_at`, and its grant
    /// was received at `received`. Offsets beyond 292 years are ignored.
    pub fn sample(&mut self, sent: Mono, coordinator_at: FleetTime, received: Mono) {
        let sample = Sample {
            sent,
            coordinator_at,
            received: received.max(sent),
        };
        // A reading that far off is a defect, and one sample less does no harm.
        if sample.range(received).reading().is_none() {
            return;
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        // The trips contradict each other: a clock was set, or slewed faster than the assumed
        // drift. Only the newest is true of now.
        if self.range(received).is_some_and(|range| range.is_empty()) {
            self.samples.drain(..self.samples.len() - 1);
        }
    }

    /// The best estimate at `now`; `None` before the first sample.
    #[must_use]
    pub fn reading(&self, now: Mono) -> Option<ClockReading> {
        self.range(now)?.reading()
    }

    /// The shortest round trip of the last minute.
    #[must_use]
    pub fn shortest_trip(&self) -> Option<Duration> {
        let trips = self.samples.iter();
        trips.map(|sample| sample.received.since(sample.sent)).min()
    }

    /// Forgets all samples, because the clock is a different one now.
    pub fn clear(&mut self) {
        self.samples.clear();
    }

    fn range(&self, now: Mono) -> Option<OffsetRange> {
        let ranges = self.samples.iter().map(|sample| sample.range(now));
        ranges.reduce(|a, b| OffsetRange {
            low_ns: a.low_ns.max(b.low_ns),
            high_ns: a.high_ns.min(b.high_ns),
        })
    }
}

impl Sample {
    /// The range at `now`: each end is widened by the drift since the instant it comes from.
    fn range(&self, now: Mono) -> OffsetRange {
        let at = i128::from(self.coordinator_at.0);
        OffsetRange {
            low_ns: at - i128::from(self.received.0) - drift_ns(now.since(self.received)),
            high_ns: at - i128::from(self.sent.0) + drift_ns(now.since(self.sent)),
        }
    }
}

impl OffsetRange {
    fn is_empty(self) -> bool {
        self.low_ns > self.high_ns
    }

    /// The middle of the range, and how far its ends are from there.
    fn reading(self) -> Option<ClockReading> {
        let middle_ns = (self.low_ns + self.high_ns).div_euclid(2);
        Some(ClockReading {
            offset_ns: i64::try_from(middle_ns).ok()?,
            bound_ns: u64::try_from(self.high_ns - middle_ns).ok()?,
        })
    }
}

fn drift_ns(age: Duration) -> i128 {
    let drifted = u128::from(nanoseconds(age)) * u128::from(DRIFT_PPM);
    i128::try_from(drifted.div_ceil(1_000_000)).expect("a hundredth of a u64")
}

impl ClockReading {
    /// Converts an instant of the agent's clock to the coordinator's.
    #[must_use]
    pub fn to_fleet(self, at: Mono) -> FleetTime {
        FleetTime(shift(at.0, i128::from(self.offset_ns)))
    }

    /// Converts a past instant of the agent's clock, and returns it with its error bound: a
    /// measurement of `now` says less about what the clocks showed then.
    pub(crate) fn to_fleet_past(self, at: Mono, now: Mono) -> (FleetTime, u64) {
        let drifted_ns = nanoseconds(now.since(at)) / 1_000_000 * DRIFT_PPM;
        (self.to_fleet(at), self.bound_ns.saturating_add(drifted_ns))
    }

    /// Converts an instant of the coordinator's clock to the agent's.
    #[must_use]
    pub fn to_agent(self, at: FleetTime) -> Mono {
        Mono(shift(at.0, -i128::from(self.offset_ns)))
    }
}

fn shift(at: u64, by: i128) -> u64 {
    let moved = (i128::from(at) + by).clamp(0, i128::from(u64::MAX));
    u64::try_from(moved).expect("clamped to a u64")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn offset(samples: &[(u64, u64, u64)]) -> ClockOffset {
        let mut offset = ClockOffset::default();
        for &(sent, coordinator_at, received) in samples {
            offset.sample(Mono(sent), FleetTime(coordinator_at), Mono(received));
        }
        offset
    }

    #[test]
    fn quickest_ways_there_and_back_bound_the_offset_together() {
        // The coordinator is 1000 ms ahead. The first trip took 1 ms out and 9 ms back, the second
        // 9 ms out and 1 ms back, and the third was held up both ways.
        let offset = offset(&[
            (0, 1001 * MS, 10 * MS),
            (10 * MS, 1019 * MS, 20 * MS),
            (20 * MS, 1040 * MS, 60 * MS),
        ]);
        let reading = offset.reading(Mono(60 * MS)).unwrap();
        // Half of 1 ms + 1 ms, and of the drift in 60 and 40 ms at 100 ppm.
        assert_eq!(reading.bound_ns, MS + 5_000);
        assert_eq!(reading.offset_ns, 1_000_000_000 + 1_000);
        assert_eq!(offset.shortest_trip(), Some(Duration::from_millis(10)));
    }

    #[test]
    fn drift_makes_a_young_sample_better_than_an_old_one() {
        // A 100 µs trip at 0, and a 1 ms trip ten seconds later, when the first can be 1 ms off.
        let offset = offset(&[
            (0, 50_000, 100_000),
            (10_000 * MS, 10_000 * MS + 700_000, 10_001 * MS),
        ]);
        let reading = offset.reading(Mono(10_001 * MS)).unwrap();
        // Both ends come from the newer trip.
        assert_eq!((reading.offset_ns, reading.bound_ns), (200_050, 500_050));
    }

    #[test]
    fn trips_that_exclude_each_other_leave_the_newest() {
        let offset = offset(&[(0, 50_000, 100_000), (MS, 900 * MS, 2 * MS)]);
        let reading = offset.reading(Mono(2 * MS)).unwrap();
        assert!(
            reading.offset_ns.abs_diff(898_500_000) <= 50 && reading.bound_ns <= 500_100,
            "{reading:?}"
        );
    }

    /// SplitMix64.
    fn draw(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % below
    }

    /// The time one way: mostly short, and now and then long.
    fn way(state: &mut u64, least: u64) -> u64 {
        let held_up = if draw(state, 4) == 0 {
            100 * MS
        } else {
            6 * MS
        };
        least + draw(state, held_up)
    }

    /// The bound that the best single trip gives: half of it, with drift.
    fn bound_of_one_trip(trips: &[(u64, u64)], now: u64) -> u64 {
        let bounds = trips.iter().rev().take(SAMPLES);
        let bound = |&(sent, received): &(u64, u64)| {
            (received - sent).div_ceil(2) + (now - received) / 1_000_000 * DRIFT_PPM
        };
        bounds.map(bound).min().unwrap()
    }

    #[test]
    fn truth_lies_within_a_bound_that_is_closer_than_half_a_trip_on_every_path() {
        let (mut ours, mut one_trip) = (0_u128, 0_u128);
        for seed in 0..300_u64 {
            let state = &mut (seed << 32);
            // The clocks drift apart by up to 100 ppm, and the two ways differ by up to 50 ms.
            let ppm = i128::from(draw(state, 201)) - 100;
            let fleet = |agent: u64| {
                let apart = 7_000_000_000 + i128::from(agent) * ppm / 1_000_000;
                u64::try_from(i128::from(agent) + apart).unwrap()
            };
            let (there, back) = (draw(state, 50 * MS), draw(state, 50 * MS));
            let (mut offset, mut trips, mut now) = (ClockOffset::default(), Vec::new(), 0);
            for nth in 0..100 {
                let sent = now;
                let handled = sent + way(state, there);
                now = handled + way(state, back);
                offset.sample(Mono(sent), FleetTime(fleet(handled)), Mono(now));
                trips.push((sent, now));
                now += if nth < 16 { 0 } else { 1_000 * MS };
                let reading = offset.reading(Mono(now)).unwrap();
                let truth = i128::from(fleet(now)) - i128::from(now);
                let off = (i128::from(reading.offset_ns) - truth).unsigned_abs();
                assert!(
                    off <= u128::from(reading.bound_ns),
                    "seed {seed}, trip {nth}: {off} ns off, {reading:?}"
                );
                ours += u128::from(reading.bound_ns);
                one_trip += u128::from(bound_of_one_trip(&trips, now));
            }
        }
        let percent = ours * 100 / one_trip;
        assert!(percent <= 97, "{percent} % of the bound by one trip");
    }

    #[test]
    fn truth_lies_within_the_bound_however_unevenly_a_trip_is_split() {
        for there in [0, 1, 5, 9, 10] {
            let coordinator_at = 500 * MS + there * MS + 7_000 * MS;
            let reading = offset(&[(500 * MS, coordinator_at, 510 * MS)])
                .reading(Mono(510 * MS))
                .unwrap();
            assert!(
                reading.offset_ns.abs_diff(7_000_000_000) <= reading.bound_ns,
                "{there} ms there: {reading:?}"
            );
        }
    }

    #[test]
    fn instants_go_there_and_back() {
        for offset_ns in [-5_000, 0, 5_000] {
            let reading = ClockReading {
                offset_ns,
                bound_ns: 1,
            };
            assert_eq!(
                reading.to_agent(reading.to_fleet(Mono(10_000))),
                Mono(10_000)
            );
        }
        assert_eq!(
            ClockReading {
                offset_ns: -5,
                bound_ns: 0
            }
            .to_fleet(Mono(3)),
            FleetTime(0)
        );
    }

    #[test]
    fn foreign_clock_of_any_value_does_no_harm() {
        let mut offset = offset(&[(5, u64::MAX, 7), (u64::MAX, 0, u64::MAX)]);
        assert_eq!(offset.reading(Mono(9)), None);
        offset.sample(Mono(9), FleetTime(9), Mono(1));
        assert!(offset.reading(Mono(u64::MAX)).is_some());
    }
}
