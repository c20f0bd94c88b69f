//! The versioned encoding of a [`Snapshot`]: a version byte, then deflated postcard, in which
//! histograms are the counters of HdrHistogram V2. All of it is one deflate stream: a small
//! histogram takes longer to build the code tables of its own than to read. Decoding trusts
//! nothing: sizes are bounded, and a distribution whose figures contradict each other is refused.

use crate::counts::{MAX_COUNT, read_counts, write_counts};
use crate::deflate::{self, InflateError, Inflater};
use crate::failed_rows::row_bytes;
use crate::grpc_messages::text_bytes;
use crate::pieces::{PieceError, Pieces, entry_bytes};
use crate::{
    Cell, CellKey, Client, Counters, Distribution, FailedRow, FailedRows, FollowedRedirects,
    Funnel, GroupTally, GrpcMessages, GrpcTally, Histogram, HistogramError, JourneyCell,
    JourneyCounts, Metric, Outcome, PathCounts, PathSums, RequestCounts, RowId, SigningTally,
    Snapshot, StepCounts, StreamCounts, TokenTallies, TokenTally, WebSocketTally, WithheldBodies,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Version of what [`Snapshot::encode`] writes. Its golden file stands in `tests/golden`.
pub(crate) const VERSION: u8 = 18;

/// The versions before, of which run logs are read: without the times of pings of WebSockets,
/// before that without such pings, without the texts of gRPC calls that failed, without WebSockets,
/// without gRPC calls, groups and steps that were skipped, without journeys, then without tokens
/// and signing, without withheld bodies, without streamed answers, without followed redirects, and
/// without failed rows.
const WITHOUT_GRPC_MESSAGES: u8 = 15;
const WITHOUT_WEBSOCKETS: u8 = 14;
const WITHOUT_GRPC_AND_GROUPS: u8 = 13;
const WITHOUT_JOURNEYS: u8 = 12;
const WITHOUT_TOKENS: u8 = 11;
const WITHOUT_WITHHELD: u8 = 10;
const WITHOUT_STREAMS: u8 = 9;
const WITHOUT_REDIRECTS: u8 = 8;
const WITHOUT_ROWS: u8 = 7;

/// Bytes that a snapshot may be before it is deflated: a hostile one inflates a thousandfold.
const MAX_PLAIN_BYTES: usize = Snapshot::MAX_ENCODED_BYTES;

/// Room for plain bytes that is kept from one snapshot to the next.
const KEPT_PLAIN_BYTES: usize = 1 << 20;

/// Why bytes are not a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// There are no bytes at all.
    #[error("snapshot has no bytes")]
    Empty,
    /// Longer than [`Snapshot::MAX_ENCODED_BYTES`], or it would take too much memory.
    #[error("snapshot of {found} bytes, at most {most} are read")]
    TooLarge {
        /// Bytes that came, or that it takes so far.
        found: usize,
        /// Bound on them.
        most: usize,
    },
    /// The bytes have another version.
    #[error(
        "snapshot of version {found}, only versions {WITHOUT_ROWS} to {VERSION} are understood; \
         agents and coordinator must be of one version"
    )]
    Version {
        /// Its version byte.
        found: u8,
    },
    /// Not what the version says.
    #[error("snapshot is malformed: {reason}")]
    Malformed {
        /// What is wrong.
        reason: String,
    },
    /// A histogram in it is broken.
    #[error("in a snapshot, {0}")]
    Histogram(#[from] HistogramError),
}

impl Snapshot {
    /// Longest encoding that [`Snapshot::decode`] reads.
    pub const MAX_ENCODED_BYTES: usize = 64 << 20;

