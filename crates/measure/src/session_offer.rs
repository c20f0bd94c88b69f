//! Which address takes the sessions that another one has issued.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A session that a completed handshake offered to the address of its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionOffer {
    /// Who had issued it; `None` beyond the first [`SessionOffer::ISSUERS`] addresses of a worker.
    pub issuer: Option<SocketAddr>,
    /// Whether it was taken.
    pub accepted: bool,
}

impl SessionOffer {
    /// Addresses that are kept apart as issuers.
    pub const ISSUERS: u16 = 64;
}

/// The same as a worker counts it: by its own index of the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HotOffer {
    issuer: u16,
    accepted: bool,
}

impl HotOffer {
    pub(crate) fn new(issuer: u16, accepted: bool) -> HotOffer {
        HotOffer {
            issuer: if issuer > SessionOffer::ISSUERS {
                0
            } else {
                issuer
            },
            accepted,
        }
    }

    /// With the address that has this index in `addresses`.
    pub(crate) fn cold(self, addresses: &[Option<SocketAddr>]) -> SessionOffer {
        SessionOffer {
            issuer: addresses.get(usize::from(self.issuer)).copied().flatten(),
            accepted: self.accepted,
        }
    }
}
