//! HTTP/1.1 response framing (RFC 9112 §6, §7), in place: bodies are counted and thrown away, nothing is copied.

use std::mem::MaybeUninit;

/// Largest response head; what is larger breaks framing.
const MAX_HEAD: usize = 64 * 1024;
/// Most header fields of a head.
const MAX_FIELDS: usize = 128;
/// Largest head that is remembered.
const MAX_KNOWN: usize = 2048;
/// Longest chunk-size line with its extensions, and longest trailer line.
const MAX_LINE: u32 = 16 * 1024;

/// One response, fed with bytes as they come.
#[derive(Debug, Default)]
pub(crate) struct Response {
    state: State,
    /// Bytes of a head that came in pieces.
    head: Vec<u8>,
    /// The request was HEAD: there is no body, whatever the fields say.
    head_only: bool,
    known: Known,
    pub(crate) status: Option<u16>,
    pub(crate) body_bytes: u64,
    /// The connection can be used again once the response is whole.
    pub(crate) keep_alive: bool,
}

/// A head that was read before, and what came of it: a server says the same to every request, but for the date once a second.
#[derive(Debug, Default)]
struct Known {
    /// Empty before the second response of a connection: the first one may be its last.
    head: Vec<u8>,
    head_only: bool,
    status: Option<u16>,
    keep_alive: bool,
    state: State,
    /// A response has come before.
    has_come: bool,
}

/// What has come of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) body_bytes: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Length(u64),
    Chunked(Chunk),
    UntilEof,
    Whole,
}

/// Where in the chunked coding (RFC 9112 §7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    /// In a size line: value so far, digits so far, whether an extension has begun, bytes of the line.
    Size {
        value: u64,
        digits: u8,
        extension: bool,
        length: u32,
    },
    Data(u64),
    /// CR LF after data: how much of it has come.
    DataEnd(u8),
    /// In the trailer section: bytes of the current line without CR, bytes of all.
    Trailer {
        line: u32,
        all: u32,
    },
}

const SIZE_LINE: Chunk = Chunk::Size { value: 0, digits: 0, extension: false, length: 0 };

/// Head or framing breaks RFC 9112.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadFraming;

impl Response {
    /// Gets ready for the response to the next request, keeping its memory.
    pub(crate) fn expect(&mut self, head_only: bool) {
        self.state = State::Head;
        self.head.clear();
        self.head_only = head_only;
        self.status = None;
        self.body_bytes = 0;
        self.keep_alive = true;
    }

