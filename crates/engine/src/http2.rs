//! The client's side of one HTTP/2 connection (RFC 9113), without I/O: plaintext in, frames and
//! happenings out.
//!
//! A connection has a fixed number of *lanes*; each carries one stream at a time. Bodies are
//! counted and thrown away in place. What is to be sent gathers in `out`, so that the requests that
//! answers of one read set off leave together.

mod frame;
mod hpack;
mod huffman;
mod peer;
mod reader;
mod request;
mod table;

pub(crate) mod error {
    //! Error codes that decide what becomes of an operation (RFC 9113 §7).
    pub(crate) use super::frame::code::{NO_ERROR, REFUSED_STREAM};
}

use crate::body::{self, BodyUpload};
use crate::response::{Answer, MAX_HEAD, Unreadable};
use frame::{DEFAULT_WINDOW, Head, MAX_WINDOW, code, flag, kind};
use measure::http2::counted_code;
use peer::Peer;
use reader::Reader;
pub(crate) use request::Requests;
use std::collections::VecDeque;
use table::Table;

/// Answers to what the peer asks that may wait, bytes. One that asks and never reads is broken.
const MAX_WAITING: usize = 1024 * 1024;
/// Received bytes after which a window is opened again: half of what the peer may send.
const RENEWAL: u64 = (MAX_WINDOW / 2) as u64;

/// One connection.
#[derive(Debug)]
pub(crate) struct Session {
    streams: Vec<Stream>,
    /// Streams under way as (id, lane), by id.
    active: VecDeque<(u32, u32)>,
    next_id: u32,
    peer: Peer,
    /// What the connection as a whole may still send and has received since its window was opened.
    window: i64,
    received: u64,
    reader: Reader,
    /// Header block under way: its stream, whether it ends that, and its bytes.
    block: Option<(u32, bool, Vec<u8>)>,
    is_block_too_large: bool,
    /// The peer's dynamic table.
    table: Table,
    /// Frames to be sent, as plaintext; and how many bytes of them are answers.
    pub(crate) out: Vec<u8>,
    answers: usize,
    /// What came and is for the lanes.
    pub(crate) happened: Vec<Happened>,
    /// Lanes with a body that goes on.
    pub(crate) progressed: Vec<u32>,
    /// The peer opens no stream any more, or we do not.
    pub(crate) draining: bool,
}

/// A lane's latest stream.
#[derive(Debug, Default)]
struct Stream {
    id: u32,
    answer: Answer,
    content_length: Option<u64>,
    head_only: bool,
    window: i64,
    received: u64,
    /// The request's body, until it has been put into frames whole.
    upload: Option<BodyUpload>,
}

/// Something the worker must act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    /// The peer's first settings, or later ones that allow more: so many streams at once.
    Settled { max_streams: u32, is_first: bool },
    /// A response's head came on this lane.
    Begun { lane: u32 },
    /// A response is whole.
    Whole { lane: u32 },
    /// A response contradicts itself; its stream is given up.
    Malformed { lane: u32 },
    /// The peer gave the stream up, for this reason (RFC 9113 §7), as it is counted.
    Reset { lane: u32, code: u32 },
    /// The peer has not processed the stream, and never will: it may be sent again.
    Unprocessed { lane: u32 },
    /// The peer closes the connection, for this reason, as it is counted.
    GoAway { code: u32 },
}

/// The peer breaks RFC 9113, or is beyond a limit of ours; a GOAWAY that says so stands in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) Unreadable);

impl Session {
    /// A connection with so many lanes; what a client says first stands in `out`.
    pub(crate) fn new(lanes: u32) -> Session {
        let mut out = Vec::with_capacity(512);
        frame::put_preface(&mut out);
        Session {
            streams: (0..lanes).map(|_| Stream::default()).collect(),
            active: VecDeque::with_capacity(lanes as usize),
            next_id: 1,
            peer: Peer::default(),
            window: DEFAULT_WINDOW,
            received: 0,
            reader: Reader::default(),
            block: None,
            is_block_too_large: false,
            table: Table::default(),
            out,
            answers: 0,
            happened: Vec::new(),
            progressed: Vec::new(),
            draining: false,
        }
    }

