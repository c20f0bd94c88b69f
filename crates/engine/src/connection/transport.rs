//! Where a connection's bytes come from and go to: a TCP socket, with TLS on it if the plan has
//! that. Knows nothing of HTTP.

use crate::body;
use crate::path_mark::PathMark;
use crate::socket::{Delivery, Io, Socket};
use crate::tls::{Broken, Hello, TlsStream, WorkerTls};
use measure::{Kind, PathSample};
use rustix::fd::OwnedFd;
use std::net::SocketAddr;

/// A socket, its TLS, and what waits on the way through them.
pub(super) struct Transport {
    socket: Socket,
    tls: Option<TlsStream>,
    /// When the socket was connected; before that, when that began.
    connected_at: u64,
    /// The input of an incomplete TLS record.
    leftover: Vec<u8>,
    /// Output that the socket has not taken yet, and the offset up to which it has gone since.
    unsent: Vec<u8>,
    unsent_from: usize,
    sent_bytes: u64,
    received_bytes: u64,
    /// The kernel's counters at the last look; `None` before the first.
    path_mark: Option<Box<PathMark>>,
}

impl Transport {
    pub(super) fn new(socket: Socket, connect_at: u64) -> Transport {
        Transport {
            socket,
            tls: None,
            connected_at: connect_at,
            leftover: Vec::new(),
            unsent: Vec::new(),
            unsent_from: 0,
            sent_bytes: 0,
            received_bytes: 0,
            path_mark: None,
        }
    }

    /// The descriptor to poll.
    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.socket.0
    }

    /// Its local and its remote address; `None` once it is no longer connected.
    pub(super) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.socket.ends()
    }

    /// Why the socket failed; `None` if it did not.
    pub(super) fn failure(&self) -> Option<Kind> {
        self.socket.failure()
    }

    pub(super) fn send_at_once(&self) {
        self.socket.send_at_once();
    }

    pub(super) fn end_sending(&self) {
        self.socket.shutdown();
    }

    pub(super) fn reset_on_close(&self) {
        self.socket.reset_on_close();
    }

    pub(super) fn delivery(&self) -> Option<Delivery> {
        self.socket.delivery()
    }

    /// Samples the path at `now` as the change since the last sample; `None` if the kernel has no
    /// counters for it.
    pub(super) fn probe_path(&mut self, now: u64) -> Option<PathSample> {
        let info = self.socket.path()?;
        let from = self.connected_at;
        let mark = self
            .path_mark
            .get_or_insert_with(|| Box::new(PathMark::new(from)));
        Some(mark.pass(now, info))
    }

    /// Notes that the socket is connected. Returns how long that took.
    pub(super) fn connected(&mut self, now: u64) -> u64 {
        let connect_at = std::mem::replace(&mut self.connected_at, now);
        now.saturating_sub(connect_at)
    }

    pub(super) fn connected_at(&self) -> u64 {
        self.connected_at
    }

    #[inline]
    pub(super) fn tls(&self) -> Option<&TlsStream> {
        self.tls.as_ref()
    }

    #[inline]
    pub(super) fn tls_mut(&mut self) -> Option<&mut TlsStream> {
        self.tls.as_mut()
    }

    #[inline]
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    #[inline]
    pub(super) fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Starts TLS: the `hello` goes to `outgoing`, followed by its early data. Returns whether that
    /// went with it.
    pub(super) fn start_tls(
        &mut self,
        tls: &WorkerTls,
        hello: Hello<'_>,
        outgoing: &mut Vec<u8>,
    ) -> Result<bool, Broken> {
        let stream = TlsStream::new(tls, hello, outgoing)?;
        Ok(self.tls.insert(stream).early_data().is_some())
    }

    #[inline]
    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(TlsStream::is_handshaking)
    }

    /// Reads once into `buffer`, behind what an earlier read left over. `Io::Bytes` counts both; 0
    /// is the end of the stream.
    #[inline]
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Io, Kind> {
        let kept = self.leftover.len();
        buffer[..kept].copy_from_slice(&self.leftover);
        let io = self.socket.read(&mut buffer[kept..])?;
        Ok(match io {
            Io::Bytes(0) | Io::Later => io,
            Io::Bytes(bytes) => {
                self.received_bytes += bytes as u64;
                Io::Bytes(kept + bytes)
            }
        })
    }

    /// Passes the plaintext of what was read to `sink`; what TLS has to say to it goes to
    /// `outgoing`. Returns whether the peer has sent close_notify.
    #[inline]
    pub(super) fn open(
        &mut self,
        input: &mut [u8],
        outgoing: &mut Vec<u8>,
        mut sink: impl FnMut(&[u8]),
    ) -> Result<bool, Broken> {
        let Some(tls) = &mut self.tls else {
            sink(input);
            return Ok(false);
        };
        let advance = tls.process(input, outgoing, &mut sink)?;
        self.leftover.clear();
        self.leftover.extend_from_slice(&input[advance.consumed..]);
        Ok(advance.closed)
    }

    /// Appends `plain` to `outgoing`, encrypted if the connection uses TLS.
    #[inline]
    pub(super) fn wrap(&mut self, plain: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        match &mut self.tls {
            Some(tls) => tls.encrypt(plain, &mut self.leftover, outgoing),
            None => {
                outgoing.extend_from_slice(plain);
                Ok(())
            }
        }
    }

    /// Appends close_notify to `outgoing`, if the connection is encrypted by now.
    pub(super) fn notify_close(&mut self, outgoing: &mut Vec<u8>) {
        if let Some(tls) = self.tls.as_mut().filter(|tls| !tls.is_handshaking()) {
            tls.close(&mut self.leftover, outgoing);
        }
    }

    /// Sends `outgoing` behind what is still unsent, and empties it. Returns whether everything
    /// went out. `is_large` if more of a large request follows, which needs a large buffer.
    #[inline]
    pub(super) fn send(&mut self, outgoing: &mut Vec<u8>, is_large: bool) -> Result<bool, Kind> {
        let sent = if self.unsent.is_empty() {
            self.write(outgoing)
                .inspect(|&sent| self.unsent.extend_from_slice(&outgoing[sent..]))
        } else {
            self.unsent.extend_from_slice(outgoing);
            self.send_unsent(is_large)
        };
        outgoing.clear();
        if sent.is_err() {
            (self.unsent, self.unsent_from) = (Vec::new(), 0);
        }
        sent.map(|_| self.unsent.is_empty())
    }

    fn send_unsent(&mut self, is_large: bool) -> Result<usize, Kind> {
        let mut unsent = std::mem::take(&mut self.unsent);
        let sent = self.write(&unsent[self.unsent_from..]);
        self.unsent_from += sent.unwrap_or(0);
        if self.unsent_from == unsent.len() {
            self.unsent_from = 0;
            unsent.clear();
            // The buffer of a large request is of no use to what follows it.
            if !is_large && unsent.capacity() >= body::WINDOW {
                unsent = Vec::new();
            }
        }
        self.unsent = unsent;
        sent
    }

    /// Writes as much of `bytes` as the socket takes now. Returns how much that was.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Kind> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket.write(&bytes[sent..])? {
                Io::Bytes(bytes) => sent += bytes,
                Io::Later => break,
            }
        }
        self.sent_bytes += sent as u64;
        Ok(sent)
    }

    /// Whether output waits for the socket.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }
}
