//! HTTP/1.1 response framing (RFC 9112 §6, §7), in place: bodies are counted and discarded, nothing
//! is copied.

mod chunk;
mod framing;
mod known_head;
mod state;
mod unreadable;

use Unreadable::{BadFraming, InterimFlood, TooLarge};
use chunk::Chunk;
use framing::Framing;
use known_head::{HeadMeaning, KnownHead};
use state::ResponseState;
use std::mem::MaybeUninit;
pub(crate) use unreadable::Unreadable;

/// Largest response head that is read, also in HTTP/2.
pub(crate) const MAX_HEAD: usize = 256 * 1024;
/// Most interim answers (1xx) before an answer, also in HTTP/2.
pub(crate) const MAX_INTERIM: u32 = 16 * 1024;
/// Most header fields of a head.
const MAX_FIELDS: usize = 4096;
/// Fields that are read into a list on the stack; heads with more get one on the heap.
const USUAL_FIELDS: usize = 128;

/// What is told of a response as it goes past.
pub(crate) trait ResponseSink {
    /// Whether it wants to be told anything.
    const IS_WATCHING: bool;

    /// Whether status 101 ends HTTP on the connection, so that what follows is told as a body.
    fn takes_upgrade(&self) -> bool;

    /// Status of an interim head.
    fn take_interim(&mut self, status: u16);

