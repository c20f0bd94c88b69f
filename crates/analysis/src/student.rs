//! Student's t distribution for integer degrees of freedom, by the finite series of Abramowitz and
//! Stegun, 26.7.3 and 26.7.4.

use std::f64::consts::{FRAC_PI_2, PI};

/// Bisections that narrow a quarter turn down to the last bit of a double.
const HALVINGS: u32 = 60;

/// Returns the probability that a t with `freedom` degrees of freedom (at least 1) is farther from
/// 0 than `t`, on either side.
pub(crate) fn two_sided_p(t: f64, freedom: u32) -> f64 {
    let freedom = freedom.max(1);
    let angle = (t.abs() / f64::from(freedom).sqrt()).atan();
    // Far out, rounding can leave slightly less than 0.
    (1.0 - within(angle, freedom)).clamp(0.0, 1.0)
}

/// Returns the t that is exceeded, on both sides together, with probability `alpha`.
pub(crate) fn quantile(alpha: f64, freedom: u32) -> f64 {
    let freedom = freedom.max(1);
    // Bisect the angle: it lies within a quarter turn for any t.
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if 1.0 - within(middle, freedom) > alpha {
            low = middle
        } else {
            high = middle
        }
    }
    low.tan() * f64::from(freedom).sqrt()
}

/// Returns the probability that |t| is below √freedom · tan(angle).
fn within(angle: f64, freedom: u32) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    if freedom.is_multiple_of(2) {
        // 26.7.4
        return sine * series(1.0, 1, freedom, cosine);
    }
    // 26.7.3; for one degree of freedom the series is empty.
    let odd = if freedom == 1 {
        0.0
    } else {
        sine * series(cosine, 2, freedom, cosine)
    };
    2.0 / PI * (angle + odd)
}

/// Sums up `first` and further terms, each being the one before times cos² and n/(n + 1), for n =
/// `from`, `from` + 2, … up to freedom − 3.
fn series(first: f64, from: u32, freedom: u32, cosine: f64) -> f64 {
    let (mut sum, mut term, mut n) = (first, first, from);
    while n + 3 <= freedom {
        term *= cosine * cosine * f64::from(n) / f64::from(n + 1);
        sum += term;
        n += 2;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 5 % and 1 % points, as printed in tables of t.
    const TABLE: [(u32, f64, f64); 9] = [
        (1, 12.706, 63.657),
        (2, 4.303, 9.925),
        (3, 3.182, 5.841),
        (4, 2.776, 4.604),
        (5, 2.571, 4.032),
        (9, 2.262, 3.250),
        (10, 2.228, 3.169),
        (30, 2.042, 2.750),
        (120, 1.980, 2.617),
    ];

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (freedom, five, one) in TABLE {
            assert!(
                (quantile(0.05, freedom) - five).abs() < 6e-4,
                "{freedom}: {}",
                quantile(0.05, freedom)
            );
            assert!(
                (quantile(0.01, freedom) - one).abs() < 6e-4,
                "{freedom}: {}",
                quantile(0.01, freedom)
            );
        }
    }

    #[test]
    fn probability_is_the_inverse_of_the_quantile() {
        for freedom in [1, 2, 3, 4, 7, 8, 50, 1001] {
            for alpha in [0.5, 0.05, 0.001, 1e-6] {
                let p = two_sided_p(quantile(alpha, freedom), freedom);
                assert!((p / alpha - 1.0).abs() < 1e-6, "{freedom} {alpha}: {p}");
            }
        }
        assert_eq!(
            (two_sided_p(0.0, 3), two_sided_p(f64::INFINITY, 3)),
            (1.0, 0.0)
        );
        // One degree of freedom is Cauchy's distribution, half of which lies within ±1; with two,
        // P(|t| > 1) = 1 − 1/√3.
        assert!((two_sided_p(1.0, 1) - 0.5).abs() < 1e-12);
        assert!((two_sided_p(1.0, 2) - (1.0 - 1.0 / 3.0_f64.sqrt())).abs() < 1e-12);
    }
}
