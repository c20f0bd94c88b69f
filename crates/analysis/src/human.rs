//! Numbers in a form for people: three significant digits and a unit, or all digits
//! ([`in_full`]).

use crate::PercentileFigure;

/// Formats a time: `512 ns`, `12.3 µs`, `250 ms`, `30.0 s`.
#[must_use]
pub fn time(ns: f64) -> String {
    if ns < 1000.0 - 0.5 {
        return format!("{ns:.0} ns");
    }
    scale(ns, TIMES)
}

/// Formats an age, which can be long: `12.3 s`, `45.0 min`, `3.20 h`, `6.50 days`.
#[must_use]
pub fn age(seconds: f64) -> String {
    scale(
        seconds,
        &[
            (1.0, " s"),
            (60.0, " min"),
            (3600.0, " h"),
            (86_400.0, " days"),
        ],
    )
}

/// Formats a percentile, with `≥ ` in front if it is a lower bound.
#[must_use]
pub fn percentile(figure: PercentileFigure) -> String {
    time_or_more(figure.value_ns as f64, figure.at_least)
}

/// Formats a time, with `≥ ` in front if it is a lower bound because operations behind it timed
/// out.
#[must_use]
pub fn time_or_more(ns: f64, at_least: bool) -> String {
    format!("{}{}", if at_least { "≥ " } else { "" }, time(ns))
}

/// Removes meaningless trailing zeros from what another function here returned: `60 s`, `0.1 %`.
/// For numbers that are exact.
#[must_use]
pub fn exact(text: &str) -> String {
    let (number, unit) = text.split_at(
        text.find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len()),
    );
    format!("{}{unit}", without_empty_zeros(number))
}

fn without_empty_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Formats a rate or a number that need not be exact: `0.250`, `12.3`, `123`, `1.23k`, `12.3M`.
#[must_use]
pub fn number(number: f64) -> String {
    scale(number, NUMBERS)
}

/// Formats bytes, in powers of ten: `356 B`, `1.23 kB`, `12.3 MB`.
#[must_use]
pub fn bytes(bytes: f64) -> String {
    if bytes < 1000.0 - 0.5 {
        return format!("{bytes:.0} B");
    }
    scale(bytes, BYTES)
}

/// Formats a share as a percentage: `0 %`, `0.0123 %`, `12.3 %`, `100 %`. Only exactly 0 or 1
/// prints as 0 % or 100 %.
#[must_use]
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 100.0 {
        return format!("{percent:.0} %");
    }
    if (99.95..100.0).contains(&percent) {
        return format!("{:.3} %", (percent * 1000.0).floor() / 1000.0);
    }
    format!("{} %", three_digits(percent))
}

/// Formats a number of things: `1 error`, `2 errors`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", one_or_many(count, "", "s"))
}

/// Returns the word for one thing or for any other number of them: `was` or `were`.
#[must_use]
pub fn one_or_many<'w>(count: u64, one: &'w str, many: &'w str) -> &'w str {
    if count == 1 { one } else { many }
}

/// Numbers with all their digits and a unit: `12.345 ms`, `60 s`. For limits and other numbers that
/// someone wrote, so that two of them never look alike.
pub mod in_full {
    use super::{BYTES, NUMBERS, TIMES, largest_unit, without_empty_zeros};

    /// Digits behind the point, and of a large number in front of it too: more than anyone writes,
    /// and few enough to hide what dividing adds.
    const DIGITS: usize = 12;

    /// Formats a time.
    #[must_use]
    pub fn time(ns: f64) -> String {
        scale(ns, TIMES)
    }

    /// Formats a rate or a number in thousands, millions or more: `12.345k`.
    #[must_use]
    pub fn number(number: f64) -> String {
        scale(number, NUMBERS)
    }

    /// Formats bytes, in powers of ten.
    #[must_use]
    pub fn bytes(bytes: f64) -> String {
        scale(bytes, BYTES)
    }

    /// Formats a share as a percentage.
    #[must_use]
    pub fn share(share: f64) -> String {
        format!("{} %", plain(share * 100.0))
    }

    /// Formats a number without a unit.
    #[must_use]
    pub fn plain(value: f64) -> String {
        let whole_digits = value.abs().max(1.0).log10() as usize;
        let decimals = DIGITS.saturating_sub(whole_digits);
        without_empty_zeros(&format!("{value:.decimals$}")).to_owned()
    }

