//! TCP sockets by plain system calls, as few as possible per connection.

use crate::local_ports;
use measure::Kind;
use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, ipproto};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A non-blocking TCP socket, closed on drop.
#[derive(Debug)]
pub(crate) struct Socket(pub(crate) OwnedFd);

/// The part of the kernel's `struct tcp_info` (linux/tcp.h) that we read, in 32-bit words. Later
/// kernels append to it, and every kernel that has what the poller needs has this much.
#[derive(Debug, Clone, Copy)]
struct TcpInfo;

/// Up to `tcpi_snd_wnd` (Linux 5.4).
const TCP_INFO_WORDS: usize = 58;

nix::getsockopt_impl!(
    TcpInfo,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u32; TCP_INFO_WORDS],
    sockopt::GetStruct<[u32; TCP_INFO_WORDS]>
);

/// The kernel's delivery figures of a connection, available even after the connection has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// Bytes of ours that the peer's kernel has acknowledged.
    pub(crate) acknowledged: u64,
    /// The shortest round trip in nanoseconds; 0 if there was none.
    pub(crate) rtt_ns: u64,
}

/// The kernel's figures for the path to the peer. Counters start with the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PathInfo {
    /// Smoothed round trip in nanoseconds; 0 if there was none.
    pub(crate) round_trip_ns: u64,
    /// The shortest round trip in nanoseconds; 0 if there was none.
    pub(crate) least_ns: u64,
    /// Time during which bytes were unacknowledged.
    pub(crate) busy_ns: u64,
    /// The part of it during which the peer's window was full.
    pub(crate) peer_limited_ns: u64,
    /// Segments sent with data, including retransmissions.
    pub(crate) segments_sent: u32,
    /// Segments retransmitted.
    pub(crate) segments_resent: u32,
    /// Segments received with data.
    pub(crate) segments_received: u32,
    /// Segments received out of order.
    pub(crate) segments_out_of_order: u32,
}

/// The outcome of a read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Io {
    /// This many bytes; a read of 0 is the end of the stream.
    Bytes(usize),
    /// Nothing now: the poller reports when there is.
    Later,
}

impl Socket {
    /// Starts to connect to `address`, from `source` if one is given.
    pub(crate) fn connect(address: SocketAddr, source: Option<IpAddr>) -> Result<Socket, Kind> {
        let family = family(address.ip());
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
            .map_err(kind)?;
        if let Some(source) = source {
            // The port is chosen at connect, so that one port can serve many destinations (ip(7),
            // since Linux 4.2).
            let _ = setsockopt(&socket, sockopt::IpBindAddressNoPort, &true);
            net::bind(&socket, &SocketAddr::new(source, 0)).map_err(kind)?;
        }
        local_ports::look_among_all(&socket, address);
        match net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Socket(socket)),
            Err(Errno::ADDRNOTAVAIL) if !has_source(address) => Err(Kind::Unreachable),
            Err(error) => Err(kind(error)),
        }
    }

    /// Makes every write leave at once. By default a small one waits until an earlier one is
    /// acknowledged (Nagle's algorithm, RFC 9293 §3.7.4): an HTTP/2 request, or the end of a large
    /// body, would wait for a round trip.
    pub(crate) fn send_at_once(&self) {
        let _ = net::sockopt::set_tcp_nodelay(&self.0, true);
    }

    /// Why the socket failed; `None` if it did not.
    pub(crate) fn failure(&self) -> Option<Kind> {
        match net::sockopt::socket_error(&self.0) {
            Ok(Ok(())) => None,
            Ok(Err(error)) | Err(error) => Some(kind(error)),
        }
    }

    /// How much of what was sent has arrived; `None` if the kernel does not report it.
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        let info = getsockopt(&self.0, TcpInfo).ok()?;
        // `tcpi_bytes_acked`, which also counts the SYN (RFC 4898).
        let acknowledged = join(info[30], info[31]).saturating_sub(1);
        Some(Delivery {
            acknowledged,
            rtt_ns: shortest_ns(&info),
        })
    }

    /// The state of the path to the peer; `None` if the kernel does not report it.
    pub(crate) fn path(&self) -> Option<PathInfo> {
        let info = getsockopt(&self.0, TcpInfo).ok()?;
        Some(PathInfo {
            round_trip_ns: u64::from(info[17]) * 1000, // tcpi_rtt, microseconds
            least_ns: shortest_ns(&info),
            busy_ns: join(info[42], info[43]) * 1000, // tcpi_busy_time
            peer_limited_ns: join(info[44], info[45]) * 1000, // tcpi_rwnd_limited
            segments_sent: info[39],                  // tcpi_data_segs_out
            segments_resent: info[25],                // tcpi_total_retrans
            segments_received: info[38],              // tcpi_data_segs_in
            segments_out_of_order: info[56],          // tcpi_rcv_ooopack
        })
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<Io, Kind> {
        match rustix::io::read(&self.0, buffer) {
            Ok(bytes) => Ok(Io::Bytes(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Io::Later),
            Err(error) => Err(kind(error)),
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<Io, Kind> {
        match net::send(&self.0, bytes, SendFlags::NOSIGNAL) {
            Ok(bytes) => Ok(Io::Bytes(bytes)),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOTCONN) => Ok(Io::Later),
            Err(error) => Err(kind(error)),
        }
    }

    /// Its local and its remote address; `None` once it is no longer connected.
    pub(crate) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        let local = net::getsockname(&self.0).ok()?;
        let peer = net::getpeername(&self.0).ok()??;
        Some((local.try_into().ok()?, peer.try_into().ok()?))
    }

    /// Closes our side; the peer reads an end of stream.
    pub(crate) fn shutdown(&self) {
        let _ = net::shutdown(&self.0, Shutdown::Write);
    }

    /// Makes closing send a reset, which leaves no TIME_WAIT on either side (socket(7), SO_LINGER).
    pub(crate) fn reset_on_close(&self) {
        let _ = net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO));
    }
}

