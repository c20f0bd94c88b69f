//! Numbers dealt to several so that each gets its part.

/// Deals the sequence `0..total` (or an endless one) to `parts` owners so that every prefix is
/// spread evenly, and part `i` gets exactly `⌊total(i+1)/parts⌋ − ⌊total·i/parts⌋` of the whole.
/// Full rounds give one to each part in order; the last, incomplete round goes to those that get
/// one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    total: Option<u64>,
    parts: u64,
}

impl Deal {
    /// Creates a deal of `total` (`None` for an endless one) over `parts`, at least one.
    #[must_use]
    pub fn new(total: Option<u64>, parts: u32) -> Deal {
        Deal {
            total,
            parts: u64::from(parts.max(1)),
        }
    }

    /// How many part `part` gets of `total`; `None` for an endless deal.
    #[must_use]
    pub fn amount(&self, part: u32) -> Option<u64> {
        let total = u128::from(self.total?);
        let part = u128::from(part);
        // The beginning of part i. Neighbours share a bound, so that the parts sum to the total.
        let begin = |i: u128| total * i / u128::from(self.parts);
        Some((begin(part + 1) - begin(part)) as u64)
    }

    /// The number of parts.
    pub(crate) fn parts(&self) -> u32 {
        self.parts as u32 // made of one
    }

    /// How many of the parts below `part` get something.
    pub(crate) fn count_served_below(&self, part: u32) -> u32 {
        match self.total {
            // Each part gets at most one, so as many have one as there are items below.
            Some(total) if total < self.parts => {
                (u128::from(total) * u128::from(part) / u128::from(self.parts)) as u32
            }
            _ => part,
        }
    }

    /// The number of the `nth` item (from 0) of part `part` in the whole sequence, if there is one.
    #[must_use]
    pub fn item(&self, part: u32, nth: u64) -> Option<u64> {
        let Some(total) = self.total else {
            return Some(nth * self.parts + u64::from(part));
        };
        let rounds = total / self.parts;
        if nth < rounds {
            return Some(nth * self.parts + u64::from(part));
        }
        if nth >= self.amount(part)? {
            return None;
        }
        // The parts below have `rounds` items each from full rounds, and at most one more.
        let below = (u128::from(total) * u128::from(part) / u128::from(self.parts)) as u64;
        let earlier = below - rounds * u64::from(part);
        Some(rounds * self.parts + earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::Deal;

    #[test]
    fn parts_hold_every_item_once_and_the_stated_amounts() {
        for (total, parts) in [(10, 4), (0, 3), (7, 7), (3, 5), (1000, 7), (5, 1)] {
            let deal = Deal::new(Some(total), parts);
            let mut seen = Vec::new();
            for part in 0..parts {
                let own: Vec<u64> = (0..).map_while(|nth| deal.item(part, nth)).collect();
                let (t, n, i) = (total, u64::from(parts), u64::from(part));
                assert_eq!(
                    own.len() as u64,
                    t * (i + 1) / n - t * i / n,
                    "{total} over {parts}, part {part}"
                );
                assert!(own.is_sorted());
                let served = (0..part).filter(|&below| deal.amount(below) > Some(0));
                assert_eq!(deal.count_served_below(part) as usize, served.count());
                seen.extend(own);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..total).collect::<Vec<_>>(), "{total} over {parts}");
        }
    }

    #[test]
    fn endless_deal_goes_round() {
        let deal = Deal::new(None, 3);
        assert_eq!(
            (0..3).map(|nth| deal.item(1, nth)).collect::<Vec<_>>(),
            [Some(1), Some(4), Some(7)]
        );
    }
}
