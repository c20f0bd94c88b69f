//! Which connections' secrets are written down, so that a capture of their traffic can be
//! decrypted.

use crate::duration;
use std::fmt;
use std::time::Duration;

/// `tls.key_log`. The secrets allow decrypting what was sent, so agents must allow writing them
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLog {
    /// No secrets are written.
    Off,
    /// The secrets of every connection.
    All,
    /// The secrets of the first connections of each agent on which an operation failed or was slow.
    Sampled {
        /// Number of connections with an operation that timed out or failed.
        failed: u32,
        /// Number of connections with an operation that was ok but slow.
        slow: u32,
        /// A service time above this is slow; zero where `slow` is 0.
        over: Duration,
    },
}

impl KeyLog {
    /// The word for [`KeyLog::Off`].
    pub(crate) const OFF_WORD: &str = "off";
    /// The word for [`KeyLog::All`].
    pub(crate) const ALL_WORD: &str = "all";
}

impl fmt::Display for KeyLog {
    /// The value as the plan writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, slow, over) = match *self {
            KeyLog::Off => return write!(f, "{:?}", KeyLog::OFF_WORD),
            KeyLog::All => return write!(f, "{:?}", KeyLog::ALL_WORD),
            KeyLog::Sampled { failed, slow, over } => (failed, slow, duration::write(over)),
        };
        // At least one of the two is above 0: a plan without either is refused.
        match (failed, slow) {
            (failed, 0) => write!(f, "{{ failed = {failed} }}"),
            (0, slow) => write!(f, "{{ slow = {slow}, over = \"{over}\" }}"),
            _ => write!(
                f,
                "{{ failed = {failed}, slow = {slow}, over = \"{over}\" }}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyLog;
    use std::time::Duration;

    #[test]
    fn samples_are_written_as_a_plan_has_them() {
        let sampled = |failed, slow, ms| {
            KeyLog::Sampled {
                failed,
                slow,
                over: Duration::from_millis(ms),
            }
            .to_string()
        };
        assert_eq!(sampled(3, 0, 0), "{ failed = 3 }");
        assert_eq!(sampled(0, 10, 100), "{ slow = 10, over = \"100ms\" }");
        assert_eq!(
            sampled(3, 10, 1500),
            "{ failed = 3, slow = 10, over = \"1500ms\" }"
        );
        assert_eq!(
            [KeyLog::Off, KeyLog::All].map(|log| log.to_string()),
            ["\"off\"", "\"all\""]
        );
    }
}