    /// The snapshot as bytes of the current version.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let cells = self.cells.iter();
        let cells: Vec<_> = cells.map(|(key, cell)| WireCell::new(*key, cell)).collect();
        let rows: Vec<_> = self.failed_rows.iter().collect();
        let redirects: Vec<_> = self.redirects.iter().collect();
        let streams: Vec<_> = self.streams().collect();
        let withheld: Vec<_> = self.withheld.iter().collect();
        let journeys = self.journeys.iter();
        let journeys: Vec<_> = journeys
            .map(|(cell, funnel)| WireFunnel::new(*cell, funnel))
            .collect();
        let client = WireClient::new(&self.client);
        let beside = (rows, redirects, streams, withheld);
        let tokens = (&self.tokens, self.signing);
        let grpc: Vec<_> = self.grpc.iter().collect();
        let journeys = (journeys, self.beside_funnels());
        let sockets: Vec<_> = self.websockets.iter().collect();
        let messages: Vec<_> = self.grpc_messages.iter().collect();
        let calls = (grpc, sockets, messages);
        let plain = postcard::to_allocvec(&(cells, client, beside, tokens, journeys, calls))
            .expect("encoding into memory cannot fail");
        let mut encoded = vec![VERSION];
        deflate::append(&plain, &mut encoded);
        encoded
    }

    /// What the funnels of plans have that skip steps or have groups.
    fn beside_funnels(&self) -> Vec<WireBesideFunnel<'static>> {
        let funnels = self.journeys.iter();
        let funnels = funnels.filter(|(_, it)| !(it.skipped.is_empty() && it.groups.is_empty()));
        funnels
            .map(|(cell, funnel)| WireBesideFunnel::new(*cell, funnel))
            .collect()
    }

    fn streams(&self) -> impl Iterator<Item = (&CellKey, &StreamCounts)> {
        let counts = self.cells.iter().map(|(key, cell)| (key, &cell.streams));
        counts.filter(|(_, counts)| !counts.is_empty())
    }

    /// Reads what [`Snapshot::encode`] wrote.
    ///
    /// # Errors
    /// Where the bytes are of another version, too large, malformed, or contradict themselves.
    /// Hostile bytes cost bounded memory and time.
    pub fn decode(encoded: &[u8]) -> Result<Snapshot, DecodeError> {
        SnapshotDecoder::new().decode(encoded)
    }
}

/// Decodes many snapshots with one inflate buffer.
pub struct SnapshotDecoder {
    inflater: Inflater,
    plain: Vec<u8>,
}

impl SnapshotDecoder {
    /// Ready for any number of snapshots.
    #[must_use]
    pub fn new() -> SnapshotDecoder {
        SnapshotDecoder {
            inflater: Inflater::new(),
            plain: Vec::new(),
        }
    }

    /// Reads what [`Snapshot::encode`] wrote. Nothing of one snapshot is left for the next.
    ///
    /// # Errors
    /// As [`Snapshot::decode`].
    pub fn decode(&mut self, encoded: &[u8]) -> Result<Snapshot, DecodeError> {
        if encoded.len() > Snapshot::MAX_ENCODED_BYTES {
            return Err(DecodeError::TooLarge {
                found: encoded.len(),
                most: Snapshot::MAX_ENCODED_BYTES,
            });
        }
        match encoded.split_first() {
            None => Err(DecodeError::Empty),
            Some((&version @ WITHOUT_ROWS..=VERSION, body)) => self.decode_body(version, body),
            Some((&found, _)) => Err(DecodeError::Version { found }),
        }
    }

    fn decode_body(&mut self, version: u8, body: &[u8]) -> Result<Snapshot, DecodeError> {
        let inflated = self
            .inflater
            .inflate(body, MAX_PLAIN_BYTES, &mut self.plain);
        let snapshot = match inflated {
            Ok(()) => decode_plain(version, &self.plain),
            Err(InflateError::Broken) => Err(malformed("it is no deflate stream")),
            Err(InflateError::TooLong) => Err(DecodeError::TooLarge {
                found: self.plain.len(),
                most: MAX_PLAIN_BYTES,
            }),
        };
        self.plain.clear();
        self.plain.shrink_to(KEPT_PLAIN_BYTES);
        snapshot
    }
}

impl Default for SnapshotDecoder {
    fn default() -> SnapshotDecoder {
        SnapshotDecoder::new()
    }
}

