//! Seeded random numbers that are the same on every machine. Nothing here is a secret.

/// From state to state of [`SplitMix`].
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Debug, Clone)]
pub struct SplitMix {
    state: u64,
}

impl SplitMix {
    /// The numbers that follow `seed`.
    #[inline]
    #[must_use]
    pub fn new(seed: u64) -> SplitMix {
        SplitMix { state: seed }
    }

    /// The `nth` number (from 0) of those that follow `seed`.
    #[inline]
    #[must_use]
    pub fn nth(seed: u64, nth: u64) -> u64 {
        SplitMix::new(seed.wrapping_add(nth.wrapping_mul(GAMMA))).bits()
    }

    /// The next number: 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, by the high bits of a product; the bias is below `bound` · 2⁻⁶⁴.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Exchanges `items` until every order is as likely as any other (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix;

    #[test]
    fn numbers_are_those_of_the_paper_and_the_nth_is_found_at_once() {
        // The reference implementation (Vigna, splitmix64.c) with the seed 1234567.
        let reference = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        let mut random = SplitMix::new(1_234_567);
        for (nth, number) in reference.into_iter().enumerate() {
            assert_eq!(random.bits(), number);
            assert_eq!(SplitMix::nth(1_234_567, nth as u64), number);
        }
    }
}
