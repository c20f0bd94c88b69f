//! Which agent fires which part of a plan, and from when, once shares of lost agents are dealt to
//! others.

use crate::{FleetTime, SharePath};
use proto::{SharePart, TakeOver};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// One part in this many of a share, or a smaller one, goes to one agent whole. A larger one is
/// dealt in equal parts, which keeps small fleets even. Dealing all of them in equal parts would
/// double their number with each loss.
const WHOLE_FROM_PARTS: u64 = 16;

/// The shares of a run.
///
/// Each agent fires its own share until it is lost. From some instant on, others fire equal parts
/// of it, and the same goes for these parts. Together agents fire the plan at every instant, except
/// in the gap that a loss leaves: between the end of the lost agent's lease and the instant from
/// which its parts are fired.
#[derive(Debug, Default)]
pub(crate) struct ShareLedger {
    /// The instant from which other agents fire an agent's own share.
    dealt: BTreeMap<u32, FleetTime>,
    deals: Vec<DealtPart>,
    /// The deals that a lost agent left.
    left_by: BTreeMap<u32, Range<usize>>,
    /// The deals that an agent holds.
    held_by: BTreeMap<u32, Vec<usize>>,
}

/// A part that an agent fires in place of a lost one.
#[derive(Debug)]
struct DealtPart {
    path: SharePath,
    /// The agent that left it, and the agent that is to fire it.
    left_by: u32,
    heir: u32,
    from: FleetTime,
    /// When another deal replaces it.
    until: Option<FleetTime>,
    state: DealtPartState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DealtPartState {
    /// Not stored yet, so the heir is not notified: another coordinator could deal it differently.
    Unwritten,
    /// The heir is notified until it answers.
    Told,
    /// The heir fires it from this instant on.
    Taken(FleetTime),
    /// The heir cannot fire it.
    Undone,
}

impl ShareLedger {
    /// Deals everything that `lost` fires to `heirs`. The same calls in the same order deal the
    /// same. Without heirs, or the second time, nothing changes.
    pub(crate) fn deal(&mut self, lost: u32, heirs: &[u32], from: FleetTime) {
        if heirs.is_empty() || self.dealt.contains_key(&lost) {
            return;
        }
        self.dealt.insert(lost, from);
        let first = self.deals.len();
        let own = SharePath {
            agent_index: lost,
            parts: Vec::new(),
        };
        self.deal_in_parts(&own, lost, heirs, from);
        for held in self.held_by.remove(&lost).unwrap_or_default() {
            self.deals[held].until = Some(from);
            let path = self.deals[held].path.clone();
            match parts_number(&path) < WHOLE_FROM_PARTS {
                true => self.deal_in_parts(&path, lost, heirs, from),
                // In turn over all losses, rather than from the first heir each time.
                false => self.add(path, lost, heirs[self.deals.len() % heirs.len()], from),
            }
        }
        self.left_by.insert(lost, first..self.deals.len());
        debug_assert!(self.covers(lost, from), "a share is dealt whole");
    }

    fn deal_in_parts(&mut self, path: &SharePath, lost: u32, heirs: &[u32], from: FleetTime) {
        let parts = heirs.len() as u32;
        for (part, heir) in (0..parts).zip(heirs) {
            let mut path = path.clone();
            path.parts.push((part, parts));
            self.add(path, lost, *heir, from);
        }
    }

    fn add(&mut self, path: SharePath, left_by: u32, heir: u32, from: FleetTime) {
        self.held_by.entry(heir).or_default().push(self.deals.len());
        self.deals.push(DealtPart {
            path,
            left_by,
            heir,
            from,
            until: None,
            state: DealtPartState::Unwritten,
        });
    }

    /// Notes that what `lost` left is stored. Returns its heirs and their orders: they may be
    /// notified.
    pub(crate) fn note_written(&mut self, lost: u32) -> Vec<(u32, TakeOver)> {
        let left = self.left_by.get(&lost).cloned().unwrap_or_default();
        let mut told = Vec::new();
        for nth in left {
            let deal = &mut self.deals[nth];
            if deal.state == DealtPartState::Unwritten {
                deal.state = DealtPartState::Told;
                told.push((deal.heir, self.message(nth)));
            }
        }
        told
    }

