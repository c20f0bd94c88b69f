//! An operation under way: when it was due and began, and how its latest attempt goes.
//!
//! Instants are nanoseconds of the run clock.

use crate::response::ReceivedResponse;
use measure::{CellId, HandshakeKind, Operation, OperationEnd};

/// An operation under way. It may take two attempts, which share its instants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveOperation {
    pub(crate) id: CellId,
    /// Number of the operation in the cluster.
    pub(crate) seq: u64,
    pub(crate) random: u64,
    pub(crate) intended_at: u64,
    /// Open loop: when the loop saw that it was due.
    pub(crate) noticed_at: Option<u64>,
    pub(crate) begun_at: u64,
    pub(crate) start: StartCount,
    pub(crate) early: Early,
    pub(crate) trial: Trial,
    pub(crate) attempt: Attempt,
}

/// Whether an operation is counted as started: under its address, as soon as it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartCount {
    Uncounted,
    Counted,
}

/// What an operation has to do with early data (0-RTT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Early {
    /// Its request may go out so, where its connection offers a session that allows it.
    May,
    /// Its request went out so.
    Went,
    /// The server wants its request after a handshake.
    MustNot,
}

/// Which attempt of its operation an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// The first one, over a connection that is opened for it.
    OnNewConnection,
    /// The first one, over a connection that an earlier operation had opened.
    OnReusedConnection,
    /// The second one: there is no third.
    Retry,
}

/// One attempt of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// Its first act.
    pub(crate) tried_at: u64,
    pub(crate) opening: OpeningTimes,
    pub(crate) state: AttemptState,
}

/// How long the parts of opening a connection took, where the attempt opened one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpeningTimes {
    pub(crate) dns: Option<u64>,
    pub(crate) connect: Option<u64>,
    pub(crate) handshake: Option<(HandshakeKind, u64)>,
    /// When the connection was ready.
    pub(crate) ready_at: Option<u64>,
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AttemptState {
    /// It waits for a connection that another operation opens, or for a stream of one.
    Waiting,
    /// The name is being looked up for its connection.
    Resolving,
    /// Its connection is being opened, or its handshake is all it is about.
    Opening,
    /// Its request has been sent; as early data, before its connection is open.
    Sent(SentRequest),
}

/// A request on its way, and what has come back of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentRequest {
    pub(crate) at: u64,
    /// Wire bytes of its connection that went before it.
    pub(crate) behind: u64,
    /// The socket had taken all of it.
    pub(crate) written_at: Option<u64>,
    pub(crate) first_byte_at: Option<u64>,
    /// Bytes of the answer's body that are counted already, in the second in which they came.
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

    /// Bytes of its answer came at `at`; only the first ones count. There is no answer to a request
    /// that has not been sent.
    #[inline]
    pub(crate) fn note_first_byte(&mut self, at: u64) {
        if let Some(sent) = self.sent_mut() {
            sent.first_byte_at.get_or_insert(at);
        }
    }

    /// Whether anything of its answer has come.
    #[inline]
    pub(crate) fn has_first_byte(&self) -> bool {
        self.sent().is_some_and(|sent| sent.first_byte_at.is_some())
    }

    /// Its request is sent, behind so many wire bytes of its connection.
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

    /// Its attempt opens a connection from `now` on, beginning with a lookup or a connect.
    pub(crate) fn open(&mut self, now: u64) {
        self.attempt.tried_at = now;
        self.attempt.state = AttemptState::Opening;
    }

    /// The lookup for its connection has ended.
    pub(crate) fn resolved(&mut self, now: u64) {
        self.attempt.opening.dns = Some(now.saturating_sub(self.attempt.tried_at));
        self.attempt.state = AttemptState::Opening;
    }

    /// Its connection is open, ready for its request.
    pub(crate) fn opened(&mut self, now: u64) {
        self.attempt.opening.ready_at = Some(now);
        if !self.is_sent() {
            self.attempt.state = AttemptState::Waiting;
        }
    }

    /// Its early data is as if it had not been sent: its request goes out on this connection now
    /// that the handshake is done.
    pub(crate) fn withdraw_early_data(&mut self) {
        self.early = Early::MustNot;
        self.attempt.state = AttemptState::Waiting;
    }

    /// It is to be sent once more, on this connection or another one: when it was due and begun
    /// stays, its phases are those of the new attempt.
    pub(crate) fn retry(&mut self, now: u64) {
        self.trial = Trial::Retry;
        self.attempt = Attempt {
            tried_at: now,
            opening: OpeningTimes::default(),
            state: AttemptState::Waiting,
        };
    }

    pub(crate) fn is_retry(&self) -> bool {
        self.trial == Trial::Retry
    }

    /// Whether an attempt of it has had an open connection.
    pub(crate) fn has_had_connection(&self) -> bool {
        self.trial != Trial::OnNewConnection || self.attempt.opening.ready_at.is_some()
    }

    /// Whether the server may have closed its connection before it saw the request: one that it
    /// had kept open, with nothing of an answer. Such a loss is no answer (RFC 9112 §9.3.1).
    pub(crate) fn may_have_crossed_the_end(&self) -> bool {
        self.trial == Trial::OnReusedConnection && !self.has_first_byte()
    }

    /// As it is recorded, done at `now`.
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
