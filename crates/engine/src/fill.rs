//! Pieces of requests: fixed bytes, and placeholders with where their text comes from. Knows
//! nothing of HTTP.

use crate::day_key::DayKey;
use crate::digest::{self, HmacKey};
use crate::request_tallies::WorkerToken;
use crate::signing_meter::SigningMeter;
use crate::values::{ColumnSource, Values, digits};
use crate::websocket::{KEY_LENGTH, put_key};
use data::Escape;
use plan::{
    Composition, Digest, Generator, HashFunction, Instance, MadeValue, RecordedArrivals,
    ScalarType, put_varint,
};
use std::cell::RefCell;
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

/// A piece of a request.
#[derive(Debug, Clone)]
pub(crate) enum Fill {
    Bytes(Vec<u8>),
    /// A file of the plan, shared by all workers.
    Shared(Arc<[u8]>),
    /// The body of a recorded request.
    Recorded(Arc<RecordedArrivals>),
    Value(Placeholder),
    /// A line that some operations have, and others do not.
    Line(Arc<dyn OptionalLine>),
    /// The number of bytes of the pieces that follow. Shared, so that it makes no piece larger.
    Length(Arc<ContentLength>),
    /// A number of Protocol Buffers.
    Number(Arc<WireNumber>),
}

/// What stands on the wire for the number whose text these pieces are.
#[derive(Debug)]
pub(crate) struct WireNumber {
    pub(crate) kind: ScalarType,
    pub(crate) of: Vec<Fill>,
}

/// The number of bytes of these pieces, in this form.
#[derive(Debug)]
pub(crate) struct ContentLength {
    form: LengthForm,
    of: Vec<Fill>,
}

/// How a number of bytes is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthForm {
    /// In four bytes, the highest first.
    Word,
    /// Seven bits a byte, the lowest first (Protocol Buffers, "Base 128 Varints").
    Varint,
}

/// A line of a head that some operations have, and others do not.
pub(crate) trait OptionalLine: fmt::Debug + Send + Sync {
    /// Appends the line, if the operation with these values has it.
    fn put_line(&self, values: &Values, out: &mut Vec<u8>);
}

/// A source of text that differs between operations.
#[derive(Debug, Clone)]
pub(crate) enum Placeholder {
    /// The number of the virtual user, or of an open loop's connection or user.
    User,
    /// The number of the operation in the cluster.
    Seq,
    /// The operation's random number.
    Random,
    /// The key of an opening handshake of a WebSocket.
    SocketKey,
    /// A cell of a data file.
    Column(Arc<ColumnSource>),
    /// A made value that follows from the operation's number, or is the time.
    Generated(Arc<GeneratedSource>),
    /// A made value that follows from another text.
    Composed(Arc<ComposedSource>),
    /// A text that the operation's journey has captured; empty if it has not.
    Captured {
        /// Its index in the plan.
        index: u16,
        escape: Escape,
    },
    /// A token, which can be another one at the next look.
    Token(Arc<WorkerToken>),
}

/// A generator with its seed.
#[derive(Debug)]
pub(crate) struct GeneratedSource {
    generator: Generator,
    seed: u64,
    escape: Escape,
}

/// A text, and what becomes of it.
#[derive(Debug)]
pub(crate) struct ComposedSource {
    made: Composition,
    of: Vec<Fill>,
    key: SourceKey,
    escape: Escape,
    /// Absent unless it is a digest that is part of no other.
    meter: Option<SigningMeter>,
}

/// The key of a [`ComposedSource`].
#[derive(Debug)]
enum SourceKey {
    None,
    /// It is the same for every operation.
    Fixed(Box<HmacKey>),
    Filled(HashFunction, Vec<Fill>),
    OfDay(Box<DayKey>),
}

