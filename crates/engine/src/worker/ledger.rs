//! The record of a worker, and how it reaches the collector: one interval after the other, by swap.

use super::handover::{Handover, WorkerFigures};
use crate::arrival::WaitingArrival;
use crate::connection::WorkerConnection;
use crate::live_operation::{LiveOperation, StartCount};
use crate::request_tallies::RequestTallies;
use crate::tls::Chains;
use measure::{CellId, Failure, FailureStage, Handshake, Kind, NotSent, Recorder, Spare};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

/// The recorder of a worker and the channel through which its intervals leave.
///
/// Everything of a second is recorded before the second is cut: every method that records rolls
/// first.
pub(super) struct Ledger {
    pub(super) recorder: Recorder,
    /// What is counted while requests are written; it joins the record when a second is cut.
    pub(super) tallies: RequestTallies,
    worker: usize,
    handover: SyncSender<Handover>,
    spares: Receiver<Spare>,
    /// Messages that the collector has not taken yet.
    backlog: VecDeque<Handover>,
    chains: Chains,
}

/// The outcome of ALPN, compared with what the plan asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AlpnOutcome {
    AsAsked,
    NoHttp2,
}

impl Ledger {
    pub(super) fn new(
        recorder: Recorder,
        tallies: RequestTallies,
        worker: usize,
        (handover, spares): (SyncSender<Handover>, Receiver<Spare>),
    ) -> Ledger {
        Ledger {
            recorder,
            tallies,
            worker,
            handover,
            spares,
            backlog: VecDeque::new(),
            chains: Chains::default(),
        }
    }

    /// Cuts every interval that ends at or before `now`, before anything of a later second is
    /// recorded.
    #[inline]
    pub(super) fn roll(&mut self, now: u64) {
        while now >= self.recorder.boundary() {
            self.cut(now);
        }
    }

    /// Reports that the worker began at `at` of the monotonic clock.
    pub(super) fn begin(&mut self, at: u64) {
        let worker = self.worker;
        self.tell(Handover::Began { worker, at });
    }

    /// Reports that no more operations begin.
    pub(super) fn drain(&mut self) {
        let worker = self.worker;
        self.tell(Handover::Draining { worker });
    }

    /// Directs the operation to this address: it counts as started there, even if it was counted
    /// elsewhere before.
    pub(super) fn go_to(&mut self, operation: &mut LiveOperation, address: u16) {
        let before = operation.id;
        operation.id.address = address;
        if operation.start == StartCount::Counted && before != operation.id {
            self.recorder.count_move(before, operation.id);
        }
        self.count_start(operation);
    }

    /// Counts the operation as started, once, under its address; under none if it never had one.
    #[inline]
    pub(super) fn count_start(&mut self, operation: &mut LiveOperation) {
        let before = std::mem::replace(&mut operation.start, StartCount::Counted);
        if before == StartCount::Uncounted {
            self.recorder.count_start(operation.id);
        }
    }

    /// Records an arrival that is never sent, given up at `now` for the reason `kind`; the answer
    /// to its request would be a stream if it `is_streamed`.
    pub(super) fn not_sent(
        &mut self,
        (request, is_streamed): (u16, bool),
        waiting: WaitingArrival,
        kind: Kind,
        now: u64,
    ) {
        self.roll(now);
        let arrival = waiting.arrival;
        self.recorder.not_sent(&NotSent {
            key: CellId {
                period: arrival.period,
                request,
                address: 0, // it went nowhere
            },
            intended_at: arrival.intended_at,
            noticed_at: waiting.noticed_at,
            given_up_at: now,
            failure: Failure {
                stage: FailureStage::Load,
                kind,
            },
            is_streamed,
        });
    }

    /// Tallies what the connection's finished handshake agreed on. `unsent` bytes of it still wait
    /// for the socket.
    pub(super) fn tally_handshake(
        &mut self,
        connection: &WorkerConnection,
        operation: &mut LiveOperation,
        unsent: u64,
        now: u64,
    ) -> AlpnOutcome {
        let Some(finished) = connection.finished_handshake(unsent) else {
            return AlpnOutcome::AsAsked;
        };
        let chain = finished.chain.map(|chain| self.chains.describe(chain));
        let handshake = Handshake {
            negotiated: &finished.negotiated,
            chain: chain.as_ref(),
            offered: finished.offered,
            none_at_hand: finished.none_at_hand,
            early_data: finished.early_data,
            bytes_sent: finished.sent_bytes,
            bytes_received: finished.received_bytes,
        };
        self.recorder.handshake(operation.id, handshake);
        let took = now.saturating_sub(finished.begun_at);
        operation.attempt.opening.handshake = Some((finished.negotiated.kind, took));
        if finished.is_as_asked {
            AlpnOutcome::AsAsked
        } else {
            AlpnOutcome::NoHttp2
        }
    }

    /// Counts bytes of an unfinished body in the second in which they arrive, not in that of its
    /// end.
    #[inline]
    pub(super) fn count_body(
        &mut self,
        connection: &WorkerConnection,
        lane: u32,
        operation: &mut LiveOperation,
        at: u64,
    ) {
        if let Some(sent) = operation.sent_mut() {
            let came = connection.answer(lane).body_bytes;
            let before = std::mem::replace(&mut sent.payload_counted, came);
            let new = came.saturating_sub(before);
            if new > 0 {
                self.recorder.payload(operation.id, at, new);
            }
        }
    }

    /// Counts the bytes that the socket of a connection took.
    #[inline]
    pub(super) fn count_sent(&mut self, id: CellId, bytes: u64, now: u64) {
        self.roll(now);
        self.recorder.wire_bytes(id, now, bytes, 0);
    }

    /// Ends the record at `now`: everything that is left goes to the collector.
    pub(super) fn end(mut self, now: u64, figures: WorkerFigures) {
        self.roll(now);
        self.cut(now);
        let worker = self.worker;
        self.backlog.push_back(Handover::Ended { worker, figures });
        for last in self.backlog {
            // The collector lives until every worker has ended; by now blocking delays nothing.
            let _ = self.handover.send(last);
        }
    }

    #[cold]
    fn cut(&mut self, now: u64) {
        self.tallies.drain_into(&mut self.recorder);
        let spare = self.spares.try_recv().ok();
        let (worker, number) = (self.worker, self.recorder.interval());
        let interval = self.recorder.cut(now, spare);
        self.tell(Handover::Interval {
            worker,
            number,
            interval,
        });
    }

    /// Sends the collector as much as it takes; the rest waits here, so that the load does not
    /// wait.
    fn tell(&mut self, message: Handover) {
        self.backlog.push_back(message);
        while let Some(next) = self.backlog.pop_front() {
            if let Err(TrySendError::Full(back)) = self.handover.try_send(next) {
                self.backlog.push_front(back);
                return;
            }
        }
    }
}