    /// Whether another stream may be opened. Before the peer's settings are known only the first
    /// one is, whose request goes out with the preface.
    pub(crate) fn accepts(&self) -> bool {
        let settled = self.peer.is_known && self.active.len() < self.peer.max_streams as usize;
        !self.draining && (settled || self.next_id == 1) && !self.is_spent()
    }

    /// Whether the peer allows no stream at all, until its next settings or for ever.
    pub(crate) fn is_stuck(&self) -> bool {
        self.peer.is_known && self.peer.max_streams == 0 && self.active.is_empty() && !self.draining
    }

    /// Whether the peer has said its settings.
    pub(crate) fn is_settled(&self) -> bool {
        self.peer.is_known
    }

    /// Whether the peer allows fewer streams than there are lanes.
    pub(crate) fn is_limited(&self) -> bool {
        self.peer.is_known && (self.peer.max_streams as usize) < self.streams.len()
    }

    /// Whether its numbers of streams are used up (RFC 9113 §5.1.1).
    pub(crate) fn is_spent(&self) -> bool {
        self.next_id > MAX_WINDOW as u32
    }

    /// What is to be sent, which the caller gives back emptied.
    pub(crate) fn take_out(&mut self) -> Vec<u8> {
        self.answers = 0;
        std::mem::take(&mut self.out)
    }

    /// Puts a frame into `out` that the peer has caused.
    fn answer_with(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frame::put(&mut self.out, kind, flags, stream, payload);
        self.answers += frame::HEAD + payload.len();
    }

    /// Streams under way.
    pub(crate) fn active(&self) -> usize {
        self.active.len()
    }

    /// What has come on the lane's latest stream.
    pub(crate) fn answer(&self, lane: u32) -> Answer {
        self.streams[lane as usize].answer
    }

    /// Opens a stream on a free lane; its frames go to `out`, of its body as much as the windows
    /// let through.
    pub(crate) fn open(
        &mut self,
        lane: u32,
        block: &[u8],
        body: Option<BodyUpload>,
        head_only: bool,
    ) {
        let id = self.next_id;
        self.next_id += 2;
        self.active.push_back((id, lane));
        let stream = &mut self.streams[lane as usize];
        stream.id = id;
        (stream.answer, stream.content_length, stream.head_only) =
            (Answer::default(), None, head_only);
        (stream.window, stream.received) = (self.peer.window, 0);
        stream.upload = body.filter(|body| body.left() > 0);
        let ends_stream = stream.upload.is_none();
        if self.peer.wants_size_update() {
            let block = [&[hpack::NO_TABLE], block].concat();
            frame::put_headers(&mut self.out, id, &block, ends_stream, self.peer.max_frame);
        } else {
            frame::put_headers(&mut self.out, id, block, ends_stream, self.peer.max_frame);
        }
        self.send_body(lane);
    }

    /// Gives the lane's stream up, if it is under way.
    pub(crate) fn cancel(&mut self, lane: u32) {
        let id = self.streams[lane as usize].id;
        if self.end(id).is_some() {
            frame::put_number(&mut self.out, kind::RST_STREAM, id, code::CANCEL);
        }
    }

    /// Says that we close, for no error.
    pub(crate) fn say_good_bye(&mut self) {
        frame::put_go_away(&mut self.out, code::NO_ERROR);
    }

    /// Whether the lane's request has gone out whole.
    pub(crate) fn is_sent(&self, lane: u32) -> bool {
        self.streams[lane as usize].upload.is_none()
    }

    /// Puts more of the bodies that wait into frames, where there is room.
    pub(crate) fn send_bodies(&mut self) {
        for index in 0..self.active.len() {
            if self.out.len() >= body::WINDOW {
                return;
            }
            self.send_body(self.active[index].1);
        }
    }