/// `tcpi_min_rtt`, which is in microseconds, as nanoseconds; 0 if it is unknown.
fn shortest_ns(info: &[u32; TCP_INFO_WORDS]) -> u64 {
    let rtt_us = Some(info[37]).filter(|&rtt| rtt != u32::MAX);
    u64::from(rtt_us.unwrap_or(0)) * 1000
}

/// Joins two words into a 64-bit number, in the machine's byte order.
fn join(first: u32, second: u32) -> u64 {
    let (low, high) = if cfg!(target_endian = "little") {
        (first, second)
    } else {
        (second, first)
    };
    u64::from(high) << 32 | u64::from(low)
}

/// Whether `address` belongs to this machine, so that sockets can bind to it.
pub(crate) fn is_own(address: IpAddr) -> bool {
    let family = family(address);
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let bound = socket.and_then(|socket| net::bind(&socket, &SocketAddr::new(address, 0)));
    bound != Err(Errno::ADDRNOTAVAIL)
}

/// Whether this machine has an address from which to reach `peer`. Without one connect(2) fails as
/// if no port were free. A connected UDP socket sends nothing, and needs no TCP port.
fn has_source(peer: SocketAddr) -> bool {
    let family = family(peer.ip());
    let socket = net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    let connected = socket.and_then(|socket| net::connect(&socket, &peer));
    connected != Err(Errno::ADDRNOTAVAIL)
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    }
}

fn kind(error: Errno) -> Kind {
    match error {
        Errno::CONNREFUSED => Kind::Refused,
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Kind::Reset,
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::NETDOWN | Errno::HOSTDOWN => {
            Kind::Unreachable
        }
        Errno::TIMEDOUT => Kind::TimeOut,
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Kind::PortsExhausted,
        Errno::MFILE | Errno::NFILE => Kind::FilesExhausted,
        other => Kind::Os(other.raw_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::time::Instant;

    /// Polls until the condition holds.
    fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(10), "{what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_comes_to_a_closed_connection_is_never_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Socket::connect(listener.local_addr().unwrap(), None).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let acknowledged = || client.delivery().unwrap().acknowledged;
        assert_eq!(acknowledged(), 0);
        assert_eq!(client.write(&[b'x'; 100]), Ok(Io::Bytes(100)));
        wait_until("a delivery", || acknowledged() == 100);
        server.read_exact(&mut [0; 100]).unwrap();
        let rtt = client.delivery().unwrap().rtt_ns;
        assert!((1..1_000_000_000).contains(&rtt), "{rtt}");
        let path = client.path().unwrap();
        assert_eq!(path.least_ns, rtt);
        assert!(path.round_trip_ns >= path.least_ns, "{path:?}");
        let counts = (path.segments_sent, path.segments_received);
        assert_eq!((counts, path.segments_resent), ((1, 0), 0));
        assert!(path.busy_ns < 10_000_000_000, "{path:?}"); // in ticks of the kernel
        drop(server);
        wait_until("an end", || client.read(&mut [0]) == Ok(Io::Bytes(0)));
        assert_eq!(client.write(&[b'x'; 50]), Ok(Io::Bytes(50)));
        wait_until("a reset", || client.failure().is_some());
        assert_eq!(acknowledged(), 100);
    }
}