    /// Takes bytes; how many of them belong to this response. Less than all only once it is whole.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<usize, BadFraming> {
        let mut taken = 0;
        while taken < bytes.len() && self.state != State::Whole {
            let rest = &bytes[taken..];
            taken += match self.state {
                State::Head => self.feed_head(rest)?,
                State::Length(left) => self.feed_length(rest, left),
                State::Chunked(chunk) => self.feed_chunked(rest, chunk)?,
                State::UntilEof => self.feed_until_eof(rest),
                State::Whole => 0,
            };
        }
        Ok(taken)
    }

    /// The connection has ended; whether that makes the response whole.
    pub(crate) fn ended(&mut self) -> bool {
        if self.state == State::UntilEof {
            self.state = State::Whole;
        }
        self.is_whole()
    }

    pub(crate) fn answer(&self) -> Answer {
        Answer { status: self.status, body_bytes: self.body_bytes }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// Whether the head is complete and the end of the connection cuts the body short.
    pub(crate) fn in_body(&self) -> bool {
        self.status.is_some() && !self.is_whole()
    }

    fn feed_head(&mut self, bytes: &[u8]) -> Result<usize, BadFraming> {
        if self.head.is_empty() {
            if self.recognise(bytes) {
                return Ok(self.known.head.len());
            }
            if let Some(length) = self.parse_head(bytes)? {
                self.remember(&bytes[..length]);
                return Ok(length);
            }
            self.head.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let before = self.head.len();
        let mut head = std::mem::take(&mut self.head);
        head.extend_from_slice(bytes);
        let parsed = self.parse_head(&head);
        self.head = head;
        match parsed? {
            Some(length) => {
                self.head.clear();
                Ok(length - before)
            }
            None => Ok(bytes.len()),
        }
    }

    /// Whether the head is the known one, byte by byte; what came of that comes of this.
    fn recognise(&mut self, bytes: &[u8]) -> bool {
        let known = &self.known;
        if known.head.is_empty() || known.head_only != self.head_only || !bytes.starts_with(&known.head) {
            return false;
        }
        (self.status, self.keep_alive, self.state) = (known.status, known.keep_alive, known.state);
        true
    }

    fn remember(&mut self, head: &[u8]) {
        if self.status.is_none() || !std::mem::replace(&mut self.known.has_come, true) || head.len() > MAX_KNOWN {
            return;
        }
        let known = &mut self.known;
        known.head.clear();
        known.head.extend_from_slice(head);
        (known.head_only, known.status, known.keep_alive, known.state) =
            (self.head_only, self.status, self.keep_alive, self.state);
    }

    /// Length of the head, where it is complete.
    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, BadFraming> {
        let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let mut head = httparse::Response::new(&mut []);
        match httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut head, bytes, &mut fields) {
            Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => {
                self.take_head(&head)?;
                Ok(Some(length))
            }
            Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => Ok(None),
            _ => Err(BadFraming),
        }
    }

    fn take_head(&mut self, head: &httparse::Response<'_, '_>) -> Result<(), BadFraming> {
        let (Some(status), Some(version)) = (head.code, head.version) else { return Err(BadFraming) };
        match status {
            101 => return Err(BadFraming), // nobody asked for an upgrade
            100..=199 => return Ok(()),    // interim; the answer follows (RFC 9110 §15.2)
            200..=999 => self.status = Some(status),
            _ => return Err(BadFraming),
        }
        let framing = Framing::of(head.headers)?;
        self.keep_alive = framing.keeps_alive(version);
        self.state = if self.head_only || matches!(status, 204 | 304) {
            State::Whole
        } else {
            framing.state(version, &mut self.keep_alive)?
        };
        Ok(())
    }

    fn feed_length(&mut self, bytes: &[u8], left: u64) -> usize {
        let taken = left.min(bytes.len() as u64);
        self.body_bytes += taken;
        self.state = if left == taken { State::Whole } else { State::Length(left - taken) };
        taken as usize
    }

    fn feed_until_eof(&mut self, bytes: &[u8]) -> usize {
        self.body_bytes += bytes.len() as u64;
        bytes.len()
    }

    fn feed_chunked(&mut self, bytes: &[u8], chunk: Chunk) -> Result<usize, BadFraming> {
        if let Chunk::Data(left) = chunk {
            let taken = left.min(bytes.len() as u64);
            self.body_bytes += taken;
            self.state = State::Chunked(if left == taken { Chunk::DataEnd(0) } else { Chunk::Data(left - taken) });
            return Ok(taken as usize);
        }
        self.state = match chunk.after(bytes[0])? {
            Some(next) => State::Chunked(next),
            None => State::Whole,
        };
        Ok(1)
    }
}

impl Chunk {
    /// Where one more byte of framing leads; `None` is the end of the body.
    fn after(self, byte: u8) -> Result<Option<Chunk>, BadFraming> {
        match self {
            Chunk::Size { value, digits, extension, length } => Chunk::after_size(byte, value, digits, extension, length),
            Chunk::Data(_) => Err(BadFraming),
            Chunk::DataEnd(0) if byte == b'\r' => Ok(Some(Chunk::DataEnd(1))),
            Chunk::DataEnd(1) if byte == b'\n' => Ok(Some(SIZE_LINE)),
            Chunk::DataEnd(_) => Err(BadFraming),
            Chunk::Trailer { line, all } => match byte {
                _ if all >= MAX_LINE => Err(BadFraming),
                b'\n' if line == 0 => Ok(None),
                b'\n' => Ok(Some(Chunk::Trailer { line: 0, all: all + 1 })),
                b'\r' => Ok(Some(Chunk::Trailer { line, all: all + 1 })),
                _ => Ok(Some(Chunk::Trailer { line: line + 1, all: all + 1 })),
            },
        }
    }

