//! Free ports for servers that cannot take port 0.

use std::net::{IpAddr, TcpListener};

/// So many different free ports. Another process can take one before the server does, a client's
/// own port included: whoever starts a server on them tries again with new ones.
pub(crate) fn free_ports(ip: IpAddr, count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind((ip, 0)).unwrap())
        .collect();
    held.iter()
        .map(|listener| listener.local_addr().unwrap().port())
        .collect()
}

/// A listener on a free port, with the longest queue that the namespace allows: a thousand clients
/// may come at once.
///
/// # Panics
/// Where the address is not of this machine.
#[must_use]
pub fn listen(ip: IpAddr) -> TcpListener {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    // The standard library asks for 128.
    rustix::net::listen(&listener, i32::MAX).unwrap();
    listener
}
