//! Which virtual users, connections and operations of the cluster are a worker's.

use crate::portion::PortionDeal;
use crate::{Load, Portion, Shape};

/// Operations of taken-over users have numbers from here on, times the deals that lie between: how
/// far the lost agent came is not known, and no two operations may share a number.
const TAKEN_FROM: u64 = 1_000_000_000_000;

/// A worker's virtual users, or in an open loop the connections that it may open. They have numbers
/// in the cluster, from 0, and each belongs to one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seats {
    deal: PortionDeal,
    place: Option<Portion>,
    /// Number of the first operation, and from each to the next.
    first: u64,
    stride: u64,
}

impl Seats {
    /// The seats of `portion`.
    #[must_use]
    pub fn new(load: &Load, portion: impl Into<Portion>) -> Seats {
        let portion = portion.into();
        let all = match load.shape {
            Shape::Closed { .. } => u64::from(load.peak_users().unwrap_or(0)),
            Shape::Open {
                max_connections, ..
            } => u64::from(max_connections),
        };
        let place = portion.among_served(all);
        // A worker without seats asks for no operation.
        let (first, stride) = numbering(place.as_ref().unwrap_or(&portion));
        Seats {
            deal: PortionDeal::new(&portion, Some(all)),
            place,
            first,
            stride,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.deal
            .amount()
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(u32::MAX)
    }

    /// Number in the cluster of the `nth` one (from 0), while there is one.
    #[must_use]
    pub fn nth(&self, nth: u32) -> Option<u32> {
        let seat = self.deal.item(u64::from(nth))?;
        u32::try_from(seat).ok()
    }

    /// Their numbers in the cluster, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'_> {
        (0..).map_while(|nth| self.nth(nth))
    }

    /// The portion among those only that have seats; `None` for one without: it can do nothing, and
    /// gets nothing to do.
    #[must_use]
    pub fn place(&self) -> Option<&Portion> {
        self.place.as_ref()
    }

    /// How many of the cluster's `total` operations are the worker's.
    #[must_use]
    pub fn operations(&self, total: u64) -> u64 {
        let place = self.place.as_ref();
        let part = place.and_then(|place| PortionDeal::new(place, Some(total)).amount());
        part.unwrap_or(0)
    }

    /// Number in the cluster of the `nth` operation (from 0) that the worker's virtual users begin.
    /// No two operations share one.
    #[inline]
    #[must_use]
    pub fn operation(&self, nth: u64) -> u64 {
        self.first.wrapping_add(nth.wrapping_mul(self.stride))
    }
}

/// Number of a portion's first operation, and from each to the next: dealt out in turn, as by an
/// endless deal, so that no two come to the same number.
fn numbering(portion: &Portion) -> (u64, u64) {
    let mut first = u64::from(portion.worker);
    let mut stride = u64::from(portion.workers);
    let mut deal = |part: u32, parts: u32| {
        first = first
            .wrapping_mul(u64::from(parts))
            .wrapping_add(u64::from(part));
        stride = stride.wrapping_mul(u64::from(parts));
    };
    let deals = portion.parts.iter().rev();
    deals.for_each(|&(part, parts)| deal(part, parts));
    deal(portion.agent, portion.agents);
    let deals = portion.parts.len() as u64;
    let from = TAKEN_FROM.wrapping_mul(deals.wrapping_mul(u64::from(portion.agents)));
    (first.wrapping_add(from), stride)
}
