//! A connection's streams and lanes: opening, cancelling and querying them.

mod incoming;
mod outgoing;
mod sockets;

use super::dynamic_table::DynamicTable;
use super::field_texts::FieldTexts;
use super::frame::{self, DEFAULT_WINDOW, MAX_WINDOW, code, kind};
use super::frame_budget::FrameBudget;
use super::frame_reader::FrameReader;
use super::hpack;
use super::known_block::KnownBlock;
use super::peer::Peer;
use crate::body::BodyUpload;
use crate::checks::{AnswerChecks, AnswerWatch, BodyLeave};
use crate::lane_event::LaneEvent;
use crate::response::ReceivedResponse;
use measure::Kind;
use std::collections::VecDeque;
use std::sync::Arc;

/// Most bytes of answers to the peer's requests that may wait. A peer that keeps asking and never
/// reads is broken.
pub(super) const MAX_WAITING: usize = 1024 * 1024;

/// The window of a stream is so much smaller while its body waits for leave, more than the peer can
/// widen it: then nothing else has to know of the wait.
const SHUT: i64 = i64::MAX / 2;

/// The client's side of a connection; its requests are in [`HeaderBlocks`](super::HeaderBlocks).
#[derive(Debug)]
pub(crate) struct Http2Connection {
    streams: Vec<Stream>,
    /// Streams under way as (id, lane), by id.
    active: VecDeque<(u32, u32)>,
    next_id: u32,
    peer: Peer,
    /// The send window of the connection as a whole, and the bytes received since we last renewed
    /// its receive window.
    window: i64,
    received: u64,
    reader: FrameReader,
    /// A header block that is not complete yet.
    block: Option<BlockUnderWay>,
    /// The peer's dynamic table.
    table: DynamicTable,
    known: KnownBlock,
    /// Kept if requests have checks.
    texts: Option<Box<FieldTexts>>,
    /// Requests may open sockets, which only the peer's settings allow.
    has_sockets: bool,
    /// The frames without content that the peer may still send, and the limit that it exceeded.
    budget: FrameBudget,
    excess: Option<Kind>,
    /// Frames to send, as plaintext; and how many bytes of them are answers.
    pub(crate) out: Vec<u8>,
    answers: usize,
    /// Events, and how many of them have been polled.
    pub(crate) events: Vec<LaneEvent>,
    polled: usize,
    /// Lanes whose bodies have made progress.
    pub(crate) progressed: Vec<u32>,
    /// No further streams are to be opened, by decision of the peer or ours.
    pub(crate) draining: bool,
    /// The code of the peer's latest GOAWAY, as it is counted.
    go_away: Option<u32>,
}

/// The part of a header block, sent in several frames, that has arrived so far.
#[derive(Debug)]
struct BlockUnderWay {
    stream: u32,
    ends_stream: bool,
    bytes: Vec<u8>,
}

/// What a stream is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamUse {
    /// It ends for us with the request.
    Request,
    /// Both sides go on sending over it.
    Socket,
}

/// A lane's latest stream.
#[derive(Debug, Default)]
struct Stream {
    id: u32,
    answer: ReceivedResponse,
    /// Interim answers received before the final one.
    interim: u32,
    /// Length of its body, if that is known.
    content_length: Option<u64>,
    head_only: bool,
    window: i64,
    /// At most `RENEWAL` and a frame.
    received: u32,
    /// The checks of its answer, if its request has any.
    watch: Option<Box<AnswerWatch>>,
    /// The request's body, until all of it has been put into frames.
    upload: Option<BodyUpload>,
}

/// The peer breaks RFC 9113, or exceeds one of our limits; a GOAWAY that reports it is in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) Kind);