    fn after_size(byte: u8, value: u64, digits: u8, extension: bool, length: u32) -> Result<Option<Chunk>, BadFraming> {
        let length = length + 1;
        match byte {
            _ if length > MAX_LINE => Err(BadFraming),
            b'\n' if digits == 0 => Err(BadFraming),
            b'\n' if value == 0 => Ok(Some(Chunk::Trailer { line: 0, all: 0 })),
            b'\n' => Ok(Some(Chunk::Data(value))),
            b'\r' if digits > 0 => Ok(Some(Chunk::Size { value, digits, extension: true, length })),
            b';' | b' ' | b'\t' if digits > 0 => Ok(Some(Chunk::Size { value, digits, extension: true, length })),
            _ if extension => Ok(Some(Chunk::Size { value, digits, extension, length })),
            _ if digits >= 16 => Err(BadFraming),
            _ => {
                let digit = (byte as char).to_digit(16).ok_or(BadFraming)?;
                Ok(Some(Chunk::Size { value: value << 4 | u64::from(digit), digits: digits + 1, extension, length }))
            }
        }
    }
}

/// What the fields say about framing and the connection.
#[derive(Debug, Default)]
struct Framing {
    length: Option<u64>,
    chunked: bool,
    other_coding: bool,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    fn of(fields: &[httparse::Header<'_>]) -> Result<Framing, BadFraming> {
        let mut framing = Framing::default();
        for field in fields {
            // Most fields are told apart by their length alone.
            match field.name.len() {
                14 if field.name.eq_ignore_ascii_case("content-length") => framing.take_length(field.value)?,
                17 if field.name.eq_ignore_ascii_case("transfer-encoding") => framing.take_coding(field.value),
                10 if field.name.eq_ignore_ascii_case("connection") => framing.take_connection(field.value),
                _ => {}
            }
        }
        Ok(framing)
    }

    /// Repeated lengths must agree (RFC 9112 §6.3, item 5).
    fn take_length(&mut self, value: &[u8]) -> Result<(), BadFraming> {
        for part in value.split(|&byte| byte == b',') {
            let part = part.trim_ascii();
            if part.is_empty() || !part.iter().all(u8::is_ascii_digit) {
                return Err(BadFraming);
            }
            let length = std::str::from_utf8(part).ok().and_then(|digits| digits.parse().ok()).ok_or(BadFraming)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(BadFraming);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn take_coding(&mut self, value: &[u8]) {
        for coding in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            // Only a last coding of "chunked" frames the body.
            self.other_coding |= self.chunked;
            self.chunked = coding.eq_ignore_ascii_case(b"chunked");
            self.other_coding |= !self.chunked;
        }
    }

    fn take_connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn keeps_alive(&self, minor_version: u8) -> bool {
        !self.close && (minor_version >= 1 || self.keep_alive)
    }

    fn state(&self, minor_version: u8, keep_alive: &mut bool) -> Result<State, BadFraming> {
        if self.chunked {
            if self.length.is_some() || minor_version == 0 {
                return Err(BadFraming); // request smuggling's favourite; RFC 9112 §6.3 item 3
            }
            return Ok(State::Chunked(SIZE_LINE));
        }
        match self.length {
            Some(_) if self.other_coding => Err(BadFraming),
            Some(0) => Ok(State::Whole),
            Some(length) => Ok(State::Length(length)),
            None => {
                *keep_alive = false;
                Ok(State::UntilEof)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `bytes` in pieces of `step`; status, body bytes, whether whole, and bytes taken.
    fn read(bytes: &[u8], step: usize, head_only: bool) -> Result<(Option<u16>, u64, bool, usize), BadFraming> {
        let mut response = Response::default();
        response.expect(head_only);
        let mut taken = 0;
        for piece in bytes.chunks(step) {
            let now = response.feed(piece)?;
            taken += now;
            if now < piece.len() {
                break;
            }
        }
        Ok((response.status, response.body_bytes, response.is_whole(), taken))
    }

    #[test]
    fn framings_are_read_in_pieces_of_any_size() {
        let cases: [(&[u8], u16, u64, usize); 9] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5, 0),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nhelloHTTP", 200, 5, 4),
            (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, 0, 0),
            (b"HTTP/1.1 204 No Content\r\n\r\n", 204, 0, 0),
            (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", 304, 0, 0),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n", 200, 15, 0),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nTrailer: a\r\nB: c\r\n\r\nnext", 200, 1, 4),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, 1, 0),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 200, 0, 0),
        ];
        for (bytes, status, body, extra) in cases {
            for step in [1, 2, 3, 7, bytes.len()] {
                let text = String::from_utf8_lossy(bytes);
                let expected = (Some(status), body, true, bytes.len() - extra);
                let (status, body, whole, taken) = read(bytes, step, false).expect(&text);
                if step == 1 || step == bytes.len() {
                    assert_eq!((status, body, whole, taken), expected, "{text} by {step}");
                }
                assert!(whole, "{text} by {step}");
            }
        }
    }

    #[test]
    fn known_heads_mean_what_they_meant() {
        let five: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let fifty: &[u8] = b"HTTP/1.1 404 OK\r\nContent-Length: 50\r\n\r\n";
        let last: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
        let interim: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let mut response = Response::default();
        for (bytes, head_only, whole) in [
            (five, false, true),
            (five, false, true),
            (five, false, true),
            (&five[..38], true, true),
            (&five[..38], true, true),
            (five, false, true),
            (interim, false, true),
            (fifty, false, false),
            (fifty, false, false),
            (five, false, true),
            (last, false, true),
            (last, false, true),
        ] {
            response.expect(head_only);
            let mut alone = Response::default();
            alone.expect(head_only);
            assert_eq!(response.feed(bytes), alone.feed(bytes));
            let figures = |response: &Response| (response.answer(), response.is_whole(), response.in_body(), response.keep_alive);
            assert_eq!(figures(&response), figures(&alone));
            assert_eq!(response.is_whole(), whole);
        }
        assert_eq!(response.known.head, last[..last.len() - 5], "the last head is the known one");
    }

    #[test]
    fn head_request_has_no_body() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
        assert_eq!(read(bytes, bytes.len(), true), Ok((Some(200), 0, true, bytes.len())));
    }

    #[test]
    fn body_without_length_ends_with_the_connection() {
        let mut response = Response::default();
        response.expect(false);
        response.feed(b"HTTP/1.1 200 OK\r\n\r\nabc").expect("a legal response");
        assert!(!response.is_whole() && !response.keep_alive);
        assert!(response.ended());
        assert_eq!(response.body_bytes, 3);
    }

    #[test]
    fn short_body_is_not_whole_at_the_end() {
        let mut response = Response::default();
        response.expect(false);
        response.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").expect("a legal head");
        assert!(response.in_body() && !response.ended());
    }

    #[test]
    fn connection_fields_decide_about_reuse() {
        let cases: [(&[u8], bool); 4] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: foo, Close\r\n\r\n", false),
            (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
            (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", true),
        ];
        for (bytes, keep_alive) in cases {
            let mut response = Response::default();
            response.expect(false);
            response.feed(bytes).expect("a legal response");
            assert_eq!(response.keep_alive, keep_alive, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn broken_framing_is_refused() {
        let cases: [&[u8]; 10] = [
            b"\x15\x03\x01\x00\x02\x02\x16",
            b"HTTP/2.0 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX",
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        ];
        for bytes in cases {
            for step in [1, bytes.len()] {
                assert_eq!(read(bytes, step, false), Err(BadFraming), "{} by {step}", String::from_utf8_lossy(bytes));
            }
        }
    }

    #[test]
    fn endless_head_and_chunk_lines_are_refused() {
        let mut response = Response::default();
        response.expect(false);
        response.feed(b"HTTP/1.1 200 OK\r\n").expect("a beginning");
        let refused = (0..10_000).any(|_| response.feed(b"X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n").is_err());
        assert!(refused);
        response.expect(false);
        response.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;").expect("a beginning");
        let refused = (0..10_000).any(|_| response.feed(b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").is_err());
        assert!(refused);
    }
}