    /// Status and fields of the final head.
    fn take_head(&mut self, status: u16, fields: &[httparse::Header<'_>]);

    /// The next bytes of the body.
    fn take_body(&mut self, bytes: &[u8]);
}

/// Nothing is told: the response is counted only.
struct Counted;

impl ResponseSink for Counted {
    const IS_WATCHING: bool = false;

    fn takes_upgrade(&self) -> bool {
        false
    }

    fn take_interim(&mut self, _: u16) {}

    fn take_head(&mut self, _: u16, _: &[httparse::Header<'_>]) {}

    fn take_body(&mut self, _: &[u8]) {}
}

/// The parser of one response, fed with bytes as they arrive.
#[derive(Debug, Default)]
pub(crate) struct ResponseParser {
    state: ResponseState,
    /// Bytes of a head that arrives in pieces, and how many of them there were when it was last
    /// parsed.
    head: Vec<u8>,
    parsed: u32,
    /// Bytes of empty lines before the heads of this response, and the number of interim heads.
    blank: u32,
    interim: u32,
    /// The request was HEAD: there is no body, whatever the fields say.
    head_only: bool,
    known: KnownHead,
    pub(crate) status: Option<u16>,
    pub(crate) body_bytes: u64,
    /// The connection can be used again once the response is whole.
    pub(crate) keep_alive: bool,
}

/// The part that has arrived of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: Option<u16>,
    pub(crate) body_bytes: u64,
}

impl ResponseParser {
    /// Gets ready for the response to the next request, keeping its memory.
    pub(crate) fn expect(&mut self, head_only: bool) {
        self.state = ResponseState::Head;
        self.head.clear();
        (self.blank, self.interim) = (0, 0);
        self.head_only = head_only;
        self.status = None;
        self.body_bytes = 0;
        self.keep_alive = true;
    }

    /// Feeds it bytes. Returns how many of them belong to this response: all, unless it is whole.
    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<usize, Unreadable> {
        self.feed_past(bytes, &mut Counted)
    }

    /// Like [`ResponseParser::feed`], past a sink. Both must not be mixed within a response.
    pub(crate) fn feed_past<S: ResponseSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<usize, Unreadable> {
        let mut taken = 0;
        while taken < bytes.len() && self.state != ResponseState::Whole {
            let rest = &bytes[taken..];
            let counted = self.body_bytes;
            // Each call takes at least one byte, so this ends.
            let more = match self.state {
                ResponseState::Head => self.feed_head(rest, sink)?,
                ResponseState::Length(left) => self.feed_length(rest, left),
                ResponseState::Chunked(chunk) => self.feed_chunked(rest, chunk)?,
                ResponseState::UntilEof => self.feed_until_eof(rest),
                ResponseState::Whole => 0,
            };
            if S::IS_WATCHING && self.body_bytes > counted {
                sink.take_body(&rest[..more]);
            }
            taken += more;
        }
        Ok(taken)
    }

    /// The connection has ended. Returns whether that makes the response whole.
    pub(crate) fn ended(&mut self) -> bool {
        if self.state == ResponseState::UntilEof {
            self.state = ResponseState::Whole;
        }
        self.is_whole()
    }

    pub(crate) fn answer(&self) -> ReceivedResponse {
        ReceivedResponse {
            status: self.status,
            body_bytes: self.body_bytes,
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.state == ResponseState::Whole
    }

    /// Whether the head is complete and the end of the connection cuts the body short.
    pub(crate) fn in_body(&self) -> bool {
        self.status.is_some() && !self.is_whole()
    }

    fn feed_head<S: ResponseSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<usize, Unreadable> {
        if self.head.is_empty() {
            if !S::IS_WATCHING
                && let Some(known) = self.known.recognise(bytes, self.head_only)
            {
                self.status = known.status;
                self.keep_alive = known.keep_alive;
                self.state = known.state;
                return Ok(self.known.bytes.len());
            }
            let blank = empty_lines(bytes);
            if blank > 0 {
                return self.skip(blank);
            }
            if let Some(length) = self.parse_head(bytes, sink)? {
                let meaning = self.meaning();
                self.known
                    .remember(&bytes[..length], self.head_only, meaning);
                return Ok(length);
            }
            self.head.extend_from_slice(bytes);
            self.parsed = bytes.len() as u32;
            return Ok(bytes.len());
        }
        // The rest of an empty line that came in pieces.
        if self.head == b"\r" && bytes[0] == b'\n' {
            self.head.clear();
            return self.skip(1);
        }
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        // It is parsed again when it could be complete, and whenever it has doubled, so that
        // garbage is detected without waiting for its end.
        let may_be_whole = has_empty_line(&self.head[before.saturating_sub(3)..]);
        if !may_be_whole && self.head.len() < 2 * self.parsed as usize {
            return Ok(bytes.len());
        }
        self.parsed = self.head.len() as u32;
        let head = std::mem::take(&mut self.head);
        let parsed = self.parse_head(&head, sink);
        self.head = head;
        match parsed? {
            Some(length) => {
                self.head.clear();
                Ok(length - before)
            }
            None => Ok(bytes.len()),
        }
    }

    /// Skips empty lines before a head, as the parser would. If a head arrives in pieces, the
    /// parser would go over them with every piece.
    #[cold]
    fn skip(&mut self, bytes: usize) -> Result<usize, Unreadable> {
        self.blank += bytes as u32;
        if self.blank as usize > MAX_HEAD {
            return Err(TooLarge);
        }
        Ok(bytes)
    }

    /// The meaning of the head that was parsed last.
    fn meaning(&self) -> HeadMeaning {
        HeadMeaning {
            status: self.status,
            keep_alive: self.keep_alive,
            state: self.state,
        }
    }

    /// Parses a head. Returns its length if it is complete.
    fn parse_head<S: ResponseSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<Option<usize>, Unreadable> {
        let mut fields = [const { MaybeUninit::uninit() }; USUAL_FIELDS];
        match self.parse_with(bytes, &mut fields, sink) {
            Err(httparse::Error::TooManyHeaders) => self.parse_large_head(bytes, sink),
            Err(httparse::Error::Version) => self.parse_newer_head(bytes, sink),
            parsed => parsed.map_err(|_| BadFraming)?,
        }
    }

    #[cold]
    fn parse_large_head<S: ResponseSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<Option<usize>, Unreadable> {
        let mut fields = vec![MaybeUninit::uninit(); MAX_FIELDS];
        match self.parse_with(bytes, &mut fields, sink) {
            Err(httparse::Error::TooManyHeaders) => Err(TooLarge),
            parsed => parsed.map_err(|_| BadFraming)?,
        }
    }

    /// Reads a later HTTP/1 version as the latest one that we know, which is 1.1 (RFC 9110 §2.5).
    #[cold]
    fn parse_newer_head<S: ResponseSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<Option<usize>, Unreadable> {
        const NAME: &[u8] = b"HTTP/1.";
        let begin = bytes
            .iter()
            .position(|byte| !matches!(byte, b'\r' | b'\n'))
            .ok_or(BadFraming)?;
        let digit = begin + NAME.len();
        if !bytes[begin..].starts_with(NAME)
            || !bytes
                .get(digit)
                .is_some_and(|byte| matches!(byte, b'2'..=b'9'))
        {
            return Err(BadFraming);
        }
        let mut known = bytes.to_vec();
        known[digit] = b'1';
        self.parse_head(&known, sink)
    }

    /// The outer result is the parser's, the inner one is our judgement of what it read.
    fn parse_with<'b, S: ResponseSink>(
        &mut self,
        bytes: &'b [u8],
        fields: &mut [MaybeUninit<httparse::Header<'b>>],
        sink: &mut S,
    ) -> Result<Result<Option<usize>, Unreadable>, httparse::Error> {
        let mut head = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        // A user agent reads a folded field as if it had spaces (RFC 9112 §5.2).
        config.allow_obsolete_multiline_headers_in_responses(true);
        Ok(
            match config.parse_response_with_uninit_headers(&mut head, bytes, fields)? {
                httparse::Status::Complete(length) if length <= MAX_HEAD => {
                    self.take_head(&head, sink).map(|()| Some(length))
                }
                httparse::Status::Partial if bytes.len() < MAX_HEAD => Ok(None),
                _ => Err(TooLarge),
            },
        )
    }

    fn take_head<S: ResponseSink>(
        &mut self,
        head: &httparse::Response<'_, '_>,
        sink: &mut S,
    ) -> Result<(), Unreadable> {
        let (Some(status), Some(version)) = (head.code, head.version) else {
            return Err(BadFraming);
        };
        match status {
            101 if sink.takes_upgrade() => {
                self.status = Some(status);
                (self.keep_alive, self.state) = (false, ResponseState::UntilEof);
                sink.take_head(status, head.headers);
                return Ok(());
            }
            101 => return Err(BadFraming), // we have not asked for an upgrade
            // Interim; the answer follows (RFC 9110 §15.2).
            100..=199 => {
                self.interim += 1;
                sink.take_interim(status);
                return if self.interim > MAX_INTERIM {
                    Err(InterimFlood)
                } else {
                    Ok(())
                };
            }
            200..=999 => self.status = Some(status),
            _ => return Err(BadFraming),
        }
        let framing = Framing::new(head.headers)?;
        sink.take_head(status, head.headers);
        self.keep_alive = framing.keeps_alive(version);
        self.state = if self.head_only || matches!(status, 204 | 304) {
            ResponseState::Whole
        } else {
            framing.state(version, &mut self.keep_alive)?
        };
        Ok(())
    }

    fn feed_length(&mut self, bytes: &[u8], left: u64) -> usize {
        let taken = left.min(bytes.len() as u64);
        self.body_bytes += taken;
        self.state = if left == taken {
            ResponseState::Whole
        } else {
            ResponseState::Length(left - taken)
        };
        taken as usize
    }

    fn feed_until_eof(&mut self, bytes: &[u8]) -> usize {
        self.body_bytes += bytes.len() as u64;
        bytes.len()
    }

    fn feed_chunked(&mut self, bytes: &[u8], chunk: Chunk) -> Result<usize, Unreadable> {
        if let Chunk::Data(left) = chunk {
            let taken = left.min(bytes.len() as u64);
            self.body_bytes += taken;
            self.state = ResponseState::Chunked(if left == taken {
                Chunk::DataEnd(0)
            } else {
                Chunk::Data(left - taken)
            });
            return Ok(taken as usize);
        }
        self.state = match chunk.after(bytes[0])? {
            Some(next) => ResponseState::Chunked(next),
            None => ResponseState::Whole,
        };
        Ok(1)
    }
}

/// The bytes of the empty lines at the beginning of `bytes`.
fn empty_lines(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let [b'\n', after @ ..] | [b'\r', b'\n', after @ ..] = rest {
        rest = after;
    }
    bytes.len() - rest.len()
}

/// Whether `bytes` contain an empty line, which would complete a head.
fn has_empty_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

#[cfg(test)]
mod tests;
