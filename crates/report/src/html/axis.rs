//! Maps values to positions in a picture, and chooses where the ticks are.

use analysis::human;

/// What an axis shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AxisUnit {
    /// Operations per second.
    Rate,
    /// Bytes per second.
    ByteRate,
    /// Nanoseconds.
    Time,
    /// 0 to 1; higher values are possible.
    Share,
    /// A plain number.
    Count,
}

impl AxisUnit {
    /// The unit's name in the page's script.
    pub(super) fn name(self) -> &'static str {
        match self {
            AxisUnit::Rate => "rate",
            AxisUnit::ByteRate => "byte_rate",
            AxisUnit::Time => "time",
            AxisUnit::Share => "share",
            AxisUnit::Count => "count",
        }
    }

    /// A value with its unit, for people.
    pub(super) fn words(self, value: f64) -> String {
        match self {
            AxisUnit::Rate => format!("{}/s", human::exact(&human::number(value))),
            AxisUnit::ByteRate => format!("{}/s", human::exact(&human::bytes(value))),
            AxisUnit::Time => human::exact(&human::time(value)),
            AxisUnit::Share => format!("{} %", human::exact(&human::number(value * 100.0))),
            AxisUnit::Count => human::exact(&human::number(value)),
        }
    }
}

/// Maps a range of values to a range of positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChartAxis {
    from: f64,
    to: f64,
    begin: f64,
    end: f64,
    is_log: bool,
}

impl ChartAxis {
    /// A linear axis from `from`, which is 0 or the first second, to the largest value.
    pub(super) fn linear(from: f64, to: f64, begin: f64, end: f64) -> ChartAxis {
        let to = if to > from { to } else { from + 1.0 };
        ChartAxis {
            from,
            to,
            begin,
            end,
            is_log: false,
        }
    }

    /// A logarithmic axis. Values below `smallest` are placed at its start.
    pub(super) fn log(smallest: f64, largest: f64, begin: f64, end: f64) -> ChartAxis {
        // A file from elsewhere may contain values too large for a float.
        let from = smallest.clamp(1.0, f64::MAX).log10();
        let to = largest.clamp(1.0, f64::MAX).log10();
        ChartAxis {
            from,
            to: if to > from { to } else { from + 1.0 },
            begin,
            end,
            is_log: true,
        }
    }

    /// The position of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.is_log {
            value.max(1.0).log10()
        } else {
            value
        };
        let part = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.begin + part * (self.end - self.begin)
    }

    /// At most about `most` round values.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        if self.is_log {
            return self.log_ticks(most);
        }
        let step = round_step((self.to - self.from) / most.max(1) as f64);
        let first = (self.from / step).ceil();
        (0..=most)
            .map(|number| (first + number as f64) * step)
            .take_while(|&tick| tick <= self.to * (1.0 + 1e-9))
            .collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let (first, last) = (self.from.floor() as i32, self.to.ceil() as i32);
        let inside = |tick: &f64| {
            let at = tick.log10();
            at >= self.from - 1e-9 && at <= self.to + 1e-9
        };
        let powers = |parts: &[f64]| -> Vec<f64> {
            let all = (first..=last)
                .flat_map(|power| parts.iter().map(move |part| part * 10_f64.powi(power)));
            all.filter(inside).collect()
        };
        // The finest steps that fit; if there are too many powers of ten, every second or third.
        let finest = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].into_iter();
        let fits = finest.map(powers).find(|ticks| ticks.len() <= most);
        fits.unwrap_or_else(|| {
            let powers = powers(&[1.0]);
            let each = powers.len().div_ceil(most.max(1));
            powers.into_iter().step_by(each).collect()
        })
    }
}

/// The smallest of 1, 2 or 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(f64::MIN_POSITIVE).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|part| part * power);
    let fits = |step: &f64| *step >= least * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_all_numbers_have_few_ticks() {
        for largest in [1e306, f64::MAX, f64::INFINITY] {
            let axis = ChartAxis::log(1.0, largest, 0.0, 1.0);
            assert!(axis.ticks(10).len() <= 20, "{largest}");
        }
    }

    #[test]
    fn ticks_are_round_and_not_too_many() {
        for (to, most, expected) in [
            (10.0, 5, vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
            (0.93, 4, vec![0.0, 0.5]),
            (7_199.0, 4, vec![0.0, 2_000.0, 4_000.0, 6_000.0]),
            (0.0, 2, vec![0.0, 0.5, 1.0]),
        ] {
            assert_eq!(ChartAxis::linear(0.0, to, 0.0, 1.0).ticks(most), expected);
        }
        let log = ChartAxis::log(200_000.0, 30e9, 0.0, 1.0);
        let ticks = log.ticks(8);
        assert_eq!(ticks, [1e6, 1e7, 1e8, 1e9, 1e10]);
        assert!(ChartAxis::log(1.0, 1.0, 0.0, 1.0).ticks(3).len() <= 3);
        assert!(ChartAxis::log(1.0, 1e18, 0.0, 1.0).ticks(4).len() <= 5);
    }

    #[test]
    fn places_go_from_begin_to_end_and_never_beyond() {
        let axis = ChartAxis::linear(0.0, 4.0, 100.0, 0.0);
        assert_eq!(
            [-1.0, 0.0, 1.0, 9.0].map(|at| axis.place(at)),
            [100.0, 100.0, 75.0, 0.0]
        );
        let log = ChartAxis::log(10.0, 1_000.0, 0.0, 10.0);
        assert_eq!(
            [0.0, 10.0, 100.0, 1e9].map(|at| log.place(at)),
            [0.0, 0.0, 5.0, 10.0]
        );
    }
}
