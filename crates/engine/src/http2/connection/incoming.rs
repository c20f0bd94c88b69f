//! Frames from the peer, and their effects.

use super::{BlockUnderWay, Http2Connection, MAX_WAITING, Violation};
use crate::http2::frame::{self, FrameHead, MAX_WINDOW, code, flag, kind};
use crate::http2::frame_reader::{FrameHandler, without_padding};
use crate::lane_event::LaneEvent;
use crate::response::{MAX_HEAD, MAX_INTERIM};
use measure::http2::code_to_count;
use measure::{HttpViolation, Kind};

/// Received bytes after which a window is renewed: half of what the peer may send.
const RENEWAL: u64 = (MAX_WINDOW / 2) as u64;
/// A padded DATA frame no longer than this may contain no bytes of a body.
const MOST_PADDING: usize = 1 + u8::MAX as usize;
/// SETTINGS move the windows of all streams, so one counts as this many other frames.
const SETTINGS_COST: u32 = 10;

impl Http2Connection {
    /// Processes received plaintext.
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
            Violation(self.kind_of(code))
        })
    }

    /// Sets the time, in nanoseconds, for the bytes that are fed next.
    #[inline]
    pub(crate) fn note_time(&mut self, at: u64) {
        self.budget.note_time(at);
    }

    /// The kind of failure that an error with this code is counted as.
    fn kind_of(&self, code: u32) -> Kind {
        // A server's settings come first (RFC 9113 §3.4); without them it may not be HTTP/2 at all.
        if !self.peer.is_known {
            return Kind::BadFraming;
        }
        Kind::Violation(match code {
            code::COMPRESSION_ERROR => HttpViolation::HeaderCompression,
            code::FRAME_SIZE_ERROR => HttpViolation::FrameSize,
            code::FLOW_CONTROL_ERROR => HttpViolation::FlowControl,
            code::ENHANCE_YOUR_CALM => {
                return self
                    .excess
                    .unwrap_or(Kind::Violation(HttpViolation::FrameFlood));
            }
            _ => HttpViolation::FrameOrder,
        })
    }

    /// Counts frames that make no progress, whose number a peer must keep low.
    fn spend(&mut self, frames: u32, flood: HttpViolation) -> Result<(), u32> {
        if self.budget.spend(frames) {
            self.excess = Some(Kind::Violation(flood));
            return Err(code::ENHANCE_YOUR_CALM);
        }
        Ok(())
    }
}

impl FrameHandler for Http2Connection {
    fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    /// Begins a DATA frame; flow control counts its whole `length`.
    fn begin_data(&mut self, head: FrameHead) -> Result<(), u32> {
        if !self.peer.is_known {
            return Err(code::PROTOCOL_ERROR);
        }
        self.must_have_been_opened(head.stream)?;
        let is_padding = head.has(flag::PADDED) && head.length <= MOST_PADDING;
        let is_empty = head.length == 0 || is_padding;
        if is_empty && !head.has(flag::END_STREAM) {
            self.spend(1, HttpViolation::EmptyFrames)?;
        }
        self.received += head.length as u64;
        if self.received >= RENEWAL {
            frame::put_number(&mut self.out, kind::WINDOW_UPDATE, 0, self.received as u32);
            self.received = 0;
        }
        // Data for a stream that has ended counts towards the connection's window only.
        let Some(lane) = self.lane_of(head.stream) else {
            return Ok(());
        };
        let stream = &mut self.streams[lane as usize];
        if stream.answer.status.is_none() {
            self.break_off(head.stream, lane, HttpViolation::MessageOrder);
            return Ok(());
        }
        if !is_empty {
            self.budget.earn();
        }
        stream.received += head.length as u32;
        if u64::from(stream.received) >= RENEWAL && !head.has(flag::END_STREAM) {
            frame::put_number(
                &mut self.out,
                kind::WINDOW_UPDATE,
                head.stream,
                stream.received,
            );
            stream.received = 0;
        }
        Ok(())
    }

