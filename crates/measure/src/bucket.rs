//! The arithmetic of HdrHistogram's buckets for our one configuration: lowest discernible value 1,
//! 3 significant digits.
//!
//! 2048 sub-buckets, so that two neighbours differ by less than 1/1000 of their value. Values below
//! 2048 have a bucket each; from there every power of two is cut into 1024 equal parts. Source:
//! `AbstractHistogram.java` of HdrHistogram 2.1.

/// Largest value that has a bucket: one hour, in nanoseconds.
pub(crate) const HIGHEST: u64 = 3_600_000_000_000;

/// Number of buckets, 33 halves of 1024: the length of HdrHistogram's counts array.
pub(crate) const BUCKETS: usize = 33 * 1024;

/// Exponent of the number of sub-buckets in a half.
const HALF: u32 = 10;
const SUB_BUCKET_MASK: u64 = (2 << HALF) - 1;
/// Leading zeros of [`SUB_BUCKET_MASK`]: a value with as many lies in the first, finest bucket.
const FINEST_LEADING_ZEROS: u32 = u64::BITS - HALF - 1;

/// Index of the bucket that holds `value`; below [`BUCKETS`] for values up to [`HIGHEST`].
#[inline]
pub(crate) fn index_of(value: u64) -> usize {
    // Low bits that the bucket does not tell apart: none below 2048, then one more each power of 2.
    let shift = FINEST_LEADING_ZEROS - (value | SUB_BUCKET_MASK).leading_zeros();
    ((shift as usize) << HALF) + (value >> shift) as usize
}

/// Smallest value in the bucket `index`.
pub(crate) fn lowest_in(index: usize) -> u64 {
    let shift = shift_of(index);
    (index as u64 - (u64::from(shift) << HALF)) << shift
}

/// Largest value in the bucket `index`.
pub(crate) fn highest_in(index: usize) -> u64 {
    lowest_in(index) + ((1 << shift_of(index)) - 1)
}

/// How many low bits of a value the bucket `index` does not tell apart.
fn shift_of(index: usize) -> u32 {
    ((index >> HALF) as u32).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_the_bounds_worked_out_by_hand() {
        // (value, index, lowest, highest)
        let cases = [
            (0, 0, 0, 0),
            (1, 1, 1, 1),
            (2047, 2047, 2047, 2047),
            (2048, 2048, 2048, 2049),
            (2049, 2048, 2048, 2049),
            (4095, 3071, 4094, 4095),
            (4096, 3072, 4096, 4099),
            (1_000_000, 11_169, 999_936, 1_000_447),
        ];
        for (value, index, lowest, highest) in cases {
            assert_eq!(
                (index_of(value), lowest_in(index), highest_in(index)),
                (index, lowest, highest),
                "{value}"
            );
        }
    }

    #[test]
    fn buckets_tile_all_values_without_gap_or_overlap() {
        assert_eq!(lowest_in(0), 0);
        for index in 1..BUCKETS {
            assert_eq!(
                lowest_in(index),
                highest_in(index - 1) + 1,
                "bucket {index}"
            );
            assert_eq!(
                (index_of(lowest_in(index)), index_of(highest_in(index))),
                (index, index)
            );
        }
        assert!(index_of(HIGHEST) < BUCKETS);
    }

    #[test]
    fn neighbours_differ_by_less_than_a_thousandth_from_one_microsecond_up() {
        for index in 1000..BUCKETS {
            assert!(
                (highest_in(index) - lowest_in(index)) as f64 <= lowest_in(index) as f64 / 1000.0,
                "bucket {index}"
            );
        }
    }
}
