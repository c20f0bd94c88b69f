//! Entry points for fuzzing: everything that reads a server's bytes, without the worker around it.
//! Only with the feature `fuzzing`; runs do not use them.

use crate::body::{BodyUpload, RequestBody};
use crate::checks::AnswerChecks;
pub use crate::checks::{DecoderDoor, read_grpc_text, read_message};
use crate::fill::Fill;
use crate::http2::Http2Connection;
use crate::lane_event::LaneEvent;
use crate::response::ResponseParser;
pub use crate::tls::{RecordDoor, RecordForge};
use crate::values::Values;
use crate::websocket::{MessageReader, PeerFrame};
use plan::{NoFiles, Plan};
use std::fmt::Write as _;
use std::sync::Arc;

/// The reader of HTTP/1.1 responses, as one connection has it.
#[derive(Debug, Default)]
pub struct Http1Door(ResponseParser);

impl Http1Door {
    /// Gets ready for the response to the next request.
    pub fn expect(&mut self, head_only: bool) {
        self.0.expect(head_only);
    }

    /// Feeds it bytes. Returns how many of them belong to this response.
    ///
    /// # Errors
    /// Fails if the response cannot be read.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, String> {
        self.0.feed(bytes).map_err(|why| format!("{why:?}"))
    }

    /// The connection has ended. Returns whether that completes the response.
    pub fn ended(&mut self) -> bool {
        self.0.ended()
    }

    /// Whether the response is complete.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    /// Whether the connection can be used again.
    #[must_use]
    pub fn keeps_alive(&self) -> bool {
        self.0.keep_alive
    }

    /// Status and body bytes.
    #[must_use]
    pub fn answer(&self) -> (Option<u16>, u64) {
        (self.0.status, self.0.body_bytes)
    }
}

/// The client's side of an HTTP/2 connection. It opens and cancels only what a worker would.
#[derive(Debug)]
pub struct Http2Door {
    connection: Http2Connection,
    is_under_way: Vec<bool>,
    /// What a request that opens a socket looks at, if any does.
    socket: Option<Arc<AnswerChecks>>,
    log: String,
    sent: Vec<u8>,
}