    /// The orders that an heir has not answered yet. The caller adds the run and converts the
    /// instants, which are those of the coordinator's clock.
    pub(crate) fn open_orders(&self, heir: u32) -> impl Iterator<Item = TakeOver> {
        let held = self.held_by.get(&heir).into_iter().flatten().copied();
        held.filter(|&nth| self.deals[nth].state == DealtPartState::Told)
            .map(|nth| self.message(nth))
    }

    fn message(&self, nth: usize) -> TakeOver {
        let deal = &self.deals[nth];
        let part = |&(part, parts): &(u32, u32)| SharePart { part, parts };
        TakeOver {
            number: nth as u32 + 1,
            agent_index: deal.path.agent_index,
            parts: deal.path.parts.iter().map(part).collect(),
            from_ns: deal.from.0,
            ..TakeOver::default()
        }
    }

    /// Takes an heir's answer: it fires a part from an instant on, or never. Returns whose share it
    /// is about and which agent left it, the first time the heir answers.
    pub(crate) fn take_answer(
        &mut self,
        heir: u32,
        number: u32,
        from: Option<FleetTime>,
    ) -> Option<(u32, u32)> {
        let nth = usize::try_from(number).ok()?.checked_sub(1)?;
        let is_asked =
            |deal: &&mut DealtPart| deal.heir == heir && deal.state == DealtPartState::Told;
        let deal = self.deals.get_mut(nth).filter(is_asked)?;
        deal.state = from.map_or(DealtPartState::Undone, DealtPartState::Taken);
        Some((deal.path.agent_index, deal.left_by))
    }

    /// The outcome of everything that an heir got of what `left_by` left, once it has answered for
    /// all of it: the instant from which the heir fires it, or `Some(None)` if a part is undone.
    pub(crate) fn outcome(&self, heir: u32, left_by: u32) -> Option<Option<FleetTime>> {
        let held = self.held_by.get(&heir).into_iter().flatten();
        let deals = held.map(|&nth| &self.deals[nth]);
        let mut states = deals
            .filter(|deal| deal.left_by == left_by)
            .map(|deal| deal.state);
        states.try_fold(Some(FleetTime(0)), |all, state| match state {
            DealtPartState::Unwritten | DealtPartState::Told => None,
            DealtPartState::Taken(from) => Some(all.map(|all| all.max(from))),
            DealtPartState::Undone => Some(None),
        })
    }

    /// Sets an outcome that is known from the record.
    pub(crate) fn settle(&mut self, heir: u32, left_by: u32, from: Option<FleetTime>) {
        for nth in self.left_by.get(&left_by).cloned().unwrap_or_default() {
            let deal = &mut self.deals[nth];
            if deal.heir == heir {
                deal.state = from.map_or(DealtPartState::Undone, DealtPartState::Taken);
            }
        }
    }

    /// Notes that an heir fires no more. Returns the agents whose shares it was to fire a part of,
    /// without ever having answered.
    pub(crate) fn retire(&mut self, heir: u32) -> BTreeSet<u32> {
        let mut lost = BTreeSet::new();
        for &nth in self.held_by.get(&heir).into_iter().flatten() {
            let deal = &mut self.deals[nth];
            let is_open = matches!(deal.state, DealtPartState::Unwritten | DealtPartState::Told);
            if is_open {
                deal.state = DealtPartState::Undone;
                lost.insert(deal.path.agent_index);
            }
        }
        lost
    }

