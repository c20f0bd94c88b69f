//! What was observed of this machine and is not stored yet: one second is under way at a time, so
//! that beats and intervals never wait for more.

use crate::RunId;
use proto::{Bytes, Observed};
use std::collections::BTreeMap;

/// Seconds that are kept while nobody takes them; beyond that the oldest go.
const KEPT_MAX: usize = 3_600;

/// Of one run.
#[derive(Debug)]
pub(crate) struct Observations {
    run: RunId,
    waiting: BTreeMap<u32, Bytes>,
    under_way: Option<u32>,
}

impl Observations {
    pub(crate) fn new(run: RunId) -> Observations {
        Observations {
            run,
            waiting: BTreeMap::new(),
            under_way: None,
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    pub(crate) fn add(&mut self, second: u32, encoded: Bytes) {
        self.waiting.insert(second, encoded);
        if self.waiting.len() > KEPT_MAX {
            self.waiting.pop_first();
        }
    }

    /// What to send now, if none is under way.
    pub(crate) fn next(&mut self) -> Option<Observed> {
        let (&second, content) = self.waiting.first_key_value()?;
        self.under_way.is_none().then(|| {
            self.under_way = Some(second);
            Observed {
                run_id: self.run.to_wire(),
                second,
                content: content.clone(),
            }
        })
    }

    pub(crate) fn stored(&mut self, second: u32) {
        self.waiting = self.waiting.split_off(&second.saturating_add(1));
        self.under_way = None;
    }

    /// Another stream: what was under way is not known to have come.
    pub(crate) fn rewind(&mut self) {
        self.under_way = None;
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
        observations.stored(0);
        assert_eq!(seconds(&mut observations), Some(1));
        observations.stored(1);
        assert_eq!(seconds(&mut observations), Some(3));
        observations.stored(3);
        assert_eq!(seconds(&mut observations), None);
    }

    #[test]
    fn oldest_go_where_nobody_takes_them() {
        let mut observations = Observations::new(RunId::from_wire(&[1; 16]).unwrap());
        (0..5_000).for_each(|second| observations.add(second, Bytes::new()));
        assert_eq!(seconds(&mut observations), Some(1_400));
    }
}
