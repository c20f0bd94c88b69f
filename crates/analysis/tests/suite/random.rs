//! Seeded noise for simulations.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Number of events within `mean` at a rate of 1.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        let (mut at, mut events) = (self.exponential(), 0);
        while at < mean {
            (at, events) = (at + self.exponential(), events + 1);
        }
        events
    }
}
