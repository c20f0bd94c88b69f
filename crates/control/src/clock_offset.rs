//! How far an agent's monotonic clock stands from the coordinator's, and how sure that is.

use crate::clock::nanoseconds;
use crate::{ClockReading, FleetTime, Mono};
use std::collections::VecDeque;
use std::time::Duration;

/// Samples that are kept: at one beat a second, the last minute.
const SAMPLES: usize = 64;

/// How fast two clocks may drift apart. NTP slews by up to 500 ppm, but uncorrected quartz, which
/// is what CLOCK_MONOTONIC's drift is against another machine that is corrected too, stays below
/// 100 ppm.
const DRIFT_PPM: u64 = 100;

/// Offset from the smallest of many round trips.
///
/// The coordinator read its clock at some instant between sending the beat and receiving the grant,
/// so half the round trip bounds the error of taking the middle. What is known of an old sample
/// gets less sure as the clocks drift; the sample with the smallest bound *now* is the one to
/// believe. So a quiet burst before the start serves for seconds, and beats through the run take
/// its place.
#[derive(Debug, Clone, Default)]
pub struct ClockOffset {
    samples: VecDeque<Sample>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    offset_ns: i64,
    rtt: Duration,
    received_at: Mono,
}

impl ClockOffset {
    /// A beat was sent at `sent`, handled at `coordinator_at`, and its grant was received at
    /// `received`. Offsets beyond 292 years are not believed.
    pub fn sample(&mut self, sent: Mono, coordinator_at: FleetTime, received: Mono) {
        let rtt = received.since(sent);
        let middle = i128::from(sent.0) + i128::from(nanoseconds(rtt) / 2);
        // A reading that far off is a defect, and one sample less does no harm.
        let Ok(offset_ns) = i64::try_from(i128::from(coordinator_at.0) - middle) else {
            return;
        };
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample {
            offset_ns,
            rtt,
            received_at: received,
        });
    }

    /// The best that is known at `now`; nothing before the first sample.
    #[must_use]
    pub fn reading(&self, now: Mono) -> Option<ClockReading> {
        let readings = self.samples.iter().map(|sample| sample.reading(now));
        readings.min_by_key(|reading| reading.bound_ns)
    }

    /// Forgets everything: the coordinator is another one now.
    pub fn clear(&mut self) {
        self.samples.clear();
    }
}

impl Sample {
    fn reading(&self, now: Mono) -> ClockReading {
        let drifted_ns = nanoseconds(now.since(self.received_at)) / 1_000_000 * DRIFT_PPM;
        ClockReading {
            offset_ns: self.offset_ns,
            bound_ns: nanoseconds(self.rtt).div_ceil(2) + drifted_ns,
        }
    }
}

impl ClockReading {
    /// An instant of the agent's clock on the coordinator's.
    #[must_use]
    pub fn to_fleet(self, at: Mono) -> FleetTime {
        FleetTime(shift(at.0, i128::from(self.offset_ns)))
    }

    /// An instant of the coordinator's clock on the agent's.
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
    fn smallest_round_trip_wins() {
        // Coordinator is 1000 ms ahead; the second beat took 2 ms, evenly; the others were held up
        // on one way.
        let offset = offset(&[
            (0, 1009 * MS, 10 * MS),
            (20 * MS, 1021 * MS, 22 * MS),
            (30 * MS, 1031 * MS, 50 * MS),
        ]);
        let reading = offset.reading(Mono(50 * MS)).unwrap();
        assert_eq!(reading.offset_ns, 1_000_000_000);
        // Half of 2 ms, and 28 ms at 100 ppm.
        assert_eq!(reading.bound_ns, MS + 2_800);
    }

    #[test]
    fn drift_makes_a_young_sample_better_than_an_old_one() {
        // 100 µs trip at 0; 1 ms trip ten seconds later, when the first may be 1 ms off.
        let offset = offset(&[
            (0, 50_000, 100_000),
            (10_000 * MS, 10_000 * MS + 700_000, 10_001 * MS),
        ]);
        let reading = offset.reading(Mono(10_001 * MS)).unwrap();
        assert_eq!((reading.offset_ns, reading.bound_ns), (200_000, 500_000));
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
