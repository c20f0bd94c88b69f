//! Reads the kernel's figures of some connections in use, several times a second. They distinguish
//! a queue on the path from a server that takes its time.

use super::Worker;
use measure::PathSample;
use std::collections::HashMap;

/// Time between two rounds. The kernel smooths its figures over several round trips.
const PERIOD_NS: u64 = 100_000_000;
/// Connections that are sampled in a round; each takes a system call of a microsecond.
const ASKED_AT_ONCE: u32 = 16;
/// Seats that are checked in a round for connections in use.
const LOOKED_AT_ONCE: u32 = 256;

/// When the next round is due, and where it starts.
#[derive(Debug, Default)]
pub(super) struct PathProbe {
    due: u64,
    next_seat: u32,
    /// By address: the shortest round trip of any connection to it, in nanoseconds. A connection
    /// that was opened while there was a queue has only seen round trips that waited in it.
    least_ns: HashMap<u16, u64>,
}

impl PathProbe {
    /// Updates the shortest round trip to `address` from `sample`, and writes it back to `sample`.
    fn renew_least(&mut self, address: u16, sample: &mut PathSample) {
        let least_ns = &mut sample.sums.least_ns;
        if *least_ns > 0 {
            let known = self.least_ns.entry(address).or_insert(*least_ns);
            *known = (*known).min(*least_ns);
            *least_ns = *known;
        }
    }
}

impl Worker {
    /// Makes a round if one is due.
    #[inline]
    pub(super) fn probe_path(&mut self, now: u64) {
        if now >= self.path_probe.due {
            self.probe_some(now);
        }
    }

    /// Starts where the last round ended, so that all connections get their turn.
    #[cold]
    #[inline(never)]
    fn probe_some(&mut self, now: u64) {
        self.path_probe.due = now + PERIOD_NS;
        let seats = self.seats.seats();
        let mut asked = 0;
        for _ in 0..seats.min(LOOKED_AT_ONCE) {
            let seat = self.path_probe.next_seat % seats;
            self.path_probe.next_seat = seat + 1;
            asked += u32::from(self.probe_seat(seat, now));
            if asked == ASKED_AT_ONCE {
                return;
            }
        }
    }

    /// Samples the seat's connection if it is in use; the figures of an idle one would be old.
    /// Returns whether it was.
    fn probe_seat(&mut self, seat: u32, now: u64) -> bool {
        if !self.seats.is_seat_busy(seat) {
            return false;
        }
        let connection = self.seats.connection(seat);
        let Some(connection) = connection.filter(|it| it.is_open()) else {
            return false;
        };
        let address = connection.id().address;
        if let Some(mut sample) = connection.probe_path(now) {
            self.path_probe.renew_least(address, &mut sample);
            self.ledger.recorder.record_path(now, &sample);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::PathSums;

    #[test]
    fn connection_opened_into_a_queue_is_held_against_the_shortest_of_its_address() {
        let mut probe = PathProbe::default();
        let mut least = |address, least_ns| {
            let sums = PathSums {
                least_ns,
                ..PathSums::default()
            };
            let mut sample = PathSample {
                round_trip_ns: 900,
                sums,
            };
            probe.renew_least(address, &mut sample);
            sample.sums.least_ns
        };
        assert_eq!([least(1, 50), least(1, 300), least(2, 300)], [50, 50, 300]);
        assert_eq!([least(1, 20), least(1, 50), least(2, 0)], [20, 20, 0]);
    }
}