    /// Whether at `at` each part of an agent's share is held by exactly one agent, which fires it
    /// or is to.
    pub(crate) fn covers(&self, agent: u32, at: FleetTime) -> bool {
        let is_own = self.dealt.get(&agent).is_none_or(|dealt| at < *dealt);
        let is_fired = |deal: &&DealtPart| {
            deal.path.agent_index == agent
                && deal.from <= at
                && deal.until.is_none_or(|until| at < until)
                && deal.state != DealtPartState::Undone
        };
        let mut parts: Vec<&[(u32, u32)]> = self
            .deals
            .iter()
            .filter(is_fired)
            .map(|deal| deal.path.parts.as_slice())
            .collect();
        match is_own {
            true => parts.is_empty(),
            false => is_whole(&mut parts),
        }
    }
}

/// The number of parts of this size that a share has.
fn parts_number(path: &SharePath) -> u64 {
    let parts = path.parts.iter().map(|&(_, parts)| u64::from(parts));
    parts.fold(1, u64::saturating_mul)
}

/// Whether these parts are all parts of a whole, each once.
fn is_whole(parts: &mut [&[(u32, u32)]]) -> bool {
    // Sorting brings paths that begin with the same part together, so each group is checked alone.
    parts.sort_unstable();
    let Some(&first) = parts.first() else {
        return false;
    };
    let Some(&(_, count)) = first.first() else {
        return parts.len() == 1;
    };
    let mut groups = parts.chunk_by_mut(|a, b| a.first() == b.first());
    let is_next_whole = |part: u32, group: &mut [&[(u32, u32)]]| {
        let is_it = group[0].first() == Some(&(part, count));
        group.iter_mut().for_each(|path| *path = &path[1..]);
        is_it && is_whole(group)
    };
    let are_there = (0..count).all(|part| {
        let group = groups.next();
        group.is_some_and(|group| is_next_whole(part, group))
    });
    are_there && groups.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |bound| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(seed | 1);
            (state >> 33) % bound
        }
    }

    /// How much of an agent's share is fired at an instant, summed another way.
    fn fired(ledger: &ShareLedger, agent: u32, at: FleetTime) -> f64 {
        let own = ledger.dealt.get(&agent).is_none_or(|dealt| at < *dealt);
        let part = |deal: &DealtPart| {
            let divisor = |&(_, parts): &(u32, u32)| f64::from(parts);
            1.0 / deal.path.parts.iter().map(divisor).product::<f64>()
        };
        let is_on = |deal: &&DealtPart| {
            deal.path.agent_index == agent
                && deal.from <= at
                && deal.until.is_none_or(|until| at < until)
        };
        f64::from(u8::from(own)) + ledger.deals.iter().filter(is_on).map(part).sum::<f64>()
    }

    #[test]
    fn shares_of_all_are_the_plan_at_every_instant_whatever_agents_are_lost() {
        for seed in 0..300 {
            let mut below = draws(seed);
            let agents = 2 + below(if seed % 2 == 0 { 6 } else { 30 }) as u32;
            let mut ledger = ShareLedger::default();
            let mut going: Vec<u32> = (0..agents).collect();
            let mut instants = vec![0];
            let mut now = 0;
            while going.len() > 1 && instants.len() < 9 {
                let lost = going.remove(below(going.len() as u64) as usize);
                now += below(3);
                // An agent that is away for a moment is no heir, though it goes on.
                let mut heirs = going.clone();
                if heirs.len() > 1 && below(3) == 0 {
                    heirs.remove(below(heirs.len() as u64) as usize);
                }
                ledger.deal(lost, &heirs, FleetTime(now));
                ledger.note_written(lost);
                instants.extend([now, now + 1]);
                for at in &instants {
                    for agent in 0..agents {
                        let at = FleetTime(*at);
                        assert!(ledger.covers(agent, at), "seed {seed}: {agent} at {at:?}");
                        let fired = fired(&ledger, agent, at);
                        assert!(
                            (fired - 1.0).abs() < 1e-9,
                            "seed {seed}: {agent} fires {fired}"
                        );
                    }
                }
            }
            let still_there = |deal: &DealtPart| deal.until.is_some() || going.contains(&deal.heir);
            assert!(ledger.deals.iter().all(still_there), "seed {seed}");
        }
    }

    #[test]
    fn part_that_is_missing_or_there_twice_is_seen() {
        let whole = |parts: &[Vec<(u32, u32)>]| {
            is_whole(&mut parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        assert!(whole(&[vec![]]));
        assert!(whole(&[vec![(1, 2)], vec![(0, 2), (0, 1)]]));
        assert!(whole(&[
            vec![(0, 2), (1, 2)],
            vec![(1, 2)],
            vec![(0, 2), (0, 2)]
        ]));
        for broken in [
            vec![],
            vec![vec![], vec![]],
            vec![vec![(0, 2)]],
            vec![vec![(0, 2)], vec![(0, 2)]],
            vec![vec![(0, 2)], vec![(1, 2)], vec![(1, 2)]],
            vec![vec![(0, 2)], vec![(1, 3)]],
            vec![vec![(0, 1)], vec![]],
            vec![vec![(0, 2), (0, 2)], vec![(1, 2)]],
        ] {
            assert!(!whole(&broken), "{broken:?}");
        }
    }

    #[test]
    fn heir_is_told_once_it_is_written_and_until_it_answers() {
        let mut ledger = ShareLedger::default();
        ledger.deal(1, &[0, 2], FleetTime(7));
        assert_eq!(ledger.open_orders(0).count(), 0, "not written down yet");
        let told = ledger.note_written(1);
        let heirs: Vec<u32> = told.iter().map(|(heir, _)| *heir).collect();
        assert_eq!(heirs, [0, 2]);
        assert_eq!(ledger.note_written(1), [], "each is told once");
        let told: Vec<TakeOver> = ledger.open_orders(2).collect();
        let [order] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!((order.number, order.agent_index, order.from_ns), (2, 1, 7));
        assert_eq!(order.parts, [SharePart { part: 1, parts: 2 }]);
        let from = Some(FleetTime(7));
        assert_eq!(ledger.take_answer(0, 2, from), None, "it was not asked");
        assert_eq!(ledger.take_answer(2, 0, from), None);
        assert_eq!(ledger.take_answer(2, 99, from), None);
        assert_eq!(ledger.outcome(2, 1), None, "it is to answer yet");
        assert_eq!(ledger.take_answer(2, 2, None), Some((1, 1)));
        assert_eq!(ledger.take_answer(2, 2, from), None, "it said so already");
        assert_eq!(ledger.outcome(2, 1), Some(None));
        assert_eq!(ledger.open_orders(2).count(), 0);
        assert!(!ledger.covers(1, FleetTime(7)), "half of it is undone");
    }

    #[test]
    fn heir_of_several_parts_fires_them_all_when_it_fires_the_last() {
        let from = FleetTime;
        for (answers, outcome) in [
            ([Some(from(7)), Some(from(9))], Some(from(9))),
            ([Some(from(9)), Some(from(7))], Some(from(9))),
            ([Some(from(7)), None], None),
            ([None, Some(from(7))], None),
        ] {
            let mut ledger = ShareLedger::default();
            ledger.deal(1, &[0, 2], from(5));
            ledger.note_written(1);
            ledger.deal(2, &[0], from(7));
            let told: Vec<u32> = ledger
                .note_written(2)
                .into_iter()
                .map(|(_, order)| order.number)
                .collect();
            assert_eq!(told.len(), 2, "its own share, and the part that it had");
            assert_eq!(ledger.take_answer(0, told[0], answers[0]), Some((2, 2)));
            assert_eq!(ledger.outcome(0, 2), None);
            assert_eq!(ledger.take_answer(0, told[1], answers[1]), Some((1, 2)));
            assert_eq!(ledger.outcome(0, 2), Some(outcome), "{answers:?}");
            // The record gives the same outcome for both.
            let mut again = ShareLedger::default();
            again.deal(1, &[0, 2], from(5));
            again.deal(2, &[0], from(7));
            again.settle(0, 2, outcome);
            assert_eq!(again.outcome(0, 2), Some(outcome));
            assert_eq!(
                again.outcome(0, 1),
                None,
                "what agent 1 left is another matter"
            );
        }
    }

    #[test]
    fn parts_grow_with_the_losses_of_a_fleet_and_not_twofold() {
        for (agents, losses, bound) in [
            (100, 20, 60),
            (16, 8, 60),
            (16, 15, 700),
            (5, 4, 30),
            (3, 2, 3),
        ] {
            let mut ledger = ShareLedger::default();
            for lost in 0..losses {
                let heirs: Vec<u32> = (lost + 1..agents).collect();
                ledger.deal(lost, &heirs, FleetTime(lost.into()));
            }
            let most = ledger.held_by.values().map(Vec::len).max();
            assert!(
                most.is_some_and(|most| most <= bound),
                "{losses} of {agents}: {most:?}"
            );
        }
    }

    #[test]
    fn heirs_of_a_small_fleet_fire_as_much_as_each_other() {
        for (agents, losses) in [(4, 2), (8, 3), (16, 8), (40, 8)] {
            let mut ledger = ShareLedger::default();
            for lost in 0..losses {
                let heirs: Vec<u32> = (lost + 1..agents).collect();
                ledger.deal(lost, &heirs, FleetTime(lost.into()));
            }
            let amount = |heir: u32| {
                let held = ledger.held_by[&heir].iter();
                held.map(|&nth| 1.0 / parts_number(&ledger.deals[nth].path) as f64)
                    .sum::<f64>()
            };
            let amounts: Vec<f64> = (losses..agents).map(amount).collect();
            let most = amounts.iter().copied().fold(0.0, f64::max);
            let least = amounts.iter().copied().fold(f64::MAX, f64::min);
            assert!(
                1.0 + most <= (1.0 + least) * 1.1,
                "{losses} of {agents}: from {least} to {most}"
            );
        }
    }
}
