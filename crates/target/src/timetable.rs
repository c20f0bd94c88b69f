//! The instants at which requests are to be answered, computed from those at which they come. Pure:
//! knows no clock.

use crate::{BindError, Pace};
use std::collections::VecDeque;
use std::time::Duration;

/// A [`Pace`] as a function: arrival in, answer out, in nanoseconds of any one clock. Each takes
/// constant time.
///
/// It is what the target itself goes by, so that a test can replay a schedule through it and knows
/// what the target has done.
#[derive(Debug, Clone)]
pub struct Timetable {
    delay_ns: u64,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    AtOnce,
    Stall {
        every_ns: u64,
        lasts_ns: u64,
        first_ns: u64,
        /// What `first_ns` is counted from; the first arrival sets it if it is not set.
        zero_ns: Option<u64>,
    },
    Servers {
        count: usize,
        service_ns: u64,
        /// When each server ends its last request, ascending. Shorter than `count` while some
        /// servers have had none. All requests take the same time, so the server that began first
        /// is free first.
        ends_ns: VecDeque<u64>,
    },
}

impl Timetable {
    /// A timetable of `pace` for requests that are delayed by `delay` first: a stall holds them if
    /// it is on by then, and after it they queue for a server.
    ///
    /// # Errors
    /// Where stalls would never end.
    pub fn new(pace: Pace, delay: Duration) -> Result<Timetable, BindError> {
        let rule = match pace {
            Pace::AtOnce => Rule::AtOnce,
            Pace::Stall { every, lasts, .. } if every <= lasts => {
                return Err(BindError::EndlessStall { every, lasts });
            }
            Pace::Stall {
                every,
                lasts,
                first,
            } => Rule::Stall {
                every_ns: nanoseconds(every),
                lasts_ns: nanoseconds(lasts),
                first_ns: nanoseconds(first),
                zero_ns: None,
            },
            Pace::Servers {
                count,
                service_time,
            } => Rule::Servers {
                count: count.get() as usize,
                service_ns: nanoseconds(service_time),
                ends_ns: VecDeque::new(),
            },
        };
        Ok(Timetable {
            delay_ns: nanoseconds(delay),
            rule,
        })
    }

    /// The same with stalls counted from `zero_ns`, and not from the first arrival.
    #[must_use]
    pub fn with_stalls_from(mut self, from_ns: u64) -> Timetable {
        if let Rule::Stall { zero_ns, .. } = &mut self.rule {
            *zero_ns = Some(from_ns);
        }
        self
    }

    /// When a request that comes at `arrived_at` is to be answered. Arrivals come in order.
    pub fn answer_at(&mut self, arrived_at: u64) -> u64 {
        let came_at = arrived_at.saturating_add(self.delay_ns);
        match &mut self.rule {
            Rule::AtOnce => came_at,
            Rule::Stall {
                every_ns,
                lasts_ns,
                first_ns,
                zero_ns,
            } => {
                let first_at = zero_ns.get_or_insert(arrived_at).saturating_add(*first_ns);
                let Some(since_first) = came_at.checked_sub(first_at) else {
                    return came_at;
                };
                // 0 between two stalls, otherwise what is left of this one.
                came_at + lasts_ns.saturating_sub(since_first % *every_ns)
            }
            Rule::Servers {
                count,
                service_ns,
                ends_ns,
            } => {
                // A server that has had no request is free from the beginning.
                let free_at = if ends_ns.len() < *count {
                    0
                } else {
                    ends_ns.pop_front().unwrap_or(0)
                };
                let end_at = came_at.max(free_at).saturating_add(*service_ns);
                ends_ns.push_back(end_at);
                end_at
            }
        }
    }
}

