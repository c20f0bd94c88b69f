//! What a lost agent may have done that the record does not have.

use serde::{Deserialize, Serialize};

/// What a lost agent may have done and was never stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unstored {
    /// Begin of its first second that never came, run clock.
    pub from_ns: u64,
    /// When it had stopped for certain.
    pub to_ns: u64,
    /// Most arrivals that it sent in that time; absent for virtual users, who send as fast as they
    /// are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<u64>,
}