    /// Takes bytes of a body.
    fn take_data(&mut self, id: u32, bytes: &[u8]) {
        let Some(lane) = self.lane_of(id) else { return };
        let stream = &mut self.streams[lane as usize];
        let most = stream.content_length.unwrap_or(u64::MAX);
        if let Some(watch) = &mut stream.watch {
            let had_news = watch.has_news();
            watch.take_body(bytes);
            if !had_news && watch.has_news() {
                self.events.push(LaneEvent::Events { lane });
            }
        }
        let came = stream.answer.body_bytes + bytes.len() as u64;
        // Bytes beyond the length do not belong to the body, in however many pieces they come.
        stream.answer.body_bytes = came.min(most);
        if self.progressed.last() != Some(&lane) {
            self.progressed.push(lane);
        }
        if came > most {
            self.break_off(id, lane, self.wrong_length(lane));
        }
    }

    /// Ends a DATA frame.
    fn end_data(&mut self, head: FrameHead) {
        if head.has(flag::END_STREAM) {
            self.finish(head.stream);
        }
    }

    /// Handles a complete frame other than DATA.
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
            // PRIORITY and unknown types are ignored (RFC 9113 §5.5).
            _ => self.spend(1, HttpViolation::FrameFlood),
        }
    }
}

impl Http2Connection {
    fn take_headers(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        self.must_have_been_opened(head.stream)?;
        let mut fragment = without_padding(head, payload)?;
        if head.has(flag::PRIORITY) {
            // The stream that it depends on and a weight, both deprecated (RFC 9113 §6.2).
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
        self.spend(1, HttpViolation::EmptyFrames)?;
        block.bytes.extend_from_slice(payload);
        if block.bytes.len() > MAX_HEAD {
            self.excess = Some(Kind::HeadTooLarge);
            return Err(code::ENHANCE_YOUR_CALM);
        }
        if head.has(flag::END_HEADERS) {
            return self.take_block(block.stream, block.ends_stream, &block.bytes);
        }
        self.block = Some(block);
        Ok(())
    }

    /// Handles a complete header block: the head of a response, an interim one, or trailers.
    fn take_block(&mut self, id: u32, ends_stream: bool, block: &[u8]) -> Result<(), u32> {
        // Also decoded for streams that have ended, since it may change the table.
        let fields = self.known.read(block, &mut self.table, &mut self.texts);
        let fields = fields.map_err(|_| code::COMPRESSION_ERROR)?;
        let Some(lane) = self.lane_of(id) else {
            return self.spend(1, HttpViolation::FrameFlood);
        };
        if let Some(kind) = fields.fault() {
            self.give_up(id, lane, kind);
            return Ok(());
        }
        let stream = &mut self.streams[lane as usize];
        match (stream.answer.status, fields.status) {
            (None, Some(status @ 100..=199)) if !ends_stream => self.take_interim(id, lane, status),
            (None, Some(status @ 200..)) => {
                let is_bodiless = stream.head_only || matches!(status, 204 | 304);
                let no_body = is_bodiless.then_some(0);
                stream.answer.status = Some(status);
                stream.content_length = no_body.or(fields.content_length);
                if let (Some(watch), Some(texts)) = (&mut stream.watch, &self.texts) {
                    watch.take_head(status, texts.of_block());
                    if ends_stream {
                        watch.take_trailers(texts.of_block());
                    }
                    if watch.has_socket() {
                        self.events.push(LaneEvent::Events { lane });
                    }
                }
                if stream.interim == 0 {
                    self.events.push(LaneEvent::FirstByte { lane });
                }
                self.budget.earn();
            }
            (Some(_), None) if ends_stream => {
                if let (Some(watch), Some(texts)) = (&mut stream.watch, &self.texts) {
                    watch.take_trailers(texts.of_block());
                }
            }
            (Some(_), Some(_)) => self.break_off(id, lane, HttpViolation::PseudoField),
            (None, None) => self.break_off(id, lane, HttpViolation::Status),
            _ => self.break_off(id, lane, HttpViolation::MessageOrder),
        }
        if ends_stream {
            self.finish(id);
        }
        Ok(())
    }

    /// Counts an interim response (RFC 9110 §15.2); the final one follows.
    fn take_interim(&mut self, id: u32, lane: u32, status: u16) {
        let stream = &mut self.streams[lane as usize];
        stream.interim += 1;
        let has_leave = stream.watch.as_mut().is_some_and(|watch| {
            watch.take_interim(status);
            watch.body_leave().take_given()
        });
        if stream.interim == 1 {
            self.events.push(LaneEvent::FirstByte { lane });
        }
        if stream.interim > MAX_INTERIM {
            return self.break_off(id, lane, HttpViolation::InterimFlood);
        }
        if has_leave {
            self.let_body_go(lane);
        }
    }

    fn take_reset(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        self.must_have_been_opened(head.stream)?;
        let code = number(payload)?;
        let Some(lane) = self.end(head.stream) else {
            return self.spend(1, HttpViolation::FrameFlood);
        };
        let kind = Kind::StreamReset(code_to_count(code));
        self.events.push(if code == code::REFUSED_STREAM {
            LaneEvent::Refused { lane, kind }
        } else {
            LaneEvent::Failed { lane, kind }
        });
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
        self.spend(SETTINGS_COST, HttpViolation::SettingsFlood)?;
        let before = self.peer.max_streams;
        let mut change = 0;
        for &[n0, n1, v0, v1, v2, v3] in settings {
            change += self.peer.set(
                u16::from_be_bytes([n0, n1]),
                u32::from_be_bytes([v0, v1, v2, v3]),
            )?;
        }
        self.move_windows(change)?;
        self.answer_with(kind::SETTINGS, flag::ACK, 0, &[]);
        let is_first = !std::mem::replace(&mut self.peer.is_known, true);
        self.note_limit();
        if is_first || self.peer.max_streams > before {
            self.events.push(LaneEvent::Ready);
        }
        self.send_bodies();
        Ok(())
    }

    /// Moves the windows of active streams with the settings, even below 0 (RFC 9113 §6.9.2).
    fn move_windows(&mut self, change: i64) -> Result<(), u32> {
        if change == 0 {
            return Ok(());
        }
        for &(_, lane) in &self.active {
            let window = &mut self.streams[lane as usize].window;
            *window += change;
            if *window > MAX_WINDOW {
                return Err(code::FLOW_CONTROL_ERROR);
            }
        }
        Ok(())
    }

    /// Reports if the peer allows fewer streams than ever before.
    fn note_limit(&mut self) {
        let (streams, lanes) = (self.peer.max_streams, self.streams.len());
        if (streams as usize) < lanes && streams < self.peer.fewest_streams {
            let before = std::mem::replace(&mut self.peer.fewest_streams, streams);
            let is_first = before as usize >= lanes;
            self.events.push(LaneEvent::Limited {
                lanes: streams,
                is_first,
            });
        }
    }

    fn take_ping(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        if payload.len() != 8 {
            return Err(code::FRAME_SIZE_ERROR);
        }
        self.spend(1, HttpViolation::PingFlood)?;
        if !head.has(flag::ACK) {
            self.answer_with(kind::PING, flag::ACK, 0, payload);
        }
        Ok(())
    }

    fn take_go_away(&mut self, payload: &[u8]) -> Result<(), u32> {
        // These eight bytes may be followed by debug data.
        let [l0, l1, l2, l3, c0, c1, c2, c3, ..] = *payload else {
            return Err(code::FRAME_SIZE_ERROR);
        };
        self.spend(1, HttpViolation::FrameFlood)?;
        let last = u32::from_be_bytes([l0 & 0x7f, l1, l2, l3]);
        let code = u32::from_be_bytes([c0, c1, c2, c3]);
        let code = code_to_count(code);
        self.draining = true;
        // A graceful end is announced twice (RFC 9113 §6.8).
        if self.go_away.replace(code).is_none() {
            self.events.push(LaneEvent::GoingAway);
        }
        // Streams above `last` were not processed (RFC 9113 §6.8); the highest is at the back.
        while let Some(&(id, lane)) = self.active.back().filter(|(id, _)| *id > last) {
            self.end(id);
            let kind = Kind::GoAway(code);
            self.events.push(LaneEvent::Refused { lane, kind });
        }
        Ok(())
    }

    fn take_window_update(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32> {
        let more = i64::from(number(payload)? & 0x7fff_ffff);
        if more == 0 {
            return Err(code::PROTOCOL_ERROR);
        }
        self.spend(1, HttpViolation::FrameFlood)?;
        if head.stream == 0 {
            self.window = widened(self.window, more)?;
            self.send_bodies();
            return Ok(());
        }
        self.must_have_been_opened(head.stream)?;
        // Streams that have ended are ignored.
        if let Some(lane) = self.lane_of(head.stream) {
            let stream = &mut self.streams[lane as usize];
            stream.window = widened(stream.window, more)?;
            self.send_body(lane);
            self.send_outbox(lane, false);
        }
        Ok(())
    }

    /// Frames for a stream that we never opened break the protocol (RFC 9113 §5.1).
    fn must_have_been_opened(&self, id: u32) -> Result<(), u32> {
        if id % 2 == 1 && id < self.next_id {
            Ok(())
        } else {
            Err(code::PROTOCOL_ERROR)
        }
    }

    /// Handles the end of a stream by the peer.
    fn finish(&mut self, id: u32) {
        // If we have abandoned the stream, what still arrives on it is of no use.
        let Some(lane) = self.lane_of(id) else { return };
        let stream = &self.streams[lane as usize];
        if stream.answer.status.is_none() {
            return self.break_off(id, lane, HttpViolation::MessageOrder);
        }
        let came = stream.answer.body_bytes;
        // Without a body, the length is the one that a body would have (RFC 9110 §8.6).
        if stream.content_length.is_some_and(|length| came != length) {
            return self.break_off(id, lane, self.wrong_length(lane));
        }
        if stream.upload.is_some() || (self.has_sockets && self.asks_for_socket(lane)) {
            // The peer answered before it had the whole request, and does not need the rest (RFC
            // 9113 §8.1), or it refused a socket, or ended one that we have not closed.
            frame::put_number(&mut self.out, kind::RST_STREAM, id, code::CANCEL);
        }
        self.end(id);
        // The stream's end counts everything that is not counted yet.
        self.progressed.pop_if(|last| *last == lane);
        self.events.push(LaneEvent::Answered { lane });
    }

    /// The rule that a body of the wrong length breaks.
    fn wrong_length(&self, lane: u32) -> HttpViolation {
        let stream = &self.streams[lane as usize];
        if stream.head_only || matches!(stream.answer.status, Some(204 | 304)) {
            HttpViolation::UnexpectedBody
        } else {
            HttpViolation::ContentLength
        }
    }

    fn break_off(&mut self, id: u32, lane: u32, rule: HttpViolation) {
        self.give_up(id, lane, Kind::Violation(rule));
    }

    /// Abandons a stream whose response is unacceptable; the connection remains (RFC 9113 §8.1.1).
    fn give_up(&mut self, id: u32, lane: u32, kind: Kind) {
        self.end(id);
        let code = match kind {
            // The response may be valid, but exceeds our limits.
            Kind::HeadTooLarge | Kind::Violation(HttpViolation::InterimFlood) => {
                code::ENHANCE_YOUR_CALM
            }
            _ => code::PROTOCOL_ERROR,
        };
        self.answer_with(kind::RST_STREAM, 0, id, &code.to_be_bytes());
        self.events.push(LaneEvent::Failed { lane, kind });
    }

    /// Appends a frame to `out` that the peer has caused.
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

/// A window enlarged by `more` bytes.
fn widened(window: i64, more: i64) -> Result<i64, u32> {
    let window = window + more;
    (window <= MAX_WINDOW)
        .then_some(window)
        .ok_or(code::FLOW_CONTROL_ERROR)
}
