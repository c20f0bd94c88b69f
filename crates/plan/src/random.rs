//! Seeded randomness that is the same on every machine: whole numbers, and IEEE 754 operations that
//! round the same everywhere.

use measure::SplitMix;

/// Exponentially distributed numbers with mean 1.
#[derive(Debug, Clone)]
pub(crate) struct Exponential {
    bits: SplitMix,
}

impl Exponential {
    pub(crate) fn new(seed: u64) -> Exponential {
        Exponential {
            bits: SplitMix::new(seed),
        }
    }

    pub(crate) fn draw(&mut self) -> f64 {
        // 53 bits in (0, 1], so that the logarithm is finite.
        let uniform = ((self.bits.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -logarithm(uniform)
    }
}

/// Natural logarithm of a number in (0, 1]. The C library's differs in the last bit between
/// machines, and agents must agree.
fn logarithm(number: f64) -> f64 {
    let bits = number.to_bits();
    // IEEE 754: 52 bits of the fraction, above them the exponent with a bias of 1023.
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut fraction = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if fraction > std::f64::consts::SQRT_2 {
        exponent += 1;
        fraction /= 2.0;
    }
    // ln(fraction) = 2·artanh(z), and |z| < 0.172: after twelve terms the rest is below the last
    // bit.
    let z = (fraction - 1.0) / (fraction + 1.0);
    let series = (0..12)
        .rev()
        .fold(0.0, |sum, n| sum * z * z + 1.0 / f64::from(2 * n + 1));
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * z * series
}

#[cfg(test)]
mod tests {
    use super::{Exponential, logarithm};

    #[test]
    fn logarithm_is_that_of_the_library_within_its_last_bits() {
        for number in [
            1.0,
            0.999_999,
            0.75,
            0.5,
            0.1,
            1e-9,
            1.0 / (1u64 << 53) as f64,
        ] {
            assert!(
                (logarithm(number) - number.ln()).abs() <= 4.0 * f64::EPSILON * number.ln().abs(),
                "{number}"
            );
        }
    }

    #[test]
    fn draws_have_mean_one_and_stay_what_they_are() {
        let mut source = Exponential::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| source.draw()).collect();
        assert!((draws.iter().sum::<f64>() / 1e5 - 1.0).abs() < 0.02);
        assert_eq!(
            draws[..3]
                .iter()
                .map(|draw| draw.to_bits())
                .collect::<Vec<_>>(),
            GOLDEN
        );
    }

    /// A change here changes every seeded run.
    const GOLDEN: [u64; 3] = [
        4_603_292_835_535_767_242,
        4_598_955_644_220_408_064,
        4_584_138_681_213_572_624,
    ];
}
