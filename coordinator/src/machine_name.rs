//! The address by which other machines reach this one.

use std::net::SocketAddr;

/// Where others reach a port: under this machine's name, if it listens on all of its addresses.
pub(crate) fn public_address(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let system = rustix::system::uname();
    format!("{}:{}", system.nodename().to_string_lossy(), address.port())
}
