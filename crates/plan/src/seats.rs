//! Which of the cluster's virtual users or connections belong to a worker.

use crate::portion::PortionDeal;
use crate::{Load, Portion, Shape};

/// A worker's virtual users, or in an open loop the connections that it may open, and the users who
/// share them. They are numbered in the cluster from 0, and each belongs to one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seats {
    deal: PortionDeal,
    place: Option<Portion>,
}

impl Seats {
    /// The seats of `portion`.
    #[must_use]
    pub fn new(load: &Load, portion: impl Into<Portion>) -> Seats {
        let all = match load.shape {
            Shape::Closed { .. } => load.peak_users().unwrap_or(0),
            Shape::Open {
                max_connections, ..
            } => max_connections,
        };
        Seats::deal(load, &portion.into(), all)
    }

    /// The users of `portion` whose journeys share its connections; `None` if each connection is a
    /// user's.
    #[must_use]
    pub fn sharing(load: &Load, portion: impl Into<Portion>) -> Option<Seats> {
        let Shape::Open { users, .. } = load.shape else {
            return None;
        };
        Some(Seats::deal(load, &portion.into(), users?))
    }

    fn deal(load: &Load, portion: &Portion, all: u32) -> Seats {
        // A portion serves arrivals only if it has both users and connections.
        let served = match load.shape {
            Shape::Open {
                max_connections,
                users: Some(users),
                ..
            } => max_connections.min(users),
            Shape::Open { users: None, .. } | Shape::Closed { .. } => all,
        };
        Seats {
            deal: PortionDeal::new(portion, Some(u64::from(all))),
            place: portion.among_served(u64::from(served)),
        }
    }

    /// The number of seats.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.deal
            .amount()
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(u32::MAX)
    }

    /// Number in the cluster of the `nth` seat (from 0), if there is one.
    #[must_use]
    pub fn nth(&self, nth: u32) -> Option<u32> {
        let seat = self.deal.item(u64::from(nth))?;
        u32::try_from(seat).ok()
    }

    /// The seats' numbers in the cluster, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'_> {
        (0..).map_while(|nth| self.nth(nth))
    }

    /// The portion, counted only among those that have seats; `None` if it has none, so that it can
    /// do nothing and gets nothing to do.
    #[must_use]
    pub fn place(&self) -> Option<&Portion> {
        self.place.as_ref()
    }
}
