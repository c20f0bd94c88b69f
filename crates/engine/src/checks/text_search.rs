//! Looks for several texts in a body that comes in pieces.

use memchr::memmem::Finder;

/// Which texts have not come yet, and the end of what has come, in which one may have begun.
#[derive(Debug)]
pub(super) struct TextSearch {
    /// Places of the texts that are missing, in ascending order.
    missing: Vec<usize>,
    /// Longest part of a text that can lie in an earlier piece: its length less 1.
    most_kept: usize,
    /// That many of the latest bytes, or all if there are fewer.
    kept: Vec<u8>,
}

impl TextSearch {
    /// Looks for `number` texts, the longest of which has `longest` bytes.
    pub(super) fn new(number: usize, longest: usize) -> TextSearch {
        TextSearch {
            missing: (0..number).collect(),
            most_kept: longest.saturating_sub(1),
            kept: Vec::new(),
        }
    }

    /// Place of the first text that is missing; `None` if all have come.
    pub(super) fn first_missing(&self) -> Option<usize> {
        self.missing.first().copied()
    }

    /// Looks for the texts in the next piece, and where it joins those before it.
    pub(super) fn take<'n>(&mut self, texts: impl Fn(usize) -> &'n Finder<'static>, piece: &[u8]) {
        if self.missing.is_empty() {
            return;
        }
        let begin = &piece[..piece.len().min(self.most_kept)];
        let joins = !self.kept.is_empty();
        self.kept.extend_from_slice(begin);
        let (missing, kept) = (&mut self.missing, &self.kept);
        missing.retain(|&place| {
            let text = texts(place);
            let is_across = joins && text.find(kept).is_some();
            !is_across && text.find(piece).is_none()
        });
        if piece.len() > self.most_kept {
            self.kept.clear();
            let end = piece.len() - self.most_kept;
            self.kept.extend_from_slice(&piece[end..]);
        } else {
            let beyond = self.kept.len().saturating_sub(self.most_kept);
            self.kept.drain(..beyond);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn missing_of(texts: &[&[u8]], pieces: &[&[u8]]) -> Vec<usize> {
        let finders: Vec<Finder<'static>> = texts
            .iter()
            .map(|text| Finder::new(text).into_owned())
            .collect();
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let mut search = TextSearch::new(texts.len(), longest);
        for piece in pieces {
            search.take(|place| &finders[place], piece);
            assert!(search.kept.len() < longest.max(1), "it keeps what it needs");
        }
        search.missing
    }

    #[test]
    fn text_is_found_across_every_cut() {
        let body = b"<html>Welcome to the cart</html>";
        let texts: [&[u8]; 5] = [b"Welcome", b"cart", b"<", b"basket", b"</html>"];
        for first in 0..=body.len() {
            for second in first..=body.len() {
                let pieces = [&body[..first], &body[first..second], &body[second..]];
                assert_eq!(missing_of(&texts, &pieces), [3], "cut at {first}, {second}");
            }
        }
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(missing_of(&texts, &bytes), [3]);
    }

    proptest! {
        #[test]
        fn pieces_have_what_the_whole_has(
            body in "[ab]{0,40}",
            texts in proptest::collection::vec("[ab]{1,6}", 1..5),
            sizes in proptest::collection::vec(0_usize..7, 0..40),
        ) {
            let mut rest = body.as_bytes();
            let mut pieces = Vec::new();
            for size in sizes {
                let (piece, after) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            let expected: Vec<usize> = (0..texts.len())
                .filter(|&place| memchr::memmem::find(body.as_bytes(), texts[place]).is_none())
                .collect();
            prop_assert_eq!(missing_of(&texts, &pieces), expected);
        }
    }
}
