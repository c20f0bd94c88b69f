//! Free ports for servers that cannot take port 0.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::Mutex;

/// `count` free ports that this process has not used before. They lie outside the range from which
/// the kernel picks ports for clients, and for listeners that ask for any port. So no other program
/// takes one before the server does, as long as test programs run one after the other.
///
/// # Panics
/// If there are fewer.
pub(crate) fn free_ports(ip: IpAddr, count: usize) -> Vec<u16> {
    static LAST: Mutex<Option<u16>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap();
    let candidates = ports_outside(kernels_range());
    // Servers left behind by a killed process may still use the ports that it was given.
    let begin = match *last {
        Some(port) => candidates.partition_point(|candidate| *candidate <= port),
        None => std::process::id() as usize % candidates.len(),
    };
    let ports: Vec<u16> = (0..candidates.len())
        .map(|offset| candidates[(begin + offset) % candidates.len()])
        .filter(|port| TcpListener::bind((ip, *port)).is_ok())
        .take(count)
        .collect();
    assert_eq!(ports.len(), count, "free ports outside the kernel's range");
    *last = ports.last().copied().or(*last);
    ports
}

/// A free address of loopback that no other test gets, for a program that takes it a while later,
/// perhaps after another one.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_address() -> SocketAddr {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    SocketAddr::new(ip, free_ports(ip, 1)[0])
}

/// The unprivileged ports that the kernel never picks by itself; all unprivileged ports if it may
/// pick any.
fn ports_outside(kernels: RangeInclusive<u16>) -> Vec<u16> {
    const FIRST: u16 = 10_000;
    let outside: Vec<u16> = (FIRST..=u16::MAX)
        .filter(|port| !kernels.contains(port))
        .collect();
    if outside.is_empty() {
        return (FIRST..=u16::MAX).collect();
    }
    outside
}

/// The range of this thread's network namespace.
fn kernels_range() -> RangeInclusive<u16> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let mut bounds = text.split_whitespace().map(|bound| bound.parse().unwrap());
    let mut next = || bounds.next().expect("two bounds");
    next()..=next()
}

/// A listener on a free port, with the longest queue that the namespace allows, because a thousand
/// clients may arrive at once.
///
/// # Panics
/// If this machine does not have the address.
#[must_use]
pub fn listen(ip: IpAddr) -> TcpListener {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    // The standard library asks for 128.
    rustix::net::listen(&listener, i32::MAX).unwrap();
    listener
}
