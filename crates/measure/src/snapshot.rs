//! What was recorded in one interval, or the sum of any number of them.

use crate::pieces::{entry_bytes, map_bytes};
use crate::{
    CellKey, Client, Counters, Distribution, FailedRows, FollowedRedirects, Funnel, GrpcMessages,
    GrpcTally, JourneyCell, Metric, Outcome, SigningTally, StreamCounts, TokenTallies,
    WebSocketTally, WithheldBodies,
};
use std::collections::BTreeMap;

/// What was recorded in one second of one worker or agent, or any sum of such.
///
/// Merging is exact, commutative and associative; the empty snapshot is its neutral element.
/// [`Snapshot::encode`] and [`Snapshot::decode`] are the versioned wire format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Figures by key.
    pub cells: BTreeMap<CellKey, Cell>,
    /// What the load loops say of themselves.
    pub client: Client,
    /// Rows of data files that failed.
    pub failed_rows: FailedRows,
    /// Redirects that were followed.
    pub redirects: FollowedRedirects,
    /// Bodies that were not sent.
    pub withheld: WithheldBodies,
    /// What became of the tokens that requests carry.
    pub tokens: TokenTallies,
    /// Digests and signatures that were made.
    pub signing: SigningTally,
    /// What became of journeys; empty where the plan has none.
    pub journeys: BTreeMap<JourneyCell, Funnel>,
    /// Statuses of gRPC calls.
    pub grpc: GrpcTally,
    /// What servers said of gRPC calls that failed.
    pub grpc_messages: GrpcMessages,
    /// What is counted of WebSockets.
    pub websockets: WebSocketTally,
}

/// Figures of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Everything that is counted.
    pub counters: Counters,
    /// Streamed answers.
    pub streams: StreamCounts,
    /// Times by outcome and metric, response time apart.
    pub times: BTreeMap<(Outcome, Metric), Distribution>,
    /// Response times by outcome and intended second of the run clock.
    pub response_times: BTreeMap<(Outcome, u32), Distribution>,
}

impl Snapshot {
    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Snapshot) {
        for (key, cell) in &other.cells {
            self.cells.entry(*key).or_default().merge(cell);
        }
        self.client.merge(&other.client);
        self.failed_rows.merge(&other.failed_rows);
        self.redirects.merge(&other.redirects);
        self.withheld.merge(&other.withheld);
        self.tokens.merge(&other.tokens);
        self.signing.merge(&other.signing);
        for (cell, funnel) in &other.journeys {
            self.journeys.entry(*cell).or_default().merge(funnel);
        }
        self.grpc.merge(&other.grpc);
        self.grpc_messages.merge(&other.grpc_messages);
        self.websockets.merge(&other.websockets);
    }

    /// About how much memory it takes, in bytes: cells and histograms, which are nearly all of it.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let funnel = |funnel: &Funnel| entry_bytes::<JourneyCell, Funnel>() + funnel.heap_bytes();
        let funnels = self.journeys.values().map(funnel);
        self.cells
            .values()
            .map(Cell::heap_bytes)
            .chain(funnels)
            .sum()
    }

    /// Whether nothing is recorded in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.values().all(|cell| *cell == Cell::default())
            && self.client == Client::default()
            && self.failed_rows.is_empty()
            && self.redirects.is_empty()
            && self.withheld.is_empty()
            && self.tokens.is_empty()
            && self.signing == SigningTally::default()
            && self.journeys.values().all(Funnel::is_empty)
            && self.grpc.is_empty()
            && self.grpc_messages.is_empty()
            && self.websockets.is_empty()
    }
}

impl Cell {
    fn heap_bytes(&self) -> usize {
        let distributions = self.times.values().chain(self.response_times.values());
        let histograms = distributions.map(|times| times.histogram.heap_bytes());
        entry_bytes::<CellKey, Cell>()
            + self.counters.heap_bytes()
            + map_bytes(&self.times)
            + map_bytes(&self.response_times)
            + histograms.sum::<usize>()
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Cell) {
        self.counters.merge(&other.counters);
        self.streams.merge(&other.streams);
        merge_maps(&mut self.times, &other.times);
        merge_maps(&mut self.response_times, &other.response_times);
    }
}

fn merge_maps<K: Ord + Copy>(
    into: &mut BTreeMap<K, Distribution>,
    from: &BTreeMap<K, Distribution>,
) {
    for (key, distribution) in from {
        into.entry(*key).or_default().merge(distribution);
    }
}
