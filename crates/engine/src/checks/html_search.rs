//! Looks for attributes of elements in a page that comes in pieces.

use super::answer_captures::is_fit;
use super::html_scanner::{HtmlScanner, HtmlTag};
use super::html_text;
use plan::{Capture, CapturePick, CapturePlace, HtmlElement, HtmlTest};

/// Texts that are kept for a capture that picks one of them at random; later ones are not picked.
const MAX_CANDIDATES: usize = 256;

/// What is taken from pages that answer one request.
#[derive(Debug, Default)]
pub(super) struct HtmlWishes {
    wishes: Vec<HtmlWish>,
    /// Names of the attributes that are looked at, in lower case.
    names: Vec<String>,
}

#[derive(Debug)]
struct HtmlWish {
    element: HtmlElement,
    /// Places among the names: of the attribute that is taken, and of each condition's.
    taken: usize,
    conditions: Vec<usize>,
    pick: CapturePick,
}

/// A page under search.
#[derive(Debug, Default)]
pub(super) struct HtmlSearch {
    scanner: HtmlScanner,
    /// By wish: the texts that may be taken.
    found: Vec<Vec<Vec<u8>>>,
}

impl HtmlWishes {
    /// What `captures` take from pages.
    pub(super) fn new<'c>(captures: impl Iterator<Item = &'c Capture>) -> HtmlWishes {
        let mut wishes = HtmlWishes::default();
        for capture in captures {
            if let CapturePlace::Html { element, attribute } = &capture.from {
                let conditions = element.conditions().iter();
                let conditions = conditions.map(|it| wishes.place(&it.attribute)).collect();
                let wish = HtmlWish {
                    taken: wishes.place(attribute),
                    conditions,
                    element: element.clone(),
                    pick: capture.pick,
                };
                wishes.wishes.push(wish);
            }
        }
        wishes
    }

    fn place(&mut self, name: &str) -> usize {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Whether nothing is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.wishes.is_empty()
    }
}

impl HtmlWish {
    /// The text that the tag has for it, if it is the element that is meant.
    fn text(&self, tag: &HtmlTag) -> Option<Vec<u8>> {
        let is_named = |name: &str| name.as_bytes() == tag.name;
        if !self.element.tag().is_none_or(is_named) {
            return None;
        }
        let attribute = |place: usize| {
            let mut all = tag.attributes.iter();
            all.find(|(own, _)| *own == place)
                .map(|(_, value)| value.as_deref())
        };
        let tests = self.element.conditions().iter().zip(&self.conditions);
        for (condition, &place) in tests {
            let holds = match (&condition.test, attribute(place)?) {
                (HtmlTest::Any, _) => true,
                (_, None) => false,
                (HtmlTest::Is(wanted), Some(value)) => {
                    html_text::decode(value) == wanted.as_bytes()
                }
                (HtmlTest::HasWord(word), Some(value)) => {
                    let value = html_text::decode(value);
                    let mut words = value.split(u8::is_ascii_whitespace);
                    words.any(|other| other == word.as_bytes())
                }
            };
            if !holds {
                return None;
            }
        }
        attribute(self.taken)?.map(html_text::decode)
    }
}

impl HtmlSearch {
    /// Searches the next piece.
    pub(super) fn take(&mut self, all: &HtmlWishes, piece: &[u8]) {
        self.found.resize(all.wishes.len(), Vec::new());
        let found = &mut self.found;
        self.scanner.take(piece, &all.names, |tag| {
            for (wish, found) in all.wishes.iter().zip(found.iter_mut()) {
                if wish.pick == CapturePick::First && !found.is_empty() {
                    continue;
                }
                let Some(text) = wish.text(tag).filter(|text| is_fit(text)) else {
                    continue;
                };
                match wish.pick {
                    CapturePick::First => found.push(text),
                    CapturePick::Last => *found = vec![text],
                    CapturePick::Random if found.len() < MAX_CANDIDATES => found.push(text),
                    CapturePick::Random => {}
                }
            }
        });
    }

    /// Whether nothing that follows can change what is found.
    pub(super) fn is_over(&self, all: &HtmlWishes) -> bool {
        let mut wishes = all.wishes.iter().enumerate();
        wishes.all(|(place, wish)| {
            let found = self.found.get(place);
            wish.pick == CapturePick::First && found.is_some_and(|found| !found.is_empty())
        })
    }

    /// By capture of this kind: the texts that may be taken.
    pub(super) fn take_found(&mut self) -> Vec<Vec<Vec<u8>>> {
        std::mem::take(&mut self.found)
    }
}

#[cfg(test)]
mod tests;
