//! What a figure belongs to.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Warm-up has totals of its own; which one an operation belongs to is decided by its
/// `intended_at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Period {
    /// Before the measured part.
    WarmUp,
    /// What the result is about.
    Measured,
}

/// Key of a cell in a [`crate::Snapshot`]. The coordinator adds agent and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellKey {
    /// Warm-up or measured.
    pub period: Period,
    /// Index of the request in the plan.
    pub request: u16,
    /// Address it went to; `None` where it never got as far as one.
    pub address: Option<SocketAddr>,
}

impl CellKey {
    /// Addresses that a worker keeps apart; a name server could give it any number of them.
    pub const ADDRESSES: u16 = 1024;
    /// Stands for all addresses beyond those: no connection can be made to it.
    pub const OTHER_ADDRESSES: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

    /// An address as results write it: `none` where there is none, `others` beyond those that are
    /// kept apart.
    #[must_use]
    pub fn name_of(address: Option<SocketAddr>) -> String {
        match address {
            None => "none".to_owned(),
            Some(CellKey::OTHER_ADDRESSES) => "others".to_owned(),
            Some(address) => address.to_string(),
        }
    }
}

/// A worker's short name of a [`CellKey`]: the address by the index that
/// [`crate::Recorder::address`] gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellId {
    /// Warm-up or measured.
    pub period: Period,
    /// Index of the request in the plan.
    pub request: u16,
    /// Index of the address; 0 is "none".
    pub address: u16,
}
