//! Durations as plans write them: `"10ms"`, `"1.5s"`, `"1m30s"`. Exact to a nanosecond in both
//! directions.

use std::time::Duration;

/// Units with their nanoseconds, from the longest.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];

/// Parses a duration.
///
/// # Errors
/// The message says what is wrong and what to write instead.
pub fn parse(text: &str) -> Result<Duration, String> {
    let mut rest = text;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let (number, unit, after) = split(rest).ok_or_else(|| complaint(text))?;
        let unit_ns = unit_of(unit).ok_or_else(|| unknown_unit(number, unit))?;
        let part = nanoseconds(number, unit_ns).ok_or_else(|| complaint(text))?;
        sum = sum
            .checked_add(part)
            .ok_or("is too long; write at most \"720h\"")?;
        rest = after;
    }
    if text.is_empty() {
        Err(complaint(text))
    } else {
        Ok(Duration::from_nanos(sum))
    }
}

/// Writes a duration as plans do: the shortest form with one unit and no fraction, such as
/// `1500ms`.
#[must_use]
pub fn write(duration: Duration) -> String {
    let ns = duration.as_nanos();
    if ns == 0 {
        return "0s".to_owned();
    }
    let (unit, unit_ns) = UNITS
        .into_iter()
        .find(|&(_, unit_ns)| ns.is_multiple_of(u128::from(unit_ns)))
        .unwrap_or(("ns", 1));
    format!("{}{unit}", ns / u128::from(unit_ns))
}

/// Splits a text that starts with a number into number, unit and rest.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (number, tail) = split_where(text, |c| !is_of_number(c));
    // A unit ends where the next number starts: "1m30s".
    let (unit, rest) = split_where(tail, is_of_number);
    (!number.is_empty()).then_some((number, unit, rest))
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// Splits `text` before the first character that `ends` the first part.
fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

fn unit_of(unit: &str) -> Option<u64> {
    let unit = if unit == "µs" || unit == "μs" {
        "us"
    } else {
        unit
    };
    UNITS
        .into_iter()
        .find(|&(name, _)| name == unit)
        .map(|(_, unit_ns)| unit_ns)
}

/// Converts `number` units to whole nanoseconds; `None` if it is not a number, too large, or finer
/// than a nanosecond.
fn nanoseconds(number: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok()?;
    let below = fraction_ns(fraction.trim_end_matches('0'), unit_ns)?;
    whole.checked_mul(unit_ns)?.checked_add(below)
}

/// Like [`nanoseconds`], for the digits after the point.
fn fraction_ns(digits: &str, unit_ns: u64) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    let scale = 10u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let scaled = digits.parse::<u128>().ok()?.checked_mul(unit_ns.into())?;
    // A remainder is less than a nanosecond.
    let is_whole = scaled % scale == 0;
    u64::try_from(scaled / scale).ok().filter(|_| is_whole)
}

fn unknown_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() {
        return format!("has no unit; write \"{number}s\" for seconds, or ns, us, ms, m, h");
    }
    let cure = match unit.trim().to_ascii_lowercase().as_str() {
        "sec" | "secs" | "second" | "seconds" | "s" => "s",
        "min" | "mins" | "minute" | "minutes" | "m" => "m",
        "hr" | "hrs" | "hour" | "hours" | "h" => "h",
        "msec" | "millis" | "milliseconds" | "ms" => "ms",
        "usec" | "micros" | "microseconds" | "us" => "us",
        _ => {
            return format!(
                "has a unit {unit:?} that is not known; use ns, us, ms, s, m or h, such as \"10s\""
            );
        }
    };
    format!("has a unit {unit:?} that is not known; write \"{number}{cure}\"")
}

fn complaint(text: &str) -> String {
    if text.starts_with('-') {
        return "is negative; write a duration such as \"10s\"".to_owned();
    }
    "is not a duration; write one such as \"10s\", \"1.5s\", \"250ms\" or \"1m30s\"".to_owned()
}

#[cfg(test)]
mod tests {
    use super::{parse, write};

    #[test]
    fn durations_are_exact() {
        let cases = [
            ("10ms", 10_000_000, "10ms"),
            ("1.5s", 1_500_000_000, "1500ms"),
            ("2m", 120_000_000_000, "2m"),
            ("1h", 3_600_000_000_000, "1h"),
            ("500us", 500_000, "500us"),
            ("500µs", 500_000, "500us"),
            ("1m30s", 90_000_000_000, "90s"),
            ("0s", 0, "0s"),
            ("0.000000001s", 1, "1ns"),
            ("1.250ms", 1_250_000, "1250us"),
            ("60m", 3_600_000_000_000, "1h"),
        ];
        for (text, ns, canonical) in cases {
            let duration = parse(text).unwrap();
            assert_eq!(duration.as_nanos(), ns, "{text}");
            assert_eq!(write(duration), canonical, "{text}");
            assert_eq!(parse(canonical), Ok(duration), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_told_what_to_write() {
        let cases = [
            ("10", "has no unit; write \"10s\""),
            ("10 s", "write \"10s\""),
            ("5min", "write \"5m\""),
            ("3d", "unit \"d\""),
            ("", "is not a duration"),
            ("-1s", "is negative"),
            ("1..5s", "is not a duration"),
            (".s", "is not a duration"),
            ("soon", "is not a duration"),
            ("0.1ns", "is not a duration"),
            ("99999999999999h", "is not a duration"),
            ("9000000000s9223372037s9223372037s", "is too long"),
        ];
        for (text, why) in cases {
            let message = parse(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
