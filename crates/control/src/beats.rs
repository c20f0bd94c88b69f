//! An agent's beats: one per second for the lease, and bursts to measure the clock.

use crate::clock::Mono;
use crate::{ClockOffset, ClockReading, FleetTime, Now};
use proto::{Beat, Bytes, Clock, Grant};
use std::collections::VecDeque;
use std::time::Duration;

/// Time between two beats, and so between two renewals of a lease.
const EVERY: Duration = Duration::from_secs(1);

/// Round trips of a burst; the shortest of them is close to the best the path can do.
const BURST: u32 = 16;

/// A burst ends after this long, however slow the path.
const BURST_MAX: Duration = Duration::from_secs(2);

/// Beats that can await their grants. Beyond that the oldest is dropped, and its grant is ignored.
const IN_FLIGHT_MAX: usize = 32;

/// When to send a beat, and what its grant says about the clock.
#[derive(Debug)]
pub(crate) struct Beats {
    sequence: u64,
    in_flight: VecDeque<(u64, Now)>,
    clock: ClockOffset,
    /// Identifies the clock that instants of the fleet refer to.
    clock_id: Bytes,
    next_at: Mono,
    burst: Option<Burst>,
}

#[derive(Debug)]
struct Burst {
    left: u32,
    until: Mono,
}

impl Beats {
    pub(crate) fn new() -> Beats {
        Beats {
            sequence: 0,
            in_flight: VecDeque::new(),
            clock: ClockOffset::default(),
            clock_id: Bytes::new(),
            next_at: Mono(0),
            burst: None,
        }
    }

    /// Begins a stream to a coordinator that uses this clock. Beats of the previous stream are
    /// void, and measurements of another clock are forgotten. A coordinator that was restarted on
    /// its machine still has the same clock.
    pub(crate) fn attach(&mut self, clock_id: Bytes, now: Mono) {
        if self.clock_id != clock_id {
            self.clock.clear();
            self.clock_id = clock_id;
        }
        self.in_flight.clear();
        self.burst(now);
    }

    /// Identifies the clock that readings refer to.
    pub(crate) fn clock_id(&self) -> &Bytes {
        &self.clock_id
    }

    /// Measures the clock by consecutive round trips.
    pub(crate) fn burst(&mut self, now: Mono) {
        self.burst = Some(Burst {
            left: BURST,
            until: now.after(BURST_MAX),
        });
        self.next_at = now;
    }

    pub(crate) fn hurry(&mut self, now: Mono) {
        self.next_at = self.next_at.min(now);
    }

    /// Whether a burst is in progress.
    pub(crate) fn in_burst(&self, now: Mono) -> bool {
        self.burst
            .as_ref()
            .is_some_and(|burst| burst.left > 0 && now < burst.until)
    }

    /// Whether the clock is measured as well as it can be: a burst has ended, and a grant has come.
    /// If the coordinator stood still during the burst, a later beat brings one.
    pub(crate) fn has_measured(&self, now: Mono) -> bool {
        !self.in_burst(now) && self.clock.shortest_trip().is_some()
    }

    /// When the next beat is due.
    pub(crate) fn next_at(&self) -> Mono {
        self.next_at
    }

    /// The latest end of the most recent burst.
    pub(crate) fn burst_ends_at(&self) -> Option<Mono> {
        self.burst.as_ref().map(|burst| burst.until)
    }

    /// Creates the next beat, sent now.
    pub(crate) fn beat(&mut self, now: Now) -> Beat {
        self.sequence += 1;
        self.next_at = now.mono.after(EVERY);
        if self.in_flight.len() == IN_FLIGHT_MAX {
            self.in_flight.pop_front();
        }
        self.in_flight.push_back((self.sequence, now));
        Beat {
            sequence: self.sequence,
            clock: self.reading(now.mono).map(to_wire),
        }
    }

    /// Measures the clock by a grant. Returns when its beat was sent, or `None` if that was not on
    /// this stream.
    pub(crate) fn on_grant(&mut self, grant: &Grant, now: Now) -> Option<Now> {
        let place = self
            .in_flight
            .iter()
            .position(|(sequence, _)| *sequence == grant.sequence)?;
        let (_, sent) = self.in_flight.drain(..=place).next_back()?;
        self.clock
            .sample(sent.mono, FleetTime(grant.coordinator_at_ns), now.mono);
        if let Some(burst) = &mut self.burst {
            burst.left = burst.left.saturating_sub(1);
        }
        if self.in_burst(now.mono) {
            self.next_at = now.mono;
        }
        Some(sent)
    }

    /// Round trip of a beat that queues behind nothing; zero until one has come back.
    pub(crate) fn shortest_trip(&self) -> Duration {
        self.clock.shortest_trip().unwrap_or_default()
    }

    /// The clock's offset, as far as it is known.
    pub(crate) fn reading(&self, now: Mono) -> Option<ClockReading> {
        self.clock.reading(now)
    }
}

pub(crate) fn to_wire(reading: ClockReading) -> Clock {
    Clock {
        offset_ns: reading.offset_ns,
        bound_ns: reading.bound_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Boot;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Now {
        Now {
            mono: Mono(ms * MS),
            boot: Boot(ms * MS),
        }
    }

    fn grant(sequence: u64) -> Grant {
        Grant {
            sequence,
            coordinator_at_ns: 5_000 * MS,
            ..Grant::default()
        }
    }

    const BOOT: Bytes = Bytes::from_static(b"boot");

    fn attached() -> Beats {
        let mut beats = Beats::new();
        beats.attach(BOOT, at(0).mono);
        beats
    }

    /// Grants each beat after 10 ms. Returns how many beats were sent before `until` ms.
    fn beats_until(beats: &mut Beats, until: u64) -> usize {
        (0..until)
            .step_by(10)
            .filter(|&ms| {
                let due = at(ms).mono >= beats.next_at();
                if due {
                    let beat = beats.beat(at(ms));
                    beats.on_grant(&grant(beat.sequence), at(ms + 10));
                }
                due
            })
            .count()
    }

    #[test]
    fn burst_of_round_trips_comes_first_and_then_one_beat_a_second() {
        let mut beats = attached();
        assert_eq!(beats_until(&mut beats, 160), 16);
        assert!(!beats.in_burst(at(160).mono));
        assert_eq!(beats_until(&mut beats, 3_160), 3);
    }

    #[test]
    fn burst_ends_in_time_on_a_slow_path() {
        let mut beats = attached();
        let beat = beats.beat(at(0));
        beats.on_grant(&grant(beat.sequence), at(1_999));
        assert!(beats.in_burst(at(1_999).mono));
        assert!(!beats.in_burst(at(2_000).mono));
    }

    #[test]
    fn grant_that_answers_no_beat_of_this_stream_is_ignored() {
        let mut beats = attached();
        let beat = beats.beat(at(0));
        beats.attach(BOOT, at(5).mono);
        assert_eq!(beats.on_grant(&grant(beat.sequence), at(10)), None);
        assert_eq!(beats.on_grant(&grant(99), at(10)), None);
        assert_eq!(beats.reading(at(10).mono), None);
    }

    #[test]
    fn clock_is_kept_while_its_name_is_the_same_and_forgotten_with_it() {
        let mut beats = attached();
        let beat = beats.beat(at(0));
        assert_eq!(beats.on_grant(&grant(beat.sequence), at(10)), Some(at(0)));
        beats.attach(BOOT, at(20).mono);
        assert!(beats.reading(at(20).mono).is_some());
        beats.attach(Bytes::from_static(b"other"), at(20).mono);
        assert!(beats.reading(at(20).mono).is_none());
    }
}
