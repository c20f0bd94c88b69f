//! Sets of HTTP statuses, as ranges.

use crate::StatusSet;

/// Lowest and highest status a server can send (RFC 9110 §15: three digits).
const BOUNDS: (u16, u16) = (100, 999);

impl Default for StatusSet {
    /// Below 400.
    fn default() -> StatusSet {
        StatusSet {
            ranges: vec![(100, 399)],
        }
    }
}

impl StatusSet {
    /// A set of inclusive ranges in any order, which may overlap.
    #[must_use]
    pub fn new(mut ranges: Vec<(u16, u16)>) -> StatusSet {
        ranges.sort_unstable();
        let mut joined: Vec<(u16, u16)> = Vec::new();
        for (low, high) in ranges {
            match joined.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        StatusSet { ranges: joined }
    }
}

/// `404`, `"404"`, `"2xx"` or `"200-299"` as an inclusive range.
pub(crate) fn range(text: &str) -> Option<(u16, u16)> {
    let (low, high) = match (text.strip_suffix("xx"), text.split_once('-')) {
        (Some(class), _) => class
            .parse::<u16>()
            .ok()
            .filter(|class| *class < 10)
            .map(|class| (class * 100, class * 100 + 99))?,
        (_, Some((low, high))) => (status(low)?, status(high)?),
        _ => (status(text)?, status(text)?),
    };
    (BOUNDS.0 <= low && low <= high && high <= BOUNDS.1).then_some((low, high))
}

fn status(text: &str) -> Option<u16> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{StatusSet, range};

    #[test]
    fn ranges_are_read_and_joined() {
        let cases = [
            ("2xx", Some((200, 299))),
            ("404", Some((404, 404))),
            ("200-299", Some((200, 299))),
        ];
        let wrong = [
            ("0xx", None),
            ("20x", None),
            ("299-200", None),
            ("99", None),
            ("1000", None),
            ("", None),
            ("-", None),
            ("+200", None),
        ];
        for (text, expected) in cases.into_iter().chain(wrong) {
            assert_eq!(range(text), expected, "{text}");
        }
        let set = StatusSet::new(vec![(404, 404), (200, 299), (300, 303), (250, 260)]);
        assert_eq!(set.ranges, [(200, 303), (404, 404)]);
        assert!(set.contains(303) && !set.contains(304) && set.contains(404));
        assert!(StatusSet::default().contains(399) && !StatusSet::default().contains(400));
    }
}
