//! Which observed seconds are taken: those of each observer in order, and each once.

use crate::Observer;
use crate::fleet_action::{Actions, Awaited, Receipt};
use crate::taken_numbers::TakenNumbers;
use crate::{RunEvent, RunId};
use proto::Observed;
use std::time::Duration;

/// Largest observation.
pub const OBSERVATION_MAX_BYTES: usize = 64 << 10;

/// How far the clock of an observer may be ahead.
const AHEAD_MAX_SECONDS: u64 = 5;

/// The seconds taken from one observer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SeenSeconds(TakenNumbers);

impl SeenSeconds {
    /// Notes that a second is in the record.
    pub(crate) fn note_stored(&mut self, second: u32) {
        self.0.note_stored(second);
    }

    /// Passes an observation on, unless it came before. An impossible one is dropped. Returns
    /// whether it is stored already, so that its acknowledgement was lost; otherwise it is
    /// acknowledged once it is stored.
    pub(crate) fn take(
        &mut self,
        (run, by): (RunId, Observer),
        running_for: Duration,
        observed: Observed,
        out: &mut Actions,
    ) -> bool {
        let Observed {
            second, content, ..
        } = observed;
        let last = running_for.as_secs() + AHEAD_MAX_SECONDS;
        let is_possible = u64::from(second) <= last && content.len() <= OBSERVATION_MAX_BYTES;
        if second < self.0.next() || !is_possible {
            return self.0.is_stored(second);
        }
        self.0.take(second);
        let receipt = Receipt {
            run,
            what: Awaited::Observation(by, second),
        };
        let event = RunEvent::Observed {
            by,
            second,
            encoded: content,
        };
        out.deliver(event, receipt);
        false
    }
}
