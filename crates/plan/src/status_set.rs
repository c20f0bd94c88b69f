//! Sets of HTTP statuses, as ranges.

/// Lowest and highest status a server can send (RFC 9110 §15: three digits).
const BOUNDS: (u16, u16) = (100, 999);

/// A set of HTTP statuses, as inclusive ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusSet {
    /// Inclusive ranges in ascending order.
    pub ranges: Vec<(u16, u16)>,
}

impl Default for StatusSet {
    /// Every status below 400.
    fn default() -> StatusSet {
        StatusSet {
            ranges: vec![(100, 399)],
        }
    }
}

impl StatusSet {
    /// Whether `status` is in the set.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.ranges
            .iter()
            .any(|&(low, high)| (low..=high).contains(&status))
    }

    /// Creates a set from inclusive ranges in any order, which may overlap.
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

/// Parses `404`, `"404"`, `"2xx"` or `"200-299"` as an inclusive range.
pub(crate) fn range(text: &str) -> Option<(u16, u16)> {
    let (low, high) = if let Some(class) = text.strip_suffix("xx") {
        class_range(class)?
    } else if let Some((low, high)) = text.split_once('-') {
        (status(low)?, status(high)?)
    } else {
        (status(text)?, status(text)?)
    };
    let is_range = BOUNDS.0 <= low && low <= high && high <= BOUNDS.1;
    is_range.then_some((low, high))
}

/// The hundred statuses of `class`, which is one digit.
fn class_range(class: &str) -> Option<(u16, u16)> {
    let class: u16 = class.parse().ok()?;
    (class < 10).then_some((class * 100, class * 100 + 99))
}

fn status(text: &str) -> Option<u16> {
    // Numbers can have a sign, statuses cannot.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
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
