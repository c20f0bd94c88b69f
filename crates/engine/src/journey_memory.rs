//! What journeys under way remember of the answers that they got: captured texts, and cookies.

use crate::cookies::CookieJar;
use std::collections::HashMap;
use std::sync::Arc;

/// What one journey remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JourneyMemory {
    /// By their index in the plan; an empty one was not captured.
    texts: Vec<Vec<u8>>,
    cookies: CookieJar,
}

/// A text that was captured just now, with its index.
pub(crate) type NewText = (u16, Vec<u8>);

/// What a worker's journeys remember, by the number of the journey that operations have as theirs.
#[derive(Debug, Default)]
pub(crate) struct JourneyMemories(HashMap<u64, Arc<JourneyMemory>>);

impl JourneyMemory {
    /// Texts that are their own placeholders, to be looked at.
    pub(crate) fn of_names(names: &[&str]) -> JourneyMemory {
        let texts = names.iter().map(|name| format!("{{{name}}}").into_bytes());
        JourneyMemory {
            texts: texts.collect(),
            cookies: CookieJar::default(),
        }
    }

    /// The text with this index; empty if it was not captured.
    #[inline]
    pub(crate) fn text(&self, index: u16) -> &[u8] {
        self.texts
            .get(usize::from(index))
            .map_or(&[], Vec::as_slice)
    }

    /// Its cookies.
    pub(crate) fn cookies(&self) -> &CookieJar {
        &self.cookies
    }

    /// Whether it remembers nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.cookies.is_empty()
    }

    /// The same without its cookies.
    pub(crate) fn without_cookies(&self) -> JourneyMemory {
        JourneyMemory {
            texts: self.texts.clone(),
            cookies: CookieJar::default(),
        }
    }

    /// Takes the texts with these indices from another one, as far as that has them.
    pub(crate) fn take_texts(&mut self, other: &JourneyMemory, indices: &[u16]) {
        for &index in indices {
            let text = other.text(index);
            if !text.is_empty() {
                self.set((index, text.to_vec()));
            }
        }
    }

    /// Takes the cookies of another one.
    pub(crate) fn take_cookies(&mut self, other: &JourneyMemory) {
        self.cookies = other.cookies.clone();
    }

    fn set(&mut self, (index, text): NewText) {
        let index = usize::from(index);
        if self.texts.len() <= index {
            self.texts.resize(index + 1, Vec::new());
        }
        self.texts[index] = text;
    }
}

impl JourneyMemories {
    /// What the journey remembers; `None` if that is nothing.
    #[inline]
    pub(crate) fn of(&self, journey: u64) -> Option<&Arc<JourneyMemory>> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&journey)
    }

    /// Lets a journey begin with what its user remembers.
    pub(crate) fn begin(&mut self, journey: u64, memory: Arc<JourneyMemory>) {
        self.0.insert(journey, memory);
    }

    /// Adds what the journey has captured now. A body that is still being sent keeps the texts that
    /// it began with.
    pub(crate) fn add(&mut self, journey: u64, texts: Vec<NewText>) {
        if texts.is_empty() {
            return;
        }
        let of_journey = self.0.entry(journey).or_default();
        let of_journey = Arc::make_mut(of_journey);
        texts.into_iter().for_each(|text| of_journey.set(text));
    }

    /// Lets the journey take cookies. A request that is being sent keeps those that it began with.
    pub(crate) fn set_cookies(&mut self, journey: u64, set: impl FnOnce(&mut CookieJar)) {
        let of_journey = self.0.entry(journey).or_default();
        set(&mut Arc::make_mut(of_journey).cookies);
    }

    /// Forgets the journey, which has ended. Returns what it remembered, if that was anything.
    pub(crate) fn remove(&mut self, journey: u64) -> Option<Arc<JourneyMemory>> {
        if self.0.is_empty() {
            return None;
        }
        self.0.remove(&journey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_with_their_journey_and_with_what_is_being_sent() {
        let mut table = JourneyMemories::default();
        table.add(7, vec![(2, b"a".to_vec())]);
        table.add(8, vec![(0, b"x".to_vec())]);
        let sending = Arc::clone(table.of(7).expect("it has captured"));
        table.add(7, vec![(2, b"b".to_vec()), (0, b"c".to_vec())]);
        let now = table.of(7).expect("it has captured");
        assert_eq!(
            [now.text(0), now.text(1), now.text(2)],
            [&b"c"[..], b"", b"b"]
        );
        assert_eq!((sending.text(2), sending.text(9)), (&b"a"[..], &b""[..]));
        table.remove(7);
        assert_eq!((table.of(7), table.of(8).is_some()), (None, true));
    }
}