fn decode_plain(version: u8, plain: &[u8]) -> Result<Snapshot, DecodeError> {
    let mut reader = SnapshotReader(Pieces::new(plain));
    let mut snapshot = reader.snapshot()?;
    if version > WITHOUT_ROWS {
        snapshot.failed_rows = reader.failed_rows()?;
    }
    if version > WITHOUT_REDIRECTS {
        snapshot.redirects = reader.request_counts()?;
    }
    if version > WITHOUT_STREAMS {
        reader.streams_into(&mut snapshot.cells)?;
    }
    if version > WITHOUT_WITHHELD {
        snapshot.withheld = reader.withheld()?;
    }
    if version > WITHOUT_TOKENS {
        snapshot.tokens = read_tokens(&mut reader.0)?;
        snapshot.signing = reader.0.take()?;
    }
    if version > WITHOUT_JOURNEYS {
        snapshot.journeys = reader.journeys()?;
    }
    if version > WITHOUT_GRPC_AND_GROUPS {
        reader.beside_funnels_into(&mut snapshot.journeys)?;
        snapshot.grpc = reader.request_counts()?;
    }
    if version > WITHOUT_WEBSOCKETS {
        snapshot.websockets = reader.request_counts()?;
    }
    if version > WITHOUT_GRPC_MESSAGES {
        snapshot.grpc_messages = reader.grpc_messages()?;
    }
    if !snapshot.journeys.values().all(is_possible_funnel) {
        return Err(malformed("counts and times of a journey disagree"));
    }
    reader.0.end()?;
    Ok(snapshot)
}

#[derive(Serialize)]
struct WireCell<'a> {
    key: CellKey,
    counters: &'a Counters,
    times: Vec<WireDistribution<'a, Metric>>,
    response_times: Vec<WireDistribution<'a, u32>>,
}

#[derive(Serialize, Deserialize)]
struct WireClient<'a> {
    /// Absent where it is empty.
    #[serde(borrow)]
    loop_lag: Option<WireDistribution<'a, ()>>,
    open_ns: u64,
    fired_until_ns: u64,
    /// Distributions of the path, each absent if it is empty.
    #[serde(borrow)]
    round_trip: Option<WireDistribution<'a, ()>>,
    #[serde(borrow)]
    above_least: Option<WireDistribution<'a, ()>>,
    path_sums: PathSums,
}

/// Distributions are absent if they are empty.
#[derive(Serialize, Deserialize)]
struct WireFunnel<'a> {
    cell: JourneyCell,
    counts: JourneyCounts,
    steps: Vec<StepCounts>,
    #[serde(borrow)]
    time: Option<WireDistribution<'a, ()>>,
    #[serde(borrow)]
    wait: Option<WireDistribution<'a, ()>>,
}

/// What a funnel has beside those of plans without groups and steps made once.
#[derive(Serialize, Deserialize)]
struct WireBesideFunnel<'a> {
    cell: JourneyCell,
    skipped: Vec<u64>,
    #[serde(borrow)]
    groups: Vec<WireGroup<'a>>,
}

/// Distributions are absent if they are empty.
#[derive(Serialize, Deserialize)]
struct WireGroup<'a> {
    begun: u64,
    completed: u64,
    #[serde(borrow)]
    time: Option<WireDistribution<'a, ()>>,
    #[serde(borrow)]
    wait: Option<WireDistribution<'a, ()>>,
}

#[derive(Serialize, Deserialize)]
struct WireDistribution<'a, K> {
    outcome: Outcome,
    /// Metric, or intended second.
    of: K,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
    overflow: u64,
    /// As in HdrHistogram V2, without its header: all have the same buckets.
    #[serde(borrow, serialize_with = "as_bytes")]
    counts: Cow<'a, [u8]>,
}

fn as_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

impl<'a> WireCell<'a> {
    fn new(key: CellKey, cell: &'a Cell) -> WireCell<'a> {
        WireCell {
            key,
            counters: &cell.counters,
            times: write_all(&cell.times),
            response_times: write_all(&cell.response_times),
        }
    }
}

impl WireClient<'_> {
    fn new(client: &Client) -> WireClient<'static> {
        let &Client {
            ref loop_lag,
            open_ns,
            fired_until_ns,
            ref path,
        } = client;
        WireClient {
            loop_lag: write_filled(loop_lag),
            open_ns,
            fired_until_ns,
            round_trip: write_filled(&path.round_trip),
            above_least: write_filled(&path.above_least),
            path_sums: path.sums,
        }
    }
}

impl WireFunnel<'_> {
    fn new(cell: JourneyCell, funnel: &Funnel) -> WireFunnel<'static> {
        WireFunnel {
            cell,
            counts: funnel.counts,
            steps: funnel.steps.clone(),
            time: write_filled(&funnel.time),
            wait: write_filled(&funnel.wait),
        }
    }
}

