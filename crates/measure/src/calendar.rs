//! Seconds since 1970 and instants as texts (RFC 3339, UTC), both ways. What time it is nobody
//! knows here.

const DAY_S: i64 = 86_400;

/// Seconds since 1970 as `2026-11-20T15:16:00Z`.
#[must_use]
pub fn text(since_1970: i64) -> String {
    let (days, of_day) = (since_1970.div_euclid(DAY_S), since_1970.rem_euclid(DAY_S));
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// The inverse of [`text`]; fractions of a second are left out, and other zones than UTC are not
/// understood.
#[must_use]
pub fn seconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, separator| -> Option<Vec<i64>> {
        text.split(separator)
            .map(|part| part.parse().ok())
            .collect()
    };
    let [year, month, day] = numbers(date, '-')?[..] else {
        return None;
    };
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?[..] else {
        return None;
    };
    let is_date =
        (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    (is_date && is_time)
        .then(|| days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second)
}

/// Year, month and day of a day counted from 1970-01-01; `civil_from_days` of Howard Hinnant's
/// "chrono-Compatible Low-Level Date Algorithms".
fn date(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (
        year_of_era + era * 400 + i64::from(month <= 2),
        month,
        of_year - (153 * shifted + 2) / 5 + 1,
    )
}

/// The day of a date, counted from 1970-01-01; `days_from_civil` of the same source.
#[must_use]
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
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
        let _ = (text(i64::MAX), text(i64::MIN));
    }
}
