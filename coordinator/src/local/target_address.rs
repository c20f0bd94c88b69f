//! The line that a built-in target prints once it listens.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The address of a built-in target, as in the one line that it prints.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TargetAddress {
    /// Its address, which is on loopback.
    pub(crate) address: SocketAddr,
    /// PEM of the CA of its certificate; `None` for plain HTTP.
    pub(crate) ca_pem: Option<String>,
}
