//! Variants that are the product of several axes: which of them differ in one axis only, and how
//! much.

use super::figure::Figure;
use super::{Change, NotComparable, ObservedChange, Pairing, VariantRuns, change, compare, values};
use serde::{Deserialize, Serialize};

/// Two variants that differ in one axis of a matrix only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedPair {
    /// Name of the variant.
    pub variant: String,
    /// Name of the variant it is compared with, the one with the first value on that axis.
    pub against: String,
    /// Changes of the figures that both have.
    pub changes: Vec<PairChange>,
}

/// How much a variant differs from another in a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairChange {
    /// Name of the figure.
    pub name: String,
    /// The change against the other variant.
    pub change: Change,
}

/// A pair by the positions of its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MatrixPair {
    against: usize,
    variant: usize,
}

/// The change of each figure.
pub(super) type ChangesOfPair = Vec<Result<ObservedChange, NotComparable>>;

/// Returns, axis by axis, the pairs that differ in that axis only, except pairs with the first
/// variant, with which all are compared anyway. Empty unless `number` variants are the product of
/// two axes or more.
pub(super) fn pairs(axes: &[usize], number: usize) -> Vec<MatrixPair> {
    let product = axes
        .iter()
        .try_fold(1_usize, |all, &axis| all.checked_mul(axis));
    if axes.len() < 2 || number == 0 || product != Some(number) {
        return Vec::new();
    }
    // The last axis changes fastest, so a step on an axis is the product of those after it.
    let mut step = number;
    let mut pairs = Vec::new();
    for &axis in axes {
        step /= axis;
        for variant in 0..number {
            let against = variant - variant / step % axis * step;
            if against > 0 && against < variant {
                pairs.push(MatrixPair { against, variant });
            }
        }
    }
    pairs
}

impl MatrixPair {
    /// Returns the change in each of `figures`.
    pub(super) fn changes(
        self,
        figures: &[&Figure],
        variants: &[VariantRuns<'_>],
        pairing: Pairing,
        seed: u64,
    ) -> ChangesOfPair {
        let (against, variant) = (&variants[self.against], &variants[self.variant]);
        figures
            .iter()
            .map(|figure| compare(figure, against, variant, pairing, seed))
            .collect()
    }
}

impl ComparedPair {
    pub(super) fn new(
        pair: &MatrixPair,
        figures: &[&Figure],
        variants: &[VariantRuns<'_>],
        found: &ChangesOfPair,
        alpha: f64,
    ) -> ComparedPair {
        let (against, variant) = (&variants[pair.against], &variants[pair.variant]);
        let has = |figure: &Figure, runs| !values(figure, runs).is_empty();
        let of_both = figures
            .iter()
            .zip(found)
            .filter(|(figure, _)| has(figure, against) && has(figure, variant));
        ComparedPair {
            variant: variant.name.clone(),
            against: against.name.clone(),
            changes: of_both
                .map(|(figure, found)| PairChange {
                    name: figure.name.to_string(),
                    change: change(figure, found, alpha),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(axes: &[usize], number: usize) -> Vec<(usize, usize)> {
        let pairs = pairs(axes, number).into_iter();
        pairs.map(|pair| (pair.against, pair.variant)).collect()
    }

    #[test]
    fn pairs_differ_in_one_axis_only() {
        // a1 a2 b1 b2: along the first axis a2 b2, along the second b1 b2; all other pairs include
        // a1.
        assert_eq!(places(&[2, 2], 4), [(1, 3), (2, 3)]);
        // a1 a2 a3 b1 b2 b3.
        assert_eq!(places(&[2, 3], 6), [(1, 4), (2, 5), (3, 4), (3, 5)]);
        assert_eq!(places(&[2, 2, 2], 8).len(), 3 * 4 - 3);
        for (axes, number) in [
            (&[][..], 1),
            (&[4], 4),
            (&[2, 2], 3),
            (&[usize::MAX, 2], 4),
            (&[0, 2], 0),
        ] {
            assert_eq!(places(axes, number), [], "{axes:?}");
        }
    }
}
