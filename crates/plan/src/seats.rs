//! Which virtual users, connections and operations of the cluster are a worker's.

use crate::{Deal, Load, Owner, Shape};

/// A worker's virtual users, or in an open loop the connections that it may open. They have numbers
/// in the cluster, from 0, and each belongs to one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    owner: Owner,
    among_agents: Deal,
    among_workers: Deal,
    place: Option<Owner>,
}

impl Seats {
    /// The seats of `owner`.
    #[must_use]
    pub fn new(load: &Load, owner: Owner) -> Seats {
        let all = match load.shape {
            Shape::Closed { .. } => u64::from(load.peak_users().unwrap_or(0)),
            Shape::Open {
                max_connections, ..
            } => u64::from(max_connections),
        };
        let among_agents = Deal::new(Some(all), owner.agents);
        let among_workers = Deal::new(among_agents.amount(owner.agent), owner.workers);
        Seats {
            owner,
            among_agents,
            among_workers,
            place: place(owner, &among_workers),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.among_workers
            .amount(self.owner.worker)
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(u32::MAX)
    }

    /// Number in the cluster of the `nth` one (from 0), while there is one.
    #[must_use]
    pub fn nth(&self, nth: u32) -> Option<u32> {
        let of_agent = self.among_workers.item(self.owner.worker, u64::from(nth))?;
        self.among_agents
            .item(self.owner.agent, of_agent)
            .and_then(|seat| u32::try_from(seat).ok())
    }

    /// Their numbers in the cluster, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<> {
        let seats = *self;
        (0..).map_while(move |nth| seats.nth(nth))
    }

    /// The worker among those of its agent that have seats; `None` for one without: it can do
    /// nothing, and gets nothing to do.
    #[must_use]
    pub fn place(&self) -> Option<Owner> {
        self.place
    }

    /// How many of the cluster's `total` operations are the worker's.
    #[must_use]
    pub fn operations(&self, total: u64) -> u64 {
        let part = |place: Owner| {
            let of_agent = Deal::new(Some(total), place.agents).amount(place.agent);
            Deal::new(of_agent, place.workers).amount(place.worker)
        };
        self.place.and_then(part).unwrap_or(0)
    }

    /// Number in the cluster of the `nth` operation (from 0) that the worker's virtual users begin.
    /// No two operations share one.
    #[inline]
    #[must_use]
    pub fn operation(&self, nth: u64) -> u64 {
        // A worker without seats asks for no operation.
        let place = self.place.unwrap_or(self.owner);
        // Dealt out in turn, as by Deal without an end: no two owners come to the same number.
        let of_agent = nth * u64::from(place.workers) + u64::from(place.worker);
        of_agent * u64::from(place.agents) + u64::from(place.agent)
    }
}

fn place(owner: Owner, among_workers: &Deal) -> Option<Owner> {
    let has_seats = |worker: &u32| among_workers.amount(*worker) > Some(0);
    if !has_seats(&owner.worker) {
        return None;
    }
    let seated = |workers: u32| (0..workers).filter(has_seats).count() as u32;
    Some(Owner {
        worker: seated(owner.worker),
        workers: seated(owner.workers),
        ..owner
    })
}