impl WireBesideFunnel<'_> {
    fn new(cell: JourneyCell, funnel: &Funnel) -> WireBesideFunnel<'static> {
        let group = |group: &GroupTally| WireGroup {
            begun: group.begun,
            completed: group.completed,
            time: write_filled(&group.time),
            wait: write_filled(&group.wait),
        };
        WireBesideFunnel {
            cell,
            skipped: funnel.skipped.clone(),
            groups: funnel.groups.iter().map(group).collect(),
        }
    }
}

fn write_filled(times: &Distribution) -> Option<WireDistribution<'static, ()>> {
    let is_filled = !times.is_empty();
    is_filled.then(|| write(Outcome::Ok, (), times))
}

fn write_all<K: Copy>(
    distributions: &BTreeMap<(Outcome, K), Distribution>,
) -> Vec<WireDistribution<'static, K>> {
    let filled = distributions.iter().filter(|(_, times)| !times.is_empty());
    filled
        .map(|(&(outcome, of), distribution)| write(outcome, of, distribution))
        .collect()
}

fn write<K>(outcome: Outcome, of: K, distribution: &Distribution) -> WireDistribution<'static, K> {
    let mut counts = Vec::new();
    write_counts(&distribution.histogram, &mut counts);
    let Distribution {
        count,
        sum,
        sum_of_squares,
        min,
        max,
        overflow,
        ..
    } = *distribution;
    WireDistribution {
        outcome,
        of,
        count,
        sum,
        sum_of_squares,
        min,
        max,
        overflow,
        counts: Cow::Owned(counts),
    }
}

/// Reads the tallies of tokens, each with its place.
pub(crate) fn read_tokens(pieces: &mut Pieces<'_>) -> Result<TokenTallies, PieceError> {
    let mut tokens = TokenTallies::default();
    for _ in 0..pieces.take::<usize>()? {
        let (place, tally): (u16, TokenTally) = pieces.take()?;
        pieces.keep(entry_bytes::<u16, TokenTally>())?;
        tokens.add(place, &tally);
    }
    Ok(tokens)
}

/// Turns wire types into ours, one after the other.
struct SnapshotReader<'a>(Pieces<'a>);

