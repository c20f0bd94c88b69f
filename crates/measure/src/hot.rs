//! A cell as a worker writes it: flat arrays and short lists; what it holds becomes a [`Cell`] on
//! another thread.

use crate::seconds::Seconds;
use crate::session_offer::HotOffer;
use crate::tally::Tally;
use crate::{
    Cell, Chain, Counters, Distribution, Failure, Metric, Negotiated, Outcome, SessionOffer,
    StreamCounts,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Figures of one key in the current interval.
#[derive(Debug)]
pub(crate) struct HotCell {
    /// Whether anything was recorded since it was cleared.
    pub(crate) touched: bool,
    /// Plain counts; its maps stay empty, the tallies below stand for them.
    pub(crate) counters: Counters,
    pub(crate) streams: StreamCounts,
    pub(crate) failures: Tally<Failure>,
    pub(crate) statuses: Tally<u16>,
    pub(crate) negotiated: Tally<Negotiated>,
    pub(crate) chains: Tally<Chain>,
    pub(crate) session_offers: Tally<HotOffer>,
    pub(crate) response_times: Seconds,
    times: [[Option<Box<Distribution>>; Metric::ALL.len()]; Outcome::ALL.len()],
}

impl Default for HotCell {
    fn default() -> HotCell {
        HotCell {
            touched: false,
            counters: Counters::default(),
            streams: StreamCounts::default(),
            failures: Tally::default(),
            statuses: Tally::default(),
            negotiated: Tally::default(),
            chains: Tally::default(),
            session_offers: Tally::default(),
            response_times: Seconds::default(),
            times: [const { [const { None }; Metric::ALL.len()] }; Outcome::ALL.len()],
        }
    }
}

impl HotCell {
    /// Takes in one value of any metric but the response time.
    #[inline]
    pub(crate) fn record(&mut self, outcome: Outcome, metric: Metric, ns: u64) {
        let place = &mut self.times[outcome as usize][metric as usize];
        match place {
            Some(distribution) => distribution.record(ns),
            None => place.insert(Box::default()).record(ns),
        }
    }

    /// Takes in the same value of a metric `number` times.
    pub(crate) fn record_many(&mut self, outcome: Outcome, metric: Metric, ns: u64, number: u64) {
        if number > 0 {
            let place = &mut self.times[outcome as usize][metric as usize];
            place.get_or_insert_default().record_many(ns, number);
        }
    }

    /// Adds everything to `cell` and clears it, memory kept. `addresses` are the recorder's, by
    /// index.
    pub(crate) fn drain_into(&mut self, cell: &mut Cell, addresses: &[Option<SocketAddr>]) {
        cell.counters.merge(&self.counters);
        self.counters = Counters::default();
        cell.streams.merge(&self.streams);
        self.streams = StreamCounts::default();
        self.failures.drain_into(&mut cell.counters.failures);
        self.statuses.drain_into(&mut cell.counters.statuses);
        self.negotiated.drain_into(&mut cell.counters.negotiated);
        self.chains.drain_into(&mut cell.counters.chains);
        self.drain_offers_into(&mut cell.counters.session_offers, addresses);
        self.drain_times_into(cell);
        self.response_times.drain(|outcome, second, distribution| {
            cell.response_times
                .entry((outcome, second))
                .or_default()
                .merge(distribution);
        });
        self.touched = false;
    }

    fn drain_offers_into(
        &mut self,
        offers: &mut BTreeMap<SessionOffer, u64>,
        addresses: &[Option<SocketAddr>],
    ) {
        let mut drained = BTreeMap::new();
        self.session_offers.drain_into(&mut drained);
        for (offer, count) in drained {
            let sum = offers.entry(offer.cold(addresses)).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    fn drain_times_into(&mut self, cell: &mut Cell) {
        for (outcome, metrics) in Outcome::ALL.into_iter().zip(&mut self.times) {
            for (metric, distribution) in Metric::ALL.into_iter().zip(metrics) {
                let Some(distribution) = distribution
                    .as_mut()
                    .filter(|distribution| !distribution.is_empty())
                else {
                    continue;
                };
                cell.times
                    .entry((outcome, metric))
                    .or_default()
                    .merge(distribution);
                distribution.clear();
            }
        }
    }
}
