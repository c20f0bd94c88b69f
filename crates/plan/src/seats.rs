//! Which of the cluster's virtual users or connections belong to a worker.

use crate::portion::PortionDeal;
use crate::{Load, Portion};

/// A worker's virtual users; or the connections that it may open, in an open loop or if journeys
/// share them; or the users who share them. They are numbered in the cluster from 0, and each
/// belongs to one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seats {
    deal: PortionDeal,
    place: Option<Portion>,
}

impl Seats {
    /// The connections of `portion`, which are its virtual users if these have one each.
    #[must_use]
    pub fn new(load: &Load, portion: impl Into<Portion>) -> Seats {
        let portion = portion.into();
        let all = u64::from(load.most_connections());
        let place = match (portion.among_served(all), load.sharing_users()) {
            (Some(place), Some(users)) => place.among_served(users.into()),
            (place, _) => place,
        };
        Seats {
            deal: PortionDeal::new(&portion, Some(all)),
            place,
        }
    }

    /// The users of `portion` whose journeys share its connections; `None` if each connection is a
    /// user's. They are dealt among the portions that have connections, since others make no
    /// journeys; one without any has no users.
    #[must_use]
    pub fn sharing(load: &Load, portion: impl Into<Portion>) -> Option<Seats> {
        let (portion, users) = (portion.into(), u64::from(load.sharing_users()?));
        let served = portion.among_served(load.most_connections().into());
        Some(Seats {
            deal: match &served {
                Some(served) => PortionDeal::new(served, Some(users)),
                None => PortionDeal::new(&portion, Some(0)),
            },
            place: served.and_then(|served| served.among_served(users)),
        })
    }

    /// The users of `portion`, whether they share connections or have one each.
    #[must_use]
    pub fn users(load: &Load, portion: &Portion) -> Seats {
        Seats::sharing(load, portion.clone()).unwrap_or_else(|| Seats::new(load, portion.clone()))
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
