//! A set of seconds stored as unbroken stretches: memory grows only with gaps.

use std::collections::BTreeMap;

/// Maps the first second of each stretch to its last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stretches(BTreeMap<u32, u32>);

impl Stretches {
    /// Adds a second; returns `false` if it was there already.
    pub(crate) fn mark(&mut self, second: u32) -> bool {
        let before = self.at_or_before(second);
        if before.is_some_and(|(_, last)| last >= second) {
            return false;
        }
        // It extends the stretch that ends just before it, and joins that with the one that begins
        // just after.
        let first = before
            .filter(|&(_, last)| last + 1 == second)
            .map_or(second, |(first, _)| first);
        let next = second.checked_add(1).and_then(|next| self.0.remove(&next));
        self.0.insert(first, next.unwrap_or(second));
        true
    }

    pub(crate) fn contains(&self, second: u32) -> bool {
        self.at_or_before(second)
            .is_some_and(|(_, last)| last >= second)
    }

    /// Returns the last stretch that begins at or before `second`.
    fn at_or_before(&self, second: u32) -> Option<(u32, u32)> {
        let mut before = self.0.range(..=second);
        before.next_back().map(|(&first, &last)| (first, last))
    }

    /// Iterates over first and last second of each stretch, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|(&first, &last)| (first, last))
    }

    /// Returns the number of seconds from 0 on without a gap.
    pub(crate) fn unbroken(&self) -> u32 {
        self.0.get(&0).map_or(0, |last| last.saturating_add(1))
    }

    /// Returns the second after the last one; 0 if there is none.
    pub(crate) fn end(&self) -> u32 {
        self.0
            .last_key_value()
            .map_or(0, |(_, last)| last.saturating_add(1))
    }

    /// Returns the number of seconds in the set.
    pub(crate) fn number(&self) -> u64 {
        self.iter()
            .map(|(first, last)| u64::from(last - first) + 1)
            .sum()
    }

    /// Returns the gaps in `0..end` and before the set's own end.
    pub(crate) fn gaps(&self, end: u32) -> Vec<(u32, u32)> {
        let mut gaps = Vec::new();
        let mut next = 0;
        for (first, last) in self.iter() {
            if first > next {
                gaps.push((next, first - 1));
            }
            next = last.saturating_add(1);
        }
        if next < end {
            gaps.push((next, end - 1));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_counts_once_in_any_order_and_gaps_stay_visible() {
        let mut seen = Stretches::default();
        let fresh: Vec<bool> = [0, 1, 5, 1, 3, 5, 4, 0, 7]
            .into_iter()
            .map(|second| seen.mark(second))
            .collect();
        assert_eq!(
            fresh,
            [true, true, true, false, true, false, true, false, true]
        );
        assert_eq!(seen.0, BTreeMap::from([(0, 1), (3, 5), (7, 7)]));
        assert_eq!(seen.gaps(0), [(2, 2), (6, 6)]);
        assert_eq!(seen.gaps(10), [(2, 2), (6, 6), (8, 9)]);
        assert_eq!((seen.unbroken(), seen.end(), seen.number()), (2, 8, 6));
        let held: Vec<u32> = (0..9).filter(|&second| seen.contains(second)).collect();
        assert_eq!(held, [0, 1, 3, 4, 5, 7]);
        assert!(seen.mark(u32::MAX) && !seen.mark(u32::MAX));
        assert!(seen.contains(u32::MAX) && !Stretches::default().contains(0));
    }
}
