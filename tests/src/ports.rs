//! Free ports for servers that cannot take port 0.

use std::net::{IpAddr, TcpListener};

/// So many different free ports. Another process can take one before the server does, a client's own port included:
/// whoever starts a server on them tries again with new ones.
pub(crate) fn free_ports(ip: IpAddr, count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind((ip, 0)).unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
