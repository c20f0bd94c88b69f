//! A finding of an agent's preflight.

use serde::{Deserialize, Serialize};

/// Something that an agent's preflight found, although the agent goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What its machine may lack: a sentence with the numbers and the cure.
    pub text: String,
    /// Whether it would have refused the plan, but was told not to.
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
