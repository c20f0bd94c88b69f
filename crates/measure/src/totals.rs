//! The sum of a run's intervals, for the question whether two parties have counted the same: all
//! figures exact, of each histogram one number in the place of its buckets.

use crate::journeys::{add_each, merge_each};
use crate::pieces::{PieceError, Pieces, entry_bytes, map_bytes};
use crate::wire::read_tokens;
use crate::{
    CellKey, Client, Counters, Distribution, Funnel, GroupTally, Histogram, JourneyCell,
    JourneyCounts, Metric, Outcome, PathSums, SigningTally, Snapshot, SplitMix, StepCounts,
    StreamCounts, TokenTallies,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of what [`Totals::encode`] writes. Its golden file stands in `tests/golden`.
pub(crate) const VERSION: u8 = 7;

/// The versions before, of which run logs are read: without groups and steps that were skipped,
/// before that without journeys, then without tokens and signing, and before that without streamed
/// answers.
const WITHOUT_GROUPS: u8 = 6;
const WITHOUT_JOURNEYS: u8 = 5;
const WITHOUT_TOKENS: u8 = 4;
const WITHOUT_STREAMS: u8 = 3;

/// The sum of any number of snapshots, response times of all seconds together.
///
/// An agent keeps it while it fires and reports it at the end; the coordinator makes the same of
/// the intervals that came, and the two must be equal. Its size follows from the plan's requests
/// and addresses, never from the length of the run.
///
/// For a histogram it keeps the sum of all counts, each times an odd number of 128 bits that
/// belongs to its bucket. A difference in one bucket always shows; differences in several cancel
/// each other with a probability of 2⁻¹²⁷.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Totals {
    cells: BTreeMap<CellKey, CellTotals>,
    client: ClientTotals,
    /// The counts of cells that have streamed answers.
    streams: BTreeMap<CellKey, StreamCounts>,
    tokens: TokenTallies,
    signing: SigningTally,
    journeys: BTreeMap<JourneyCell, FunnelTotals>,
    /// What the funnels of plans have that skip steps or have groups.
    beside_funnels: BTreeMap<JourneyCell, BesideFunnelTotals>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ClientTotals {
    loop_lag: DistributionTotals,
    open_ns: u64,
    fired_until_ns: u64,
    path: PathTotals,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PathTotals {
    round_trip: DistributionTotals,
    above_least: DistributionTotals,
    sums: PathSums,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CellTotals {
    counters: Counters,
    times: BTreeMap<(Outcome, Metric), DistributionTotals>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct FunnelTotals {
    counts: JourneyCounts,
    steps: Vec<StepCounts>,
    time: DistributionTotals,
    wait: DistributionTotals,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct BesideFunnelTotals {
    skipped: Vec<u64>,
    groups: Vec<GroupTotals>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct GroupTotals {
    begun: u64,
    completed: u64,
    time: DistributionTotals,
    wait: DistributionTotals,
}

/// Distributions of a cell that hold something.
type FilledTimes<'a> = Vec<(&'a (Outcome, Metric), &'a DistributionTotals)>;

/// A distribution with one number for its buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DistributionTotals {
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
    overflow: u64,
    buckets: u128,
}

/// Why bytes are not totals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TotalsError {
    /// Longer than [`Totals::MAX_ENCODED_BYTES`].
    #[error("totals of {found} bytes, at most {most} are read")]
    TooLarge {
        /// Bytes that came, or that it takes so far.
        found: usize,
        /// Bound on them.
        most: usize,
    },
    /// The bytes have another version.
    #[error(
        "totals of version {found}, only versions {WITHOUT_STREAMS} to {VERSION} are \
         understood; agents and coordinator must be of one version"
    )]
    Version {
        /// Its version byte.
        found: u8,
    },
    /// Not what the version says.
    #[error("totals are malformed: {reason}")]
    Malformed {
        /// What is wrong.
        reason: String,
    },
}

impl Totals {
    /// Longest encoding that [`Totals::decode`] reads.
    pub const MAX_ENCODED_BYTES: usize = 64 << 20;

    /// Cells whose totals surely fit into [`Totals::MAX_ENCODED_BYTES`]. A cell takes 5 kB with
    /// every metric in every outcome, and 2 kB are left for its failures, statuses and handshakes.
    pub const CELLS_MAX: usize = Totals::MAX_ENCODED_BYTES / (7 << 10);

    /// Cells that a run can have, in warm-up and measured part: a request went to one of the
    /// addresses, or to none.
    #[must_use]
    pub fn cells_of(requests: usize, addresses: usize) -> usize {
        requests
            .saturating_mul(addresses.saturating_add(1))
            .saturating_mul(2)
    }

    /// Adds everything in `snapshot`.
    pub fn add(&mut self, snapshot: &Snapshot) {
        for (key, cell) in &snapshot.cells {
            // By intended second there would be more of them the longer the run is.
            let by_second = cell.response_times.iter();
            let response_times =
                by_second.map(|(&(outcome, _), times)| ((outcome, Metric::ResponseTime), times));
            let times = cell.times.iter().map(|(&of, times)| (of, times));
            self.add_cell(*key, &cell.counters, times.chain(response_times));
            if !cell.streams.is_empty() {
                self.streams.entry(*key).or_default().merge(&cell.streams);
            }
        }
        self.add_client(&snapshot.client);
        self.tokens.merge(&snapshot.tokens);
        self.signing.merge(&snapshot.signing);
        let funnels = snapshot.journeys.iter();
        for (cell, funnel) in funnels.filter(|(_, funnel)| !funnel.is_empty()) {
            self.journeys.entry(*cell).or_default().add(funnel);
            if !(funnel.skipped.is_empty() && funnel.groups.is_empty()) {
                self.beside_funnels.entry(*cell).or_default().add(funnel);
            }
        }
    }

    /// Adds what load loops say of themselves.
    fn add_client(&mut self, client: &Client) {
        let &Client {
            ref loop_lag,
            open_ns,
            fired_until_ns,
            ref path,
        } = client;
        self.client.loop_lag.add(loop_lag);
        self.client.open_ns = self.client.open_ns.saturating_add(open_ns);
        self.client.fired_until_ns = self.client.fired_until_ns.max(fired_until_ns);
        self.client.path.round_trip.add(&path.round_trip);
        self.client.path.above_least.add(&path.above_least);
        self.client.path.sums.merge(&path.sums);
    }

    /// Adds the figures of one key.
    fn add_cell<'a>(
        &mut self,
        key: CellKey,
        counters: &Counters,
        times: impl Iterator<Item = ((Outcome, Metric), &'a Distribution)>,
    ) {
        let cell = self.cells.entry(key).or_default();
        cell.counters.merge(counters);
        times.for_each(|(of, distribution)| cell.times.entry(of).or_default().add(distribution));
    }

    /// The totals as bytes of the current version.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![VERSION]).expect("encoding into memory cannot fail")
    }

    /// Reads what [`Totals::encode`] wrote.
    ///
    /// # Errors
    /// Where the bytes are of another version, too large or malformed. Hostile bytes cost bounded
    /// memory.
    pub fn decode(encoded: &[u8]) -> Result<Totals, TotalsError> {
        if encoded.len() > Totals::MAX_ENCODED_BYTES {
            return Err(TotalsError::TooLarge {
                found: encoded.len(),
                most: Totals::MAX_ENCODED_BYTES,
            });
        }
        let malformed = |reason: String| TotalsError::Malformed { reason };
        let (&version, body) = encoded
            .split_first()
            .ok_or_else(|| malformed("no bytes".to_owned()))?;
        if !(WITHOUT_STREAMS..=VERSION).contains(&version) {
            return Err(TotalsError::Version { found: version });
        }
        Totals::read(version, Pieces::new(body)).map_err(|error| match error {
            PieceError::Malformed(reason) => malformed(reason),
            PieceError::TooLarge { found, most } => TotalsError::TooLarge { found, most },
        })
    }

    fn read(version: u8, mut pieces: Pieces<'_>) -> Result<Totals, PieceError> {
        let mut cells = BTreeMap::new();
        for _ in 0..pieces.take::<usize>()? {
            let (key, cell): (CellKey, CellTotals) = pieces.take()?;
            let entry = entry_bytes::<CellKey, CellTotals>();
            pieces.keep(entry + cell.counters.heap_bytes() + map_bytes(&cell.times))?;
            cells.insert(key, cell);
        }
        let client = pieces.take()?;
        let mut streams = BTreeMap::new();
        let number = match version {
            WITHOUT_STREAMS => 0,
            _ => pieces.take::<usize>()?,
        };
        for _ in 0..number {
            let (key, counts): (CellKey, StreamCounts) = pieces.take()?;
            pieces.keep(entry_bytes::<CellKey, StreamCounts>())?;
            streams.insert(key, counts);
        }
        let (tokens, signing) = match version {
            WITHOUT_STREAMS | WITHOUT_TOKENS => Default::default(),
            _ => (read_tokens(&mut pieces)?, pieces.take()?),
        };
        let mut journeys = BTreeMap::new();
        let number = if version > WITHOUT_JOURNEYS {
            pieces.take::<usize>()?
        } else {
            0
        };
        for _ in 0..number {
            let (cell, funnel): (JourneyCell, FunnelTotals) = pieces.take()?;
            let steps = funnel.steps.len() * size_of::<StepCounts>();
            pieces.keep(entry_bytes::<JourneyCell, FunnelTotals>() + steps)?;
            journeys.insert(cell, funnel);
        }
        let mut beside_funnels = BTreeMap::new();
        let number = if version > WITHOUT_GROUPS {
            pieces.take::<usize>()?
        } else {
            0
        };
        for _ in 0..number {
            let (cell, beside): (JourneyCell, BesideFunnelTotals) = pieces.take()?;
            let groups = beside.groups.len() * size_of::<GroupTotals>();
            let skipped = beside.skipped.len() * size_of::<u64>();
            pieces.keep(entry_bytes::<JourneyCell, BesideFunnelTotals>() + groups + skipped)?;
            beside_funnels.insert(cell, beside);
        }
        pieces.end()?;
        Ok(Totals {
            cells,
            client,
            streams,
            tokens,
            signing,
            journeys,
            beside_funnels,
        })
    }

    /// Cells and distributions in which there is something.
    fn non_empty_cells(&self) -> impl Iterator<Item = (&CellKey, &Counters, FilledTimes<'_>)> {
        let none = Counters::default();
        self.cells.iter().filter_map(move |(key, cell)| {
            let times: FilledTimes<'_> = cell
                .times
                .iter()
                .filter(|(_, totals)| totals.count > 0)
                .collect();
            (cell.counters != none || !times.is_empty()).then_some((key, &cell.counters, times))
        })
    }
}

/// A cell or distribution without content is as good as none.
impl PartialEq for Totals {
    fn eq(&self, other: &Totals) -> bool {
        self.client == other.client
            && self.streams == other.streams
            && self.tokens == other.tokens
            && self.signing == other.signing
            && self.journeys == other.journeys
            && self.beside_funnels == other.beside_funnels
            && self.non_empty_cells().eq(other.non_empty_cells())
    }
}

impl Eq for Totals {}

impl FunnelTotals {
    fn add(&mut self, funnel: &Funnel) {
        self.counts.merge(&funnel.counts);
        StepCounts::merge_all(&mut self.steps, &funnel.steps);
        self.time.add(&funnel.time);
        self.wait.add(&funnel.wait);
    }
}

impl BesideFunnelTotals {
    fn add(&mut self, funnel: &Funnel) {
        add_each(&mut self.skipped, &funnel.skipped);
        merge_each(&mut self.groups, &funnel.groups, GroupTotals::add);
    }
}

impl GroupTotals {
    fn add(&mut self, group: &GroupTally) {
        self.begun = self.begun.saturating_add(group.begun);
        self.completed = self.completed.saturating_add(group.completed);
        self.time.add(&group.time);
        self.wait.add(&group.wait);
    }
}

impl DistributionTotals {
    fn add(&mut self, distribution: &Distribution) {
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
            return; // its min of 0 is no value
        }
        self.min = if self.count == 0 {
            min
        } else {
            self.min.min(min)
        };
        self.max = self.max.max(max);
        self.count = self.count.saturating_add(count);
        self.sum = self.sum.saturating_add(sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(sum_of_squares);
        self.overflow = self.overflow.saturating_add(overflow);
        self.buckets = self.buckets.wrapping_add(checksum(histogram));
    }
}

/// The sum of a histogram's counts, each times the number of its bucket: that of a merged histogram
/// is the sum of its parts'.
fn checksum(histogram: &Histogram) -> u128 {
    histogram.counts().fold(0, |sum: u128, (index, count)| {
        sum.wrapping_add(weight(index).wrapping_mul(count.into()))
    })
}

/// An odd number without any pattern: two steps of SplitMix64.
fn weight(index: usize) -> u128 {
    let seed = 2 * index as u64;
    u128::from(SplitMix::nth(0, seed)) << 64 | u128::from(SplitMix::nth(0, seed + 1)) | 1
}
