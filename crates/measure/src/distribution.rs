//! A histogram with its exact moments beside it.

use crate::Histogram;

/// A histogram, and what it would blur kept exactly: count, sum, sum of squares, min, max; and what lies beyond it, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Buckets; holds every value but those counted in `overflow`.
    pub histogram: Histogram,
    /// All values, overflow included.
    pub count: u64,
    /// Sum, nanoseconds.
    pub sum: u128,
    /// Sum of squares.
    pub sum_of_squares: u128,
    /// Smallest value; 0 where there is none.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Values above one hour: in count, sums and max, in no bucket.
    pub overflow: u64,
}
