//! Texts that follow from an operation's number and the plan's seed, and the time.

use crate::{ScalarType, TimeFormat};
use measure::SplitMix;
use std::io::Write as _;
use std::sync::Arc;

/// Distinguishes the random numbers of made values from others of the run.
const VALUE_SEED: u64 = 0x6d61_6465_2076_616c;

/// Characters that are drawn from one random number: with at most 256 to choose from, the last one
/// still has 32 of its bits.
const PER_NUMBER: usize = 4;

/// How the text of an operation is generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generator {
    /// A UUID of version 4 (RFC 9562 §5.4).
    Uuid,
    /// `first`, plus `step` times the operation's number.
    Counter {
        /// That of operation 0.
        first: i64,
        /// From one operation to the next.
        step: i64,
    },
    /// When the operation's bytes are written.
    Timestamp(TimeFormat),
    /// A number of a range, each as likely as the others.
    Number(NumberRange),
    /// Characters of an alphabet, each as likely as the others.
    Characters {
        /// From 2 to 256, each once.
        alphabet: Arc<[char]>,
        /// How many, from 1 on.
        length: u16,
    },
    /// One of these, each as likely as the others. There is at least one.
    OneOf(Vec<String>),
}

/// A range of decimal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRange {
    /// The lowest number, times ten to the power of `decimals`.
    pub(crate) low: i64,
    /// The highest number likewise. The range has fewer than 2⁶⁴ numbers.
    pub(crate) high: i64,
    /// Digits behind the decimal point.
    pub(crate) decimals: u8,
}

/// No operation of a run has a higher number: those of the warm-up begin at 9 × 10¹⁸.
const MOST_SEQ: i128 = 9_100_000_000_000_000_000;

/// What the text of an operation follows from.
#[derive(Debug, Clone, Copy)]
pub struct Instance {
    /// The value's own seed, from [`Generator::seed`].
    pub seed: u64,
    /// The operation's number over the cluster.
    pub seq: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

impl Instance {
    /// One like any other, where only its length matters.
    pub(crate) const SOME: Instance = Instance {
        seed: 0,
        seq: 99_999,
        unix_ns: 1_800_000_000_000_000_000,
    };
}

impl Generator {
    /// The seed of the value `name` in a plan with the seed `seed`.
    #[must_use]
    pub fn seed(name: &str, seed: u64) -> u64 {
        name.bytes().fold(seed ^ VALUE_SEED, |seed, byte| {
            SplitMix::nth(seed, u64::from(byte))
        })
    }

    /// Bytes of the text.
    #[must_use]
    pub fn length(&self, of: Instance) -> usize {
        match self {
            Generator::Uuid => 36,
            Generator::Counter { first, step } => decimal_length(count(*first, *step, of.seq)),
            Generator::Timestamp(format) => format.length(of.unix_ns),
            Generator::Number(range) => range.length(range.draw(of)),
            Generator::Characters { alphabet, length } => draw_characters(alphabet, *length, of)
                .map(char::len_utf8)
                .sum(),
            Generator::OneOf(texts) => texts[pick(texts.len(), of)].len(),
        }
    }

    /// Appends the text to `out`.
    pub fn put(&self, of: Instance, out: &mut Vec<u8>) {
        // Writing to a `Vec` cannot fail.
        let _ = match self {
            Generator::Uuid => return put_uuid(of, out),
            Generator::Counter { first, step } => {
                let count = count(*first, *step, of.seq);
                match i64::try_from(count) {
                    Ok(count) => write!(out, "{count}"),
                    Err(_) => write!(out, "{count}"),
                }
            }
            Generator::Timestamp(format) => return format.put(of.unix_ns, out),
            Generator::Number(range) => return range.put(range.draw(of), out),
            Generator::Characters { alphabet, length } => {
                let mut buffer = [0; 4];
                for character in draw_characters(alphabet, *length, of) {
                    out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                }
                Ok(())
            }
            Generator::OneOf(texts) => {
                out.extend_from_slice(texts[pick(texts.len(), of)].as_bytes());
                Ok(())
            }
        };
    }

    /// Whether every byte that a text may have is as `is_right` asks.
    pub(crate) fn has_only(&self, is_right: impl Fn(u8) -> bool) -> bool {
        let all = |text: &str| text.bytes().all(&is_right);
        match self {
            Generator::Uuid => all("0123456789abcdef-"),
            Generator::Counter { .. } => all("0123456789-"),
            Generator::Timestamp(format) => all(&format.characters()),
            Generator::Number(_) => all("0123456789-."),
            Generator::Characters { alphabet, .. } => {
                alphabet.iter().all(|c| all(c.encode_utf8(&mut [0; 4])))
            }
            Generator::OneOf(texts) => texts.iter().all(|text| all(text)),
        }
    }

