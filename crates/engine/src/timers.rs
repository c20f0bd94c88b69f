//! When each slot must be looked at again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One pending instant per slot, in nanoseconds of the run clock.
///
/// A slot's instant moves with every operation, far more often than it comes due. So the heap keeps
/// an entry that may be too early: when the entry comes up, the slot's real instant decides, and
/// the entry is pushed again with that. A slot costs a heap operation once per time-out, not once
/// per request.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    slots: Vec<Due>,
}

#[derive(Debug, Clone, Copy)]
struct Due {
    at: u64,
    entry: u64,
}

const NEVER: u64 = u64::MAX;

impl Timers {
    /// Sets the instant of `slot` to `at`; replaces the previous one.
    pub(crate) fn set(&mut self, slot: u32, at: u64) {
        let index = slot as usize;
        if index >= self.slots.len() {
            self.slots.resize(
                index + 1,
                Due {
                    at: NEVER,
                    entry: NEVER,
                },
            );
        }
        let due = &mut self.slots[index];
        due.at = at;
        if at < due.entry {
            due.entry = at;
            self.heap.push(Reverse((at, slot)));
        }
    }

    /// Moves the instant of `slot` to `at` if that is sooner.
    pub(crate) fn set_sooner(&mut self, slot: u32, at: u64) {
        let due = self.slots.get(slot as usize).map_or(NEVER, |due| due.at);
        self.set(slot, due.min(at));
    }

    /// Removes the instant of `slot`.
    pub(crate) fn clear(&mut self, slot: u32) {
        if let Some(due) = self.slots.get_mut(slot as usize) {
            due.at = NEVER;
        }
    }

    /// Moves the instant of `slot` to `other`.
    pub(crate) fn hand_on(&mut self, slot: u32, other: u32) {
        let at = self.slots.get(slot as usize).map_or(NEVER, |due| due.at);
        self.clear(slot);
        if at == NEVER {
            self.clear(other)
        } else {
            self.set(other, at)
        }
    }

    /// A lower bound on the first instant; it can be earlier than the first slot is due.
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a slot that is due at `now`, if there is one, and clears it.
    #[inline]
    pub(crate) fn pop(&mut self, now: u64) -> Option<u32> {
        // In most turns of the loop nothing is due.
        if self.next().is_none_or(|at| at > now) {
            return None;
        }
        self.pop_due(now)
    }

    fn pop_due(&mut self, now: u64) -> Option<u32> {
        while let Some(&Reverse((at, slot))) = self.heap.peek() {
            if at > now {
                return None;
            }
            self.heap.pop();
            let due = &mut self.slots[slot as usize];
            if due.entry != at {
                continue; // an older entry; the newer one is in the heap too
            }
            due.entry = NEVER;
            if due.at <= now {
                due.at = NEVER;
                return Some(slot);
            }
            if due.at != NEVER {
                due.entry = due.at;
                self.heap.push(Reverse((due.at, slot)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Timers;

    #[test]
    fn later_instant_replaces_an_earlier_one() {
        let mut timers = Timers::default();
        timers.set(0, 10);
        timers.set(0, 30);
        assert_eq!(timers.pop(20), None);
        assert_eq!(timers.next(), Some(30));
        assert_eq!(timers.pop(30), Some(0));
        assert_eq!(timers.pop(100), None);
    }

    #[test]
    fn earlier_instant_replaces_a_later_one() {
        let mut timers = Timers::default();
        timers.set(3, 30);
        timers.set(3, 10);
        assert_eq!(timers.pop(10), Some(3));
        timers.set(3, 50);
        assert_eq!(timers.pop(40), None);
        assert_eq!(timers.pop(50), Some(3));
        assert_eq!(timers.pop(60), None);
    }

    #[test]
    fn cleared_slot_never_comes() {
        let mut timers = Timers::default();
        timers.set(1, 5);
        timers.set(2, 6);
        timers.clear(1);
        assert_eq!(timers.pop(9), Some(2));
        assert_eq!(timers.pop(9), None);
        assert_eq!(timers.next(), None);
    }
}