impl Http2Connection {
    /// Creates a connection with `lanes` lanes; the client's preface is in `out`.
    pub(crate) fn new(lanes: u32) -> Http2Connection {
        let mut out = Vec::with_capacity(512);
        frame::put_preface(&mut out);
        Http2Connection {
            streams: (0..lanes).map(|_| Stream::default()).collect(),
            active: VecDeque::with_capacity(lanes as usize),
            next_id: 1,
            peer: Peer::default(),
            window: DEFAULT_WINDOW,
            received: 0,
            reader: FrameReader::default(),
            block: None,
            table: DynamicTable::default(),
            known: KnownBlock::default(),
            texts: None,
            has_sockets: false,
            budget: FrameBudget::default(),
            excess: None,
            out,
            answers: 0,
            events: Vec::new(),
            polled: 0,
            progressed: Vec::new(),
            draining: false,
            go_away: None,
        }
    }

    /// Prepares it to check the heads of answers. Must be called before anything is fed.
    pub(crate) fn keep_texts(&mut self) {
        self.texts = Some(Box::default());
    }

    /// Prepares it to open sockets. Must be called before anything is sent.
    pub(crate) fn expect_sockets(&mut self) {
        self.has_sockets = true;
    }

    /// Takes the next event. Progress comes first, so that no body is counted after its end.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<LaneEvent> {
        if let Some(lane) = self.progressed.pop() {
            return Some(LaneEvent::Progress { lane });
        }
        let event = self.events.get(self.polled).copied();
        match event {
            Some(_) => self.polled += 1,
            None => {
                self.events.clear();
                self.polled = 0;
            }
        }
        event
    }

    /// The code of the peer's latest GOAWAY (RFC 9113 §7) as it is counted.
    pub(crate) fn go_away(&self) -> Option<u32> {
        self.go_away
    }

    /// Whether another stream may be opened. Before the peer's settings are known only the first
    /// one may, whose request goes out with the preface, and none if it may open a socket.
    pub(crate) fn accepts(&self) -> bool {
        let settled = self.peer.is_known && self.active.len() < self.peer.max_streams as usize;
        !self.draining && (settled || self.opens_at_once()) && !self.is_spent()
    }

    fn opens_at_once(&self) -> bool {
        self.next_id == 1 && !self.has_sockets
    }

    /// Whether the peer allows no streams at all, until its next settings or for ever.
    pub(crate) fn is_stuck(&self) -> bool {
        self.peer.is_known && self.peer.max_streams == 0 && self.active.is_empty() && !self.draining
    }

    /// Whether the peer has sent its settings.
    pub(crate) fn is_settled(&self) -> bool {
        self.peer.is_known
    }

    /// Whether the peer allows fewer streams than there are lanes.
    pub(crate) fn is_limited(&self) -> bool {
        self.peer.is_known && (self.peer.max_streams as usize) < self.streams.len()
    }

    /// Whether its stream ids are used up (RFC 9113 §5.1.1).
    pub(crate) fn is_spent(&self) -> bool {
        self.next_id > MAX_WINDOW as u32
    }

    /// Takes the frames to send; the caller returns the buffer emptied.
    pub(crate) fn take_out(&mut self) -> Vec<u8> {
        self.answers = 0;
        std::mem::take(&mut self.out)
    }

    /// Streams under way.
    pub(crate) fn active(&self) -> usize {
        self.active.len()
    }

    /// The part of the answer that has arrived on the lane's latest stream.
    pub(crate) fn answer(&self, lane: u32) -> ReceivedResponse {
        self.streams[lane as usize].answer
    }

    /// Opens a stream on a free lane. Its frames go to `out`, with as much of its body as the
    /// windows allow.
    pub(crate) fn open(
        &mut self,
        lane: u32,
        block: &[u8],
        body: Option<BodyUpload>,
        head_only: bool,
    ) {
        self.put_request(lane, block, body, (head_only, StreamUse::Request));
        self.send_body(lane);
    }

    /// Does the same, and watches the answer. Returns whether the body waits for leave.
    pub(crate) fn open_watched(
        &mut self,
        lane: u32,
        block: &[u8],
        body: Option<BodyUpload>,
        (head_only, checks): (bool, &Arc<AnswerChecks>),
    ) -> bool {
        let stream_use = match checks.wants_socket() {
            false => StreamUse::Request,
            true => StreamUse::Socket,
        };
        self.put_request(lane, block, body, (head_only, stream_use));
        let stream = &mut self.streams[lane as usize];
        let watch = stream.watch.insert(Box::new(AnswerWatch::new(checks)));
        let waits = checks.continue_within().is_some() && stream.upload.is_some();
        if waits {
            *watch.body_leave() = BodyLeave::Awaited;
            stream.window -= SHUT;
        }
        self.send_body(lane);
        waits
    }

    /// Stops waiting for leave to send the lane's body. Returns whether the body waited.
    pub(crate) fn stop_waiting(&mut self, lane: u32) -> bool {
        let watch = self.streams[lane as usize].watch.as_mut();
        let waited = watch.is_some_and(|watch| watch.body_leave().give_up());
        if waited {
            self.let_body_go(lane);
        }
        waited
    }

    /// Sends the lane's body, which has waited.
    fn let_body_go(&mut self, lane: u32) {
        self.streams[lane as usize].window += SHUT;
        self.send_body(lane);
    }

    /// Opens a stream with its header block.
    fn put_request(
        &mut self,
        lane: u32,
        block: &[u8],
        body: Option<BodyUpload>,
        (head_only, stream_use): (bool, StreamUse),
    ) {
        let id = self.next_id;
        // A client's streams have odd ids (RFC 9113 §5.1.1).
        self.next_id += 2;
        self.active.push_back((id, lane));
        let stream = &mut self.streams[lane as usize];
        stream.id = id;
        stream.answer = ReceivedResponse::default();
        stream.interim = 0;
        stream.content_length = None;
        stream.head_only = head_only;
        stream.window = self.peer.window;
        stream.received = 0;
        stream.watch = None;
        stream.upload = body.filter(|body| body.left() > 0);
        let ends_stream = stream.upload.is_none() && stream_use == StreamUse::Request;
        if self.peer.wants_size_update() {
            let block = [&[hpack::NO_TABLE], block].concat();
            frame::put_headers(&mut self.out, id, &block, ends_stream, self.peer.max_frame);
        } else {
            frame::put_headers(&mut self.out, id, block, ends_stream, self.peer.max_frame);
        }
    }

    /// What watches the answer on the lane's latest stream, if its request wants that.
    pub(crate) fn answer_watch(&mut self, lane: u32) -> Option<&mut AnswerWatch> {
        self.streams[lane as usize].watch.as_deref_mut()
    }

    /// Whether the lane's latest stream has not ended.
    pub(crate) fn is_under_way(&self, lane: u32) -> bool {
        self.lane_of(self.streams[lane as usize].id) == Some(lane)
    }

    /// Cancels the lane's stream, if one is under way.
    pub(crate) fn cancel(&mut self, lane: u32) {
        let id = self.streams[lane as usize].id;
        if self.end(id).is_some() {
            frame::put_number(&mut self.out, kind::RST_STREAM, id, code::CANCEL);
        }
    }

    /// Announces that we close, without an error.
    pub(crate) fn say_good_bye(&mut self) {
        frame::put_go_away(&mut self.out, code::NO_ERROR);
    }

    /// Whether all of the lane's request has been put into frames.
    pub(crate) fn is_sent(&self, lane: u32) -> bool {
        self.streams[lane as usize].upload.is_none()
    }

    fn lane_of(&self, id: u32) -> Option<u32> {
        let at = self.active.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.active[at].1)
    }

    /// Ends a stream. Returns its lane, if it was under way.
    fn end(&mut self, id: u32) -> Option<u32> {
        let at = self.active.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        let (_, lane) = self.active.remove(at)?;
        self.streams[lane as usize].upload = None;
        Some(lane)
    }
}
