//! A string of a header block (RFC 7541 §5.2) in its encoded form.

use super::hpack_error::BadBlock;
use super::huffman::Symbols;

#[derive(Debug, Clone, Copy)]
pub(super) struct HpackString<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) is_huffman: bool,
}

impl HpackString<'_> {
    /// Passes each decoded byte to `take`.
    pub(super) fn each(self, mut take: impl FnMut(u8)) -> Result<(), BadBlock> {
        if self.is_huffman {
            Symbols::new(self.bytes).try_for_each(|symbol| symbol.map(&mut take))
        } else {
            self.bytes.iter().copied().for_each(take);
            Ok(())
        }
    }

    /// The decoded string.
    pub(super) fn decode(self) -> Result<Vec<u8>, BadBlock> {
        let mut decoded = Vec::with_capacity(self.bytes.len());
        self.each(|byte| decoded.push(byte))?;
        Ok(decoded)
    }

    /// The string's value as a decimal number, if it is one.
    pub(super) fn number(self) -> Result<Option<u64>, BadBlock> {
        let mut number = None;
        let mut is_number = true;
        self.each(|byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
            let before: u64 = number.unwrap_or(0);
            number = digit.and_then(|digit| before.checked_mul(10)?.checked_add(digit));
            is_number &= number.is_some();
        })?;
        Ok(number.filter(|_| is_number))
    }
}
