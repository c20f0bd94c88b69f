//! Names of agents, runs and plans on the wire: fixed numbers of bytes, printed as hexadecimal
//! digits.

use proto::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub [u8; $bytes]);

        impl $name {
            /// The id in a message; nothing, when `bytes` has another length.
            #[must_use]
            pub fn from_wire(bytes: &[u8]) -> Option<$name> {
                bytes.try_into().ok().map($name)
            }

            /// The id as messages carry it.
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
    /// An agent's process: random, the same over reconnects.
    AgentId, 16
}
id! {
    /// A coordinator's process: another one has another clock.
    CoordinatorId, 16
}
id! {
    /// A run: random.
    RunId, 16
}
id! {
    /// A SHA-256, of a plan's canonical text or of a file.
    Digest, 32
}

impl Digest {
    /// SHA-256 of `bytes`.
    #[must_use]
    pub fn from_content(bytes: &[u8]) -> Digest {
        use sha2::Digest as _;
        Digest(sha2::Sha256::digest(bytes).into())
    }

    /// The first 8 of its 64 digits: enough to tell two plans apart in a message.
    #[must_use]
    pub fn short(self) -> String {
        let [a, b, c, d, ..] = self.0;
        format!("{a:02x}{b:02x}{c:02x}{d:02x}")
    }
}
