//! A count per key on a worker: few different keys, nearly always the one that was counted last.

use std::collections::BTreeMap;

/// Cleared keys that are kept, so that counting them again clones nothing.
const KEPT: usize = 32;

/// Counts by key, found by comparing with the last one first. The caller bounds the number of keys.
#[derive(Debug)]
pub(crate) struct Tally<K> {
    /// Sorted by key.
    entries: Vec<(K, u64)>,
    last: usize,
}

impl<K> Default for Tally<K> {
    fn default() -> Tally<K> {
        Tally {
            entries: Vec::new(),
            last: 0,
        }
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
        // Sorted, so that 30,000 session offers cost no walk through all of them.
        let found = self.entries.binary_search_by(|(known, _)| known.cmp(key));
        self.last = found.unwrap_or_else(|place| {
            self.entries.insert(place, (key.clone(), 0));
            place
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn many_keys_are_counted_without_a_search_through_all() {
        let keys = 30_000_u32;
        let cost = || {
            let (mut tally, mut map) = (Tally::default(), BTreeMap::new());
            let began = Instant::now();
            for key in (0..keys).rev().chain(0..keys) {
                tally.count(&key);
            }
            let took = began.elapsed();
            tally.drain_into(&mut map);
            assert!(map.len() == keys as usize && map.values().all(|&count| count == 2));
            took
        };
        // Once more if something else had the CPU.
        let costs: Vec<Duration> = (0..3).map(|_| cost()).collect();
        assert!(
            costs.iter().any(|&took| took < Duration::from_secs(5)),
            "{keys} keys, twice: {costs:?}"
        );
    }
}
