//! What the target has seen, counted on the server's side so that a client's report can be held
//! against it.

use rustls::HandshakeKind;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the target has seen since it was bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// TCP connections accepted.
    pub connections: u64,
    /// Connections still open.
    pub connections_open: u64,
    /// The most that were ever open at once.
    pub connections_open_most: u64,
    /// Full handshakes completed, those with a HelloRetryRequest included.
    pub handshakes_full: u64,
    /// Full handshakes with a HelloRetryRequest.
    pub handshakes_retried: u64,
    /// Resumed handshakes completed.
    pub handshakes_resumed: u64,
    /// Handshakes that did not complete.
    pub handshakes_failed: u64,
    /// Completed full handshakes in which the client showed a certificate.
    pub client_certificates: u64,
    /// Requests read whole.
    pub requests: u64,
    /// Requests that break RFC 9112, answered by a 4xx and an end.
    pub requests_bad: u64,
    /// Bytes of request bodies.
    pub request_payload_bytes: u64,
    /// Answers handed to the kernel whole and sound.
    pub responses: u64,
    /// The same by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of the bodies of these.
    pub response_payload_bytes: u64,
    /// Answers that were given a fault instead.
    pub faults: u64,
}

/// The running counters behind [`Counts`], shared by all threads of a target. Relaxed: each counter
/// is exact, but a reading taken while requests are under way is not of one instant.
#[derive(Debug)]
pub struct TargetTally {
    connections: AtomicU64,
    connections_ended: AtomicU64,
    connections_open_most: AtomicU64,
    handshakes_full: AtomicU64,
    handshakes_retried: AtomicU64,
    handshakes_resumed: AtomicU64,
    handshakes_failed: AtomicU64,
    client_certificates: AtomicU64,
    requests: AtomicU64,
    requests_bad: AtomicU64,
    request_payload_bytes: AtomicU64,
    response_payload_bytes: AtomicU64,
    faults: AtomicU64,
    /// By status; all that can be sent are below 1,000.
    responses: Vec<AtomicU64>,
}

impl TargetTally {
    pub(crate) fn new() -> TargetTally {
        TargetTally {
            connections: AtomicU64::new(0),
            connections_ended: AtomicU64::new(0),
            connections_open_most: AtomicU64::new(0),
            handshakes_full: AtomicU64::new(0),
            handshakes_retried: AtomicU64::new(0),
            handshakes_resumed: AtomicU64::new(0),
            handshakes_failed: AtomicU64::new(0),
            client_certificates: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            requests_bad: AtomicU64::new(0),
            request_payload_bytes: AtomicU64::new(0),
            response_payload_bytes: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            responses: std::iter::repeat_with(|| AtomicU64::new(0))
                .take(1000)
                .collect(),
        }
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let statuses = self.statuses();
        // Read before `connections`, so that the difference never falls below zero.
        let ended = self.connections_ended.load(Relaxed);
        let connections = self.connections.load(Relaxed);
        Counts {
            connections,
            connections_open: connections.saturating_sub(ended),
            connections_open_most: self.connections_open_most.load(Relaxed),
            handshakes_full: self.handshakes_full.load(Relaxed),
            handshakes_retried: self.handshakes_retried.load(Relaxed),
            handshakes_resumed: self.handshakes_resumed.load(Relaxed),
            handshakes_failed: self.handshakes_failed.load(Relaxed),
            client_certificates: self.client_certificates.load(Relaxed),
            requests: self.requests.load(Relaxed),
            requests_bad: self.requests_bad.load(Relaxed),
            request_payload_bytes: self.request_payload_bytes.load(Relaxed),
            responses: statuses.values().sum(),
            statuses,
            response_payload_bytes: self.response_payload_bytes.load(Relaxed),
            faults: self.faults.load(Relaxed),
        }
    }

    fn statuses(&self) -> BTreeMap<u16, u64> {
        let counts = (0u16..)
            .zip(&self.responses)
            .map(|(status, count)| (status, count.load(Relaxed)));
        counts.filter(|&(_, count)| count > 0).collect()
    }

    pub(crate) fn connection_opened(&self) {
        let opened = self.connections.fetch_add(1, Relaxed) + 1;
        let open = opened.saturating_sub(self.connections_ended.load(Relaxed));
        self.connections_open_most.fetch_max(open, Relaxed);
    }

    pub(crate) fn connection_ended(&self) {
        self.connections_ended.fetch_add(1, Relaxed);
    }

    pub(crate) fn handshake(&self, kind: HandshakeKind, client_certificate: bool) {
        match kind {
            HandshakeKind::Resumed => {
                self.handshakes_resumed.fetch_add(1, Relaxed);
                return;
            }
            HandshakeKind::FullWithHelloRetryRequest => {
                _ = self.handshakes_retried.fetch_add(1, Relaxed)
            }
            HandshakeKind::Full => {}
        }
        // A resumed handshake shows no certificate again.
        self.handshakes_full.fetch_add(1, Relaxed);
        self.client_certificates
            .fetch_add(u64::from(client_certificate), Relaxed);
    }

    pub(crate) fn handshake_failed(&self) {
        self.handshakes_failed.fetch_add(1, Relaxed);
    }

    pub(crate) fn request(&self, payload_bytes: u64) {
        self.requests.fetch_add(1, Relaxed);
        if payload_bytes > 0 {
            self.request_payload_bytes.fetch_add(payload_bytes, Relaxed);
        }
    }

    pub(crate) fn request_bad(&self) {
        self.requests_bad.fetch_add(1, Relaxed);
    }

    pub(crate) fn response(&self, status: u16, payload_bytes: u64) {
        if let Some(count) = self.responses.get(usize::from(status)) {
            count.fetch_add(1, Relaxed);
        }
        self.response_payload_bytes
            .fetch_add(payload_bytes, Relaxed);
    }

    pub(crate) fn fault(&self) {
        self.faults.fetch_add(1, Relaxed);
    }
}
