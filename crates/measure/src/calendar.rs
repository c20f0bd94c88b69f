//! Seconds since 1970 and instants as texts (RFC 3339, UTC), both ways. Nothing here
//! reads a clock.

use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

/// 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z: RFC 3339 has four digits for a year.
const YEARS_OF_FOUR_DIGITS: [i64; 2] = [-62_167_219_200, 253_402_300_799];

/// Seconds since 1970 as `2026-11-20T15:16:00Z`; the first or last such text for what is beyond.
#[must_use]
pub fn text(since_1970: i64) -> String {
    let [first, last] = YEARS_OF_FOUR_DIGITS;
    UtcDateTime::from_unix_timestamp(since_1970.clamp(first, last))
        .ok()
        .and_then(|instant| instant.format(&Rfc3339).ok())
        .expect("years of four digits have a text")
}

/// The inverse of [`text`]; fractions of a second are left out, and other zones than UTC are not
/// understood.
#[must_use]
pub fn seconds(text: &str) -> Option<i64> {
    // RFC 3339 allows a lower-case "z" and offsets, which are not written here.
    let text = text.strip_suffix('Z').map(|_| text)?;
    Some(UtcDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::{seconds, text};

    #[test]
    fn instants_are_those_of_date_and_read_back() {
        // `date -u -d 2024-02-29T23:59:59Z +%s` and so on.
        for (instant, since_1970) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("2026-11-20T15:16:00Z", 1_795_187_760),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(
                (text(since_1970).as_str(), seconds(instant)),
                (instant, Some(since_1970))
            );
        }
        assert_eq!(seconds("2026-11-20T15:16:00.999Z"), Some(1_795_187_760));
        for bad in [
            "",
            "2026-11-20",
            "2026-11-20T15:16:00+01:00",
            "2026-13-20T15:16:00Z",
            "2026-11-20T99:16:00Z",
            "x-11-20T15:16:00Z",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
        // Agents may say anything.
        assert_eq!(
            [i64::MIN, i64::MAX].map(text),
            ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
        );
    }
}
