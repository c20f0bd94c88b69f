//! Ids of agents, runs and plans on the wire: a fixed number of bytes, printed in hexadecimal.

use proto::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub [u8; $bytes]);

        impl $name {
            /// The id in a message; `None` if `bytes` has another length.
            #[must_use]
            pub fn from_wire(bytes: &[u8]) -> Option<$name> {
                bytes.try_into().ok().map($name)
            }

            /// The id as it is sent in messages.
            #[must_use]
            pub fn to_wire(self) -> Bytes {
                Bytes::copy_from_slice(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

id! {
    /// Identifies an agent's process: random, and the same across reconnects.
    AgentId, 16
}
id! {
    /// Identifies a coordinator's process: random, so that a restarted coordinator has another one.
    CoordinatorId, 16
}
id! {
    /// Identifies a run: random.
    RunId, 16
}
id! {
    /// The SHA-256 of a plan's canonical text or of a file.
    Digest, 32
}

impl Digest {
    /// The SHA-256 of `bytes`.
    #[must_use]
    pub fn from_content(bytes: &[u8]) -> Digest {
        use sha2::Digest as _;
        Digest(sha2::Sha256::digest(bytes).into())
    }

    /// The first 8 of its 64 digits: enough to distinguish two plans in a message.
    #[must_use]
    pub fn short(self) -> String {
        let [a, b, c, d, ..] = self.0;
        format!("{a:02x}{b:02x}{c:02x}{d:02x}")
    }
}
