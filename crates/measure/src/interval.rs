//! What a worker hands over each second by a swap; the receiving thread makes a snapshot of it.

use crate::beside_cells::BesideCells;
use crate::funnels::HotFunnels;
use crate::hot::HotCell;
use crate::{CellKey, Client, Period, Snapshot};
use std::net::SocketAddr;
use std::sync::Arc;

/// One ended interval of one worker, in the recorder's own layout: handing it over costs the worker
/// a few moves.
#[derive(Debug)]
pub struct Interval {
    number: u32,
    /// Requests of the plan, for the place of a cell in `cells`.
    requests: u16,
    addresses: Arc<Vec<Option<SocketAddr>>>,
    cells: Cells,
    client: Client,
    beside: BesideCells,
    funnels: HotFunnels,
}

/// An emptied interval. The recorder takes it back, so that the next interval allocates nothing.
#[derive(Debug, Default)]
pub struct Spare {
    pub(crate) cells: Cells,
    pub(crate) client: Client,
    pub(crate) funnels: HotFunnels,
}

/// A worker's cells at the places that [`place`] gives them.
pub(crate) type Cells = Vec<Option<Box<HotCell>>>;

const PERIODS: [Period; 2] = [Period::WarmUp, Period::Measured];

/// Place of a cell: by address, then request, then period.
#[inline]
pub(crate) fn place(requests: u16, period: Period, request: u16, address: u16) -> usize {
    (usize::from(address) * usize::from(requests) + usize::from(request)) * PERIODS.len()
        + period as usize
}

impl Interval {
    pub(crate) fn new(
        number: u32,
        requests: u16,
        addresses: Arc<Vec<Option<SocketAddr>>>,
        (cells, funnels): (Cells, HotFunnels),
        client: Client,
        beside: BesideCells,
    ) -> Interval {
        Interval {
            number,
            requests,
            addresses,
            cells,
            client,
            beside,
            funnels,
        }
    }

    /// Number of the second of the run clock in which this was recorded.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.iter().flatten().all(|cell| !cell.touched)
            && self.client == Client::default()
            && self.beside.is_empty()
            && self.funnels.is_empty()
    }

    /// Merges what was recorded into `snapshot`, so that one snapshot can gather all workers.
    pub fn merge_into(mut self, snapshot: &mut Snapshot) -> Spare {
        let mut cells = std::mem::take(&mut self.cells);
        for (place, cell) in cells.iter_mut().enumerate() {
            let Some(cell) = cell.as_mut().filter(|cell| cell.touched) else {
                continue;
            };
            cell.drain_into(
                snapshot.cells.entry(self.key_at(place)).or_default(),
                &self.addresses,
            );
        }
        snapshot.client.merge(&self.client);
        self.beside.merge_into(snapshot);
        self.funnels.drain_into(&mut snapshot.journeys);
        self.client.clear();
        Spare {
            cells,
            client: self.client,
            funnels: self.funnels,
        }
    }

    /// What was recorded, and the memory for a later interval.
    #[must_use]
    pub fn into_snapshot(self) -> (Snapshot, Spare) {
        let mut snapshot = Snapshot::default();
        let spare = self.merge_into(&mut snapshot);
        (snapshot, spare)
    }

    /// The inverse of [`place`].
    fn key_at(&self, place: usize) -> CellKey {
        let (cell, period) = (place / PERIODS.len(), place % PERIODS.len());
        let (address, request) = (
            cell / usize::from(self.requests),
            cell % usize::from(self.requests),
        );
        let request = u16::try_from(request).expect("a remainder of a u16 fits into one");
        CellKey {
            period: PERIODS[period],
            request,
            address: self.addresses[address],
        }
    }
}
