//! The tags of an HTML page that comes in pieces, with those attributes that are wanted: the states
//! of the HTML standard's tokenizer (§13.2.5), as far as tags need them. It builds no tree, and
//! takes what stands in `<script>` for text up to the next `</script`.

use memchr::memchr;

/// Longest value of an attribute that is kept, in bytes as they are written. A longer one is known
/// to be there, and not more.
const MAX_VALUE: usize = plan::Capture::MAX_BYTES;
/// Longest name of a tag or attribute that is told from others, in bytes.
const MAX_NAME: usize = plan::HtmlElement::MAX_NAME;

/// Elements whose content is text, whatever it looks like, up to their end tags (§13.2.5.2 to 4).
const OF_TEXT: [&[u8]; 8] = [
    b"iframe",
    b"noembed",
    b"noframes",
    b"script",
    b"style",
    b"textarea",
    b"title",
    b"xmp",
];

/// Reads pieces of a page.
#[derive(Debug, Default)]
pub(super) struct HtmlScanner {
    state: ScanState,
    tag: HtmlTag,
    is_end_tag: bool,
    attribute: HtmlAttribute,
}

/// A start tag.
#[derive(Debug, Default)]
pub(super) struct HtmlTag {
    /// In lower case, cut where it is longer than any that is told from others.
    pub(super) name: Vec<u8>,
    /// The wanted attributes that it has, by their places among the wanted names, each with its
    /// value as it is written; `None` if that is too long.
    pub(super) attributes: Vec<(usize, Option<Vec<u8>>)>,
}

/// The attribute that is being read.
#[derive(Debug, Default)]
struct HtmlAttribute {
    name: Vec<u8>,
    /// Its place among the wanted names, once that is known.
    place: Option<usize>,
    value: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ScanState {
    #[default]
    Text,
    TagOpen,
    EndTagOpen,
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Quoted(u8),
    Unquoted,
    AfterQuoted,
    SelfClosing,
    /// After `<!`, and after `<!-`.
    Markup,
    MarkupDash,
    /// Up to the next `>`: a doctype, a processing instruction, a broken comment.
    Bogus,
    Comment(CommentState),
    /// In the element of [`OF_TEXT`] with this place: how much of `</name` has come.
    Raw {
        element: u8,
        matched: u8,
    },
    /// After `<plaintext>`.
    Plain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommentState {
    Start,
    StartDash,
    Inside,
    EndDash,
    End,
    EndBang,
}

impl HtmlScanner {
    /// Reads the next piece, and passes each start tag to `on_tag`. Attributes are kept that have
    /// one of these `names`.
    pub(super) fn take(
        &mut self,
        piece: &[u8],
        names: &[String],
        mut on_tag: impl FnMut(&HtmlTag),
    ) {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            let skipped = self.skip(rest);
            if skipped > 0 {
                rest = &rest[skipped..];
                continue;
            }
            let (state, is_taken) = self.step(byte, names, &mut on_tag);
            self.state = state;
            if is_taken {
                rest = after;
            }
        }
    }

    /// How many bytes of `rest` leave the state as it is. Those of a value are kept.
    fn skip(&mut self, rest: &[u8]) -> usize {
        let up_to = |found: Option<usize>| found.unwrap_or(rest.len());
        match self.state {
            ScanState::Text | ScanState::Raw { matched: 0, .. } => up_to(memchr(b'<', rest)),
            ScanState::Bogus => up_to(memchr(b'>', rest)),
            ScanState::Comment(CommentState::Inside) => up_to(memchr(b'-', rest)),
            ScanState::Plain => rest.len(),
            ScanState::Quoted(quote) => {
                let length = up_to(memchr(quote, rest));
                self.attribute.extend(&rest[..length]);
                length
            }
            _ => 0,
        }
    }

    /// What follows a byte, and whether it is taken: otherwise it is looked at again.
    fn step(
        &mut self,
        byte: u8,
        names: &[String],
        on_tag: &mut impl FnMut(&HtmlTag),
    ) -> (ScanState, bool) {
        match self.state {
            ScanState::Text => (ScanState::TagOpen, true), // all others are skipped
            ScanState::TagOpen | ScanState::EndTagOpen => self.open_tag(byte),
            ScanState::TagName => match byte {
                b'\t' | b'\n' | 0x0c | b'\r' | b' ' => (ScanState::BeforeName, true),
                b'/' => (ScanState::SelfClosing, true),
                b'>' => (self.end_tag(names, on_tag), true),
                _ => {
                    push_name(&mut self.tag.name, byte);
                    (ScanState::TagName, true)
                }
            },
            ScanState::BeforeName
            | ScanState::Name
            | ScanState::AfterName
            | ScanState::AfterQuoted
            | ScanState::SelfClosing => self.step_name(byte, names, on_tag),
            ScanState::BeforeValue | ScanState::Quoted(_) | ScanState::Unquoted => {
                self.step_value(byte, names, on_tag)
            }
            ScanState::Markup if byte == b'-' => (ScanState::MarkupDash, true),
            ScanState::MarkupDash if byte == b'-' => {
                (ScanState::Comment(CommentState::Start), true)
            }
            ScanState::Markup | ScanState::MarkupDash => (ScanState::Bogus, false),
            ScanState::Bogus | ScanState::Plain => (ScanState::Text, true),
            ScanState::Comment(comment) => (comment.after(byte), true),
            ScanState::Raw { element, matched } => self.step_raw(byte, element, matched),
        }
    }

    /// After `<` or `</`.
    fn open_tag(&mut self, byte: u8) -> (ScanState, bool) {
        let is_end = self.state == ScanState::EndTagOpen;
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {
                self.begin_tag(is_end);
                (ScanState::TagName, false)
            }
            b'/' if !is_end => (ScanState::EndTagOpen, true),
            b'!' if !is_end => (ScanState::Markup, true),
            b'>' if is_end => (ScanState::Text, true),
            _ if is_end || byte == b'?' => (ScanState::Bogus, false),
            _ => (ScanState::Text, false),
        }
    }

