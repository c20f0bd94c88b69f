//! An operation under way: when it was due and began, and the progress of its latest attempt.
//!
//! Instants are nanoseconds of the run clock.

use crate::hops::HopId;
use crate::request_tallies::TokenUse;
use crate::response::ReceivedResponse;
use measure::{CellId, HandshakeKind, Operation, OperationEnd};

/// An operation under way. It can take two attempts, and as many more for each redirect that it
/// follows; all of them share its instants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveOperation {
    pub(crate) id: CellId,
    /// Number of the operation in the cluster.
    pub(crate) seq: u64,
    pub(crate) random: u64,
    pub(crate) intended_at: u64,
    /// Open loop: when the loop noticed that it was due.
    pub(crate) noticed_at: Option<u64>,
    pub(crate) begun_at: u64,
    pub(crate) start: StartCount,
    pub(crate) early: Early,
    pub(crate) trial: Trial,
    /// Where it is, if it has followed redirects.
    pub(crate) hop: Option<HopId>,
    pub(crate) attempt: Attempt,
}

/// Whether an operation has been counted as started; it is counted once its address is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartCount {
    Uncounted,
    Counted,
}

/// How an operation relates to early data (0-RTT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Early {
    /// Its request may go out as early data, if its connection offers a session that allows it.
    May,
    /// Its request went out as early data.
    Went { token: TokenUse },
    /// The server wants its request after the handshake.
    MustNot,
}

/// Whether an attempt is the first of its operation, and how that got its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// The first one, on a connection that is opened for it.
    OnNewConnection,
    /// The first one, on a connection that an earlier operation opened.
    OnReusedConnection,
    /// The second one: there is no third.
    Retry,
}

/// One attempt of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// When the attempt began.
    pub(crate) tried_at: u64,
    pub(crate) opening: OpeningTimes,
    pub(crate) state: AttemptState,
}

/// How long each part of opening a connection took, if the attempt opened one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpeningTimes {
    pub(crate) dns: Option<u64>,
    pub(crate) connect: Option<u64>,
    pub(crate) handshake: Option<(HandshakeKind, u64)>,
    /// When the connection was ready.
    pub(crate) ready_at: Option<u64>,
}

/// How far an attempt has got.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AttemptState {
    /// Waits for a connection that another operation is opening, or for a stream on one.
    Waiting,
    /// The name is being looked up for its connection.
    Resolving,
    /// Its connection is being opened, or the handshake is all that it does.
    Opening,
    /// Its request has been sent; with early data, before the connection is open.
    Sent(SentRequest),
}

/// A request that has been sent, and what has come back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentRequest {
    pub(crate) at: u64,
    /// Wire bytes sent on its connection before it.
    pub(crate) behind: u64,
    /// When the socket had taken all of it.
    pub(crate) written_at: Option<u64>,
    pub(crate) first_byte_at: Option<u64>,
    /// Bytes of the answer's body that are counted already, in the seconds in which they arrived.
    pub(crate) payload_counted: u64,
}

impl LiveOperation {
    #[inline]
    pub(crate) fn new(
        id: CellId,
        seq: u64,
        random: u64,
        intended_at: u64,
        begun_at: u64,
    ) -> LiveOperation {
        LiveOperation {
            id,
            seq,
            random,
            intended_at,
            noticed_at: None,
            begun_at,
            start: StartCount::Uncounted,
            early: Early::May,
            trial: Trial::OnNewConnection,
            hop: None,
            attempt: Attempt {
                tried_at: begun_at,
                opening: OpeningTimes::default(),
                state: AttemptState::Waiting,
            },
        }
    }

    #[inline]
    pub(crate) fn sent(&self) -> Option<&SentRequest> {
        match &self.attempt.state {
            AttemptState::Sent(sent) => Some(sent),
            AttemptState::Waiting | AttemptState::Resolving | AttemptState::Opening => None,
        }
    }

    #[inline]
    pub(crate) fn sent_mut(&mut self) -> Option<&mut SentRequest> {
        match &mut self.attempt.state {
            AttemptState::Sent(sent) => Some(sent),
            AttemptState::Waiting | AttemptState::Resolving | AttemptState::Opening => None,
        }
    }

    #[inline]
    pub(crate) fn is_sent(&self) -> bool {
        self.sent().is_some()
    }

