//! Formats of timestamps, in UTC.

use std::io::Write as _;
use std::str::FromStr;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Formats that have a name, with their patterns.
const NAMED: [(&str, &str); 4] = [
    ("unix", "%s"),
    ("unix_ms", "%s%3f"),
    ("iso8601", "%Y-%m-%dT%H:%M:%S.%3fZ"),
    // IMF-fixdate (RFC 9110 §5.6.7).
    ("http", "%a, %d %b %Y %H:%M:%S GMT"),
];

/// What follows a `%`, and what it stands for.
const PARTS: [(&str, TimePart); 13] = [
    ("Y", TimePart::Year),
    ("m", TimePart::Month),
    ("d", TimePart::Day),
    ("H", TimePart::Hour),
    ("M", TimePart::Minute),
    ("S", TimePart::Second),
    ("3f", TimePart::Fraction(3)),
    ("6f", TimePart::Fraction(6)),
    ("9f", TimePart::Fraction(9)),
    ("j", TimePart::DayOfYear),
    ("a", TimePart::DayName),
    ("b", TimePart::MonthName),
    ("s", TimePart::UnixSeconds),
];

/// Longest pattern, in bytes.
const MAX_BYTES: usize = 100;

/// A format of timestamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat {
    pattern: String,
    parts: Vec<TimePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TimePart {
    Text(String),
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    /// This many digits of the second's fraction.
    Fraction(u8),
    DayOfYear,
    DayName,
    MonthName,
    UnixSeconds,
}

/// Why a text is no format; the message continues a sentence that begins with the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeFormatError {
    /// It is no name, and has no `%`.
    #[error(
        "is no format of a timestamp; write \"unix\", \"unix_ms\", \"iso8601\", \"http\", or a \
         pattern such as \"%Y-%m-%d\""
    )]
    Name,
    /// A `%` is followed by what has no meaning.
    #[error(
        "has a % before what has no meaning here; there are %Y %m %d %H %M %S %3f %6f %9f %j %a %b \
         %s %%"
    )]
    Part,
    /// It is longer than a timestamp needs.
    #[error("has more than {MAX_BYTES} bytes; write a shorter pattern")]
    Long,
}

impl FromStr for TimeFormat {
    type Err = TimeFormatError;

    fn from_str(text: &str) -> Result<TimeFormat, TimeFormatError> {
        let named = NAMED.iter().find(|(name, _)| *name == text);
        let pattern = named.map_or(text, |(_, pattern)| pattern);
        if !pattern.contains('%') {
            return Err(TimeFormatError::Name);
        }
        if pattern.len() > MAX_BYTES {
            return Err(TimeFormatError::Long);
        }
        Ok(TimeFormat {
            pattern: pattern.to_owned(),
            parts: parts(pattern)?,
        })
    }
}

fn parts(pattern: &str) -> Result<Vec<TimePart>, TimeFormatError> {
    let (mut parts, mut rest) = (Vec::new(), pattern);
    while let Some(at) = rest.find('%') {
        add_text(&mut parts, &rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            add_text(&mut parts, "%");
            rest = after;
            continue;
        }
        let found = PARTS.iter().find(|(word, _)| rest.starts_with(word));
        let (word, part) = found.ok_or(TimeFormatError::Part)?;
        parts.push(part.clone());
        rest = &rest[word.len()..];
    }
    add_text(&mut parts, rest);
    Ok(parts)
}

fn add_text(parts: &mut Vec<TimePart>, text: &str) {
    match parts.last_mut() {
        Some(TimePart::Text(before)) => before.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(TimePart::Text(text.to_owned())),
    }
}

impl TimeFormat {
    /// The pattern, also of a format that has a name.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Bytes of the timestamp for an instant, in nanoseconds since 1970.
    pub(crate) fn length(&self, unix_ns: u64) -> usize {
        let length = |part: &TimePart| match part {
            TimePart::Text(text) => text.len(),
            TimePart::Year => 4,
            TimePart::DayOfYear | TimePart::DayName | TimePart::MonthName => 3,
            TimePart::Fraction(digits) => usize::from(*digits),
            TimePart::UnixSeconds => {
                (unix_ns / 1_000_000_000).checked_ilog10().unwrap_or(0) as usize + 1
            }
            _ => 2,
        };
        self.parts.iter().map(length).sum()
    }

