//! One connection: socket, TLS, and what of HTTP is under way. Moves bytes; what they mean for the
//! load is the worker's, which knows of the transport only that it can be watched.

use crate::body::{self, BodyUpload};
use crate::clock::RunClock;
use crate::http2::{Http2Connection, Violation};
use crate::live_operation::SentRequest;
use crate::path_mark::PathMark;
use crate::response::{ReceivedResponse, ResponseParser};
use crate::socket::{Io, Socket};
use crate::tls::{Broken, TlsStream};
use measure::{CellId, Kind, PathSample};
use rustix::fd::OwnedFd;

/// Plaintext and ciphertext of one read: large, since a download is cheaper in big reads.
pub(crate) const READ_BYTES: usize = 128 * 1024;

/// A server that ends a connection within this time of a request, or within two round trips, may
/// have begun to end it before the request came.
const CROSSING_NS: u64 = 5_000_000;

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionStage {
    /// TCP connect under way.
    Connecting,
    /// TLS handshake under way.
    Handshaking,
    /// Ready for requests, or with one under way.
    Open,
    /// We are done with it and wait for the peer's end.
    Ending,
}

pub(crate) struct WorkerConnection {
    socket: Socket,
    pub(crate) tls: Option<TlsStream>,
    pub(crate) stage: ConnectionStage,
    /// What its bytes are counted under: the cell of its latest operation.
    pub(crate) id: CellId,
    /// When connect was called.
    pub(crate) connect_at: u64,
    /// When TCP stood.
    pub(crate) connected_at: u64,
    /// When bytes last came.
    pub(crate) heard_at: u64,
    /// When the wait for the peer's end began.
    pub(crate) ending_at: u64,
    /// An operation has had its answer on it, or its handshake.
    pub(crate) has_served: bool,
    /// Requests sent on it.
    pub(crate) requests_begun: u32,
    /// Requests it is for.
    requests_each: u32,
    pub(crate) http: Http,
    /// Slots whose request the socket has not taken whole.
    pub(crate) unwritten: Vec<u32>,
    /// Bytes came that no request had asked for.
    pub(crate) unsolicited: bool,
    /// The peer has ended its side: the kernel or TLS has said so.
    pub(crate) peer_ended: bool,
    /// TLS has said that nothing follows (close_notify).
    notified: bool,
    /// The reason of the peer's GOAWAY.
    pub(crate) go_away: Option<u32>,
    /// Why nothing can be sent any more.
    pub(crate) broken: Option<Kind>,
    /// Input of an unfinished TLS record.
    leftover: Vec<u8>,
    /// HTTP/1.1: plaintext that came with the end of the handshake, before the request could leave.
    ahead: Vec<u8>,
    /// Output the socket has not taken yet, and how much of it has gone since.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// HTTP/1.1: what is left of the request's body.
    pub(crate) upload: Option<BodyUpload>,
    /// Wire bytes written, all of its life.
    pub(crate) sent_bytes: u64,
    /// Wire bytes read, all of its life.
    pub(crate) received_bytes: u64,
    /// What the kernel said of it last, once it was asked.
    path_mark: Option<Box<PathMark>>,
}

/// The HTTP of a connection.
pub(crate) enum Http {
    /// HTTP/1.1: one response at a time.
    One(ResponseParser),
    /// HTTP/2: as many responses at once as it has lanes.
    Two(Box<Http2Connection>),
}

/// What one read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing to read for now.
    Nothing,
    /// Bytes, read `at`; `answered` where some belong to a response, `more` where there may be more
    /// at once, `closed` where the peer has said that nothing follows.
    Bytes {
        at: u64,
        answered: bool,
        more: bool,
        closed: bool,
    },
    /// End of the stream.
    End,
}

/// Why a read or write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferFault {
    /// The socket has failed.
    Socket(Kind),
    /// TLS cannot go on.
    Tls(Kind),
    /// A response that cannot be read, or a peer that breaks its protocol.
    Http(Kind),
}