/// Durations of more than 584 years become 584 years.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn timetable(pace: Pace, delay_ms: u64) -> Timetable {
        Timetable::new(pace, Duration::from_millis(delay_ms)).unwrap()
    }

    fn stall(every_ms: u64, lasts_ms: u64, first_ms: u64) -> Pace {
        let [every, lasts, first] = [every_ms, lasts_ms, first_ms].map(Duration::from_millis);
        Pace::Stall {
            every,
            lasts,
            first,
        }
    }

    fn servers(count: u32, service_ms: u64) -> Pace {
        Pace::Servers {
            count: NonZeroU32::new(count).unwrap(),
            service_time: Duration::from_millis(service_ms),
        }
    }

    /// Arrivals and answers in milliseconds.
    fn answers<const N: usize>(mut timetable: Timetable, arrivals_ms: [u64; N]) -> [u64; N] {
        arrivals_ms.map(|arrival| timetable.answer_at(arrival * 1_000_000) / 1_000_000)
    }

    #[test]
    fn delay_is_the_same_for_all() {
        assert_eq!(
            answers(timetable(Pace::AtOnce, 0), [0, 1, 1, 9]),
            [0, 1, 1, 9]
        );
        assert_eq!(
            answers(timetable(Pace::AtOnce, 5), [0, 1, 1, 9]),
            [5, 6, 6, 14]
        );
    }

    #[test]
    fn what_comes_in_a_stall_is_answered_at_its_end() {
        // Counted from the first arrival at 1000: stalls from 1020 to 1025, from 1030 to 1035, …
        let arrivals = [
            1000, 1019, 1020, 1022, 1024, 1025, 1029, 1030, 1034, 1035, 1100,
        ];
        let expected = [
            1000, 1019, 1025, 1025, 1025, 1025, 1029, 1035, 1035, 1035, 1105,
        ];
        assert_eq!(answers(timetable(stall(10, 5, 20), 0), arrivals), expected);
    }

    #[test]
    fn stalls_are_counted_from_a_given_instant() {
        let given = timetable(stall(10, 4, 0), 0).with_stalls_from(1_000_000_000);
        assert_eq!(
            answers(given, [990, 999, 1000, 1003, 1004, 1012]),
            [990, 999, 1004, 1004, 1004, 1014]
        );
    }

    #[test]
    fn nothing_is_answered_in_a_stall_with_a_delay_either() {
        // Stalls from 10 to 14, from 20 to 24, …: what comes at 8 would be answered at 11.
        assert_eq!(
            answers(timetable(stall(10, 4, 10), 3), [0, 6, 7, 8, 11, 12, 17]),
            [3, 9, 14, 14, 14, 15, 24]
        );
    }

    #[test]
    fn servers_take_requests_in_their_order_as_they_become_free() {
        assert_eq!(
            answers(timetable(servers(1, 10), 0), [0, 0, 5, 100, 101]),
            [10, 20, 30, 110, 120]
        );
        // Two servers: free at 10 and 13; then at 20 and 23; then idle.
        assert_eq!(
            answers(timetable(servers(2, 10), 0), [0, 3, 4, 5, 50, 50, 50]),
            [10, 13, 20, 23, 60, 60, 70]
        );
        assert_eq!(
            answers(timetable(servers(2, 10), 1), [0, 3, 4, 5, 50, 50, 50]),
            [11, 14, 21, 24, 61, 61, 71]
        );
    }

    #[test]
    fn capacity_is_exact_however_long_it_lasts() {
        // Three servers of 7 ms, all asked for at once: of 3,000,000 the last is done after 7,000 s
        // to the nanosecond.
        let mut timetable = timetable(servers(3, 7), 0);
        assert_eq!(
            (0..3_000_000).map(|_| timetable.answer_at(0)).last(),
            Some(7_000_000_000_000)
        );
    }

    #[test]
    fn waits_of_a_single_server_are_those_of_the_textbook() {
        // Arrivals every 8 ms with 6 ms of service never wait; two at once every 16 ms: every
        // second one waits 6 ms.
        assert_eq!(
            answers(timetable(servers(1, 6), 0), [0, 8, 16, 24]),
            [6, 14, 22, 30]
        );
        assert_eq!(
            answers(timetable(servers(1, 6), 0), [0, 0, 16, 16]),
            [6, 12, 22, 28]
        );
    }

    #[test]
    fn stall_without_an_end_is_refused() {
        for (every, lasts) in [(0, 0), (5, 5), (5, 6)] {
            let error = Timetable::new(stall(every, lasts, 0), Duration::ZERO)
                .unwrap_err()
                .to_string();
            assert!(error.contains("never end"), "{error}");
        }
    }
}
