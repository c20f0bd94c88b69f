//! Sums of a run's cells by request and by address.

use crate::cell_tally::CellTally;
use measure::{Period, Snapshot};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Sums over all agents and seconds. No figure of a result is about one request at one address, so
/// the two are summed separately: 100 requests at 16 addresses are 116 sums instead of 1,600, each
/// of which grows to about 50 KiB per metric in a long run.
#[derive(Debug, Clone, Default)]
pub(super) struct KeySums {
    pub(super) by_request: BTreeMap<(Period, u16), CellTally>,
    /// By address; `None` for operations that never got one.
    pub(super) by_address: BTreeMap<(Period, Option<SocketAddr>), CellTally>,
}

impl KeySums {
    /// Adds what an agent recorded in a second.
    pub(super) fn add(&mut self, snapshot: &Snapshot) {
        for (key, cell) in &snapshot.cells {
            let by_request = self.by_request.entry((key.period, key.request));
            by_request.or_default().add(cell);
            let by_address = self.by_address.entry((key.period, key.address));
            by_address.or_default().add(cell);
        }
        for (request, fact, number) in snapshot.websockets.iter() {
            let tally = self.by_request.entry((Period::Measured, request));
            tally.or_default().count_messages(fact, number);
        }
    }

    /// Returns the measured part of a request; `None` if nothing is known of it.
    pub(super) fn of_request(&self, index: u16) -> Option<CellTally> {
        let mut sum = CellTally::default();
        let periods = [Period::Measured, Period::WarmUp].into_iter();
        let tallies = periods.filter_map(|period| {
            let tally = self.by_request.get(&(period, index))?;
            Some((period == Period::Measured, tally))
        });
        tallies.for_each(|(is_own, tally)| sum.take(is_own, tally));
        (sum != CellTally::default()).then_some(sum)
    }
}