    fn scale(value: f64, units: &[(f64, &str)]) -> String {
        let (unit, name) = largest_unit(value, units, 1.0);
        format!("{}{name}", plain(value / unit))
    }
}

const TIMES: &[(f64, &str)] = &[(1.0, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s")];
const NUMBERS: &[(f64, &str)] = &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")];
const BYTES: &[(f64, &str)] = &[
    (1.0, " B"),
    (1e3, " kB"),
    (1e6, " MB"),
    (1e9, " GB"),
    (1e12, " TB"),
];

/// Formats with the largest unit that leaves 1 or more after rounding.
fn scale(value: f64, units: &[(f64, &str)]) -> String {
    let (unit, name) = largest_unit(value, units, 0.9995);
    format!("{}{name}", three_digits(value / unit))
}

/// The largest unit of which `value` is `least` or more, or else the smallest.
fn largest_unit<'u>(value: f64, units: &[(f64, &'u str)], least: f64) -> (f64, &'u str) {
    let fits = |&&(unit, _): &&(f64, &str)| value.abs() / unit >= least;
    let largest = units.iter().rev().find(fits);
    *largest
        .or(units.first())
        .expect("every list of units has one")
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.09995 => 3,
        v if v >= 0.009_995 => 4,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        for (ns, expected) in [
            (0.0, "0 ns"),
            (512.0, "512 ns"),
            (999.7, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (999_600.0, "1.00 ms"),
            (250e6, "250 ms"),
            (30e9, "30.0 s"),
            (3600e9, "3600 s"),
        ] {
            assert_eq!(time(ns), expected);
        }
        for (value, expected) in [
            (0.0, "0"),
            (0.25, "0.250"),
            (12.34, "12.3"),
            (999.6, "1.00k"),
            (12_345_678.0, "12.3M"),
        ] {
            assert_eq!(number(value), expected);
        }
        for (seconds, expected) in [
            (0.0, "0 s"),
            (59.0, "59.0 s"),
            (90.0, "1.50 min"),
            (5400.0, "1.50 h"),
            (216_000.0, "2.50 days"),
        ] {
            assert_eq!(age(seconds), expected);
        }
        for (value, expected) in [(356.0, "356 B"), (1234.0, "1.23 kB"), (5e12, "5.00 TB")] {
            assert_eq!(bytes(value), expected);
        }
    }

    #[test]
    fn exact_numbers_have_no_empty_zeros() {
        for (text, expected) in [
            ("60.0 s", "60 s"),
            ("0.100 %", "0.1 %"),
            ("100 %", "100 %"),
            ("1.00k/s", "1k/s"),
            ("2.50 ms", "2.5 ms"),
        ] {
            assert_eq!(exact(text), expected);
        }
    }

    #[test]
    fn limits_have_all_the_digits_that_were_written() {
        for (text, expected) in [
            (in_full::time(0.0), "0 ns"),
            (in_full::time(250e6), "250 ms"),
            (in_full::time(999_600.0), "999.6 µs"),
            (in_full::time(12_345_678.0), "12.345678 ms"),
            (in_full::time(60e9), "60 s"),
            (in_full::number(12_345.0), "12.345k"),
            (in_full::number(12_300.0), "12.3k"),
            (in_full::number(1_234_567.5), "1.2345675M"),
            (in_full::bytes(1_500.0), "1.5 kB"),
            (in_full::bytes(999.0), "999 B"),
            (in_full::share(0.07), "7 %"),
            (in_full::share(0.001), "0.1 %"),
            (in_full::share(0.000_001), "0.0001 %"),
            (in_full::share(0.0), "0 %"),
            (in_full::plain(-2.5), "-2.5"),
            (in_full::plain(123_456_789.0), "123456789"),
            (
                in_full::plain(f64::from(1_u32 << 31) * 1e6),
                "2147483648000000",
            ),
        ] {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn share_below_all_never_prints_as_all() {
        for (value, expected) in [
            (0.0, "0 %"),
            (0.000_123, "0.0123 %"),
            (0.123, "12.3 %"),
            (0.9994, "99.9 %"),
            (0.999_99, "99.999 %"),
            (0.999_999_9, "99.999 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(share(value), expected);
        }
    }
}
