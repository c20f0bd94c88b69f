//! Bytes read as a list of steps, for targets with state. A missing byte counts as 0, so every
//! input is a script.

use std::time::Duration;

/// A script that is read step by step.
#[derive(Debug, Clone)]
pub struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    /// The whole of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Script<'a> {
        Script(bytes)
    }

    /// Whether all bytes have been read.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        byte
    }

    /// The next two bytes, little-endian.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// The next eight bytes, little-endian.
    pub fn long(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Bytes preceded by their length in two bytes; fewer if the script ends.
    pub fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.short()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// A duration in one byte, from 0 to 548 years: four bits, shifted by powers of 16 ns.
    pub fn duration(&mut self) -> Duration {
        let byte = u64::from(self.byte());
        Duration::from_nanos((byte & 0xf) << (4 * (byte >> 4)))
    }
}

/// Writes what [`Script`] reads.
#[derive(Debug, Clone, Default)]
pub struct ScriptWriter(Vec<u8>);

impl ScriptWriter {
    /// Adds raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut ScriptWriter {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds bytes preceded by their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut ScriptWriter {
        let length = u16::try_from(bytes.len()).expect("a script has short pieces");
        self.raw(&length.to_le_bytes()).raw(bytes)
    }

    /// The bytes of the script.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Splits `bytes` into pieces of 1 to 64 bytes, at positions determined by `seed`; seed 0 gives
/// single bytes.
pub fn pieces(bytes: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let mut random = measure::SplitMix::new(seed.into());
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // Mostly short ones, because errors between pieces tend to be in heads.
        let most = if random.below(4) == 0 { 64 } else { 4 };
        let length = if seed == 0 { 1 } else { 1 + random.below(most) };
        let (piece, behind) = rest.split_at((length as usize).min(rest.len()));
        rest = behind;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_reads_what_was_written_and_zeros_after_it() {
        let mut writer = ScriptWriter::default();
        writer.raw(&[7]).bytes(b"abc").raw(&[0x21]);
        let written = writer.finish();
        let mut script = Script::new(&written);
        assert_eq!((script.byte(), script.bytes()), (7, &b"abc"[..]));
        assert_eq!(script.duration(), Duration::from_nanos(256));
        assert!(script.is_over() && script.long() == 0 && script.bytes().is_empty());
    }

    #[test]
    fn pieces_are_the_whole() {
        let bytes: Vec<u8> = (0..=255).collect();
        for seed in 0..=255 {
            assert_eq!(pieces(&bytes, seed).collect::<Vec<_>>().concat(), bytes);
        }
        assert_eq!(pieces(&bytes, 0).count(), 256);
    }
}
