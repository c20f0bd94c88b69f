//! What became of the tokens that requests carry.

use crate::figures::is_zero;
use measure::{TokenTallies, TokenTally};
use serde::{Deserialize, Serialize};

/// What became of the token of one credential over the whole run, and which requests had it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenFigures {
    /// Name of the credential: `api` for `[auth.api]`.
    pub auth: String,
    /// Times a token was fetched, before the run and during it.
    pub fetched: u64,
    /// Times a token was asked for and did not come.
    pub not_fetched: u64,
    /// Times an agent's token expired before it had a new one.
    pub ran_out: u64,
    /// When that first happened, on the run clock, 0 if before the start; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ran_out_ns: Option<u64>,
    /// Requests of measured operations that had a token. One that is sent again, or to where a
    /// redirect leads, counts again.
    pub requests: u64,
    /// Those among them whose token had expired when they were written.
    pub expired_requests: u64,
    /// Requests of the warm-up that had a token.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up_requests: u64,
    /// Those among them whose token had expired.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up_expired_requests: u64,
}

impl TokenFigures {
    /// The figures of the credentials `names` whose tokens are fetched, in the plan's order.
    pub(crate) fn all(names: &[String], tallies: &TokenTallies) -> Vec<TokenFigures> {
        let one = |(place, name): (u16, &String)| {
            let TokenTally {
                fetched,
                not_fetched,
                ran_out,
                first_ran_out_ns,
                requests,
                expired,
            } = tallies.of(place);
            TokenFigures {
                auth: name.clone(),
                fetched,
                not_fetched,
                ran_out,
                first_ran_out_ns,
                requests: requests.measured,
                expired_requests: expired.measured,
                warm_up_requests: requests.warm_up,
                warm_up_expired_requests: expired.warm_up,
            }
        };
        (0..).zip(names).map(one).collect()
    }
}
