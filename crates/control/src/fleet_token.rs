//! The tokens that all agents of a run have in common: the caller fetches them, the fleet passes
//! them on.

use crate::clock::nanoseconds;
use crate::{FleetTime, RunId};
use proto::RunToken;
use secret::Secret;

/// A token that every agent of a run has, until there is a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetToken {
    /// Place of its credential among those whose tokens are fetched, from 0.
    pub place: u32,
    /// What requests carry.
    pub text: Secret<String>,
    /// When it expires; `None` if it does not.
    pub expires_at: Option<FleetTime>,
}

/// What came of asking for a token.
#[derive(Debug, Clone)]
pub enum TokenReport {
    /// It came.
    Came(FleetToken),
    /// None came.
    Missed {
        /// Place of the credential.
        place: u32,
        /// A sentence for the record, if there is something new to say.
        told: Option<String>,
    },
}

impl FleetToken {
    /// The message that passes it on at `now`. Agents need not know the fleet's clock for it.
    pub(crate) fn to_wire(&self, run: RunId, now: FleetTime) -> RunToken {
        let left = self.expires_at.map(|at| at.since(now));
        RunToken {
            run_id: run.to_wire(),
            place: self.place,
            text: self.text.reveal().clone(),
            ends: left.is_some(),
            left_ns: left.map_or(0, nanoseconds),
        }
    }

    /// Whether it is of use at `now`.
    pub(crate) fn lasts(&self, now: FleetTime) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }

    /// Puts it in the place of the one before.
    pub(crate) fn replace_in(self, tokens: &mut Vec<FleetToken>) {
        tokens.retain(|token| token.place != self.place);
        tokens.push(self);
    }
}
