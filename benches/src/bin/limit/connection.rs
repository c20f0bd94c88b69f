//! One connection that sends request after request, as fast as the server answers.

use crate::options::{Kind, Options};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};
use rustls::ClientConnection;
use std::io::{self, BufRead as _, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

const HEAD_END: &[u8] = b"\r\n\r\n";
const LENGTH: &[u8] = b"Content-Length: ";

pub(crate) struct Connection {
    socket: TcpStream,
    tls: Option<ClientConnection>,
    /// A plain request remains to be written.
    sends: bool,
    response: Response,
}

/// What a connection needs next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It waits for its server.
    Wait,
    /// It is finished.
    End,
}

impl Connection {
    /// Begins to connect without waiting.
    pub(crate) fn open(options: &Options) -> io::Result<Connection> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            flags,
            Some(ipproto::TCP),
        )?;
        match connect(&socket, &options.address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let tls = options
            .tls
            .as_ref()
            .map(|tls| ClientConnection::new(Arc::clone(&tls.config), tls.name.clone()));
        let mut tls = tls.transpose().map_err(io::Error::other)?;
        if let Some(tls) = tls.as_mut().filter(|_| options.kind != Kind::HandshakeOnly) {
            // rustls keeps it until the handshake is complete.
            tls.writer().write_all(&options.request)?;
        }
        Ok(Connection {
            socket: socket.into(),
            sends: tls.is_none(),
            tls,
            response: Response::default(),
        })
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Continues until it would block, or until the connection has done its work.
    pub(crate) fn drive(
        &mut self,
        options: &Options,
        buffer: &mut [u8],
        operations: &mut u64,
    ) -> io::Result<Step> {
        let mut drained = false;
        loop {
            if self.write(options)? == Step::Wait {
                return Ok(Step::Wait);
            }
            if options.kind == Kind::HandshakeOnly
                && self.tls.as_ref().is_some_and(|tls| !tls.is_handshaking())
            {
                *operations += 1;
                return Ok(Step::End);
            }
            // Edge-triggered: if a read did not fill the buffer, the next event announces more
            // data.
            if drained {
                return Ok(Step::Wait);
            }
            let Some(bytes) = later(self.socket.read(buffer))? else {
                return Ok(Step::Wait);
            };
            if bytes == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            drained = bytes < buffer.len();
            if self.digest(&buffer[..bytes])? {
                *operations += 1;
                if options.kind == Kind::Close {
                    return Ok(Step::End);
                }
                match &mut self.tls {
                    Some(tls) => tls.writer().write_all(&options.request)?,
                    None => self.sends = true,
                }
            }
        }
    }

    /// Writes what is pending; returns `Wait` if the socket does not take all of it.
    fn write(&mut self, options: &Options) -> io::Result<Step> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                if later(tls.write_tls(&mut self.socket))?.is_none() {
                    return Ok(Step::Wait);
                }
            }
        } else if self.sends {
            if later(self.socket.write(&options.request))?.is_none() {
                return Ok(Step::Wait);
            }
            self.sends = false;
        }
        Ok(Step::End)
    }

    /// Takes bytes that were read, and returns whether a response is complete.
    fn digest(&mut self, mut read: &[u8]) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            return Ok(self.response.take(read));
        };
        let mut whole = false;
        while !read.is_empty() {
            tls.read_tls(&mut read)?;
            tls.process_new_packets().map_err(io::Error::other)?;
            let mut plain = tls.reader();
            while let Ok(bytes) = plain.fill_buf() {
                let taken = bytes.len();
                if taken == 0 {
                    break;
                }
                whole |= self.response.take(bytes);
                plain.consume(taken);
            }
        }
        Ok(whole)
    }

    /// Sends close_notify and closes.
    pub(crate) fn end(mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut self.socket);
        }
    }
}

/// `None` if the socket is not ready.
fn later(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::NotConnected
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A response with a `Content-Length`; no other framing is supported.
#[derive(Default)]
struct Response {
    head: Vec<u8>,
    /// Body bytes still to come, once the head is complete.
    left: Option<usize>,
}

impl Response {
    /// Takes bytes, and returns whether they complete the response.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let body = match self.left {
            Some(left) => left.checked_sub(bytes.len()),
            None => {
                self.head.extend_from_slice(bytes);
                let Some(end) = find(&self.head, HEAD_END) else {
                    return false;
                };
                assert!(
                    self.head.starts_with(b"HTTP/1.1 200"),
                    "limit knows only success"
                );
                let length = self.length(end);
                length.checked_sub(self.head.len() - end - HEAD_END.len())
            }
        };
        let left = body.expect("a server sends no more than it says");
        self.left = Some(left).filter(|left| *left > 0);
        if left == 0 {
            self.head.clear();
        }
        left == 0
    }

    fn length(&self, end: usize) -> usize {
        let at = find(&self.head[..end], LENGTH).expect("limit knows only Content-Length")
            + LENGTH.len();
        let digits = self.head[at..end]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
    }
}

fn find(within: &[u8], what: &[u8]) -> Option<usize> {
    within.windows(what.len()).position(|window| window == what)
}
