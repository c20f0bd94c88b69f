//! Tells connections apart that have the same number or the same client and port: a server counts
//! from 1 again after a restart, and clients use their ports again.

use std::collections::{HashMap, VecDeque};

/// Connections that are remembered, and how far behind the highest number one may begin: a first
/// request that takes long is logged late.
const REMEMBERED: usize = 65_536;

/// Tells connections apart that a log gives the same text.
#[derive(Debug, Default)]
pub(crate) struct DistinctConnections {
    /// How each remembered connection differs from others of the same text.
    suffixes: HashMap<String, u64>,
    order: VecDeque<String>,
    /// The highest number of a connection.
    highest: u64,
    /// The suffix of texts that are not remembered; 0 is none.
    suffix: u64,
    /// The last suffix that was given.
    last: u64,
}

impl DistinctConnections {
    /// The name of the connection that a log calls `text`: the same, and with a number behind a
    /// hyphen if there was another one before. `begins` says whether this is its first request.
    pub(crate) fn name(&mut self, text: String, begins: bool) -> String {
        let suffix = if begins {
            self.begin(&text)
        } else {
            self.suffixes.get(&text).copied().unwrap_or(self.suffix)
        };
        match suffix {
            0 => text,
            suffix => format!("{text}-{suffix}"),
        }
    }

    fn begin(&mut self, text: &str) -> u64 {
        if let Ok(number) = text.parse::<u64>() {
            if self.highest.saturating_sub(number) > REMEMBERED as u64 {
                self.last += 1;
                *self = DistinctConnections {
                    suffix: self.last,
                    last: self.last,
                    ..DistinctConnections::default()
                };
            }
            self.highest = self.highest.max(number);
        }
        if let Some(suffix) = self.suffixes.get_mut(text) {
            self.last += 1;
            *suffix = self.last;
            return *suffix;
        }
        self.suffixes.insert(text.to_owned(), self.suffix);
        self.order.push_back(text.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.suffixes.remove(&oldest);
        }
        self.suffix
    }
}

#[cfg(test)]
mod tests {
    use super::{DistinctConnections, REMEMBERED};

    #[test]
    fn number_that_begins_again_is_another_connection() {
        let mut names = DistinctConnections::default();
        let mut name = |text: &str, begins| names.name(text.to_owned(), begins);
        assert_eq!(
            [name("1", true), name("1", false), name("3", true)],
            ["1", "1", "3"]
        );
        // Its first request took longer.
        assert_eq!(name("2", true), "2");
        assert_eq!([name("1", true), name("1", false)], ["1-1", "1-1"]);
        assert_eq!([name("3", false), name("2", true)], ["3", "2-2"]);
        assert_eq!(
            [name("::1:90", true), name("::1:90", true)],
            ["::1:90", "::1:90-3"]
        );
    }

    #[test]
    fn number_far_behind_the_highest_is_of_a_restarted_server() {
        let mut names = DistinctConnections::default();
        for number in 1..=3 * REMEMBERED {
            assert_eq!(names.name(number.to_string(), true), number.to_string());
        }
        assert_eq!(names.suffixes.len(), REMEMBERED);
        assert_eq!(names.name("7".to_owned(), true), "7-1");
        assert_eq!(names.name("8".to_owned(), false), "8-1");
    }
}