const SOCKET_PLAN: &str = "target.url = \"http://127.0.0.1/\"
    connection.http = \"2\"
    load = { connections = 1, requests = 1 }
    request.websocket = { message = \"x\", count = 1 }";

impl Http2Door {
    /// Creates a connection with `lanes` lanes.
    #[must_use]
    pub fn new(lanes: u32) -> Http2Door {
        Http2Door {
            connection: Http2Connection::new(lanes),
            is_under_way: vec![false; lanes as usize],
            socket: None,
            log: String::new(),
            sent: Vec::new(),
        }
    }

    /// Creates one whose requests may open sockets.
    ///
    /// # Panics
    /// Never: the plan is fixed.
    #[must_use]
    pub fn with_sockets(lanes: u32) -> Http2Door {
        let mut door = Http2Door::new(lanes);
        door.connection.keep_texts();
        door.connection.expect_sockets();
        let plan = Plan::parse(SOCKET_PLAN, &mut NoFiles).expect("a plan");
        door.socket = AnswerChecks::of_requests(&plan).remove(0);
        door
    }

    /// Opens a socket, if the lane is free and the peer allows it.
    pub fn open_socket(&mut self, lane: u32) {
        let Some(checks) = &self.socket else { return };
        let may = self.connection.accepts() && self.connection.opens_sockets();
        if may && !self.is_under_way[lane as usize] {
            self.connection
                .open_watched(lane, b"\x82\x87\x84", None, (false, checks));
            self.is_under_way[lane as usize] = true;
        }
    }

    /// Sends this many bytes over the lane's socket, if it has an open one.
    pub fn send_over_socket(&mut self, lane: u32, bytes: usize) {
        self.connection
            .send_over_socket(lane, &vec![0; bytes], false);
    }

    /// Ends the lane's socket, with last words if `has_words`.
    pub fn end_socket(&mut self, lane: u32, has_words: bool) {
        if std::mem::take(&mut self.is_under_way[lane as usize]) {
            if has_words {
                self.connection.send_over_socket(lane, b"words", true);
            }
            self.connection.end_socket(lane);
        }
    }

    /// Opens a stream with a body of `body_bytes` bytes if the lane is free and the peer allows it.
    pub fn open(&mut self, lane: u32, body_bytes: usize, head_only: bool) {
        if self.is_under_way[lane as usize] || !self.connection.accepts() {
            return;
        }
        let content = vec![0; body_bytes].into();
        let body = (body_bytes > 0).then(|| {
            let body = RequestBody::new(vec![Fill::Shared(content)]);
            BodyUpload::new(Arc::new(body), &Values::default())
        });
        self.connection.open(lane, b"\x82\x87\x84", body, head_only);
        self.is_under_way[lane as usize] = true;
    }

    /// Abandons the lane's stream.
    pub fn cancel(&mut self, lane: u32) {
        if std::mem::take(&mut self.is_under_way[lane as usize]) {
            self.connection.cancel(lane);
        }
    }

    /// Feeds it the peer's bytes, and acts on them as a worker does.
    ///
    /// # Errors
    /// Fails if the peer breaks the protocol.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        let fed = self.connection.feed(bytes);
        while let Some(event) = self.connection.poll() {
            self.note(event);
        }
        fed.map_err(|violation| format!("{violation:?}"))
    }

    /// Sends waiting bodies and frames, which makes room for more of the bodies.
    pub fn send(&mut self) {
        self.connection.send_bodies();
        self.sent.extend(self.connection.take_out());
    }

    /// Events with the answers of their lanes, one per line.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Everything that the connection has sent, up to the last [`Http2Door::send`].
    #[must_use]
    pub fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// Streams under way, by the connection's count and by its events.
    #[must_use]
    pub fn active(&self) -> (usize, usize) {
        let told = self.is_under_way.iter().filter(|active| **active);
        (self.connection.active(), told.count())
    }

    fn note(&mut self, event: LaneEvent) {
        let over = match event {
            // How often they come depends on the pieces in which bytes come.
            LaneEvent::Progress { .. } | LaneEvent::Events { .. } => return,
            LaneEvent::Opened
            | LaneEvent::Ready
            | LaneEvent::Limited { .. }
            | LaneEvent::FirstByte { .. }
            | LaneEvent::Continued
            | LaneEvent::GoingAway
            | LaneEvent::Unsolicited
            | LaneEvent::Overdue { .. } => None,
            LaneEvent::Answered { lane }
            | LaneEvent::Failed { lane, .. }
            | LaneEvent::Refused { lane, .. } => Some(lane),
        };
        let answer = over.map(|lane| self.connection.answer(lane));
        writeln!(self.log, "{event:?} {answer:?}").expect("writes to memory");
        if let Some(lane) = over {
            let was = std::mem::take(&mut self.is_under_way[lane as usize]);
            assert!(was, "lane {lane} ends twice: {}", self.log);
        }
    }
}

/// What has come of a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadFrame {
    /// A text or binary message.
    Message(Vec<u8>),
    /// A ping with its payload.
    Ping(Vec<u8>),
    /// A pong with its payload.
    Pong(Vec<u8>),
    /// The server closes, with a code if it gave one.
    Close(Option<u16>),
}

/// The reader of a WebSocket, as one connection has it.
#[derive(Debug, Default)]
pub struct WebSocketDoor {
    reader: MessageReader,
    frames: Vec<ReadFrame>,
}

impl WebSocketDoor {
    /// Feeds it the server's bytes.
    ///
    /// # Errors
    /// Fails if they break the protocol.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut keep = |frame: PeerFrame<'_>| {
            self.frames.push(match frame {
                PeerFrame::Message(bytes) => ReadFrame::Message(bytes.to_vec()),
                PeerFrame::Ping(payload) => ReadFrame::Ping(payload.to_vec()),
                PeerFrame::Pong(payload) => ReadFrame::Pong(payload.to_vec()),
                PeerFrame::Close(code) => ReadFrame::Close(code),
            });
        };
        let fed = self.reader.feed(bytes, &mut keep);
        fed.map_err(|fault| format!("{fault:?}"))
    }

    /// What has come.
    #[must_use]
    pub fn into_frames(self) -> Vec<ReadFrame> {
        self.frames
    }
}