    fn begin_tag(&mut self, is_end: bool) {
        self.is_end_tag = is_end;
        self.tag.name.clear();
        self.tag.attributes.clear();
        self.attribute = HtmlAttribute::default();
    }

    /// Between attributes, and within their names.
    fn step_name(
        &mut self,
        byte: u8,
        names: &[String],
        on_tag: &mut impl FnMut(&HtmlTag),
    ) -> (ScanState, bool) {
        let is_within = matches!(self.state, ScanState::Name | ScanState::AfterName);
        match byte {
            b'\t' | b'\n' | 0x0c | b'\r' | b' ' if is_within => (ScanState::AfterName, true),
            b'\t' | b'\n' | 0x0c | b'\r' | b' ' => (ScanState::BeforeName, true),
            b'/' => {
                self.end_attribute(names);
                (ScanState::SelfClosing, true)
            }
            b'>' => (self.end_tag(names, on_tag), true),
            b'=' if is_within => {
                self.attribute.place = self.attribute.find(names);
                (ScanState::BeforeValue, true)
            }
            _ => {
                if self.state != ScanState::Name {
                    self.end_attribute(names);
                }
                push_name(&mut self.attribute.name, byte);
                (ScanState::Name, true)
            }
        }
    }

    /// Between `=` and the end of a value.
    fn step_value(
        &mut self,
        byte: u8,
        names: &[String],
        on_tag: &mut impl FnMut(&HtmlTag),
    ) -> (ScanState, bool) {
        match (self.state, byte) {
            // All others are skipped.
            (ScanState::Quoted(_), _) => {
                self.end_attribute(names);
                (ScanState::AfterQuoted, true)
            }
            (_, b'>') => (self.end_tag(names, on_tag), true),
            (ScanState::BeforeValue, b'"' | b'\'') => (ScanState::Quoted(byte), true),
            (ScanState::BeforeValue, b'\t' | b'\n' | 0x0c | b'\r' | b' ') => {
                (ScanState::BeforeValue, true)
            }
            (_, b'\t' | b'\n' | 0x0c | b'\r' | b' ') => {
                self.end_attribute(names);
                (ScanState::BeforeName, true)
            }
            _ => {
                self.attribute.extend(&[byte]);
                (ScanState::Unquoted, true)
            }
        }
    }

