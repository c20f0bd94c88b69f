//! A load's amount over time: piecewise linear, with its integral, the integral's inverse, and the
//! times at which users are active.

use crate::{Load, Shape, Stage};
use measure::nanoseconds;
use std::ops::Range;

const NS_PER_S: f64 = 1e9;

/// Amount of load (virtual users, or arrivals per second) over the measured part, whose beginning
/// is 0.
///
/// Stages follow one another. A stage without length is a step, and at the step's instant the new
/// amount applies already. After the last stage its amount lasts for ever; the profile does not
/// know when the load ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Contiguous, from 0, none of them empty; the last one is endless.
    segments: Vec<Segment>,
}

/// A segment in which the amount is linear.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Segment {
    begin_ns: u64,
    /// `u64::MAX` for the endless segment.
    length_ns: u64,
    from: f64,
    to: f64,
    /// Integral (amount × seconds) before this segment.
    before: f64,
}

/// How a fraction of a nanosecond is rounded.
#[derive(Debug, Clone, Copy)]
enum Round {
    Down,
    Up,
}

impl Profile {
    /// The profile of the measured part of `load`.
    #[must_use]
    pub fn after_warm_up(load: &Load) -> Profile {
        if let Some(recorded) = &load.recorded {
            let (turn_ns, turns) = (recorded.turn_ns(), recorded.turns());
            return Profile::of_counts(turn_ns, turns, &recorded.facts().counts);
        }
        Profile::new(initial(&load.shape), &load.stages)
    }

    /// The profile of the warm-up: the initial amount, held.
    #[must_use]
    pub fn warm_up(load: &Load) -> Profile {
        Profile::new(initial(&load.shape), &[])
    }

    /// Creates a profile that starts at `initial` and goes through `stages`.
    #[must_use]
    pub fn new(initial: f64, stages: &[Stage]) -> Profile {
        let mut segments = Vec::new();
        let mut begin_ns = 0;
        let mut from = initial;
        let mut before = 0.0;
        for stage in stages {
            let length_ns = nanoseconds(stage.over);
            if length_ns > 0 {
                let segment = Segment {
                    begin_ns,
                    length_ns,
                    from,
                    to: stage.to,
                    before,
                };
                before = segment.after();
                begin_ns = begin_ns.saturating_add(length_ns);
                segments.push(segment);
            }
            from = stage.to;
        }
        segments.push(Segment {
            begin_ns,
            length_ns: u64::MAX,
            from,
            to: from,
            before,
        });
        Profile { segments }
    }

    /// The profile of `turns` of `turn_ns` each. `counts` has the arrivals in each of its equal
    /// parts; there are none after the last turn.
    fn of_counts(turn_ns: u64, turns: u32, counts: &[u64]) -> Profile {
        let mut segments = Vec::with_capacity(turns as usize * counts.len() + 1);
        let parts = counts.len() as u128;
        let bound = |part: u128| (u128::from(turn_ns) * part / parts) as u64;
        let mut before = 0.0;
        for turn in 0..u64::from(turns) {
            for (part, &count) in (0..).zip(counts) {
                let (begin, end) = (bound(part), bound(part + 1));
                let rate = count as f64 * NS_PER_S / (end - begin).max(1) as f64;
                let segment = Segment {
                    begin_ns: turn.saturating_mul(turn_ns).saturating_add(begin),
                    length_ns: end - begin,
                    from: rate,
                    to: rate,
                    before,
                };
                if segment.length_ns > 0 {
                    before = segment.after();
                    segments.push(segment);
                }
            }
        }
        segments.push(Segment {
            begin_ns: turn_ns.saturating_mul(u64::from(turns)),
            length_ns: u64::MAX,
            from: 0.0,
            to: 0.0,
            before,
        });
        Profile { segments }
    }

    /// Amount at `at_ns`.
    #[must_use]
    pub fn amount_at(&self, at_ns: u64) -> f64 {
        self.segment_at(at_ns).amount_at(at_ns)
    }

    /// Integral of the amount from 0 to `at_ns`, in amount × seconds: the number of arrivals that
    /// an open loop has offered by then.
    #[must_use]
    pub fn integral_at(&self, at_ns: u64) -> f64 {
        self.segment_at(at_ns).integral_at(at_ns)
    }

    /// The first instant after which the integral is above `integral`, rounded to a nanosecond;
    /// `None` if it never is.
    #[must_use]
    pub fn instant_of(&self, integral: f64) -> Option<u64> {
        let index = self
            .segments
            .partition_point(|segment| segment.after() <= integral);
        self.segments
            .get(index)
            .map(|segment| segment.instant_of(integral))
    }

    /// Amount towards which it goes until `at_ns`: where it jumps then, the amount before.
    pub(crate) fn amount_before(&self, at_ns: u64) -> f64 {
        self.segment_at(at_ns.saturating_sub(1)).amount_at(at_ns)
    }

