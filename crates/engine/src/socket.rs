//! TCP sockets by plain system calls: as few as possible per connection.

use crate::local_ports;
use measure::Kind;
use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, ipproto};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A non-blocking TCP socket; closed on drop.
#[derive(Debug)]
pub(crate) struct Socket(pub(crate) OwnedFd);

/// The kernel's `struct tcp_info` (linux/tcp.h) as far as it is asked for, in words of 32 bits:
/// later kernels have more behind it, and those that the poller needs have as much.
#[derive(Debug, Clone, Copy)]
struct TcpInfo;

/// Up to tcpi_snd_wnd (Linux 5.4).
const TCP_INFO_WORDS: usize = 58;

nix::getsockopt_impl!(
    TcpInfo,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u32; TCP_INFO_WORDS],
    sockopt::GetStruct<[u32; TCP_INFO_WORDS]>
);

/// What the kernel knows of a connection, which goes on being known once it has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// Bytes of ours that the peer's kernel has acknowledged.
    pub(crate) acknowledged: u64,
    /// The shortest round trip, nanoseconds; 0 if there was none.
    pub(crate) rtt_ns: u64,
}

/// What the kernel knows of the way to the peer. Counters begin with the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PathInfo {
    /// Smoothed round trip, nanoseconds; 0 if there was none.
    pub(crate) round_trip_ns: u64,
    /// The shortest round trip, nanoseconds; 0 if there was none.
    pub(crate) least_ns: u64,
    /// Time with bytes that were not acknowledged.
    pub(crate) busy_ns: u64,
    /// Of it, with a peer that took no more.
    pub(crate) peer_limited_ns: u64,
    /// Segments sent with data, those sent again included.
    pub(crate) segments_sent: u32,
    /// Segments sent again.
    pub(crate) segments_resent: u32,
    /// Segments received with data.
    pub(crate) segments_received: u32,
    /// Segments received out of their order.
    pub(crate) segments_out_of_order: u32,
}

/// What a read or write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Io {
    /// So many bytes; a read of 0 is the end of the stream.
    Bytes(usize),
    /// Nothing now: the kernel tells when there is.
    Later,
}

impl Socket {
    /// Begins to connect to `address`, from `source` where one is given.
    pub(crate) fn connect(address: SocketAddr, source: Option<IpAddr>) -> Result<Socket, Kind> {
        let family = family(address.ip());
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
            .map_err(kind)?;
        if let Some(source) = source {
            // The port is chosen at connect, so that one port serves many destinations (ip(7),
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

    /// Sends every write at once. By default a small one waits until an earlier one is acknowledged
    /// (Nagle's algorithm, RFC 9293 §3.7.4): a request of HTTP/2, or the end of a large body, would
    /// wait for a round trip.
    pub(crate) fn send_at_once(&self) {
        let _ = net::sockopt::set_tcp_nodelay(&self.0, true);
    }

    /// Why the socket failed; `None` where it did not.
    pub(crate) fn failure(&self) -> Option<Kind> {
        match net::sockopt::socket_error(&self.0) {
            Ok(Ok(())) => None,
            Ok(Err(error)) | Err(error) => Some(kind(error)),
        }
    }

    /// How far what was sent has come; `None` where the kernel does not say.
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        let info = getsockopt(&self.0, TcpInfo).ok()?;
        // tcpi_bytes_acked, which counts the SYN too (RFC 4898), and tcpi_min_rtt in microseconds.
        let acknowledged = join(info[30], info[31]).saturating_sub(1);
        Some(Delivery {
            acknowledged,
            rtt_ns: shortest_ns(&info),
        })
    }

    /// How the way to the peer is; `None` where the kernel does not say.
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

    /// Ends our side; the peer reads an end of stream.
    pub(crate) fn shutdown(&self) {
        let _ = net::shutdown(&self.0, Shutdown::Write);
    }

    /// Makes the close a reset, which leaves no TIME_WAIT on either side (socket(7), SO_LINGER).
    pub(crate) fn reset_on_close(&self) {
        let _ = net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO));
    }
}

/// tcpi_min_rtt, which is in microseconds, as nanoseconds; 0 where it is not known.
fn shortest_ns(info: &[u32; TCP_INFO_WORDS]) -> u64 {
    let rtt_us = Some(info[37]).filter(|&rtt| rtt != u32::MAX);
    u64::from(rtt_us.unwrap_or(0)) * 1000
}

/// A number of 64 bits that lies in two words as the machine has it.
fn join(first: u32, second: u32) -> u64 {
    let (low, high) = if cfg!(target_endian = "little") {
        (first, second)
    } else {
        (second, first)
    };
    u64::from(high) << 32 | u64::from(low)
}

/// Whether sockets of this machine may have this address.
pub(crate) fn is_own(address: IpAddr) -> bool {
    let family = family(address);
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let bound = socket.and_then(|socket| net::bind(&socket, &SocketAddr::new(address, 0)));
    bound != Err(Errno::ADDRNOTAVAIL)
}

/// Whether this machine has an address to reach `peer` from. Without one connect(2) says what it
/// says where no port is free; a connected UDP socket sends nothing, and needs no port of TCP.
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

    /// Asks until it is so.
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
