//! What the peer sends, frame by frame, and what becomes of it.

use super::{BlockUnderWay, Http2Connection, MAX_WAITING, StreamEvent, Violation};
use crate::http2::frame::{self, FrameHead, MAX_WINDOW, code, flag, kind};
use crate::http2::frame_reader::{FrameHandler, without_padding};
use crate::http2::hpack;
use crate::response::{MAX_HEAD, ReceivedResponse, Unreadable};
use measure::http2::counted_code;

/// Received bytes after which a window is opened again: half of what the peer may send.
const RENEWAL: u64 = (MAX_WINDOW / 2) as u64;

impl Http2Connection {
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
}

impl FrameHandler for Http2Connection {
    fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    /// A frame of DATA begins: `length` is what flow control counts.
    fn begin_data(&mut self, head: FrameHead) -> Result<(), u32> {
        if !self.peer.is_known {
            return Err(code::PROTOCOL_ERROR);
        }
        self.must_have_been_opened(head.stream)?;
        self.received += head.length as u64;
        if self.received >= RENEWAL {
            frame::put_number(&mut self.out, kind::WINDOW_UPDATE, 0, self.received as u32);
            self.received = 0;
        }
        // What comes of a stream that is over counts for the connection's window alone.
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
    fn end_data(&mut self, head: FrameHead) {
        if head.has(flag::END_STREAM) {
            self.finish(head.stream);
        }
    }

    /// A frame other than DATA, whole.
    fn take_frame(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
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
}

impl Http2Connection {
    fn take_headers(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        self.must_have_been_opened(head.stream)?;
        let mut fragment = without_padding(head, payload)?;
        if head.has(flag::PRIORITY) {
            // A stream it depends on and a weight, deprecated (RFC 9113 §6.2).
            fragment = fragment.get(5..).ok_or(code::FRAME_SIZE_ERROR)?;
        }
        let ends_stream = head.has(flag::END_STREAM);
        if head.has(flag::END_HEADERS) {
            return self.take_block(head.stream, ends_stream, fragment);
        }
        self.block = Some(BlockUnderWay {
            stream: head.stream,
            ends_stream,
            bytes: fragment.to_vec(),
        });
        Ok(())
    }

    fn take_continuation(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        let mut block = self.block.take().ok_or(code::PROTOCOL_ERROR)?;
        if block.stream != head.stream {
            return Err(code::PROTOCOL_ERROR);
        }
        block.bytes.extend_from_slice(payload);
        if block.bytes.len() > MAX_HEAD {
            self.is_block_too_large = true;
            return Err(code::ENHANCE_YOUR_CALM);
        }
        if head.has(flag::END_HEADERS) {
            return self.take_block(block.stream, block.ends_stream, &block.bytes);
        }
        self.block = Some(block);
        Ok(())
    }

    /// A header block is whole: the head of a response, an interim one, or trailers.
    fn take_block(&mut self, id: u32, ends_stream: bool, block: &[u8]) -> Result<(), u32> {
        // Read for streams that are over too: it may fill the table.
        let fields = hpack::read(block, &mut self.table).map_err(|_| code::COMPRESSION_ERROR)?;
        let Some(lane) = self.lane_of(id) else {
            return Ok(());
        };
        let stream = &mut self.streams[lane as usize];
        match (stream.answer.status, fields.status) {
            // An interim response; the answer follows.
            (None, Some(100..=199)) if !ends_stream => return Ok(()),
            (None, Some(status @ 200..)) => {
                stream.answer.status = Some(status);
                stream.content_length = fields.content_length;
                self.events.push(StreamEvent::Begun { lane });
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

    fn take_reset(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        self.must_have_been_opened(head.stream)?;
        let code = number(payload)?;
        if let Some(lane) = self.end(head.stream) {
            self.events.push(StreamEvent::Reset {
                lane,
                code: counted_code(code),
            });
        }
        Ok(())
    }

    fn take_settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
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
            for &(_, lane) in &self.active {
                self.streams[lane as usize].window += change;
            }
        }
        self.answer_with(kind::SETTINGS, flag::ACK, 0, &[]);
        let is_first = !std::mem::replace(&mut self.peer.is_known, true);
        if is_first || self.peer.max_streams > before {
            self.events.push(StreamEvent::Settled {
                max_streams: self.peer.max_streams,
                is_first,
            });
        }
        self.send_bodies();
        Ok(())
    }

    fn take_ping(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        if payload.len() != 8 {
            return Err(code::FRAME_SIZE_ERROR);
        }
        if !head.has(flag::ACK) {
            self.answer_with(kind::PING, flag::ACK, 0, payload);
        }
        Ok(())
    }

    fn take_go_away(&mut self, payload: &[u8]) -> Result<(), u32> {
        // Behind these eight bytes stands what the peer says for people.
        let [l0, l1, l2, l3, c0, c1, c2, c3, ..] = *payload else {
            return Err(code::FRAME_SIZE_ERROR);
        };
        let last = u32::from_be_bytes([l0 & 0x7f, l1, l2, l3]);
        let code = u32::from_be_bytes([c0, c1, c2, c3]);
        self.draining = true;
        self.events.push(StreamEvent::GoAway {
            code: counted_code(code),
        });
        // Streams above `last` were not processed (RFC 9113 §6.8); the highest is at the back.
        while let Some(&(id, lane)) = self.active.back().filter(|(id, _)| *id > last) {
            self.end(id);
            self.events.push(StreamEvent::Unprocessed { lane });
        }
        Ok(())
    }

    fn take_window_update(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
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

    /// The peer has said all it says on a stream.
    fn finish(&mut self, id: u32) {
        // A stream that we have given up: what still comes of it is of no use.
        let Some(lane) = self.lane_of(id) else { return };
        let stream = &self.streams[lane as usize];
        let ReceivedResponse { status, body_bytes } = stream.answer;
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
        self.events.push(StreamEvent::Whole { lane });
    }

    /// A response that contradicts itself: the stream goes, the connection stays (RFC 9113 §8.1.1).
    fn give_up(&mut self, id: u32, lane: u32) {
        self.end(id);
        self.answer_with(kind::RST_STREAM, 0, id, &code::PROTOCOL_ERROR.to_be_bytes());
        self.events.push(StreamEvent::Malformed { lane });
    }

    /// Puts a frame into `out` that the peer has caused.
    fn answer_with(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frame::put(&mut self.out, kind, flags, stream, payload);
        // Counted against `MAX_WAITING`: a peer that only asks must not fill our memory.
        self.answers += frame::HEAD + payload.len();
    }
}

fn number(payload: &[u8]) -> Result<u32, u32> {
    payload
        .try_into()
        .map(u32::from_be_bytes)
        .map_err(|_| code::FRAME_SIZE_ERROR)
}