    /// Takes what came, as plaintext.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        let mut reader = std::mem::take(&mut self.reader);
        let fed = reader.feed(bytes, self);
        self.reader = reader;
        let calm = if self.answers > MAX_WAITING {
            Err(code::ENHANCE_YOUR_CALM)
        } else {
            Ok(())
        };
        fed.and(calm).map_err(|code| {
            self.draining = true;
            frame::put_go_away(&mut self.out, code);
            Violation(if self.is_block_too_large {
                Unreadable::TooLarge
            } else {
                Unreadable::BadFraming
            })
        })
    }

    /// A frame of DATA begins: `length` is what flow control counts.
    fn begin_data(&mut self, head: Head) -> Result<(), u32> {
        if !self.peer.is_known {
            return Err(code::PROTOCOL_ERROR);
        }
        self.must_have_been_opened(head.stream)?;
        self.received += head.length as u64;
        if self.received >= RENEWAL {
            frame::put_number(&mut self.out, kind::WINDOW_UPDATE, 0, self.received as u32);
            self.received = 0;
        }
        let Some(lane) = self.lane_of(head.stream) else {
            return Ok(());
        };
        let stream = &mut self.streams[lane as usize];
        if stream.answer.status.is_none() {
            return Err(code::PROTOCOL_ERROR);
        }
        stream.received += head.length as u64;
        if stream.received >= RENEWAL && !head.has(flag::END_STREAM) {
            frame::put_number(
                &mut self.out,
                kind::WINDOW_UPDATE,
                head.stream,
                stream.received as u32,
            );
            stream.received = 0;
        }
        Ok(())
    }

    /// Bytes of a body.
    fn take_data(&mut self, id: u32, bytes: u64) {
        if let Some(lane) = self.lane_of(id) {
            self.streams[lane as usize].answer.body_bytes += bytes;
            if self.progressed.last() != Some(&lane) {
                self.progressed.push(lane);
            }
        }
    }

    /// A frame of DATA is over.
    fn end_data(&mut self, head: Head) {
        if head.has(flag::END_STREAM) {
            self.finish(head.stream);
        }
    }

    /// A frame other than DATA, whole.
    fn take_frame(&mut self, head: Head, payload: &[u8]) -> Result<(), u32> {
        let is_out_of_turn = self.block.is_some() && head.kind != kind::CONTINUATION;
        // A server's settings come first (RFC 9113 §3.4).
        if is_out_of_turn || (!self.peer.is_known && head.kind != kind::SETTINGS) {
            return Err(code::PROTOCOL_ERROR);
        }
        match head.kind {
            kind::HEADERS => self.take_headers(head, payload),
            kind::CONTINUATION => self.take_continuation(head, payload),
            kind::RST_STREAM => self.take_reset(head, payload),
            kind::SETTINGS => self.take_settings(head, payload),
            kind::PUSH_PROMISE => Err(code::PROTOCOL_ERROR), // our settings forbid it
            kind::PING => self.take_ping(head, payload),
            kind::GOAWAY => self.take_go_away(payload),
            kind::WINDOW_UPDATE => self.take_window_update(head, payload),
            _ => Ok(()), // PRIORITY, and what is not known, is passed over (RFC 9113 §5.5)
        }
    }

    fn take_headers(&mut self, head: Head, payload: &[u8]) -> Result<(), u32> {
        self.must_have_been_opened(head.stream)?;
        let mut fragment = reader::without_padding(head, payload)?;
        if head.has(flag::PRIORITY) {
            fragment = fragment.get(5..).ok_or(code::FRAME_SIZE_ERROR)?;
        }
        let ends_stream = head.has(flag::END_STREAM);
        if head.has(flag::END_HEADERS) {
            return self.take_block(head.stream, ends_stream, fragment);
        }
        self.block = Some((head.stream, ends_stream, fragment.to_vec()));
        Ok(())
    }

    fn take_continuation(&mut self, head: Head, payload: &[u8]) -> Result<(), u32> {
        let (stream, ends_stream, mut block) = self.block.take().ok_or(code::PROTOCOL_ERROR)?;
        if stream != head.stream {
            return Err(code::PROTOCOL_ERROR);
        }
        block.extend_from_slice(payload);
        if block.len() > MAX_HEAD {
            self.is_block_too_large = true;
            return Err(code::ENHANCE_YOUR_CALM);
        }
        if head.has(flag::END_HEADERS) {
            return self.take_block(stream, ends_stream, &block);
        }
        self.block = Some((stream, ends_stream, block));
        Ok(())
    }

    /// A header block is whole: the head of a response, an interim one, or trailers.
    fn take_block(&mut self, id: u32, ends_stream: bool, block: &[u8]) -> Result<(), u32> {
        let fields = hpack::read(block, &mut self.table).map_err(|_| code::COMPRESSION_ERROR)?;
        let Some(lane) = self.lane_of(id) else {
            return Ok(());
        };
        let stream = &mut self.streams[lane as usize];
        match (stream.answer.status, fields.status) {
            (None, Some(100..=199)) if !ends_stream => return Ok(()),
            (None, Some(status @ 200..)) => {
                stream.answer.status = Some(status);
                stream.content_length = fields.content_length;
                self.happened.push(Happened::Begun { lane });
            }
            (Some(_), None) if ends_stream => {} // trailers
            _ => {
                self.give_up(id, lane);
                return Ok(());
            }
        }
        if ends_stream {
            self.finish(id);
        }
        Ok(())
    }

    fn take_reset(&mut self, head: Head, payload: &[u8]) -> Result<(), u32> {
        self.must_have_been_opened(head.stream)?;
        let code = number(payload)?;
        if let Some(lane) = self.end(head.stream) {
            self.happened.push(Happened::Reset {
                lane,
                code: counted_code(code),
            });
        }
        Ok(())
    }

    fn take_settings(&mut self, head: Head, payload: &[u8]) -> Result<(), u32> {
        if head.stream != 0 {
            return Err(code::PROTOCOL_ERROR);
        }
        if head.has(flag::ACK) {
            return if payload.is_empty() {
                Ok(())
            } else {
                Err(code::FRAME_SIZE_ERROR)
            };
        }
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(code::FRAME_SIZE_ERROR);
        }
        let before = self.peer.max_streams;
        for &[n0, n1, v0, v1, v2, v3] in settings {
            let change = self.peer.set(
                u16::from_be_bytes([n0, n1]),
                u32::from_be_bytes([v0, v1, v2, v3]),
            )?;
            // Windows of streams under way move with it, below 0 too (RFC 9113 §6.9.2).
            self.active
                .iter()
                .for_each(|&(_, lane)| self.streams[lane as usize].window += change);
        }
        self.answer_with(kind::SETTINGS, flag::ACK, 0, &[]);
        let is_first = !std::mem::replace(&mut self.peer.is_known, true);
        if is_first || self.peer.max_streams > before {
            self.happened.push(Happened::Settled {
                max_streams: self.peer.max_streams,
                is_first,
            });
        }
        self.send_bodies();
        Ok(())
    }

    fn take_ping(&mut self, head: Head, payload: &[u8]) -> Result<(), u32> {
        if payload.len() != 8 {
            return Err(code::FRAME_SIZE_ERROR);
        }
        if !head.has(flag::ACK) {
            self.answer_with(kind::PING, flag::ACK, 0, payload);
        }
        Ok(())
    }

    fn take_go_away(&mut self, payload: &[u8]) -> Result<(), u32> {
        let (last, code) = match *payload {
            [l0, l1, l2, l3, c0, c1, c2, c3, ..] => (
                u32::from_be_bytes([l0 & 0x7f, l1, l2, l3]),
                u32::from_be_bytes([c0, c1, c2, c3]),
            ),
            _ => return Err(code::FRAME_SIZE_ERROR),
        };
        self.draining = true;
        self.happened.push(Happened::GoAway {
            code: counted_code(code),
        });
        while let Some(&(id, lane)) = self.active.back().filter(|(id, _)| *id > last) {
            self.end(id);
            self.happened.push(Happened::Unprocessed { lane });
        }
        Ok(())
    }

    fn take_window_update(&mut self, head: Head, payload: &[u8]) -> Result<(), u32> {
        let more = i64::from(number(payload)? & 0x7fff_ffff);
        if more == 0 {
            return Err(code::PROTOCOL_ERROR);
        }
        if head.stream != 0 {
            self.must_have_been_opened(head.stream)?;
        }
        let window = match self.lane_of(head.stream) {
            Some(lane) => &mut self.streams[lane as usize].window,
            None if head.stream == 0 => &mut self.window,
            None => return Ok(()), // for a stream that is over
        };
        *window += more;
        if *window > MAX_WINDOW {
            return Err(code::FLOW_CONTROL_ERROR);
        }
        self.send_bodies();
        Ok(())
    }

    /// Frames of a stream that we never opened break the protocol (RFC 9113 §5.1).
    fn must_have_been_opened(&self, id: u32) -> Result<(), u32> {
        if id % 2 == 1 && id < self.next_id {
            Ok(())
        } else {
            Err(code::PROTOCOL_ERROR)
        }
    }

    fn lane_of(&self, id: u32) -> Option<u32> {
        let at = self.active.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.active[at].1)
    }

    /// The stream is over; its lane, if it was under way.
    fn end(&mut self, id: u32) -> Option<u32> {
        let at = self.active.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        let (_, lane) = self.active.remove(at)?;
        self.streams[lane as usize].upload = None;
        Some(lane)
    }

    /// The peer has said all it says on a stream.
    fn finish(&mut self, id: u32) {
        let Some(lane) = self.lane_of(id) else { return };
        let stream = &self.streams[lane as usize];
        let Answer { status, body_bytes } = stream.answer;
        let has_body = !stream.head_only && !matches!(status, Some(204 | 304));
        let length_holds = !has_body
            || stream
                .content_length
                .is_none_or(|length| length == body_bytes);
        if status.is_none() || !length_holds {
            return self.give_up(id, lane);
        }
        if stream.upload.is_some() {
            // Answered before it had the whole request: the rest of that is of no use (RFC 9113
            // §8.1).
            frame::put_number(&mut self.out, kind::RST_STREAM, id, code::CANCEL);
        }
        self.end(id);
        // Its end counts all that is not counted yet.
        self.progressed.pop_if(|last| *last == lane);
        self.happened.push(Happened::Whole { lane });
    }

    /// A response that contradicts itself: the stream goes, the connection stays (RFC 9113 §8.1.1).
    fn give_up(&mut self, id: u32, lane: u32) {
        self.end(id);
        self.answer_with(kind::RST_STREAM, 0, id, &code::PROTOCOL_ERROR.to_be_bytes());
        self.happened.push(Happened::Malformed { lane });
    }

    /// Sends as much of the lane's body as both windows and the room in `out` let through.
    fn send_body(&mut self, lane: u32) {
        let stream = &mut self.streams[lane as usize];
        while let Some(upload) = &mut stream.upload
            && self.out.len() < body::WINDOW
        {
            let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
            let length = upload
                .left()
                .min(window)
                .min(self.peer.max_frame)
                .min(body::WINDOW);
            if length == 0 {
                return;
            }
            let is_last = length == upload.left();
            let flags = if is_last { flag::END_STREAM } else { 0 };
            Head {
                length,
                kind: kind::DATA,
                flags,
                stream: stream.id,
            }
            .put(&mut self.out);
            upload.put(length, &mut self.out);
            stream.window -= length as i64;
            self.window -= length as i64;
            if is_last {
                stream.upload = None;
            }
        }
    }
}

fn number(payload: &[u8]) -> Result<u32, u32> {
    payload
        .try_into()
        .map(u32::from_be_bytes)
        .map_err(|_| code::FRAME_SIZE_ERROR)
}

#[cfg(test)]
mod tests;
