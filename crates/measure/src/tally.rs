//! A count per key on a worker: few different keys, nearly always the one that was counted last.

use std::collections::BTreeMap;

/// Cleared keys that are kept, so that counting them again clones nothing.
const KEPT: usize = 32;

/// Counts by key, found by comparing with the last one first.
#[derive(Debug)]
pub(crate) struct Tally<K> {
    entries: Vec<(K, u64)>,
    last: usize,
}

impl<K> Default for Tally<K> {
    fn default() -> Tally<K> {
        Tally { entries: Vec::new(), last: 0 }
    }
}

impl<K: Clone + Ord> Tally<K> {
    /// Counts `key` once; clones it where it is new.
    #[inline]
    pub(crate) fn count(&mut self, key: &K) {
        match self.entries.get_mut(self.last) {
            Some((last, count)) if last == key => *count += 1,
            _ => self.count_other(key),
        }
    }

    fn count_other(&mut self, key: &K) {
        self.last = self.entries.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            self.entries.push((key.clone(), 0));
            self.entries.len() - 1
        });
        self.entries[self.last].1 += 1;
    }

    /// Adds all counts to `map` and clears them.
    pub(crate) fn drain_into(&mut self, map: &mut BTreeMap<K, u64>) {
        for (key, count) in self.entries.iter_mut().filter(|(_, count)| *count != 0) {
            match map.get_mut(key) {
                Some(sum) => *sum = sum.saturating_add(*count),
                None => _ = map.insert(key.clone(), *count),
            }
            *count = 0;
        }
        self.entries.truncate(KEPT);
        self.last = 0;
    }
}