    /// How many even arrivals at this rate are due before `at_ns`. They are counted by their own
    /// instants, so that rounding of the integral never adds or loses one.
    pub(crate) fn count_before(&self, at_ns: u64) -> u64 {
        let is_before = |k: u64| self.instant_of(k as f64).is_some_and(|due| due < at_ns);
        let mut count = self.integral_at(at_ns).ceil() as u64;
        while count > 0 && !is_before(count - 1) {
            count -= 1;
        }
        while is_before(count) {
            count += 1;
        }
        count
    }

    /// Largest amount at any time.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.segments
            .iter()
            .fold(0.0, |peak, segment| peak.max(segment.from).max(segment.to))
    }

    /// Amount that it keeps in the end.
    pub(crate) fn last(&self) -> f64 {
        self.segments.last().map_or(0.0, |segment| segment.to)
    }

    /// The integral that the profile never exceeds; `None` if it grows without bound.
    #[must_use]
    pub fn ceiling(&self) -> Option<f64> {
        self.segments
            .last()
            .map(Segment::after)
            .filter(|ceiling| ceiling.is_finite())
    }

    /// When virtual user `user` (from 0, cluster-wide) is active: while the amount is above its
    /// number. The spans are in order, disjoint, and in nanoseconds; an end of `u64::MAX` means
    /// that the user remains. Exact for whole amounts.
    #[must_use]
    pub fn active_spans(&self, user: u32) -> Vec<Range<u64>> {
        let mut spans: Vec<Range<u64>> = Vec::new();
        for span in self
            .segments
            .iter()
            .filter_map(|segment| segment.active(user))
        {
            match spans.last_mut() {
                Some(last) if last.end == span.start => last.end = span.end,
                _ => spans.push(span),
            }
        }
        spans
    }

    fn segment_at(&self, at_ns: u64) -> &Segment {
        let index = self
            .segments
            .partition_point(|segment| segment.begin_ns <= at_ns);
        &self.segments[index.saturating_sub(1)]
    }
}

impl Segment {
    fn amount_at(&self, at_ns: u64) -> f64 {
        self.from + (self.to - self.from) * self.ns_since_begin(at_ns) / self.length_ns as f64
    }

    fn integral_at(&self, at_ns: u64) -> f64 {
        self.before
            + (self.from + self.amount_at(at_ns)) / 2.0 * (self.ns_since_begin(at_ns) / NS_PER_S)
    }

    /// The integral after this segment. For the endless segment it is infinite, or the integral
    /// before it if its amount is 0.
    fn after(&self) -> f64 {
        if self.length_ns < u64::MAX {
            return self.before + (self.from + self.to) / 2.0 * (self.length_ns as f64 / NS_PER_S);
        }
        if self.to > 0.0 {
            f64::INFINITY
        } else {
            self.before
        }
    }

    /// Solves `before + from·t + slope·t²/2 = integral` in the form that remains exact for small
    /// slopes.
    fn instant_of(&self, integral: f64) -> u64 {
        let wanted = (integral - self.before).max(0.0);
        if wanted == 0.0 {
            return self.begin_ns;
        }
        if self.from == self.to {
            return self
                .begin_ns
                .saturating_add((wanted * NS_PER_S / self.from).round() as u64);
        }
        let slope = (self.to - self.from) / (self.length_ns as f64 / NS_PER_S);
        let root = (self.from * self.from + 2.0 * slope * wanted)
            .max(0.0)
            .sqrt();
        let passed = (2.0 * wanted / (self.from + root) * NS_PER_S).round() as u64;
        self.begin_ns.saturating_add(passed.min(self.length_ns))
    }

    /// The part of this segment in which the amount is above `user`. Computed in whole numbers, so
    /// that every owner gets the same instant.
    fn active(&self, user: u32) -> Option<Range<u64>> {
        let length = i128::from(self.length_ns);
        let begins_above = self.from as i128 > i128::from(user);
        let ends_above = self.to as i128 > i128::from(user);
        let (start, stop) = match (begins_above, ends_above) {
            (true, true) => (0, length),
            (false, false) => return None,
            // At the crossing the amount equals the number, and is not above it yet.
            (false, true) => (self.crossing(user, Round::Down) + 1, length),
            (true, false) => (0, self.crossing(user, Round::Up)),
        };
        let absolute = |passed: i128| self.begin_ns.saturating_add(passed as u64);
        (start < stop).then(|| absolute(start)..absolute(stop))
    }

    /// Nanoseconds into this segment at which its changing amount is `user`. The product of an
    /// amount and a length in nanoseconds fits into 128 bits.
    fn crossing(&self, user: u32, round: Round) -> i128 {
        let from = self.from as i128;
        let height = (self.to as i128 - from).abs();
        let up = match round {
            Round::Down => 0,
            Round::Up => height - 1,
        };
        ((i128::from(user) - from).abs() * i128::from(self.length_ns) + up) / height
    }

