//! Many figures at once: how certain each has to be, so that a table reports no more false
//! differences than stated.

/// Share of the differences reported by a table that are false on average; if nothing differs at
/// all, this share of tables reports one.
pub(crate) const FALSE_SHARE: f64 = 0.05;

/// Returns the error probability for the interval of each reported difference of a table, by
/// Benjamini and Hochberg (1995), with intervals by Benjamini and Yekutieli (2005): `FALSE_SHARE`
/// times the share of figures that differ, counting at least one of them.
///
/// An interval with this error excludes "no change" exactly if the procedure reports a difference,
/// so it decides that, too.
pub(crate) fn error_of_each(probabilities: &[f64]) -> f64 {
    let mut sorted = probabilities.to_vec();
    sorted.sort_by(f64::total_cmp);
    let all = sorted.len().max(1) as f64;
    // The largest rank whose probability is below its line, whatever the smaller ranks do.
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
            // Only the second is above its line (0.03 > 0.025), and the third is below its own
            // (0.035 < 0.0375), so all three count.
            (vec![0.01, 0.03, 0.035, 0.9], 0.0375),
        ] {
            assert!(
                (error_of_each(&probabilities) - expected).abs() < 1e-12,
                "{probabilities:?}"
            );
        }
    }
}
