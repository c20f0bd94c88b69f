//! The address by which other machines reach this one.

use std::net::SocketAddr;

/// Where others reach a port: under this machine's name, if it listens on all of its addresses.
pub(crate) fn public_address(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let name = host::Sampler::new()
        .facts()
        .map_or_else(|_| "HOST".to_owned(), |facts| facts.hostname);
    format!("{name}:{}", address.port())
}
