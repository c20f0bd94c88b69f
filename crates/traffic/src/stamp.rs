//! Instants as logs write them.

use time::{Date, Month, Time};

const NS_PER_SECOND: i64 = 1_000_000_000;

/// When something happened, by the log's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970, UTC.
    pub since_1970_ns: i64,
    /// Whether the log says no more than the second.
    pub is_whole_second: bool,
    /// Whether the text names its time zone; without one it is taken for UTC.
    pub has_zone: bool,
}

/// What a number of a log counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl TimeUnit {
    /// Decimal places of a second below the unit.
    fn places(self) -> u32 {
        match self {
            TimeUnit::Seconds => 9,
            TimeUnit::Milliseconds => 6,
            TimeUnit::Microseconds => 3,
        }
    }

    /// Reads a decimal number of this unit as nanoseconds, and whether it has no digits below the
    /// second. `None` if it is not such a number, or too large.
    pub(crate) fn read(self, text: &[u8]) -> Option<(i64, bool)> {
        let point = text.iter().position(|&byte| byte == b'.');
        let (whole, fraction) = point.map_or((text, &[][..]), |at| (&text[..at], &text[at + 1..]));
        let places = self.places() as usize;
        let mut ns = digits(whole)?;
        for place in 0..places {
            let digit = fraction.get(place).map_or(Some(0), |&byte| digit(byte))?;
            ns = ns.checked_mul(10)?.checked_add(digit)?;
        }
        let rest = fraction.get(places..).unwrap_or_default();
        rest.iter().all(u8::is_ascii_digit).then_some(())?;
        Some((ns, self == TimeUnit::Seconds && fraction.is_empty()))
    }
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

/// An unsigned decimal number of at least one digit.
fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_i64, |number, &byte| {
        number.checked_mul(10)?.checked_add(digit(byte)?)
    })
}