impl WorkerConnection {
    pub(crate) fn new(
        socket: Socket,
        http: Http,
        requests_each: u32,
        id: CellId,
        connect_at: u64,
    ) -> WorkerConnection {
        WorkerConnection {
            socket,
            tls: None,
            stage: ConnectionStage::Connecting,
            id,
            connect_at,
            connected_at: connect_at,
            heard_at: connect_at,
            ending_at: connect_at,
            has_served: false,
            requests_begun: 0,
            requests_each,
            http,
            unwritten: Vec::new(),
            unsolicited: false,
            peer_ended: false,
            notified: false,
            go_away: None,
            broken: None,
            leftover: Vec::new(),
            ahead: Vec::new(),
            unsent: Vec::new(),
            unsent_from: 0,
            upload: None,
            sent_bytes: 0,
            received_bytes: 0,
            path_mark: None,
        }
    }

    /// What to watch for events.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.socket.0
    }

    /// Why the transport failed; `None` where it did not.
    pub(crate) fn failure(&self) -> Option<Kind> {
        self.socket.failure()
    }

    /// Sends every write at once: no small one waits for an acknowledgement.
    pub(crate) fn send_at_once(&self) {
        self.socket.send_at_once();
    }

    /// Ends our side; the peer reads an end of stream.
    pub(crate) fn end_sending(&self) {
        self.socket.shutdown();
    }

    /// Makes the close a reset.
    pub(crate) fn reset_on_close(&self) {
        self.socket.reset_on_close();
    }

    /// Whether an end of the stream is one that the peer has meant: within TLS anybody can cut a
    /// connection, and only a close_notify is the peer's word (RFC 9112 §9.8).
    pub(crate) fn is_end_meant(&self) -> bool {
        self.tls.is_none() || self.notified
    }

    /// How it does, as the kernel says at `now`, since it was asked before; `None` where the kernel
    /// does not say.
    pub(crate) fn probe_path(&mut self, now: u64) -> Option<PathSample> {
        let info = self.socket.path()?;
        let from = self.connected_at;
        let mark = self
            .path_mark
            .get_or_insert_with(|| Box::new(PathMark::new(from)));
        Some(mark.pass(now, info))
    }

    /// Whether the server cannot have worked on a request of this connection, which has ended at
    /// `now`: it never came to its kernel, or the end had been under way when it did.
    pub(crate) fn is_unseen(&self, sent: &SentRequest, now: u64) -> bool {
        let delivery = self.socket.delivery();
        let crossing = CROSSING_NS.max(delivery.map_or(0, |delivery| 2 * delivery.rtt_ns));
        let has_come = delivery.is_none_or(|delivery| delivery.acknowledged > sent.behind);
        !has_come || now.saturating_sub(sent.at) <= crossing
    }

    /// HTTP/1.1: whether the response is whole.
    #[inline]
    pub(crate) fn is_answered(&self) -> bool {
        matches!(&self.http, Http::One(response) if response.is_whole())
    }

    /// HTTP/1.1: the stream has ended; whether that makes the response whole.
    pub(crate) fn end_makes_whole(&mut self) -> bool {
        let is_meant = self.is_end_meant();
        match &mut self.http {
            Http::One(response) => is_meant && response.ended(),
            Http::Two(_) => false,
        }
    }

    /// HTTP/1.1: whether an end of the stream would cut a body short.
    pub(crate) fn is_in_body(&self) -> bool {
        matches!(&self.http, Http::One(response) if response.in_body())
    }

    /// Whether it has had all its requests.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.requests_begun >= self.requests_each
    }

    /// Whether no request may follow its latest response, however many it is for.
    pub(crate) fn is_spoilt(&self) -> bool {
        let ends = matches!(&self.http, Http::One(response) if !response.keep_alive);
        ends || self.unsolicited || self.peer_ended || self.has_unsent() || self.upload.is_some()
    }

    /// Whether its next request is its last.
    #[inline]
    pub(crate) fn is_next_last(&self) -> bool {
        self.requests_begun.saturating_add(1) >= self.requests_each
    }

    /// Whether another request can be sent on it now.
    #[inline]
    pub(crate) fn takes(&self) -> bool {
        match &self.http {
            Http::One(_) => true,
            Http::Two(session) => {
                let stands = self.stage == ConnectionStage::Open
                    && !self.peer_ended
                    && self.broken.is_none();
                // Where no stream is allowed, an operation begins and waits for one, so that its
                // time-out runs.
                stands && !self.is_full() && (session.accepts() || session.is_stuck())
            }
        }
    }

    /// Whether HTTP/2 frames wait to be encrypted.
    pub(crate) fn has_frames(&self) -> bool {
        matches!(&self.http, Http::Two(session) if !session.out.is_empty())
    }

    /// What has come of the lane's latest response.
    #[inline]
    pub(crate) fn answer(&self, lane: u32) -> ReceivedResponse {
        match &self.http {
            Http::One(response) => response.answer(),
            Http::Two(session) => session.answer(lane),
        }
    }

    /// Whether nothing of the lane's request waits to be encrypted: behind a window of ours, or
    /// HTTP/2's flow control.
    pub(crate) fn is_sent(&self, lane: u32) -> bool {
        match &self.http {
            Http::One(_) => self.upload.is_none(),
            Http::Two(session) => session.is_sent(lane),
        }
    }

    /// Puts the HTTP/2 frames that wait into `outgoing`.
    pub(crate) fn wrap_frames(&mut self, outgoing: &mut Vec<u8>) -> Result<(), TransferFault> {
        let Http::Two(session) = &mut self.http else {
            return Ok(());
        };
        if session.out.is_empty() {
            return Ok(());
        }
        let mut frames = session.take_out();
        let wrapped = self.wrap(&frames, outgoing);
        frames.clear();
        if let Http::Two(session) = &mut self.http {
            session.out = frames;
        }
        wrapped
    }

    /// Puts the next window of the request's body into `plain`; whether there was one.
    pub(crate) fn next_window(&mut self, plain: &mut Vec<u8>) -> bool {
        let Some(upload) = &mut self.upload else {
            return false;
        };
        upload.put(body::WINDOW, plain);
        if upload.left() == 0 {
            self.upload = None;
        }
        true
    }

    /// Sends `outgoing` behind what still waits, and empties it. Whether everything went out.
    pub(crate) fn send(&mut self, outgoing: &mut Vec<u8>) -> Result<bool, Kind> {
        let sent = if self.unsent.is_empty() {
            self.write(outgoing)
                .inspect(|&sent| self.unsent.extend_from_slice(&outgoing[sent..]))
        } else {
            self.unsent.extend_from_slice(outgoing);
            self.send_unsent()
        };
        outgoing.clear();
        if sent.is_err() {
            (self.unsent, self.unsent_from) = (Vec::new(), 0);
        }
        sent.map(|_| self.unsent.is_empty())
    }

    fn send_unsent(&mut self) -> Result<usize, Kind> {
        let mut unsent = std::mem::take(&mut self.unsent);
        let sent = self.write(&unsent[self.unsent_from..]);
        self.unsent_from += sent.unwrap_or(0);
        if self.unsent_from == unsent.len() {
            self.unsent_from = 0;
            unsent.clear();
            // Room of a large request is of no use to what follows it.
            if self.upload.is_none() && unsent.capacity() >= body::WINDOW {
                unsent = Vec::new();
            }
        }
        self.unsent = unsent;
        sent
    }

    /// Gives the socket as much of `bytes` as it takes now; how much that was.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Kind> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket.write(&bytes[sent..])? {
                Io::Bytes(bytes) => sent += bytes,
                Io::Later => break,
            }
        }
        self.sent_bytes += sent as u64;
        Ok(sent)
    }

    /// Whether output waits for the socket.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Puts a request's bytes into `outgoing`, encrypted where the connection is.
    pub(crate) fn wrap(
        &mut self,
        plain: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<(), TransferFault> {
        match &mut self.tls {
            Some(tls) => tls
                .encrypt(plain, &mut self.leftover, outgoing)
                .map_err(|Broken(kind)| TransferFault::Tls(kind)),
            None => {
                outgoing.extend_from_slice(plain);
                Ok(())
            }
        }
    }

    /// Reads once and digests: TLS, then the response, where `expecting` one.
    pub(crate) fn receive(
        &mut self,
        clock: RunClock,
        buffer: &mut [u8],
        outgoing: &mut Vec<u8>,
        expecting: bool,
    ) -> Result<Received, TransferFault> {
        let kept = self.leftover.len();
        buffer[..kept].copy_from_slice(&self.leftover);
        let bytes = match self.socket.read(&mut buffer[kept..]) {
            Ok(Io::Later) => return Ok(Received::Nothing),
            Ok(Io::Bytes(0)) => return Ok(Received::End),
            Ok(Io::Bytes(bytes)) => bytes,
            Err(kind) => return Err(TransferFault::Socket(kind)),
        };
        let (at, more) = (clock.now(), kept + bytes == buffer.len());
        self.received_bytes += bytes as u64;
        self.heard_at = at;
        if let Http::Two(session) = &mut self.http {
            session.note_time(at);
        }
        let (answered, closed) = self.digest(&mut buffer[..kept + bytes], outgoing, expecting)?;
        self.peer_ended |= closed;
        self.notified |= closed;
        Ok(Received::Bytes {
            at,
            answered,
            more,
            closed,
        })
    }

    /// Whether part of it belonged to a response, and whether the peer has said close_notify.
    fn digest(
        &mut self,
        input: &mut [u8],
        outgoing: &mut Vec<u8>,
        expecting: bool,
    ) -> Result<(bool, bool), TransferFault> {
        let ahead = (self.stage == ConnectionStage::Handshaking).then_some(&mut self.ahead);
        let mut intake = Intake {
            http: &mut self.http,
            ahead,
            expecting,
            answered: false,
            unsolicited: false,
            broken: None,
        };
        let mut closed = false;
        match &mut self.tls {
            None => intake.take(input),
            Some(tls) => {
                let processed = tls.process(input, outgoing, &mut |plain| intake.take(plain));
                let advance = processed.map_err(|Broken(kind)| TransferFault::Tls(kind))?;
                closed = advance.closed;
                self.leftover.clear();
                self.leftover.extend_from_slice(&input[advance.consumed..]);
            }
        }
        self.unsolicited |= intake.unsolicited;
        match intake.broken {
            Some(why) => Err(TransferFault::Http(why)),
            None => Ok((intake.answered, closed)),
        }
    }

    /// Takes what was there before the request as its answer, now that it has been sent: so it
    /// would be taken had it come a moment later. Whether there was any.
    pub(crate) fn take_ahead(&mut self) -> Result<bool, TransferFault> {
        let bytes = std::mem::take(&mut self.ahead);
        let mut intake = Intake {
            http: &mut self.http,
            ahead: None,
            expecting: true,
            answered: false,
            unsolicited: false,
            broken: None,
        };
        intake.take(&bytes);
        self.unsolicited |= intake.unsolicited;
        intake
            .broken
            .map_or(Ok(intake.answered), |why| Err(TransferFault::Http(why)))
    }

    /// Says that nothing follows: GOAWAY in HTTP/2, close_notify where the connection is encrypted.
    pub(crate) fn notify_close(&mut self, outgoing: &mut Vec<u8>) {
        if let Http::Two(session) = &mut self.http
            && self.stage == ConnectionStage::Open
        {
            session.say_good_bye();
            // What cannot be wrapped any more is not said.
            let _ = self.wrap_frames(outgoing);
        }
        if let Some(tls) = self.tls.as_mut().filter(|tls| !tls.is_handshaking()) {
            tls.close(&mut self.leftover, outgoing);
        }
    }
}

/// Plaintext on its way into responses.
struct Intake<'a> {
    http: &'a mut Http,
    /// Where to keep what comes with the end of the handshake.
    ahead: Option<&'a mut Vec<u8>>,
    expecting: bool,
    answered: bool,
    unsolicited: bool,
    broken: Option<Kind>,
}

impl Intake<'_> {
    fn take(&mut self, bytes: &[u8]) {
        if self.broken.is_some() || bytes.is_empty() {
            return;
        }
        let response = match self.http {
            Http::One(response) => response,
            Http::Two(session) => {
                self.broken = session.feed(bytes).err().map(|Violation(why)| why);
                return;
            }
        };
        if let Some(ahead) = self.ahead.as_mut().filter(|_| !self.expecting) {
            ahead.extend_from_slice(bytes);
            return;
        }
        let taken = if self.expecting && !response.is_whole() {
            response.feed(bytes)
        } else {
            Ok(0)
        };
        match taken {
            Ok(taken) => {
                self.answered |= taken > 0;
                self.unsolicited |= taken < bytes.len();
            }
            Err(why) => self.broken = Some(why.kind()),
        }
    }
}
