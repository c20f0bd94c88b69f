//! One connection: socket, TLS and the HTTP exchange under way. It moves bytes; what they mean for
//! the load is up to the worker, which only knows that the transport can be polled.

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

/// Plaintext and ciphertext of one read. Large, because big reads make downloads cheaper.
pub(crate) const READ_BYTES: usize = 128 * 1024;

/// If a server closes a connection within this time of a request, or within two round trips, it may
/// have started to close before the request arrived.
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
    /// We have finished with it and wait for the peer to close.
    Ending,
}

pub(crate) struct WorkerConnection {
    socket: Socket,
    pub(crate) tls: Option<TlsStream>,
    pub(crate) stage: ConnectionStage,
    /// The cell that its bytes are counted under: that of its latest operation.
    pub(crate) id: CellId,
    /// When connect was called.
    pub(crate) connect_at: u64,
    /// When TCP was connected.
    pub(crate) connected_at: u64,
    /// When bytes last came.
    pub(crate) heard_at: u64,
    /// When the wait for the peer to close began.
    pub(crate) ending_at: u64,
    /// Whether an operation has had its answer, or its handshake, on this connection.
    pub(crate) has_served: bool,
    /// Requests sent on it.
    pub(crate) requests_begun: u32,
    /// Requests it may carry.
    requests_each: u32,
    pub(crate) http: Http,
    /// Slots whose request has not been taken whole by the socket.
    pub(crate) unwritten: Vec<u32>,
    /// Bytes arrived that no request had asked for.
    pub(crate) unsolicited: bool,
    /// The peer has closed its side, as the kernel or TLS reported.
    pub(crate) peer_ended: bool,
    /// The peer's TLS has sent close_notify: nothing follows.
    notified: bool,
    /// The reason of the peer's GOAWAY.
    pub(crate) go_away: Option<u32>,
    /// Why nothing can be sent any more.
    pub(crate) broken: Option<Kind>,
    /// The input of an incomplete TLS record.
    leftover: Vec<u8>,
    /// HTTP/1.1: plaintext that arrived with the end of the handshake, before the request could be
    /// sent.
    ahead: Vec<u8>,
    /// Output that the socket has not taken yet, and the offset up to which it has gone since.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// HTTP/1.1: the rest of the request's body.
    pub(crate) upload: Option<BodyUpload>,
    /// Wire bytes written over its lifetime.
    pub(crate) sent_bytes: u64,
    /// Wire bytes read over its lifetime.
    pub(crate) received_bytes: u64,
    /// The kernel's counters at the last look; `None` before the first.
    path_mark: Option<Box<PathMark>>,
}

/// The HTTP of a connection.
pub(crate) enum Http {
    /// HTTP/1.1: one response at a time.
    One(ResponseParser),
    /// HTTP/2: as many responses at once as there are lanes.
    Two(Box<Http2Connection>),
}