thread_local! {
    /// Texts whose length is only known once they are written.
    static MEASURED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Fill {
    /// The piece, if it is the same for every operation.
    fn constant(&self) -> Option<&[u8]> {
        match self {
            Fill::Bytes(bytes) => Some(bytes),
            Fill::Shared(bytes) => Some(bytes),
            Fill::Recorded(_)
            | Fill::Value(_)
            | Fill::Line(_)
            | Fill::Length(_)
            | Fill::Number(_) => None,
        }
    }

    pub(crate) fn fill(&self, values: &Values, out: &mut Vec<u8>) {
        match self {
            Fill::Bytes(bytes) => out.extend_from_slice(bytes),
            Fill::Shared(bytes) => out.extend_from_slice(bytes),
            Fill::Recorded(arrivals) => out.extend_from_slice(recorded_body(arrivals, values)),
            Fill::Value(placeholder) => placeholder.put(values, out),
            Fill::Line(line) => line.put_line(values, out),
            Fill::Length(content) => content.put(values, out),
            Fill::Number(number) => number.put(values, out),
        }
    }

    /// Appends at most `most` bytes of the piece, starting at its byte `from`, to `out`.
    pub(crate) fn fill_part(&self, values: &Values, from: usize, most: usize, out: &mut Vec<u8>) {
        let part = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&bytes[from..bytes.len().min(from.saturating_add(most))])
        };
        match self {
            Fill::Bytes(bytes) => part(bytes, out),
            Fill::Shared(bytes) => part(bytes, out),
            Fill::Recorded(arrivals) => part(recorded_body(arrivals, values), out),
            Fill::Value(placeholder) => placeholder.put_part(values, from, most, out),
            Fill::Line(_) => {} // no body has one
            Fill::Length(content) => {
                let mut bytes = Vec::with_capacity(LengthForm::MOST);
                content.put(values, &mut bytes);
                part(&bytes, out);
            }
            Fill::Number(number) => {
                let mut bytes = Vec::with_capacity(LengthForm::MOST);
                number.put(values, &mut bytes);
                part(&bytes, out);
            }
        }
    }

    /// Whether two looks at the piece can differ for the same operation, so that its length must be
    /// that of the bytes which were written.
    pub(crate) fn is_unsteady(&self) -> bool {
        matches!(self, Fill::Value(Placeholder::Token(_)))
    }

    pub(crate) fn length(&self, values: &Values) -> usize {
        match self {
            Fill::Bytes(bytes) => bytes.len(),
            Fill::Shared(bytes) => bytes.len(),
            Fill::Recorded(arrivals) => recorded_body(arrivals, values).len(),
            Fill::Value(placeholder) => placeholder.length(values),
            Fill::Line(_) => 0, // a head is written without asking for its length
            Fill::Length(content) => content.form.length(length(&content.of, values)),
            Fill::Number(number) => {
                let mut bytes = Vec::with_capacity(LengthForm::MOST);
                number.put(values, &mut bytes);
                bytes.len()
            }
        }
    }
}

impl WireNumber {
    /// Appends the number to `out`.
    fn put(&self, values: &Values, out: &mut Vec<u8>) {
        let mut text = Vec::with_capacity(Self::MOST_DIGITS);
        self.of
            .iter()
            .for_each(|piece| piece.fill(values, &mut text));
        self.kind.put(&text, out);
    }

    /// Most characters of a whole number with its sign.
    const MOST_DIGITS: usize = 20;
}

impl ContentLength {
    /// Appends the number to `out`.
    fn put(&self, values: &Values, out: &mut Vec<u8>) {
        self.form.put(length(&self.of, values), out);
    }
}

impl LengthForm {
    /// Most bytes of a number.
    const MOST: usize = 10;

    /// Bytes of `number`.
    fn length(self, number: usize) -> usize {
        match self {
            LengthForm::Word => 4,
            LengthForm::Varint => (number.max(1).ilog2() / 7 + 1) as usize,
        }
    }

    /// Appends `number` to `out`.
    fn put(self, number: usize, out: &mut Vec<u8>) {
        match self {
            // What is longer was refused with the plan, or is no row of a data file.
            LengthForm::Word => out.extend_from_slice(&(number as u32).to_be_bytes()),
            LengthForm::Varint => put_varint(number as u64, out),
        }
    }
}

/// Bytes of the pieces together.
fn length(pieces: &[Fill], values: &Values) -> usize {
    pieces.iter().map(|piece| piece.length(values)).sum()
}

/// Appends `content` to `pieces`, and before it the number of its bytes.
pub(crate) fn with_length(pieces: &mut Vec<Fill>, form: LengthForm, content: Vec<Fill>) {
    match constant(&content, usize::MAX) {
        Some(bytes) => {
            let mut number = Vec::new();
            form.put(bytes.len(), &mut number);
            literal(pieces, &number);
            literal(pieces, &bytes);
        }
        None => {
            let of = content.clone();
            pieces.push(Fill::Length(Arc::new(ContentLength { form, of })));
            pieces.extend(content);
        }
    }
}

/// The body of the recorded request that an operation sends.
fn recorded_body<'a>(arrivals: &'a RecordedArrivals, values: &Values) -> &'a [u8] {
    let entry = arrivals.entry(values.number_in_part());
    arrivals.log().body(entry)
}

/// Returns the pieces' bytes, if they are the same for every operation and `most` at most.
pub(crate) fn constant(pieces: &[Fill], most: usize) -> Option<Vec<u8>> {
    let constants: Option<Vec<&[u8]>> = pieces.iter().map(Fill::constant).collect();
    let constants = constants?;
    let length: usize = constants.iter().map(|bytes| bytes.len()).sum();
    (length <= most).then(|| constants.concat())
}

