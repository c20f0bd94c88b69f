//! TCP sockets by plain system calls: as few as possible per connection.

use measure::Kind;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, ipproto};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A non-blocking TCP socket; closed on drop.
#[derive(Debug)]
pub(crate) struct Socket(pub(crate) OwnedFd);

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
        let family = if address.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
            .map_err(kind)?;
        if let Some(source) = source {
            // The port is chosen at connect, so that one port serves many destinations (ip(7),
            // since Linux 4.2).
            let _ = setsockopt(&socket, sockopt::IpBindAddressNoPort, &true);
            net::bind(&socket, &SocketAddr::new(source, 0)).map_err(kind)?;
        }
        match net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Socket(socket)),
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