    /// Notes that bytes of its answer arrived at `at`; only the first ones count. A request that
    /// has not been sent has no answer.
    #[inline]
    pub(crate) fn note_first_byte(&mut self, at: u64) {
        if let Some(sent) = self.sent_mut() {
            // An answer that was read before its request was sent came with it.
            sent.first_byte_at.get_or_insert(at.max(sent.at));
        }
    }

    /// Whether any of its answer has arrived.
    #[inline]
    pub(crate) fn has_first_byte(&self) -> bool {
        self.sent().is_some_and(|sent| sent.first_byte_at.is_some())
    }

    /// Marks its request as sent, after `behind` wire bytes on its connection.
    #[inline]
    pub(crate) fn send(&mut self, now: u64, behind: u64) {
        self.attempt.state = AttemptState::Sent(SentRequest {
            at: now,
            behind,
            written_at: None,
            first_byte_at: None,
            payload_counted: 0,
        });
    }

    /// Its attempt opens a connection from `now` on, starting with a lookup or a connect.
    pub(crate) fn open(&mut self, now: u64) {
        self.attempt.tried_at = now;
        self.attempt.state = AttemptState::Opening;
    }

    /// Notes that the lookup for its connection has ended.
    pub(crate) fn resolved(&mut self, now: u64) {
        self.attempt.opening.dns = Some(now.saturating_sub(self.attempt.tried_at));
        self.attempt.state = AttemptState::Opening;
    }

    /// Notes that its connection is open, ready for its request.
    pub(crate) fn opened(&mut self, now: u64) {
        self.attempt.opening.ready_at = Some(now);
        if !self.is_sent() {
            self.attempt.state = AttemptState::Waiting;
        }
    }

    /// Treats its early data as if it had not been sent: the request goes out on this connection
    /// now that the handshake is done.
    pub(crate) fn withdraw_early_data(&mut self) {
        self.early = Early::MustNot;
        self.attempt.state = AttemptState::Waiting;
    }

    /// Prepares it to be sent once more, on this connection or another one. The instants at which
    /// it was due and begun remain; its phases are those of the new attempt.
    pub(crate) fn retry(&mut self, now: u64) {
        self.trial = Trial::Retry;
        self.attempt = Attempt {
            tried_at: now,
            opening: OpeningTimes::default(),
            state: AttemptState::Waiting,
        };
    }

    /// Prepares it to follow a redirect to `hop`, on this connection if that `stays`. The instants
    /// at which it was due and begun remain; its phases are those of the new attempt.
    pub(crate) fn redirect(&mut self, hop: HopId, stays: bool, now: u64) {
        self.retry(now);
        self.hop = Some(hop);
        self.trial = if stays {
            Trial::OnReusedConnection
        } else {
            Trial::OnNewConnection
        };
        if matches!(self.early, Early::Went { .. }) {
            self.early = Early::May;
        }
    }

    pub(crate) fn is_retry(&self) -> bool {
        self.trial == Trial::Retry
    }

    /// Whether an attempt has had an open connection, since its latest redirect if it followed one.
    pub(crate) fn has_had_connection(&self) -> bool {
        self.trial != Trial::OnNewConnection || self.attempt.opening.ready_at.is_some()
    }

    /// Whether the server may have closed the connection before it saw the request: the connection
    /// was kept open from an earlier operation, and no byte of an answer came. Such a loss is not
    /// an answer (RFC 9112 §9.3.1).
    pub(crate) fn may_have_crossed_the_end(&self) -> bool {
        self.trial == Trial::OnReusedConnection && !self.has_first_byte()
    }

    /// Returns what is recorded of it, done at `now`.
    #[inline]
    pub(crate) fn ended(&self, answer: ReceivedResponse, end: OperationEnd, now: u64) -> Operation {
        let sent = self.sent();
        let opening = &self.attempt.opening;
        let payload_counted = sent.map_or(0, |sent| sent.payload_counted);
        Operation {
            key: self.id,
            intended_at: self.intended_at,
            noticed_at: self.noticed_at,
            begun_at: self.begun_at,
            tried_at: self.attempt.tried_at,
            ready_at: opening.ready_at,
            sent_at: sent.map(|sent| sent.at),
            written_at: sent.and_then(|sent| sent.written_at),
            first_byte_at: sent.and_then(|sent| sent.first_byte_at),
            done_at: now,
            dns: opening.dns,
            connect: opening.connect,
            handshake: opening.handshake,
            end,
            status: answer.status,
            payload_bytes: answer.body_bytes.saturating_sub(payload_counted),
        }
    }
}
