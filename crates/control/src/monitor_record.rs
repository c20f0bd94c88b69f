//! How much of what a monitor delivers is in a run's record.

use crate::profile_inbox::ProfileInbox;
use crate::seen_seconds::SeenSeconds;

/// What was taken from a monitor in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MonitorRecord {
    pub(crate) seen: SeenSeconds,
    pub(crate) profile: ProfileInbox,
}