    /// Keeps the attribute that has been read if it is wanted. The first of one name counts.
    fn end_attribute(&mut self, names: &[String]) {
        let attribute = std::mem::take(&mut self.attribute);
        let Some(place) = attribute.place.or_else(|| attribute.find(names)) else {
            return;
        };
        let mut others = self.tag.attributes.iter();
        if others.all(|(other, _)| *other != place) {
            let value = (attribute.value.len() <= MAX_VALUE).then_some(attribute.value);
            self.tag.attributes.push((place, value));
        }
    }

    /// The tag is whole.
    fn end_tag(&mut self, names: &[String], on_tag: &mut impl FnMut(&HtmlTag)) -> ScanState {
        self.end_attribute(names);
        if self.is_end_tag {
            return ScanState::Text;
        }
        on_tag(&self.tag);
        if self.tag.name == b"plaintext" {
            return ScanState::Plain;
        }
        let element = OF_TEXT.iter().position(|name| *name == self.tag.name);
        element.map_or(ScanState::Text, |element| ScanState::Raw {
            element: element as u8, // there are few
            matched: 0,
        })
    }

    /// Looks for the end tag of an element of text.
    fn step_raw(&mut self, byte: u8, element: u8, matched: u8) -> (ScanState, bool) {
        let name = OF_TEXT[usize::from(element)];
        let at = usize::from(matched);
        let go_on = |matched| (ScanState::Raw { element, matched }, true);
        match at {
            0 => go_on(1), // a `<`: all others are skipped
            1 if byte == b'/' => go_on(2),
            _ if at >= 2 && name.get(at - 2) == Some(&byte.to_ascii_lowercase()) => {
                go_on(matched + 1)
            }
            _ if at == name.len() + 2 && matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ') => {
                self.begin_tag(true);
                (ScanState::BeforeName, true)
            }
            _ if at == name.len() + 2 && matches!(byte, b'/' | b'>') => {
                self.begin_tag(true);
                (ScanState::BeforeName, false)
            }
            _ => (
                ScanState::Raw {
                    element,
                    matched: 0,
                },
                false,
            ),
        }
    }
}

impl HtmlAttribute {
    /// Its place among the wanted names; `None` if it is none of them.
    fn find(&self, names: &[String]) -> Option<usize> {
        if self.name.is_empty() {
            return None;
        }
        names.iter().position(|name| name.as_bytes() == self.name)
    }

    /// Keeps bytes of its value if it is wanted, up to one more than are enough.
    fn extend(&mut self, bytes: &[u8]) {
        if self.place.is_some() {
            let room = (MAX_VALUE + 1).saturating_sub(self.value.len());
            self.value
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}

impl CommentState {
    fn after(self, byte: u8) -> ScanState {
        let next = match (self, byte) {
            (CommentState::Start | CommentState::StartDash, b'>') => return ScanState::Text,
            (CommentState::End | CommentState::EndBang, b'>') => return ScanState::Text,
            (CommentState::Start, b'-') => CommentState::StartDash,
            (CommentState::StartDash | CommentState::EndDash | CommentState::End, b'-') => {
                CommentState::End
            }
            (CommentState::Inside | CommentState::EndBang, b'-') => CommentState::EndDash,
            (CommentState::End, b'!') => CommentState::EndBang,
            _ => CommentState::Inside,
        };
        ScanState::Comment(next)
    }
}

/// Appends a byte of a name, in lower case. A name that is too long is none that is wanted.
fn push_name(name: &mut Vec<u8>, byte: u8) {
    if name.len() <= MAX_NAME {
        name.push(byte.to_ascii_lowercase());
    }
}
