//! Identifies parts of a load: an agent's own share, or what an agent gets of a lost one's share.

use crate::{Deal, Owner};

/// Most equal parts that a lost agent's share is divided into.
const PARTS_MOST: u32 = 1 << 20;
/// Most times that a share is divided again.
const DEPTH_MOST: usize = 64;

/// A worker's part of a load.
///
/// A load is dealt to agents and then to workers. If an agent is lost, its share is dealt once
/// more, in equal parts, and each part is fired by another agent. If that one is lost too, its
/// parts are dealt again. Every part is dealt by [`Deal`], so the parts of a share sum to the
/// share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portion {
    pub(crate) agent: u32,
    pub(crate) agents: u32,
    /// (Part, number of parts), the first deal first; empty for an agent's own share.
    pub(crate) parts: Vec<(u32, u32)>,
    pub(crate) worker: u32,
    pub(crate) workers: u32,
}

/// A [`Portion`] of the sequence `0..total`, or of an endless one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortionDeal {
    agent: u32,
    among_agents: Deal,
    /// (Part, deal), the last deal first.
    among_takers: Vec<(u32, Deal)>,
    worker: u32,
    among_workers: Deal,
}

impl From<Owner> for Portion {
    fn from(owner: Owner) -> Portion {
        Portion {
            agent: owner.agent,
            agents: owner.agents,
            parts: Vec::new(),
            worker: owner.worker,
            workers: owner.workers,
        }
    }
}

impl Portion {
    /// A worker's portion of the share of a lost agent, `agent` of `agents`: `parts` has (part,
    /// number of parts) for each time that the share was dealt again.
    ///
    /// `None` if there is no such portion: if a part is not below the number of parts, if there are
    /// no parts, or more than a share can be divided into.
    #[must_use]
    pub fn from_parts(agent: u32, agents: u32, parts: &[(u32, u32)]) -> Option<Portion> {
        let is_part = |&(part, parts): &(u32, u32)| part < parts && parts <= PARTS_MOST;
        let is_depth = (1..=DEPTH_MOST).contains(&parts.len());
        (agent < agents && is_depth && parts.iter().all(is_part)).then(|| Portion {
            agent,
            agents,
            parts: parts.to_vec(),
            worker: 0,
            workers: 1,
        })
    }

    /// The same portion for worker `worker` of `workers`.
    #[must_use]
    pub fn of_worker(&self, worker: u32, workers: u32) -> Portion {
        Portion {
            worker,
            workers,
            ..self.clone()
        }
    }

    /// Whether the two have anything in common: they are equal, or one is a part of the other.
    /// Their workers are ignored.
    #[must_use]
    pub fn overlaps(&self, other: &Portion) -> bool {
        let mut both = self.parts.iter().zip(&other.parts);
        self.agent == other.agent && both.all(|(one, another)| one == another)
    }

    /// How many such parts a lost agent's share was divided into altogether; 1 for an agent's own.
    #[must_use]
    pub fn parts_number(&self) -> f64 {
        self.parts
            .iter()
            .map(|&(_, parts)| f64::from(parts))
            .product()
    }

    /// How many such portions a load is divided into.
    pub(crate) fn divisor(&self) -> f64 {
        f64::from(self.agents.max(1)) * self.parts_number() * f64::from(self.workers.max(1))
    }

    /// The same portion, counted only among those that get some of `all`; `None` if it gets
    /// nothing. The agents remain as they are.
    pub(crate) fn among_served(&self, all: u64) -> Option<Portion> {
        let mut left = Deal::new(Some(all), self.agents).amount(self.agent);
        let mut served = |part: u32, parts: u32| {
            let deal = Deal::new(left, parts);
            left = deal.amount(part).filter(|&amount| amount > 0);
            left.map(|_| {
                (
                    deal.count_served_below(part),
                    deal.count_served_below(parts),
                )
            })
        };
        let dealt = self.parts.iter().map(|&(part, parts)| served(part, parts));
        let parts = dealt.collect::<Option<Vec<_>>>()?;
        let (worker, workers) = served(self.worker, self.workers)?;
        Some(Portion {
            parts,
            worker,
            workers,
            ..*self
        })
    }
}