impl SnapshotReader<'_> {
    fn snapshot(&mut self) -> Result<Snapshot, DecodeError> {
        let mut cells = BTreeMap::new();
        for _ in 0..self.0.take::<usize>()? {
            self.0.keep(entry_bytes::<CellKey, Cell>())?;
            if cells.insert(self.0.take()?, self.cell()?).is_some() {
                return Err(malformed("a cell comes twice"));
            }
        }
        let client = self.client()?;
        Ok(Snapshot {
            cells,
            client,
            failed_rows: FailedRows::default(),
            redirects: FollowedRedirects::default(),
            withheld: WithheldBodies::default(),
            tokens: TokenTallies::default(),
            signing: SigningTally::default(),
            journeys: BTreeMap::new(),
            grpc: GrpcTally::default(),
            grpc_messages: GrpcMessages::default(),
            websockets: WebSocketTally::default(),
        })
    }

    fn request_counts<S: Copy + Ord + DeserializeOwned>(
        &mut self,
    ) -> Result<RequestCounts<S>, DecodeError> {
        let mut counts = RequestCounts::default();
        for _ in 0..self.0.take::<usize>()? {
            let (request, status, number) = self.0.take()?;
            self.0.keep(entry_bytes::<(u16, S), u64>())?;
            counts.count(request, status, number);
        }
        Ok(counts)
    }

    /// More texts than are kept are left out, as in any sum.
    fn grpc_messages(&mut self) -> Result<GrpcMessages, DecodeError> {
        let mut messages = GrpcMessages::default();
        for _ in 0..self.0.take::<usize>()? {
            let (request, status, text, number): (_, _, &str, _) = self.0.take()?;
            self.0.keep(text_bytes(text))?;
            messages.count(request, status, text, number);
        }
        Ok(messages)
    }

    fn withheld(&mut self) -> Result<WithheldBodies, DecodeError> {
        let mut withheld = WithheldBodies::default();
        for _ in 0..self.0.take::<usize>()? {
            let (request, number) = self.0.take()?;
            self.0.keep(entry_bytes::<u16, u64>())?;
            withheld.count(request, number);
        }
        Ok(withheld)
    }

    fn journeys(&mut self) -> Result<BTreeMap<JourneyCell, Funnel>, DecodeError> {
        let mut journeys = BTreeMap::new();
        for _ in 0..self.0.take::<usize>()? {
            let WireFunnel {
                cell,
                counts,
                steps,
                time,
                wait,
            } = self.0.take()?;
            let funnel = Funnel {
                counts,
                steps,
                time: read_filled(time.as_ref())?,
                wait: read_filled(wait.as_ref())?,
                ..Funnel::default()
            };
            self.0
                .keep(entry_bytes::<JourneyCell, Funnel>() + funnel.heap_bytes())?;
            if journeys.insert(cell, funnel).is_some() {
                return Err(malformed("a journey comes twice"));
            }
        }
        Ok(journeys)
    }

    fn beside_funnels_into(
        &mut self,
        journeys: &mut BTreeMap<JourneyCell, Funnel>,
    ) -> Result<(), DecodeError> {
        for _ in 0..self.0.take::<usize>()? {
            let WireBesideFunnel {
                cell,
                skipped,
                groups,
            } = self.0.take()?;
            let group = |group: WireGroup<'_>| {
                Ok(GroupTally {
                    begun: group.begun,
                    completed: group.completed,
                    time: read_filled(group.time.as_ref())?,
                    wait: read_filled(group.wait.as_ref())?,
                })
            };
            let groups = groups.into_iter().map(group);
            let groups = groups.collect::<Result<Vec<_>, DecodeError>>()?;
            let funnel = journeys.get_mut(&cell);
            let funnel = funnel.filter(|it| it.skipped.is_empty() && it.groups.is_empty());
            let funnel =
                funnel.ok_or_else(|| malformed("groups of no journey, or twice of one"))?;
            let before = funnel.heap_bytes();
            (funnel.skipped, funnel.groups) = (skipped, groups);
            self.0.keep(funnel.heap_bytes() - before)?;
        }
        Ok(())
    }

    /// More rows of a file than are kept are left out, as in any sum.
    fn failed_rows(&mut self) -> Result<FailedRows, DecodeError> {
        let mut rows = FailedRows::default();
        for _ in 0..self.0.take::<usize>()? {
            let (id, row): (RowId, FailedRow) = self.0.take()?;
            self.0.keep(row_bytes(&row))?;
            for (failure, number) in row.failures {
                rows.count(id, row.line, failure, number);
            }
        }
        Ok(rows)
    }

    /// Counts of streamed answers, of cells that have any.
    fn streams_into(&mut self, cells: &mut BTreeMap<CellKey, Cell>) -> Result<(), DecodeError> {
        for _ in 0..self.0.take::<usize>()? {
            let (key, counts): (CellKey, StreamCounts) = self.0.take()?;
            let cell = cells.get_mut(&key);
            let cell = cell.filter(|cell| cell.streams.is_empty());
            let cell = cell.ok_or_else(|| malformed("streams of no cell, or twice of one"))?;
            cell.streams = counts;
        }
        Ok(())
    }

    fn cell(&mut self) -> Result<Cell, DecodeError> {
        let counters: Counters = self.0.take()?;
        self.0.keep(counters.heap_bytes())?;
        let http2 = &counters.http2;
        if http2.limited_connections == 0 && http2.fewest_streams != 0 {
            return Err(malformed(
                "no connection was limited, and one was to so many streams",
            ));
        }
        Ok(Cell {
            counters,
            streams: StreamCounts::default(),
            times: self.distributions()?,
            response_times: self.distributions()?,
        })
    }

    fn client(&mut self) -> Result<Client, DecodeError> {
        let WireClient {
            loop_lag,
            open_ns,
            fired_until_ns,
            round_trip,
            above_least,
            path_sums,
        } = self.0.take()?;
        Ok(Client {
            loop_lag: read_filled(loop_lag.as_ref())?,
            open_ns,
            fired_until_ns,
            path: Box::new(PathCounts {
                round_trip: read_filled(round_trip.as_ref())?,
                above_least: read_filled(above_least.as_ref())?,
                sums: path_sums,
            }),
        })
    }

    fn distributions<K: Ord + Copy + DeserializeOwned>(
        &mut self,
    ) -> Result<BTreeMap<(Outcome, K), Distribution>, DecodeError> {
        let mut distributions = BTreeMap::new();
        for _ in 0..self.0.take::<usize>()? {
            let wire: WireDistribution<'_, K> = self.0.take()?;
            let distribution = read(&wire)?;
            let entry = entry_bytes::<(Outcome, K), Distribution>();
            self.0.keep(entry + distribution.histogram.heap_bytes())?;
            let key = (wire.outcome, wire.of);
            if distributions.insert(key, distribution).is_some() {
                return Err(malformed("a distribution comes twice"));
            }
        }
        Ok(distributions)
    }
}

