//! Runs that ended in this process, so that agents that still hold them can be released.

use crate::RunId;
use std::collections::VecDeque;

/// More than a fleet runs in a week. An agent that holds an older one keeps it until its own limit.
const ENDED_RUNS_MAX: usize = 1_000;

/// The most recent runs that ended in this process.
#[derive(Debug, Default)]
pub(crate) struct EndedRuns(VecDeque<RunId>);

impl EndedRuns {
    pub(crate) fn add(&mut self, run: RunId) {
        if self.0.len() == ENDED_RUNS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(run);
    }

    pub(crate) fn has(&self, run: RunId) -> bool {
        self.0.contains(&run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_runs_are_known() {
        let run = |number: u64| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&number.to_le_bytes());
            RunId(id)
        };
        let mut ended = EndedRuns::default();
        (0..=ENDED_RUNS_MAX as u64).for_each(|number| ended.add(run(number)));
        assert!(!ended.has(run(0)) && ended.has(run(1)) && ended.has(run(1_000)));
    }
}