/// The outcome of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing to read for now.
    Nothing,
    /// Bytes, read `at`. `answered` if some belong to a response, `more` if more may be readable at
    /// once, `closed` if the peer has announced that nothing follows.
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

    /// The socket to poll.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.socket.0
    }

    /// Why the transport failed; `None` if it did not.
    pub(crate) fn failure(&self) -> Option<Kind> {
        self.socket.failure()
    }

    /// Makes every write leave at once: small ones do not wait for an acknowledgement.
    pub(crate) fn send_at_once(&self) {
        self.socket.send_at_once();
    }

    /// Closes our side; the peer reads an end of stream.
    pub(crate) fn end_sending(&self) {
        self.socket.shutdown();
    }

    /// Makes closing the socket send a reset.
    pub(crate) fn reset_on_close(&self) {
        self.socket.reset_on_close();
    }

    /// Whether the peer meant an end of the stream. Under TLS anyone on the path can cut a
    /// connection, and only a close_notify comes from the peer itself (RFC 9112 §9.8).
    pub(crate) fn is_end_meant(&self) -> bool {
        self.tls.is_none() || self.notified
    }

    /// Samples the path at `now` from the kernel's counters, as the change since the last sample;
    /// `None` if the kernel has no counters for it.
    pub(crate) fn probe_path(&mut self, now: u64) -> Option<PathSample> {
        let info = self.socket.path()?;
        let from = self.connected_at;
        let mark = self
            .path_mark
            .get_or_insert_with(|| Box::new(PathMark::new(from)));
        Some(mark.pass(now, info))
    }

    /// Whether the server cannot have worked on a request of this connection, which ended at `now`:
    /// the request never reached the server's kernel, or the close was already under way when it
    /// did.
    pub(crate) fn is_unseen(&self, sent: &SentRequest, now: u64) -> bool {
        let delivery = self.socket.delivery();
        let crossing = CROSSING_NS.max(delivery.map_or(0, |delivery| 2 * delivery.rtt_ns));
        let has_come = delivery.is_none_or(|delivery| delivery.acknowledged > sent.behind);
        !has_come || now.saturating_sub(sent.at) <= crossing
    }

    /// HTTP/1.1: whether the response is complete.
    #[inline]
    pub(crate) fn is_answered(&self) -> bool {
        matches!(&self.http, Http::One(response) if response.is_whole())
    }

    /// HTTP/1.1: the stream has ended. Returns whether that completes the response.
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

    /// Whether no request may follow its latest response, even if it has not had all its requests.
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
                // If the peer allows no stream, an operation begins and waits for one, so that its
                // time-out runs.
                stands && !self.is_full() && (session.accepts() || session.is_stuck())
            }
        }
    }

    /// Whether HTTP/2 frames wait to be encrypted.
    pub(crate) fn has_frames(&self) -> bool {
        matches!(&self.http, Http::Two(session) if !session.out.is_empty())
    }

    /// The part that has arrived of the lane's latest response.
    #[inline]
    pub(crate) fn answer(&self, lane: u32) -> ReceivedResponse {
        match &self.http {
            Http::One(response) => response.answer(),
            Http::Two(session) => session.answer(lane),
        }
    }

    /// Whether all of the lane's request has been encrypted: nothing is held back by our upload
    /// window or by HTTP/2's flow control.
    pub(crate) fn is_sent(&self, lane: u32) -> bool {
        match &self.http {
            Http::One(_) => self.upload.is_none(),
            Http::Two(session) => session.is_sent(lane),
        }
    }

    /// Moves the waiting HTTP/2 frames to `outgoing`.
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

    /// Appends the next window of the request's body to `plain`. Returns whether there was one.
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

    /// Sends `outgoing` behind what is still unsent, and empties it. Returns whether everything
    /// went out.
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
            // The buffer of a large request is of no use to what follows it.
            if self.upload.is_none() && unsent.capacity() >= body::WINDOW {
                unsent = Vec::new();
            }
        }
        self.unsent = unsent;
        sent
    }

    /// Writes as much of `bytes` as the socket takes now. Returns how much that was.
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

    /// Appends a request's bytes to `outgoing`, encrypted if the connection uses TLS.
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

    /// Reads once and processes the input: TLS first, then the response if `expecting` one.
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

    /// Returns whether any of it belonged to a response, and whether the peer has sent
    /// close_notify.
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

    /// Takes bytes that arrived before the request was sent as its answer, just as if they had
    /// arrived a moment later. Returns whether there were any.
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

    /// Announces the close: GOAWAY in HTTP/2, close_notify if the connection is encrypted.
    pub(crate) fn notify_close(&mut self, outgoing: &mut Vec<u8>) {
        if let Http::Two(session) = &mut self.http
            && self.stage == ConnectionStage::Open
        {
            session.say_good_bye();
            // If TLS has failed the frames are not sent.
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
    /// Buffer for what arrives with the end of the handshake.
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