impl PortionDeal {
    pub(crate) fn new(portion: &Portion, total: Option<u64>) -> PortionDeal {
        let among_agents = Deal::new(total, portion.agents);
        let mut left = among_agents.amount(portion.agent);
        let mut among_takers = Vec::with_capacity(portion.parts.len());
        for &(part, parts) in &portion.parts {
            let deal = Deal::new(left, parts);
            left = deal.amount(part);
            among_takers.push((part, deal));
        }
        among_takers.reverse();
        PortionDeal {
            agent: portion.agent,
            among_agents,
            among_takers,
            worker: portion.worker,
            among_workers: Deal::new(left, portion.workers),
        }
    }

    /// How many items it has; `None` for an endless sequence.
    pub(crate) fn amount(&self) -> Option<u64> {
        self.among_workers.amount(self.worker)
    }

    /// The number of its `nth` item (from 0) in the whole sequence, if there is one.
    #[inline]
    pub(crate) fn item(&self, nth: u64) -> Option<u64> {
        let mut of_share = self.among_workers.item(self.worker, nth)?;
        for (part, deal) in &self.among_takers {
            of_share = deal.item(*part, of_share)?;
        }
        self.among_agents.item(self.agent, of_share)
    }
}

#[cfg(test)]
mod tests {
    use super::{Portion, PortionDeal};
    use crate::Owner;

    fn items(portion: &Portion, total: u64) -> Vec<u64> {
        let deal = PortionDeal::new(portion, Some(total));
        let items: Vec<u64> = (0..).map_while(|nth| deal.item(nth)).collect();
        assert_eq!(Some(items.len() as u64), deal.amount(), "{portion:?}");
        items
    }

    #[test]
    fn parts_of_a_lost_share_are_the_share() {
        for total in [0, 1, 2, 10, 11, 97, 1000] {
            for parts in [1, 2, 3, 7] {
                let own = Owner {
                    agent: 1,
                    agents: 3,
                    ..Owner::ALONE
                };
                let mut union = Vec::new();
                for part in 0..parts {
                    let once = Portion::from_parts(1, 3, &[(part, parts)]).unwrap();
                    let mut again: Vec<u64> = (0..2)
                        .flat_map(|second| {
                            let path = [(part, parts), (second, 2)];
                            items(&Portion::from_parts(1, 3, &path).unwrap(), total)
                        })
                        .collect();
                    again.sort_unstable();
                    assert_eq!(again, items(&once, total), "{total}: {part} of {parts}");
                    union.extend(again);
                }
                union.sort_unstable();
                assert_eq!(union, items(&own.into(), total), "{total} over {parts}");
            }
        }
    }

    #[test]
    fn path_that_is_nobodys_part_is_refused() {
        for (agent, agents, parts) in [
            (3, 3, vec![(0, 2)]),
            (0, 0, vec![(0, 2)]),
            (1, 3, vec![]),
            (1, 3, vec![(2, 2)]),
            (1, 3, vec![(0, 0)]),
            (1, 3, vec![(0, 2), (5, 3)]),
            (1, 3, vec![(0, u32::MAX)]),
            (1, 3, vec![(0, 1); 65]),
        ] {
            assert_eq!(
                Portion::from_parts(agent, agents, &parts),
                None,
                "{agent} of {agents}, {parts:?}"
            );
        }
        assert!(Portion::from_parts(1, 3, &[(0, 1); 64]).is_some());
    }

    #[test]
    fn what_was_dealt_out_of_a_portion_overlaps_it() {
        let taken = |agent, parts: &[(u32, u32)]| Portion::from_parts(agent, 3, parts).unwrap();
        let half = taken(1, &[(0, 2)]);
        assert!(half.overlaps(&half.of_worker(1, 4)));
        assert!(half.overlaps(&taken(1, &[(0, 2), (3, 5)])));
        assert!(taken(1, &[(0, 2), (3, 5)]).overlaps(&half));
        assert!(!half.overlaps(&taken(1, &[(1, 2)])));
        assert!(!half.overlaps(&taken(2, &[(0, 2)])));
        assert!(!taken(1, &[(0, 2), (3, 5)]).overlaps(&taken(1, &[(0, 2), (4, 5)])));
    }

    #[test]
    fn parts_that_get_nothing_are_left_out() {
        // Agent 1 of 3 has one of three seats: of two takers, the second gets it.
        let taken = |part, parts| Portion::from_parts(1, 3, &[(part, parts)]).unwrap();
        assert_eq!(taken(0, 2).among_served(3), None);
        assert_eq!(taken(1, 2).among_served(3), Some(taken(0, 1)));
        assert_eq!(taken(1, 2).among_served(300), Some(taken(1, 2)));
    }
}
