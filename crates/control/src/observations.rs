//! Observations of this machine that are not stored yet.

use crate::one_by_one::OneByOne;
use crate::{OBSERVATION_MAX_BYTES, RunId};
use proto::{Bytes, Observed};

/// Seconds that are kept while no coordinator takes them; beyond that the oldest are dropped.
const KEPT_MAX: usize = 3_600;

/// The observations of one run.
#[derive(Debug)]
pub(crate) struct Observations {
    run: RunId,
    seconds: OneByOne,
}

impl Observations {
    pub(crate) fn new(run: RunId) -> Observations {
        Observations {
            run,
            seconds: OneByOne::default(),
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Keeps a second. One that is too large is dropped: no coordinator would acknowledge it, and
    /// those after it would wait for good.
    pub(crate) fn add(&mut self, second: u32, encoded: Bytes) {
        if encoded.len() <= OBSERVATION_MAX_BYTES {
            self.seconds.add(second, encoded, KEPT_MAX);
        }
    }

    /// The next one to send, if none is under way.
    pub(crate) fn next(&mut self) -> Option<Observed> {
        let (second, content) = self.seconds.next()?;
        let run_id = self.run.to_wire();
        Some(Observed {
            run_id,
            second,
            content,
        })
    }

    pub(crate) fn note_stored(&mut self, second: u32) {
        self.seconds.note_stored(second);
    }

    /// See [`OneByOne::rewind`].
    pub(crate) fn rewind(&mut self) {
        self.seconds.rewind();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(observations: &mut Observations) -> Option<u32> {
        observations.next().map(|observed| observed.second)
    }

    #[test]
    fn one_is_under_way_until_it_is_stored_and_again_on_another_stream() {
        let mut observations = Observations::new(RunId::from_wire(&[1; 16]).unwrap());
        [0, 1, 3]
            .into_iter()
            .for_each(|second| observations.add(second, Bytes::new()));
        assert_eq!(seconds(&mut observations), Some(0));
        assert_eq!(seconds(&mut observations), None);
        observations.rewind();
        assert_eq!(seconds(&mut observations), Some(0));
        observations.note_stored(0);
        assert_eq!(seconds(&mut observations), Some(1));
        observations.note_stored(1);
        assert_eq!(seconds(&mut observations), Some(3));
        observations.note_stored(3);
        assert_eq!(seconds(&mut observations), None);
    }

    #[test]
    fn second_that_no_coordinator_takes_holds_up_none_after_it() {
        let mut observations = Observations::new(RunId([1; 16]));
        for (second, bytes) in [(0, OBSERVATION_MAX_BYTES + 1), (1, OBSERVATION_MAX_BYTES)] {
            observations.add(second, vec![0; bytes].into());
        }
        assert_eq!(seconds(&mut observations), Some(1));
    }

    #[test]
    fn oldest_go_where_nobody_takes_them() {
        let mut observations = Observations::new(RunId::from_wire(&[1; 16]).unwrap());
        (0..5_000).for_each(|second| observations.add(second, Bytes::new()));
        assert_eq!(seconds(&mut observations), Some(1_400));
    }
}
