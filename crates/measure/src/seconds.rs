//! Response times of one cell on a worker, by the second in which they were intended.

use crate::{Distribution, Outcome};

/// Cleared distributions that wait to be used again. A worker that keeps up needs two or three
/// seconds at a time.
const KEPT: usize = 16;

/// Distributions by intended second and outcome: a short list, nearly always used at its end.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    entries: Vec<Second>,
    last: usize,
    #[expect(
        clippy::vec_box,
        reason = "the boxes go in and out of entries as they are, without an allocation"
    )]
    cleared: Vec<Box<Distribution>>,
}

#[derive(Debug)]
struct Second {
    number: u32,
    outcomes: [Option<Box<Distribution>>; Outcome::ALL.len()],
}

impl Seconds {
    /// Takes in one response time of an operation intended in second `number` of the run clock.
    #[inline]
    pub(crate) fn record(&mut self, outcome: Outcome, number: u32, ns: u64) {
        // Arrivals of one second come together: the search is for the few that are late.
        if self
            .entries
            .get(self.last)
            .is_none_or(|entry| entry.number != number)
        {
            self.last = self.find(number);
        }
        let place = &mut self.entries[self.last].outcomes[outcome as usize];
        match place {
            Some(distribution) => distribution.record(ns),
            None => place
                .insert(self.cleared.pop().unwrap_or_default())
                .record(ns),
        }
    }

    fn find(&mut self, number: u32) -> usize {
        self.entries
            .iter()
            .rposition(|entry| entry.number == number)
            .unwrap_or_else(|| {
                self.entries.push(Second {
                    number,
                    outcomes: [const { None }; Outcome::ALL.len()],
                });
                self.entries.len() - 1
            })
    }

    /// Gives every distribution to `take` and clears it.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Outcome, u32, &Distribution)) {
        for entry in self.entries.drain(..) {
            for (outcome, distribution) in Outcome::ALL.into_iter().zip(entry.outcomes) {
                let Some(mut distribution) = distribution else {
                    continue;
                };
                take(outcome, entry.number, &distribution);
                if self.cleared.len() < KEPT {
                    distribution.clear();
                    self.cleared.push(distribution);
                }
            }
        }
        self.last = 0;
    }
}
