//! Just enough DER (X.690 §8, §10) to find a few fields in certificates and OCSP responses.

use time::{Date, Month, Time, UtcDateTime};

/// Takes the content of the next element, which must have this tag.
pub(super) fn element<'a>(rest: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let mut after = *rest;
    let (found, content) = any(&mut after)?;
    if found != tag {
        return None;
    }
    *rest = after;
    Some(content)
}

/// Takes the tag and content of the next element.
pub(super) fn any<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, first], after) = rest.split_first_chunk::<2>()?;
    let (length, after) = match first {
        0..=0x7f => (usize::from(first), after),
        0x81..=0x83 => {
            let (digits, after) = after.split_at_checked(usize::from(first & 0x7f))?;
            (
                digits
                    .iter()
                    .fold(0, |length, &byte| length << 8 | usize::from(byte)),
                after,
            )
        }
        _ => return None,
    };
    let (content, after) = after.split_at_checked(length)?;
    *rest = after;
    Some((tag, content))
}

/// Converts the content of a GeneralizedTime, in whole seconds and UTC, to seconds since 1970 (RFC
/// 5280 §4.1.2.5.2).
pub(super) fn seconds(time: &[u8]) -> Option<i64> {
    let digits = time
        .strip_suffix(b"Z")
        .filter(|digits| digits.len() == 14 && digits.iter().all(u8::is_ascii_digit))?;
    let pair = |at: usize| (digits[at] - b'0') * 10 + digits[at + 1] - b'0';
    let year = i32::from(pair(0)) * 100 + i32::from(pair(2));
    let month = Month::try_from(pair(4)).ok()?;
    let date = Date::from_calendar_date(year, month, pair(6)).ok()?;
    let time = Time::from_hms(pair(8), pair(10), pair(12)).ok()?;
    Some(UtcDateTime::new(date, time).unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::{any, element, seconds};

    #[test]
    fn elements_follow_one_another_and_a_wrong_tag_takes_nothing() {
        let mut rest: &[u8] = &[0x02, 0x01, 0x05, 0x04, 0x81, 0x02, 0xaa, 0xbb];
        assert_eq!(element(&mut rest, 0x30), None);
        assert_eq!(element(&mut rest, 0x02), Some(&[0x05][..]));
        assert_eq!(any(&mut rest), Some((0x04, &[0xaa, 0xbb][..])));
        for mut broken in [
            &[][..],
            &[0x02],
            &[0x02, 0x02, 0x01],
            &[0x02, 0x80],
            &[0x02, 0x84, 0, 0, 0, 1, 1],
        ] {
            assert_eq!(any(&mut broken), None, "{broken:?}");
        }
    }

    #[test]
    fn times_are_those_of_date() {
        // `date -u -d 2024-02-29T23:59:59Z +%s` and so on.
        for (text, since_1970) in [
            ("19700101000000Z", 0),
            ("20240229235959Z", 1_709_251_199),
            ("20261120151600Z", 1_795_187_760),
            ("21000301000000Z", 4_107_542_400),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(since_1970), "{text}");
        }
        for bad in [
            "",
            "20261120151600",
            "20261120151600.5Z",
            "2026112015160aZ",
            "20261320151600Z",
            "20260230151600Z",
            "20261120251600Z",
        ] {
            assert_eq!(seconds(bad.as_bytes()), None, "{bad}");
        }
    }
}
