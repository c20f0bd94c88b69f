//! A rate of events.

use std::fmt;
use std::str::FromStr;

/// Events per second; finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Creates a rate, if `per_second` is finite and not negative.
    #[must_use]
    pub fn per_second(per_second: f64) -> Option<Rate> {
        (per_second.is_finite() && per_second >= 0.0).then_some(Rate(per_second))
    }

    /// Events per second.
    #[must_use]
    pub fn as_per_second(self) -> f64 {
        self.0
    }
}

/// Why a text is not a rate, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// It is a number without a unit.
    #[error("has no unit; write \"{0}/s\", or /m for a minute, /h for an hour")]
    NoUnit(String),
    /// It has a unit other than s, m, h.
    #[error(
        "has a unit {0:?} that is not known; write a rate such as \"2000/s\", \"100/m\" or \"5/h\""
    )]
    Unit(String),
    /// It is below zero.
    #[error("is negative; write a rate such as \"2000/s\"")]
    Negative,
    /// It is anything else.
    #[error("is not a rate; write one such as \"2000/s\", \"100/m\" or \"5/h\"")]
    NotARate,
}

impl FromStr for Rate {
    type Err = RateError;

    /// Parses `"2000/s"`, `"100/m"`, `"5/h"`, `"0.5/s"`.
    fn from_str(text: &str) -> Result<Rate, RateError> {
        if text.starts_with('-') {
            return Err(RateError::Negative);
        }
        let (number, unit) = text
            .split_once('/')
            .map_or((text.trim(), None), |(n, u)| (n.trim(), Some(u.trim())));
        let value = decimal(number).ok_or(RateError::NotARate)?;
        let seconds = match unit {
            Some("s") => 1.0,
            Some("m") => 60.0,
            Some("h") => 3600.0,
            Some(other) => return Err(RateError::Unit(other.to_owned())),
            None => return Err(RateError::NoUnit(number.to_owned())),
        };
        Rate::per_second(value / seconds).ok_or(RateError::NotARate)
    }
}

/// A plain decimal number: no sign, no exponent, no names.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        .then(|| text.parse().ok())?
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Rate, RateError};

    #[test]
    fn rates_are_per_second_and_read_what_they_write() {
        for (text, per_second) in [
            ("2000/s", 2000.0),
            ("100/m", 100.0 / 60.0),
            ("5/h", 5.0 / 3600.0),
            ("0.5/s", 0.5),
            ("7 / s", 7.0),
            ("0/s", 0.0),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.as_per_second(), per_second, "{text}");
            assert_eq!(rate.to_string().parse(), Ok(rate), "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_told_why() {
        let cases = [
            ("2000", RateError::NoUnit("2000".to_owned())),
            ("2000/d", RateError::Unit("d".to_owned())),
            ("-1/s", RateError::Negative),
            ("1e3/s", RateError::NotARate),
            ("inf/s", RateError::NotARate),
            ("/s", RateError::NotARate),
            ("", RateError::NotARate),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<Rate>(), Err(error), "{text}");
        }
    }
}