pub(crate) fn literal(pieces: &mut Vec<Fill>, bytes: &[u8]) {
    match pieces.last_mut() {
        Some(Fill::Bytes(before)) => before.extend_from_slice(bytes),
        _ => pieces.push(Fill::Bytes(bytes.to_vec())),
    }
}

impl Placeholder {
    /// Bytes of the text.
    pub(crate) fn length(&self, values: &Values) -> usize {
        let measured = match self {
            Placeholder::User => return digits(values.user),
            Placeholder::Seq => return digits(values.seq),
            Placeholder::Random => return 16,
            Placeholder::SocketKey => return KEY_LENGTH,
            Placeholder::Column(source) => return source.length(values),
            Placeholder::Generated(source) => source.escape,
            Placeholder::Composed(source) => source.escape,
            Placeholder::Captured { index, escape } => {
                return escape.length(values.text_of(*index));
            }
            Placeholder::Token(_) => Escape::None,
        };
        match self {
            Placeholder::Generated(source) if measured == Escape::None => {
                source.generator.length(source.instance(values))
            }
            Placeholder::Composed(source) if measured == Escape::None => source.length(values),
            _ => MEASURED.with_borrow_mut(|text| {
                text.clear();
                self.put(values, text);
                text.len()
            }),
        }
    }

    /// Appends the text to `out`.
    pub(crate) fn put(&self, values: &Values, out: &mut Vec<u8>) {
        // Writing to a `Vec` cannot fail.
        let _ = match self {
            Placeholder::User => write!(out, "{}", values.user),
            Placeholder::Seq => write!(out, "{}", values.seq),
            Placeholder::Random => write!(out, "{:016x}", values.random),
            Placeholder::SocketKey => {
                put_key(values.random, out);
                Ok(())
            }
            Placeholder::Column(source) => {
                source.put(values, out);
                Ok(())
            }
            Placeholder::Generated(source) => {
                let before = out.len();
                source.generator.put(source.instance(values), out);
                escape_from(before, source.escape, out);
                Ok(())
            }
            Placeholder::Composed(source) => {
                let before = out.len();
                source.put(values, out);
                escape_from(before, source.escape, out);
                Ok(())
            }
            Placeholder::Captured { index, escape } => {
                escape.put(values.text_of(*index), out);
                Ok(())
            }
            Placeholder::Token(token) => {
                token.write(values.period(), out);
                Ok(())
            }
        };
    }

    /// Appends at most `most` bytes of the text, starting at its byte `from`, to `out`.
    pub(crate) fn put_part(&self, values: &Values, from: usize, most: usize, out: &mut Vec<u8>) {
        // Most of them are short, and a row has its limit: written whole, and then cut.
        let before = out.len();
        self.put(values, out);
        out.truncate(before + from.saturating_add(most));
        out.drain(before..out.len().min(before + from));
    }
}

/// Escapes what stands in `out` from `before` on.
#[inline]
fn escape_from(before: usize, escape: Escape, out: &mut Vec<u8>) {
    if escape == Escape::None {
        return;
    }
    let end = out.len();
    for at in before..end {
        let byte = out[at];
        escape.put(&[byte], out);
    }
    out.drain(before..end);
}

impl GeneratedSource {
    /// The source of `value`, which `generator` generates, in a plan with the seed `seed`.
    pub(crate) fn new(
        value: &MadeValue,
        generator: &Generator,
        seed: u64,
        escape: Escape,
    ) -> GeneratedSource {
        GeneratedSource {
            generator: generator.clone(),
            seed: Generator::seed(&value.name, seed),
            escape: own_escape(value, escape),
        }
    }

    #[inline]
    fn instance(&self, values: &Values) -> Instance {
        Instance {
            seed: self.seed,
            seq: values.seq,
            unix_ns: values.unix_ns,
        }
    }
}

/// None, if no text of the value needs one.
fn own_escape(value: &MadeValue, escape: Escape) -> Escape {
    if value.is_unreserved() {
        Escape::None
    } else {
        escape
    }
}

impl ComposedSource {
    /// The source of `value`, which is `made` of the text `of`, with `key` if it has one.
    pub(crate) fn new(
        value: &MadeValue,
        made: &Composition,
        (of, key): (Vec<Fill>, Vec<Fill>),
        escape: Escape,
    ) -> ComposedSource {
        ComposedSource {
            made: made.clone(),
            of,
            key: match (&made.digest, constant(&key, usize::MAX)) {
                (Digest::Signature(signing), key) => {
                    let scope = [signing.region.as_str(), signing.service.as_str()];
                    let key = key.expect("the keys of a signature are the same for all");
                    SourceKey::OfDay(Box::new(DayKey::new(&key, scope)))
                }
                (Digest::None | Digest::Hash(_), _) => SourceKey::None,
                (Digest::Hmac { hash, .. }, None) => SourceKey::Filled(*hash, key),
                (Digest::Hmac { hash, .. }, Some(key)) => {
                    SourceKey::Fixed(Box::new(HmacKey::new(*hash, &key)))
                }
            },
            escape: own_escape(value, escape),
            meter: None,
        }
    }

