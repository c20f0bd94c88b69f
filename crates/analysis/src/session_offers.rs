//! Which address accepts the sessions that another one issued: a matrix over a target's addresses.

use crate::cell_tally::CellTally;
use measure::CellKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Name for the issuers beyond those that are listed separately.
const OTHERS: &str = "others";

/// Sessions issued by one address that were offered to one address, in completed handshakes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionOffers {
    /// Address that issued them; `others` beyond the first 64.
    pub issued_by: String,
    /// Address to which they were offered.
    pub offered_to: String,
    /// Number of sessions offered.
    pub offered: u64,
    /// Number of sessions accepted.
    pub accepted: u64,
}

impl SessionOffers {
    /// Returns every pair that occurred, by issuer; empty if only one address is involved, since
    /// that would show nothing new.
    pub(crate) fn from_sums<'a>(
        by_address: impl Iterator<Item = (Option<SocketAddr>, &'a CellTally)>,
    ) -> Vec<SessionOffers> {
        let mut pairs: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for (address, tally) in by_address {
            if address.is_none() {
                continue; // an offer needs a connection
            }
            let to = CellKey::name_of(address);
            for (offer, &count) in &tally.counters.session_offers {
                let by = offer
                    .issuer
                    .map_or_else(|| OTHERS.to_owned(), |address| address.to_string());
                let (offered, accepted) = pairs.entry((by, to.clone())).or_default();
                *offered = offered.saturating_add(count);
                *accepted = accepted.saturating_add(if offer.accepted { count } else { 0 });
            }
        }
        if pairs.keys().all(|(by, to)| by == to) && pairs.len() < 2 {
            return Vec::new();
        }
        let offers = |((issued_by, offered_to), (offered, accepted))| SessionOffers {
            issued_by,
            offered_to,
            offered,
            accepted,
        };
        pairs.into_iter().map(offers).collect()
    }

    /// Returns whether they were offered to the address that issued them.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.issued_by == self.offered_to
    }
}