    /// Whether every text is a number of this type.
    pub(crate) fn is_number_of(&self, kind: ScalarType) -> bool {
        let fits = |low: i128, high: i128| match kind.range() {
            Some(range) => range.contains(&low) && range.contains(&high),
            None => kind.is_float() && high < i128::MAX,
        };
        match self {
            Generator::Uuid => false,
            Generator::Counter { first, step } => {
                let first = i128::from(*first);
                fits(first, first + i128::from(*step) * MOST_SEQ)
            }
            Generator::Timestamp(format) if !format.is_number() => false,
            Generator::Timestamp(format) => fits(0, highest(format.length(Instance::SOME.unix_ns))),
            Generator::Number(range) if range.decimals > 0 => kind.is_float(),
            Generator::Number(range) => fits(range.low.into(), range.high.into()),
            Generator::Characters { alphabet, length } => {
                let are_digits = alphabet.iter().all(char::is_ascii_digit);
                are_digits && fits(0, highest(usize::from(*length)))
            }
            Generator::OneOf(texts) => texts.iter().all(|text| kind.takes(text.as_bytes())),
        }
    }

    /// Whether every text is a value of JSON.
    pub(crate) fn is_json(&self) -> bool {
        let is_value = |text: &String| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        match self {
            Generator::Uuid | Generator::Characters { .. } => false,
            Generator::Counter { .. } | Generator::Number(_) => true,
            Generator::Timestamp(format) => format.is_number(),
            Generator::OneOf(texts) => texts.iter().all(is_value),
        }
    }
}

/// The highest number that has this number of digits.
fn highest(digits: usize) -> i128 {
    let power = u32::try_from(digits)
        .ok()
        .and_then(|digits| 10_i128.checked_pow(digits));
    power.map_or(i128::MAX, |power| power - 1)
}

fn count(first: i64, step: i64, seq: u64) -> i128 {
    i128::from(first) + i128::from(step) * i128::from(seq)
}

fn decimal_length(number: i128) -> usize {
    let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
    digits + usize::from(number < 0)
}

fn put_uuid(of: Instance, out: &mut Vec<u8>) {
    let number = of.seq.wrapping_mul(2);
    let high = SplitMix::nth(of.seed, number) & !0xf000 | 0x4000;
    let low = SplitMix::nth(of.seed, number.wrapping_add(1)) & !(3 << 62) | 1 << 63;
    let mut text = [b'-'; 36];
    let mut nibbles = (0..16).rev().map(|nibble| (high >> (4 * nibble)) & 15);
    let mut lower = (0..16).rev().map(|nibble| (low >> (4 * nibble)) & 15);
    for (at, byte) in text.iter_mut().enumerate() {
        if !matches!(at, 8 | 13 | 18 | 23) {
            let nibble = nibbles.next().or_else(|| lower.next()).unwrap_or_default();
            *byte = b"0123456789abcdef"[nibble as usize];
        }
    }
    out.extend_from_slice(&text);
}

/// A number below `bound`, by the high bits of a product; the bias is below `bound` · 2⁻⁶⁴.
fn below(bound: u128, of: Instance) -> u64 {
    ((u128::from(SplitMix::nth(of.seed, of.seq)) * bound) >> 64) as u64
}

fn pick(number: usize, of: Instance) -> usize {
    below(number as u128, of) as usize
}

fn draw_characters(
    alphabet: &[char],
    length: u16,
    of: Instance,
) -> impl Iterator<Item = char> + use<'_> {
    let own = SplitMix::nth(of.seed, of.seq);
    let (mut bits, number) = (0, alphabet.len() as u128);
    (0..usize::from(length)).map(move |place| {
        if place % PER_NUMBER == 0 {
            bits = SplitMix::nth(own, (place / PER_NUMBER) as u64);
        }
        // The low half is what is left of the number's randomness.
        let product = u128::from(bits) * number;
        bits = product as u64;
        alphabet[(product >> 64) as usize]
    })
}

impl NumberRange {
    /// The number of an operation, times ten to the power of `decimals`.
    fn draw(self, of: Instance) -> i64 {
        let numbers = i128::from(self.high) - i128::from(self.low) + 1;
        (i128::from(self.low) + i128::from(below(numbers.unsigned_abs(), of))) as i64
    }

    fn length(self, number: i64) -> usize {
        let whole = number.unsigned_abs() / self.unit();
        let behind = match self.decimals {
            0 => 0,
            decimals => usize::from(decimals) + 1,
        };
        decimal_length(i128::from(whole)) + usize::from(number < 0) + behind
    }

    /// Appends the number that `number` stands for to `out`.
    fn put(self, number: i64, out: &mut Vec<u8>) {
        let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
        let (whole, behind) = (size / self.unit(), size % self.unit());
        // Writing to a `Vec` cannot fail.
        let _ = match usize::from(self.decimals) {
            0 => write!(out, "{sign}{whole}"),
            decimals => write!(out, "{sign}{whole}.{behind:0decimals$}"),
        };
    }

    fn unit(self) -> u64 {
        10_u64.pow(u32::from(self.decimals))
    }

    /// The lowest and the highest number as texts.
    pub(crate) fn ends(self) -> [String; 2] {
        [self.low, self.high].map(|number| {
            let mut text = Vec::new();
            self.put(number, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    }
}
