//! Contents that are sent one by one, each once the one before is stored, so that beats and
//! intervals never wait for more than one.

use proto::Bytes;
use std::collections::BTreeMap;

/// Numbered contents that are not stored yet.
#[derive(Debug, Default)]
pub(crate) struct OneByOne {
    waiting: BTreeMap<u32, Bytes>,
    under_way: Option<u32>,
}

impl OneByOne {
    /// Keeps one more content; beyond `kept_max` the oldest is dropped.
    pub(crate) fn add(&mut self, number: u32, content: Bytes, kept_max: usize) {
        self.waiting.insert(number, content);
        if self.waiting.len() > kept_max {
            self.waiting.pop_first();
        }
    }

    /// The next one to send, if none is under way.
    pub(crate) fn next(&mut self) -> Option<(u32, Bytes)> {
        let (&number, content) = self.waiting.first_key_value()?;
        self.under_way.is_none().then(|| {
            self.under_way = Some(number);
            (number, content.clone())
        })
    }

    /// Drops a content that is stored, and everything before it.
    pub(crate) fn note_stored(&mut self, number: u32) {
        self.waiting = self.waiting.split_off(&number.saturating_add(1));
        self.under_way = None;
    }

    /// Starts over on another stream: what was under way may not have arrived.
    pub(crate) fn rewind(&mut self) {
        self.under_way = None;
    }
}