    /// Appends the timestamp for an instant, in nanoseconds since 1970, to `out`.
    pub fn put(&self, unix_ns: u64, out: &mut Vec<u8>) {
        let (seconds, fraction) = (unix_ns / 1_000_000_000, unix_ns % 1_000_000_000);
        let day = CivilDay::new(seconds / 86_400);
        let time = seconds % 86_400;
        for part in &self.parts {
            // Writing to a `Vec` cannot fail.
            let _ = match part {
                TimePart::Text(text) => write!(out, "{text}"),
                TimePart::Year => write!(out, "{:04}", day.year),
                TimePart::Month => write!(out, "{:02}", day.month),
                TimePart::Day => write!(out, "{:02}", day.day),
                TimePart::Hour => write!(out, "{:02}", time / 3600),
                TimePart::Minute => write!(out, "{:02}", time / 60 % 60),
                TimePart::Second => write!(out, "{:02}", time % 60),
                TimePart::Fraction(digits) => {
                    let shown = fraction / 10_u64.pow(9 - u32::from(*digits));
                    write!(out, "{shown:0width$}", width = usize::from(*digits))
                }
                TimePart::DayOfYear => write!(out, "{:03}", day.of_year),
                TimePart::DayName => write!(out, "{}", DAYS[day.of_week]),
                TimePart::MonthName => write!(out, "{}", MONTHS[day.month - 1]),
                TimePart::UnixSeconds => write!(out, "{seconds}"),
            };
        }
    }

    /// All characters that a timestamp may have.
    pub(crate) fn characters(&self) -> String {
        let characters = |part: &TimePart| match part {
            TimePart::Text(text) => text.clone(),
            TimePart::DayName => DAYS.concat(),
            TimePart::MonthName => MONTHS.concat(),
            _ => "0123456789".to_owned(),
        };
        self.parts.iter().map(characters).collect()
    }

    /// Whether every timestamp is a number without a leading zero.
    pub(crate) fn is_number(&self) -> bool {
        let is_digits = |part: &TimePart| {
            !matches!(
                part,
                TimePart::Text(_) | TimePart::DayName | TimePart::MonthName
            )
        };
        matches!(
            self.parts.first(),
            Some(TimePart::UnixSeconds | TimePart::Year)
        ) && self.parts.iter().all(is_digits)
    }
}

/// A day of the Gregorian calendar.
struct CivilDay {
    year: u64,
    /// From 1.
    month: usize,
    /// From 1.
    day: u64,
    /// From 1.
    of_year: u64,
    /// From Sunday, which is 0.
    of_week: usize,
}

impl CivilDay {
    /// The day that many days after 1 January 1970: Hinnant, "chrono-Compatible Low-Level Date
    /// Algorithms", `civil_from_days`. Its years begin in March, so that a leap day ends one.
    fn new(days: u64) -> CivilDay {
        let from_0000_03_01 = days + 719_468;
        let era = from_0000_03_01 / 146_097;
        let of_era = from_0000_03_01 % 146_097;
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let since_march = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * since_march + 2) / 153;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let is_leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let of_year = if month <= 2 {
            since_march - 306 + 1
        } else {
            since_march + 59 + u64::from(is_leap) + 1
        };
        CivilDay {
            year,
            month: month as usize,
            day: since_march - (153 * shifted + 2) / 5 + 1,
            of_year,
            // 1 January 1970 was a Thursday.
            of_week: ((days + 4) % 7) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TimeFormat;

    fn format(pattern: &str, unix_ns: u64) -> String {
        let format: TimeFormat = pattern.parse().unwrap();
        let mut text = Vec::new();
        format.put(unix_ns, &mut text);
        assert_eq!(text.len(), format.length(unix_ns), "{pattern}");
        let text = String::from_utf8(text).unwrap();
        let characters = format.characters();
        assert!(text.chars().all(|c| characters.contains(c)), "{text}");
        text
    }

    #[test]
    fn formats_with_a_name_are_those_of_the_standards() {
        // The example of RFC 9110 §5.6.7.
        let instant = 784_111_777_012_345_678;
        for (name, expected) in [
            ("unix", "784111777"),
            ("unix_ms", "784111777012"),
            ("iso8601", "1994-11-06T08:49:37.012Z"),
            ("http", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("100 %% on %j: %6f %9f", "100 % on 310: 012345 012345678"),
        ] {
            assert_eq!(format(name, instant), expected);
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        // By `date -u -d @SECONDS '+%F %j %a'`.
        for (seconds, expected) in [
            (0, "1970-01-01 001 Thu"),
            (951_782_400, "2000-02-29 060 Tue"),
            (951_868_800, "2000-03-01 061 Wed"),
            (1_735_603_200, "2024-12-31 366 Tue"),
            (1_798_675_200, "2026-12-31 365 Thu"),
            (4_107_542_400, "2100-03-01 060 Mon"),
        ] {
            assert_eq!(format("%Y-%m-%d %j %a", seconds * 1_000_000_000), expected);
        }
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        for text in ["", "utc", "%", "%f", "%Y-%Q", &"%Y".repeat(51)] {
            assert!(text.parse::<TimeFormat>().is_err(), "{text}");
        }
    }
}
