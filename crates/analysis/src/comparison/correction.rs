//! Many figures at once: how sure each must be so that a table names no more false differences than
//! it says.

/// Of the differences that a table names, so many may be false on average; where nothing differs at
/// all, so many tables name one.
pub(crate) const FALSE_SHARE: f64 = 0.05;

/// The error with which the interval of each named difference of a table is made, by Benjamini and
/// Hochberg (1995), with intervals by Benjamini and Yekutieli (2005): `FALSE_SHARE` times the share
/// of figures that differ, and never less than one of them.
///
/// An interval made with it leaves out "no change" exactly where the procedure names a difference,
/// so it decides that too.
pub(crate) fn error_of_each(probabilities: &[f64]) -> f64 {
    let mut sorted = probabilities.to_vec();
    sorted.sort_by(f64::total_cmp);
    let all = sorted.len().max(1) as f64;
    // The largest rank whose probability is below its line, whichever the smaller ones do.
    let named = (1..=sorted.len())
        .rev()
        .find(|&rank| sorted[rank - 1] <= FALSE_SHARE * rank as f64 / all);
    FALSE_SHARE * named.unwrap_or(1) as f64 / all
}

#[cfg(test)]
mod tests {
    use super::error_of_each;

    #[test]
    fn error_grows_with_the_number_of_differences() {
        for (probabilities, expected) in [
            (vec![], 0.05),
            (vec![0.5], 0.05),
            (vec![0.5, 0.6, 0.7, 0.8], 0.0125),
            (vec![0.01, 0.6, 0.7, 0.8], 0.0125),
            (vec![0.8, 0.02, 0.01, 0.9], 0.025),
            (vec![0.04, 0.03, 0.02, 0.01], 0.05),
            // The second alone is above its line (0.03 > 0.025), the third below its own (0.035 <
            // 0.0375): all three count.
            (vec![0.01, 0.03, 0.035, 0.9], 0.0375),
        ] {
            assert!(
                (error_of_each(&probabilities) - expected).abs() < 1e-12,
                "{probabilities:?}"
            );
        }
    }
}
