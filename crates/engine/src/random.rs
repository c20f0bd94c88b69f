//! A worker's own random numbers: seeded, small, fast. Nothing here is secret.

use measure::SplitMix;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    numbers: SplitMix,
}

impl Random {
    /// Creates the stream for `(seed, stream)`; each pair has its own.
    pub(crate) fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random {
            numbers: SplitMix::new(seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03)),
        };
        random.bits();
        random
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.numbers.bits()
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + (self.unit() * (high - low + 1) as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn same_seed_gives_the_same_numbers_and_streams_differ() {
        let draw = |stream| {
            (0..4)
                .map(|_| 0)
                .scan(Random::new(7, stream), |r, _: i32| Some(r.bits()))
                .collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn between_stays_within_and_reaches_both_ends() {
        let mut random = Random::new(1, 1);
        let drawn: Vec<u64> = (0..200).map(|_| random.between(3, 5)).collect();
        assert_eq!(
            (drawn.iter().min(), drawn.iter().max()),
            (Some(&3), Some(&5))
        );
    }
}
