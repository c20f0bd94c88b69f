//! The bounds from which rules fire: numbers with their units, and the words around them.

use crate::human;
use std::fmt::{self, Display, Formatter};

/// A bound. Evidence, `explain` and the documentation show it, and all three are made from the
/// numbers that the rule itself compares with. So that no text can contradict them, the words
/// contain no digits: a bound whose words do is refused when it is compiled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleBound {
    /// `{}` stands for the next number.
    words: &'static str,
    numbers: &'static [BoundNumber],
    /// Share of the seconds that must show it, if it applies to single seconds.
    of_seconds: Option<f64>,
}

/// A number of a bound, with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BoundNumber {
    /// Printed like `95 %`.
    Share(f64),
    /// A share with the three digits of figures, like `0.100 %`.
    ShareInDigits(f64),
    /// A share that is half of something, if it is one: `half`, else `40 %`.
    Part(f64),
    /// Printed like `1.5 times`, or `twice`.
    Times(f64),
    /// Printed like `100`.
    Count(f64),
    /// Nanoseconds, printed like `45 ms`.
    Time(f64),
    /// Nanoseconds with the three digits of figures, like `10.0 ms`.
    TimeInDigits(f64),
    /// Printed like `p99`.
    Percentile(f64),
}

impl RuleBound {
    /// Creates a bound of these words, in which each `{}` stands for the next of the numbers.
    ///
    /// # Panics
    ///
    /// If the words contain a digit, or do not have a place for each number. Bounds are constants,
    /// so the compiler reports it.
    pub(super) const fn new(words: &'static str, numbers: &'static [BoundNumber]) -> RuleBound {
        let bytes = words.as_bytes();
        let (mut at, mut places) = (0, 0);
        while at < bytes.len() {
            assert!(
                !bytes[at].is_ascii_digit(),
                "a bound's words hold no number"
            );
            if bytes[at] == b'{' {
                places += 1;
            }
            at += 1;
        }
        assert!(
            places == numbers.len(),
            "a bound has a place for each number"
        );
        RuleBound {
            words,
            numbers,
            of_seconds: None,
        }
    }

    /// Returns the bound as one that this share of the seconds must show.
    pub(super) const fn in_part_of_seconds(self, part: f64) -> RuleBound {
        RuleBound {
            of_seconds: Some(part),
            ..self
        }
    }

    /// Returns its numbers, in the order of its words.
    #[must_use]
    pub fn numbers(&self) -> &'static [BoundNumber] {
        self.numbers
    }
}

impl Display for RuleBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut words = self.words.split("{}");
        f.write_str(words.next().unwrap_or_default())?;
        for (number, words) in self.numbers.iter().zip(words) {
            write!(f, "{number}{words}")?;
        }
        match self.of_seconds {
            Some(part) => write!(f, " in {} of the seconds", BoundNumber::Share(part)),
            None => Ok(()),
        }
    }
}

impl Display for BoundNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            BoundNumber::Part(0.5) => f.write_str("half"),
            BoundNumber::Share(share) | BoundNumber::Part(share) => {
                f.write_str(&human::exact(&human::share(share)))
            }
            BoundNumber::ShareInDigits(share) => f.write_str(&human::share(share)),
            BoundNumber::Times(2.0) => f.write_str("twice"),
            BoundNumber::Times(factor) => write!(f, "{factor} times"),
            BoundNumber::Count(count) => write!(f, "{count}"),
            BoundNumber::Time(ns) => f.write_str(&human::exact(&human::time(ns))),
            BoundNumber::TimeInDigits(ns) => f.write_str(&human::time(ns)),
            BoundNumber::Percentile(percentile) => write!(f, "p{percentile}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BoundNumber, RuleBound};

    #[test]
    fn words_follow_the_numbers() {
        const WORDS: &str = "{} busy, {} as many, {} of it, {} pages, {}, {} above {}, {}";
        const ONE: RuleBound = RuleBound::new(
            WORDS,
            &[
                BoundNumber::Share(0.95),
                BoundNumber::Times(1.25),
                BoundNumber::Part(0.5),
                BoundNumber::Count(100.0),
                BoundNumber::Time(45e6),
                BoundNumber::Percentile(99.0),
                BoundNumber::TimeInDigits(1e7),
                BoundNumber::ShareInDigits(0.001),
            ],
        );
        const OTHER: RuleBound = RuleBound::new(
            WORDS,
            &[
                BoundNumber::Share(1.1),
                BoundNumber::Times(2.0),
                BoundNumber::Part(0.4),
                BoundNumber::Count(250.0),
                BoundNumber::Time(1.5e9),
                BoundNumber::Percentile(99.9),
                BoundNumber::TimeInDigits(2.5e6),
                BoundNumber::ShareInDigits(0.01),
            ],
        );
        assert_eq!(
            ONE.to_string(),
            "95 % busy, 1.25 times as many, half of it, 100 pages, 45 ms, p99 above 10.0 ms, \
             0.100 %"
        );
        assert_eq!(
            OTHER.in_part_of_seconds(0.05).to_string(),
            "110 % busy, twice as many, 40 % of it, 250 pages, 1.5 s, p99.9 above 2.50 ms, 1.00 % \
             in 5 % of the seconds"
        );
    }

    #[test]
    #[should_panic(expected = "a bound's words hold no number")]
    fn number_in_the_words_is_refused() {
        let _ = RuleBound::new("90 % busy", &[]);
    }

    #[test]
    #[should_panic(expected = "a bound has a place for each number")]
    fn number_without_a_place_is_refused() {
        let _ = RuleBound::new("busy", &[BoundNumber::Share(0.9)]);
    }
}
