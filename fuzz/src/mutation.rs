//! Random changes of bytes from a seed, the replacement for libFuzzer on stable Rust. It knows
//! nothing of coverage, so it stays close to the corpus.

use measure::SplitMix;

/// Longest input.
pub const INPUT_MAX_BYTES: usize = 128 << 10;

/// Most changes of one input.
const CHANGES_MAX: u64 = 8;

/// Most bytes that are inserted, removed or repeated at once.
const PIECE_MAX_BYTES: u64 = 64;

/// Numbers at which code tends to break.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 53,
    i64::MAX as u64,
    u64::MAX,
];

/// Makes inputs from a corpus.
#[derive(Debug)]
pub struct Mutator {
    random: SplitMix,
    corpus: Vec<Vec<u8>>,
}

impl Mutator {
    /// The same seed and corpus give the same inputs.
    #[must_use]
    pub fn new(seed: u64, mut corpus: Vec<Vec<u8>>) -> Mutator {
        corpus.push(Vec::new());
        Mutator {
            random: SplitMix::new(seed),
            corpus,
        }
    }

    /// The next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.seed().to_vec();
        for _ in 0..=self.random.below(CHANGES_MAX) {
            self.change(&mut input);
        }
        input.truncate(INPUT_MAX_BYTES);
        input
    }

    fn seed(&mut self) -> &[u8] {
        let which = self.random.below(self.corpus.len() as u64) as usize;
        &self.corpus[which]
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let (at, end) = self.range(input.len());
        match self.random.below(9) {
            0 if at < end => input[at] ^= 1 << self.random.below(8),
            1 if at < end => input[at] = self.random.bits() as u8,
            2 => drop(input.drain(at..end)),
            3 => {
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            4 => {
                let bytes: Vec<u8> = (at..end.max(at + 1))
                    .map(|_| self.random.bits() as u8)
                    .collect();
                input.splice(at..at, bytes);
            }
            5 => self.write_edge(at, input),
            6 => {
                let number = EDGES[self.random.below(EDGES.len() as u64) as usize];
                input.splice(at..end.min(at + 8), number.to_string().into_bytes());
            }
            7 => self.splice(at, input),
            _ => input.truncate(end),
        }
    }

    /// A short range within `length`; may be empty.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let at = self.random.below(length as u64 + 1) as usize;
        let end = at + self.random.below(PIECE_MAX_BYTES) as usize;
        (at, end.min(length))
    }

    /// Overwrites the bytes at `at` with one of the [`EDGES`], in a width and byte order that our
    /// formats use.
    fn write_edge(&mut self, at: usize, input: &mut [u8]) {
        let number = EDGES[self.random.below(EDGES.len() as u64) as usize];
        let width = 1 << self.random.below(4);
        let bytes = if self.random.below(2) == 0 {
            number.to_le_bytes()[..width].to_vec()
        } else {
            number.to_be_bytes()[8 - width..].to_vec()
        };
        let places = input[at..].iter_mut();
        places.zip(bytes).for_each(|(place, byte)| *place = byte);
    }

    /// Continues with the end of another input.
    fn splice(&mut self, at: usize, input: &mut Vec<u8>) {
        let other = self.seed().to_vec();
        let (from, _) = self.range(other.len());
        input.truncate(at);
        input.extend_from_slice(&other[from..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_makes_the_same_inputs_and_another_one_others() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, vec![b"a corpus of one text".to_vec()]);
            (0..100).map(|_| mutator.next_input()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }

    #[test]
    fn inputs_stay_below_their_bound() {
        let mut mutator = Mutator::new(3, vec![vec![0; INPUT_MAX_BYTES]]);
        assert!((0..200).all(|_| mutator.next_input().len() <= INPUT_MAX_BYTES));
    }
}
