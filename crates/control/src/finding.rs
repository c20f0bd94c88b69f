//! What an agent's preflight found.

use serde::{Deserialize, Serialize};

/// What an agent's preflight found, though it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What its machine may lack: a sentence with the numbers and the cure.
    pub text: String,
    /// It would have refused the plan, and was told not to.
    pub is_forced: bool,
}

impl Finding {
    pub(crate) fn into_wire(self) -> proto::Finding {
        proto::Finding {
            text: self.text,
            forced: self.is_forced,
        }
    }
}