    /// The same with a meter of its CPU time.
    pub(crate) fn with_meter(self, meter: SigningMeter) -> ComposedSource {
        ComposedSource {
            meter: Some(meter),
            ..self
        }
    }

    /// Whether its text is the same for every operation.
    pub(crate) fn is_constant(&self) -> bool {
        let has_fixed_key = match self.key {
            SourceKey::None | SourceKey::Fixed(_) => true,
            SourceKey::Filled(..) | SourceKey::OfDay(_) => false,
        };
        has_fixed_key && self.of.iter().all(|piece| piece.constant().is_some())
    }

    fn length(&self, values: &Values) -> usize {
        let of = match self.made.digest {
            Digest::None => self.of.iter().map(|piece| piece.length(values)).sum(),
            Digest::Hash(_) | Digest::Hmac { .. } | Digest::Signature(_) => 0,
        };
        self.made.length(of)
    }

    /// Appends the text to `out`.
    fn put(&self, values: &Values, out: &mut Vec<u8>) {
        match &self.meter {
            None => self.make(values, out),
            Some(meter) => meter.count(values.period(), || self.make(values, out)),
        }
    }

    /// Appends the text to `out`, which also has room for what it is made of.
    fn make(&self, values: &Values, out: &mut Vec<u8>) {
        let before = out.len();
        let filled = match &self.key {
            SourceKey::Filled(hash, key) => {
                key.iter().for_each(|piece| piece.fill(values, out));
                let key = HmacKey::new(*hash, &out[before..]);
                out.truncate(before);
                Some(key)
            }
            SourceKey::None | SourceKey::Fixed(_) | SourceKey::OfDay(_) => None,
        };
        self.of.iter().for_each(|piece| piece.fill(values, out));
        let of = &out[before..];
        let encoding = self.made.encoding;
        if let SourceKey::OfDay(key) = &self.key {
            let code = key.sign(values.unix_ns, of);
            out.truncate(before);
            return digest::encode(code.as_ref(), encoding, out);
        }
        let key = match &self.key {
            SourceKey::Fixed(key) => Some(&**key),
            SourceKey::None | SourceKey::Filled(..) | SourceKey::OfDay(_) => filled.as_ref(),
        };
        match (&self.made.digest, key) {
            (Digest::Hash(hash), _) => {
                let hash = digest::hash(*hash, of);
                out.truncate(before);
                digest::encode(hash.as_ref(), encoding, out);
            }
            (Digest::Hmac { .. }, Some(key)) => {
                let code = key.sign(of);
                out.truncate(before);
                digest::encode(code.as_ref(), encoding, out);
            }
            _ => digest::encode_from(before, encoding, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_text() {
        let values = Values {
            user: 12_345,
            random: 0xabcd,
            ..Values::default()
        };
        for placeholder in [Placeholder::User, Placeholder::Seq, Placeholder::Random] {
            let mut text = Vec::new();
            placeholder.put(&values, &mut text);
            assert_eq!(placeholder.length(&values), text.len(), "{placeholder:?}");
        }
    }

    #[test]
    fn numbers_of_bytes_stand_before_the_bytes() {
        for (number, varint) in [
            (0, &b"\0"[..]),
            (127, b"\x7f"),
            (128, b"\x80\x01"),
            (300, b"\xac\x02"),
            (16_383, b"\xff\x7f"),
            (16_384, b"\x80\x80\x01"),
        ] {
            let mut bytes = Vec::new();
            LengthForm::Varint.put(number, &mut bytes);
            assert_eq!(bytes, varint);
            assert_eq!(LengthForm::Varint.length(number), varint.len());
        }
        let (mut inner, mut pieces) = (vec![Fill::Value(Placeholder::User)], Vec::new());
        literal(&mut inner, b"x");
        with_length(&mut pieces, LengthForm::Varint, inner);
        let mut outer = Vec::new();
        with_length(&mut outer, LengthForm::Word, pieces);
        with_length(
            &mut outer,
            LengthForm::Varint,
            vec![Fill::Bytes(b"yz".to_vec())],
        );
        let values = Values {
            user: 345,
            ..Values::default()
        };
        let mut out = Vec::new();
        outer.iter().for_each(|piece| piece.fill(&values, &mut out));
        assert_eq!(out, b"\0\0\0\x05\x04345x\x02yz");
        assert_eq!(length(&outer, &values), out.len());
        let mut parts = Vec::new();
        for piece in &outer {
            let all = piece.length(&values);
            (0..all).for_each(|from| piece.fill_part(&values, from, 1, &mut parts));
        }
        assert_eq!(parts, out);
    }
}