impl Stamp {
    /// Reads `10/Oct/2026:13:55:36 +0200` (also in brackets), `2026-10-10T13:55:36.123+02:00`, or
    /// seconds, milliseconds, microseconds or nanoseconds since 1970.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Stamp> {
        let text = text.trim_ascii();
        let text = text.strip_prefix(b"[").unwrap_or(text);
        let text = text.strip_suffix(b"]").unwrap_or(text);
        match text.get(2..5)? {
            [b'/', ..] => Stamp::parse_common(text),
            _ if text.get(4) == Some(&b'-') => Stamp::parse_iso(text),
            _ => Stamp::parse_number(text),
        }
    }

    /// A number since 1970, whose unit follows from its size: seconds have 11 digits until the
    /// year 5138.
    fn parse_number(text: &[u8]) -> Option<Stamp> {
        let whole = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (ns, is_whole_second) = match whole {
            0..=11 => TimeUnit::Seconds.read(text)?,
            12..=14 => TimeUnit::Milliseconds.read(text)?,
            15..=17 => TimeUnit::Microseconds.read(text)?,
            _ => (digits(text)?, false),
        };
        Some(Stamp::from_ns(ns, is_whole_second))
    }

    /// An instant that a number gives.
    pub(crate) fn from_ns(since_1970_ns: i64, is_whole_second: bool) -> Stamp {
        Stamp {
            since_1970_ns,
            is_whole_second,
            has_zone: true,
        }
    }

    /// The format of nginx's `$time_local` and Apache's `%t`.
    fn parse_common(text: &[u8]) -> Option<Stamp> {
        let month = MONTHS
            .iter()
            .position(|name| text.get(3..6) == Some(*name))?;
        let month = u8::try_from(month + 1).ok()?;
        let is_marked = text.get(6) == Some(&b'/') && text.get(11) == Some(&b':');
        is_marked.then_some(())?;
        let (year, day) = (digits(text.get(7..11)?)?, digits(&text[..2])?);
        Stamp::from_parts(year, month, day, text.get(12..)?)
    }

    /// RFC 3339, also with a space for the `T`, a comma for the point, or without a zone.
    fn parse_iso(text: &[u8]) -> Option<Stamp> {
        let is_marked =
            text.get(7) == Some(&b'-') && text.get(10).is_some_and(|byte| b"Tt ".contains(byte));
        is_marked.then_some(())?;
        let month = u8::try_from(digits(&text[5..7])?).ok()?;
        let (year, day) = (digits(&text[..4])?, digits(&text[8..10])?);
        Stamp::from_parts(year, month, day, &text[11..])
    }

    fn from_parts(year: i64, month: u8, day: i64, time: &[u8]) -> Option<Stamp> {
        let clock = time.get(..8)?;
        (clock[2] == b':' && clock[5] == b':').then_some(())?;
        let part = |at: usize| u8::try_from(digits(&clock[at..at + 2])?).ok();
        // A leap second counts as the one before it, as Unix time has it.
        let second = part(6)?;
        let second = if second == 60 { 59 } else { second };
        let month = Month::try_from(month).ok()?;
        let date =
            Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?);
        let at = date
            .ok()?
            .with_time(Time::from_hms(part(0)?, part(3)?, second).ok()?);
        let mut rest = &time[8..];
        let mut fraction_ns = 0;
        let has_fraction = rest.first().is_some_and(|byte| b".,".contains(byte));
        if has_fraction {
            let length = rest[1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let mut decimal = b"0.".to_vec();
            decimal.extend_from_slice(&rest[1..=length]);
            (fraction_ns, _) = TimeUnit::Seconds.read(&decimal)?;
            (length > 0).then_some(())?;
            rest = &rest[1 + length..];
        }
        let zone_seconds = zone_seconds(rest.trim_ascii_start());
        if zone_seconds.is_none() && !rest.is_empty() {
            return None;
        }
        let seconds = at.assume_utc().unix_timestamp() - zone_seconds.unwrap_or_default();
        let since_1970_ns = seconds
            .checked_mul(NS_PER_SECOND)?
            .checked_add(fraction_ns)?;
        Some(Stamp {
            since_1970_ns,
            is_whole_second: !has_fraction,
            has_zone: zone_seconds.is_some(),
        })
    }
}

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// How far a zone is ahead of UTC: `Z`, `+02:00` or `+0200`.
fn zone_seconds(text: &[u8]) -> Option<i64> {
    if matches!(text, b"Z" | b"z") {
        return Some(0);
    }
    let (sign, rest) = match text.split_first()? {
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest {
        [_, _, b':', _, _] => (&rest[..2], &rest[3..]),
        [_, _, _, _] => rest.split_at(2),
        _ => return None,
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::{Stamp, TimeUnit};

    #[test]
    fn instants_are_those_of_date() {
        // `date -u -d '2026-10-10 11:55:36' +%s` is 1791633336.
        for (text, ns, is_whole_second) in [
            (
                "10/Oct/2026:13:55:36 +0200",
                1_791_633_336_000_000_000,
                true,
            ),
            (
                "[10/Oct/2026:11:55:36 +0000]",
                1_791_633_336_000_000_000,
                true,
            ),
            (
                "10/Oct/2026:05:25:36.250 -0630",
                1_791_633_336_250_000_000,
                false,
            ),
            ("2026-10-10T13:55:36+02:00", 1_791_633_336_000_000_000, true),
            (
                "2026-10-10T11:55:36.000000001Z",
                1_791_633_336_000_000_001,
                false,
            ),
            ("2026-10-10 11:55:36,5", 1_791_633_336_500_000_000, false),
            ("1791633336", 1_791_633_336_000_000_000, true),
            ("1791633336.123", 1_791_633_336_123_000_000, false),
            ("1791633336123", 1_791_633_336_123_000_000, false),
            ("1791633336123456", 1_791_633_336_123_456_000, false),
            ("1791633336123456789", 1_791_633_336_123_456_789, false),
            ("2016-12-31T23:59:60Z", 1_483_228_799_000_000_000, true),
        ] {
            let stamp = Stamp::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (stamp.since_1970_ns, stamp.is_whole_second),
                (ns, is_whole_second),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "",
            "-",
            "10",
            "10/Oct/2026",
            "10/Okt/2026:13:55:36 +0200",
            "31/Feb/2026:13:55:36 +0200",
            "10/Oct/2026:24:55:36 +0200",
            "10/Oct/2026:13:55:36 +2500",
            "2026-10-10T11:55:36.Z",
            "2026-10-10T11:55",
            "2026-10-10T11:55:36X",
            "9999999999999999999999",
            "12.3.4",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(Stamp::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let read = |unit: TimeUnit, text: &str| unit.read(text.as_bytes());
        assert_eq!(read(TimeUnit::Seconds, "0.001"), Some((1_000_000, false)));
        assert_eq!(
            read(TimeUnit::Milliseconds, "12"),
            Some((12_000_000, false))
        );
        assert_eq!(
            read(TimeUnit::Microseconds, "1500"),
            Some((1_500_000, false))
        );
        assert_eq!(
            read(TimeUnit::Seconds, "1.0000000019"),
            Some((1_000_000_001, false))
        );
        for bad in ["", "-", ".5", "1.x", "-1"] {
            assert_eq!(read(TimeUnit::Seconds, bad), None, "{bad}");
        }
    }
}
