//! A connection of the scripted server: where requests end in the bytes read, and what remains to
//! be written.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

/// No request of a test has a body, so this ends a request.
const END: &[u8] = b"\r\n\r\n";

/// A connection that does not block.
pub(super) struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// What was found when a connection was read.
pub(super) enum Found {
    /// A number of requests; the connection stays open.
    Requests(usize),
    /// The client has closed it.
    End,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream,
            unread: Vec::new(),
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn read(&mut self) -> Found {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Found::End,
                Ok(length) => self.unread.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Found::Requests(self.take_requests());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Found::End,
            }
        }
    }

    /// Answers are far smaller than a socket's buffer, so it never fills up.
    pub(super) fn answer(&mut self) -> io::Result<()> {
        self.stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }

    fn take_requests(&mut self) -> usize {
        let mut requests = 0;
        while let Some(end) = self
            .unread
            .windows(END.len())
            .position(|window| window == END)
        {
            self.unread.drain(..end + END.len());
            requests += 1;
        }
        requests
    }
}
