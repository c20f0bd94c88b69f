//! What servers say of gRPC calls that failed: the first texts of each request and status in the
//! order of the alphabet.

use crate::GrpcStatus;
use crate::pieces::entry_bytes;
use std::collections::BTreeMap;

/// Texts of gRPC calls that failed by their status, by request in the plan, status and text.
///
/// Sums are exact however they are merged: a text that is left out of one part has
/// [`GrpcMessages::TEXTS_MAX`] texts before it, and so it is left out of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrpcMessages(BTreeMap<(u16, GrpcStatus), BTreeMap<String, u64>>);

impl GrpcMessages {
    /// Most texts of a request and a status that are kept.
    pub const TEXTS_MAX: usize = 5;

    /// Most bytes of a text.
    pub const TEXT_MAX_BYTES: usize = 256;

    /// As much of a text as is kept: whole characters.
    #[must_use]
    pub fn shorten(text: &str) -> &str {
        let ends = (0..=GrpcMessages::TEXT_MAX_BYTES.min(text.len())).rev();
        let mut ends = ends.filter(|&end| text.is_char_boundary(end));
        &text[..ends.next().unwrap_or(0)]
    }

    /// Counts calls of a request that ended with this status and text, of which at most
    /// [`GrpcMessages::TEXT_MAX_BYTES`] count.
    pub fn count(&mut self, request: u16, status: GrpcStatus, text: &str, number: u64) {
        let text = GrpcMessages::shorten(text);
        let texts = self.0.entry((request, status)).or_default();
        if let Some(count) = texts.get_mut(text) {
            *count = count.saturating_add(number);
            return;
        }
        if texts.len() >= GrpcMessages::TEXTS_MAX {
            let is_before = texts.last_key_value().is_some_and(|(last, _)| text < last);
            if !is_before {
                return;
            }
            texts.pop_last();
        }
        texts.insert(text.to_owned(), number);
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &GrpcMessages) {
        for (request, status, text, number) in other.iter() {
            self.count(request, status, text, number);
        }
    }

    /// Requests, statuses, texts and counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, GrpcStatus, &str, u64)> {
        self.0.iter().flat_map(|(&(request, status), texts)| {
            let texts = texts.iter();
            texts.map(move |(text, &number)| (request, status, text.as_str(), number))
        })
    }

    /// The texts of one request and status, in order.
    pub fn of_status(&self, request: u16, status: GrpcStatus) -> impl Iterator<Item = (&str, u64)> {
        let texts = self.0.get(&(request, status)).into_iter().flatten();
        texts.map(|(text, &number)| (text.as_str(), number))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// About how much memory a text takes, in bytes.
pub(crate) fn text_bytes(text: &str) -> usize {
    entry_bytes::<(u16, GrpcStatus), BTreeMap<String, u64>>()
        + entry_bytes::<String, u64>()
        + text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix;

    /// Texts that workers may be told in any order, of two requests with 12 texts each.
    fn told() -> Vec<(u16, String)> {
        let one = |nth: u64| {
            let bits = SplitMix::nth(5, nth);
            ((bits & 1) as u16, format!("no item {}", (bits >> 8) % 12))
        };
        (0..500).map(one).collect()
    }

    fn sum(told: &[(u16, String)]) -> GrpcMessages {
        let mut messages = GrpcMessages::default();
        for (request, text) in told {
            messages.count(*request, GrpcStatus::NotFound, text, 1);
        }
        messages
    }

    #[test]
    fn first_texts_are_kept_with_all_their_calls() {
        let told = told();
        let messages = sum(&told);
        for request in [0, 1] {
            let mut all: BTreeMap<&str, u64> = BTreeMap::new();
            for (_, text) in told.iter().filter(|(of, _)| *of == request) {
                *all.entry(text).or_default() += 1;
            }
            assert_eq!(all.len(), 12);
            let kept: Vec<_> = messages.of_status(request, GrpcStatus::NotFound).collect();
            let expected: Vec<_> = all.into_iter().take(GrpcMessages::TEXTS_MAX).collect();
            assert_eq!(kept, expected);
        }
    }

    #[test]
    fn sum_is_the_same_however_it_is_parted() {
        let told = told();
        let whole = sum(&told);
        for length in [1, 2, 7, 100] {
            let parts: Vec<GrpcMessages> = told.chunks(length).map(sum).collect();
            let (mut forward, mut backward) = (GrpcMessages::default(), GrpcMessages::default());
            parts.iter().for_each(|part| forward.merge(part));
            parts.iter().rev().for_each(|part| backward.merge(part));
            assert_eq!((&forward, &backward), (&whole, &whole), "{length}");
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let mut messages = GrpcMessages::default();
        let long = format!("a{}", "é".repeat(GrpcMessages::TEXT_MAX_BYTES));
        messages.count(0, GrpcStatus::Internal, &long, 1);
        messages.count(0, GrpcStatus::Internal, &format!("{long}b"), 2);
        let kept: Vec<_> = messages.iter().collect();
        let cut = &long[..GrpcMessages::TEXT_MAX_BYTES - 1];
        assert_eq!(kept, [(0, GrpcStatus::Internal, cut, 3)]);
    }
}