/// One that is absent is empty.
fn read_filled(wire: Option<&WireDistribution<'_, ()>>) -> Result<Distribution, DecodeError> {
    Ok(wire.map(read).transpose()?.unwrap_or_default())
}

/// The inverse of [`write()`]. One that is empty is never written.
fn read<K>(wire: &WireDistribution<'_, K>) -> Result<Distribution, DecodeError> {
    let histogram = read_counts(&wire.counts, MAX_COUNT)?;
    let &WireDistribution {
        count,
        sum,
        sum_of_squares,
        min,
        max,
        overflow,
        ..
    } = wire;
    let distribution = Distribution {
        histogram,
        count,
        sum,
        sum_of_squares,
        min,
        max,
        overflow,
    };
    if is_possible(&distribution) {
        Ok(distribution)
    } else {
        Err(malformed("a histogram and its exact figures disagree"))
    }
}

impl From<PieceError> for DecodeError {
    fn from(error: PieceError) -> DecodeError {
        match error {
            PieceError::Malformed(reason) => DecodeError::Malformed { reason },
            PieceError::TooLarge { found, most } => DecodeError::TooLarge { found, most },
        }
    }
}

/// Whether some set of values has these figures, as far as bounds tell. A product too large for its
/// type bounds nothing.
fn is_possible(distribution: &Distribution) -> bool {
    let &Distribution {
        ref histogram,
        count,
        sum,
        sum_of_squares,
        min,
        max,
        overflow,
    } = distribution;
    if count == 0 {
        return false; // what is empty is not there
    }
    let min_is_first = histogram
        .iter()
        .next()
        .is_none_or(|bucket| (bucket.lowest_ns..=bucket.highest_ns).contains(&min));
    let max_is_last = if overflow > 0 {
        max > Histogram::HIGHEST_NS
    } else {
        histogram
            .iter()
            .last()
            .is_some_and(|last| last.highest_ns >= max)
    };
    count <= MAX_COUNT
        && histogram.count().checked_add(overflow) == Some(count)
        && min <= max
        && min_is_first
        && max_is_last
        // n·min ≤ Σx ≤ n·max, and min·Σx ≤ Σx² ≤ max·Σx.
        && is_within(min, max, count.into(), sum)
        && is_within(min, max, sum, sum_of_squares)
}

/// Whether every completed journey has its times, and what is a part is no more than its whole.
fn is_possible_funnel(funnel: &Funnel) -> bool {
    let JourneyCounts {
        completed,
        completed_within,
        ..
    } = funnel.counts;
    let mut steps = funnel.steps.iter().enumerate();
    let mut groups = funnel.groups.iter();
    [funnel.time.count, funnel.wait.count] == [completed; 2]
        && completed_within <= completed
        && funnel.skipped.len() <= funnel.steps.len()
        && steps.all(|(place, step)| {
            step.reached <= step.begun.saturating_add(funnel.count_skipped(place))
        })
        && groups.all(|group| [group.time.count, group.wait.count] == [group.completed; 2])
}

/// Whether `value` lies between `factor` times the two ends.
fn is_within(min: u64, max: u64, factor: u128, value: u128) -> bool {
    let low = u128::from(min).checked_mul(factor);
    let high = u128::from(max).checked_mul(factor);
    low.is_none_or(|low| low <= value) && high.is_none_or(|high| value <= high)
}

fn malformed(reason: &str) -> DecodeError {
    DecodeError::Malformed {
        reason: reason.to_owned(),
    }
}
