//! Free ports for servers that cannot take port 0.

use std::net::{IpAddr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::Mutex;

/// So many free ports, none of which this process was given before. They lie outside the range from
/// which the kernel gives clients their ports and listeners theirs where they ask for any, so
/// that nobody takes one before the server does, as long as the suites run one after the other.
///
/// # Panics
/// Where there are not so many.
pub(crate) fn free_ports(ip: IpAddr, count: usize) -> Vec<u16> {
    static LAST: Mutex<Option<u16>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap();
    let candidates = ports_outside(kernels_range());
    // Servers that a killed process has left behind are at the ports that it was given.
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

/// The ports that need no privilege and that the kernel gives nobody by itself; all that need
/// none, where the kernel gives each of them.
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
