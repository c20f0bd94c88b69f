//! A connection's streams and lanes: opened, cancelled, asked about.

mod incoming;
mod outgoing;

use super::dynamic_table::DynamicTable;
use super::frame::{self, DEFAULT_WINDOW, MAX_WINDOW, code, kind};
use super::frame_budget::FrameBudget;
use super::frame_reader::FrameReader;
use super::hpack;
use super::known_block::KnownBlock;
use super::peer::Peer;
use crate::body::BodyUpload;
use crate::response::ReceivedResponse;
use measure::Kind;
use std::collections::VecDeque;

/// Answers to what the peer asks that may wait, bytes. One that asks and never reads is broken.
pub(super) const MAX_WAITING: usize = 1024 * 1024;

/// The client's side of a connection; [`HeaderBlocks`](super::HeaderBlocks) has its requests.
#[derive(Debug)]
pub(crate) struct Http2Connection {
    streams: Vec<Stream>,
    /// Streams under way as (id, lane), by id.
    active: VecDeque<(u32, u32)>,
    next_id: u32,
    peer: Peer,
    /// What the connection as a whole may still send and has received since its window was opened.
    window: i64,
    received: u64,
    reader: FrameReader,
    /// A header block whose end has not come.
    block: Option<BlockUnderWay>,
    /// The peer's dynamic table.
    table: DynamicTable,
    known: KnownBlock,
    /// What the peer may send beside answers, and what it did beyond that.
    budget: FrameBudget,
    excess: Option<Kind>,
    /// Frames to be sent, as plaintext; and how many bytes of them are answers.
    pub(crate) out: Vec<u8>,
    answers: usize,
    /// What came and is for the lanes.
    pub(crate) events: Vec<StreamEvent>,
    /// Lanes with a body that goes on.
    pub(crate) progressed: Vec<u32>,
    /// The peer opens no stream any more, or we do not.
    pub(crate) draining: bool,
}

/// A header block that comes in several frames, as far as it has come.
#[derive(Debug)]
struct BlockUnderWay {
    stream: u32,
    ends_stream: bool,
    bytes: Vec<u8>,
}

/// A lane's latest stream.
#[derive(Debug, Default)]
struct Stream {
    id: u32,
    answer: ReceivedResponse,
    /// Interim answers that came before the answer.
    interim: u32,
    /// Bytes that its body has, where that is known.
    content_length: Option<u64>,
    head_only: bool,
    window: i64,
    received: u64,
    /// The request's body, until it has been put into frames whole.
    upload: Option<BodyUpload>,
}

/// Something the worker must act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// The peer's first settings, or later ones that allow more streams at once.
    Settled,
    /// The peer allows so many streams at once, fewer than there are lanes, and fewer than before.
    Limited { streams: u32, is_first: bool },
    /// A response has begun to come on this lane.
    Begun { lane: u32 },
    /// A response is whole.
    Whole { lane: u32 },
    /// A response breaks the rules, or is beyond a limit of ours; its stream is given up.
    Malformed { lane: u32, kind: Kind },
    /// The peer gave the stream up, for this reason (RFC 9113 §7), as it is counted.
    Reset { lane: u32, code: u32 },
    /// The peer has not processed the stream, and never will: it may be sent again.
    Unprocessed { lane: u32 },
    /// The peer closes the connection, for this reason, as it is counted.
    GoAway { code: u32 },
}

/// The peer breaks RFC 9113, or is beyond a limit of ours; a GOAWAY that says so stands in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) Kind);

impl Http2Connection {
    /// A connection with so many lanes; what a client says first stands in `out`.
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
            budget: FrameBudget::default(),
            excess: None,
            out,
            answers: 0,
            events: Vec::new(),
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

    /// Streams under way.
    pub(crate) fn active(&self) -> usize {
        self.active.len()
    }

    /// What has come on the lane's latest stream.
    pub(crate) fn answer(&self, lane: u32) -> ReceivedResponse {
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
        // A client's streams have odd numbers (RFC 9113 §5.1.1).
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
}