    fn ns_since_begin(&self, at_ns: u64) -> f64 {
        (at_ns.saturating_sub(self.begin_ns)).min(self.length_ns) as f64
    }
}

fn initial(shape: &Shape) -> f64 {
    match shape {
        Shape::Closed { connections, .. } => f64::from(*connections),
        Shape::Open { rate, .. } => rate.as_per_second(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, Range, Stage};
    use std::time::Duration;

    const S: u64 = 1_000_000_000;

    fn profile(initial: f64, stages: &[(u64, f64)]) -> Profile {
        let stages: Vec<Stage> = stages
            .iter()
            .map(|&(s, to)| Stage {
                over: Duration::from_secs(s),
                to,
            })
            .collect();
        Profile::new(initial, &stages)
    }

    fn one(start: u64, end: u64) -> Vec<Range<u64>> {
        std::iter::once(start..end).collect()
    }

    #[test]
    fn amounts_are_exact_at_boundaries_and_a_step_holds_at_once() {
        let ramp_step_hold = profile(0.0, &[(60, 250.0), (0, 100.0), (30, 100.0), (10, 0.0)]);
        let cases = [
            (0, 0.0),
            (30, 125.0),
            (59, 250.0 * 59.0 / 60.0),
            (60, 100.0),
            (89, 100.0),
            (95, 50.0),
            (100, 0.0),
            (999, 0.0),
        ];
        for (second, amount) in cases {
            assert_eq!(
                ramp_step_hold.amount_at(second * S),
                amount,
                "at {second} s"
            );
        }
        assert_eq!(ramp_step_hold.peak(), 250.0);
    }

    #[test]
    fn integral_is_the_area_and_its_inverse_finds_the_instant() {
        // 60 s from 0 to 250: 7,500; 30 s at 100: 3,000; 10 s from 100 to 0: 500.
        let shape = profile(0.0, &[(60, 250.0), (0, 100.0), (30, 100.0), (10, 0.0)]);
        for (second, area) in [
            (0, 0.0),
            (30, 1875.0),
            (60, 7500.0),
            (90, 10500.0),
            (95, 10875.0),
            (100, 11000.0),
            (200, 11000.0),
        ] {
            assert_eq!(shape.integral_at(second * S), area, "at {second} s");
            if area < 11000.0 {
                assert_eq!(shape.instant_of(area), Some(second * S), "area {area}");
            }
        }
        assert_eq!(shape.instant_of(11000.0), None);
        assert_eq!(shape.ceiling(), Some(11000.0));
        assert_eq!(profile(1.0, &[]).ceiling(), None);
    }

    #[test]
    fn nothing_arrives_while_the_amount_is_zero() {
        let pause = profile(10.0, &[(1, 10.0), (0, 0.0), (5, 0.0), (0, 10.0)]);
        let instants: Vec<u64> = (8..12)
            .filter_map(|k| pause.instant_of(f64::from(k)))
            .collect();
        assert_eq!(instants, [S * 8 / 10, S * 9 / 10, S * 6, S * 61 / 10]);
        assert_eq!(
            profile(0.0, &[(10, 0.0), (0, 1.0)]).instant_of(0.0),
            Some(10 * S)
        );
    }

    #[test]
    fn users_come_with_a_ramp_up_and_go_with_a_ramp_down() {
        let hill = profile(0.0, &[(10, 10.0), (10, 10.0), (10, 0.0)]);
        assert_eq!(hill.active_spans(0), one(1, 30 * S));
        assert_eq!(hill.active_spans(4), one(4 * S + 1, 26 * S));
        assert_eq!(hill.active_spans(9), one(9 * S + 1, 21 * S));
        assert_eq!(hill.active_spans(10), []);
    }

    #[test]
    fn a_held_amount_keeps_its_users_for_ever() {
        assert_eq!(profile(3.0, &[]).active_spans(2), one(0, u64::MAX));
        assert_eq!(profile(3.0, &[]).active_spans(3), []);
        assert_eq!(
            profile(3.0, &[(5, 3.0), (0, 1.0)]).active_spans(2),
            one(0, 5 * S)
        );
        assert_eq!(
            profile(3.0, &[(5, 3.0), (5, 6.0)]).active_spans(2),
            one(0, u64::MAX)
        );
    }

    #[test]
    fn a_user_is_active_exactly_while_the_amount_is_above_its_number() {
        let shape = profile(7.0, &[(3, 20.0), (2, 1.0), (0, 9.0), (1, 9.0), (4, 0.0)]);
        for tick in 0..1000 {
            let at = tick * 12_345_679;
            for user in 0..21 {
                let active = shape
                    .active_spans(user)
                    .iter()
                    .any(|span| span.contains(&at));
                assert_eq!(
                    active,
                    shape.amount_at(at) > f64::from(user),
                    "user {user} at {at} ns"
                );
            }
        }
    }
}
