//! The counters of a histogram as bytes, as version 2 of HdrHistogram's encoding has them. Files
//! hold them behind a head, snapshots on the wire and packed histograms without one. Reading trusts
//! nothing.
//!
//! Our own, not the `hdrhistogram` crate's: a snapshot holds hundreds of small histograms, and the
//! crate makes a whole array of 270 kB for each.

use crate::{Histogram, zigzag};

/// More values in one histogram than any run records, and as many as a float counts exactly: a
/// bound for foreign counts.
pub(crate) const MAX_COUNT: u64 = 1 << 53;

/// A counter is cut off, lies beyond the last bucket, or is larger than any run makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("histogram's counter at byte {at} is cut off, beyond the last bucket, or too large")]
pub struct HistogramError {
    /// Offset in the histogram's bytes.
    pub at: usize,
}

/// Counters from the first to the last that is not 0: a count as it is, two or more zeros as minus
/// their number.
pub(crate) fn write_counts(histogram: &Histogram, plain: &mut Vec<u8>) {
    let mut next = 0;
    for (index, count) in histogram.counts() {
        // A lone zero takes a byte either way; Java's writer writes it plainly.
        match index - next {
            0 => {}
            1 => zigzag::write(0, plain),
            zeros => zigzag::write(-(zeros as i64), plain),
        }
        zigzag::write(i64::try_from(count).unwrap_or(i64::MAX), plain);
        next = index + 1;
    }
    if next == 0 {
        zigzag::write(0, plain);
    }
}

/// A longer payload makes its room as it goes: a hostile one is zeros that say nothing.
const READ_RESERVE_MAX: usize = 256;

/// Reads what [`write_counts`] wrote, all of `payload`: `most` values at most.
pub(crate) fn read_counts(payload: &[u8], most: u64) -> Result<Histogram, HistogramError> {
    let mut histogram = Histogram::default();
    // Most buckets take two bytes for the empty ones before them, and one for their count.
    histogram.reserve(payload.len().min(READ_RESERVE_MAX) / 3 + 1);
    let mut rest = payload;
    let mut index = 0_usize;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let broken = HistogramError {
            at: payload.len() - rest.len(),
        };
        let Some(number) = zigzag::read(&mut rest) else {
            return Err(broken);
        };
        let Ok(count) = u64::try_from(number) else {
            // A negative number counts empty buckets in a row.
            let zeros = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
            index = index.saturating_add(zeros);
            continue;
        };
        total = total.saturating_add(count);
        if total > most || !histogram.append(index, count) {
            return Err(broken);
        }
        index += 1;
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::BUCKETS;
    use proptest::prelude::*;

    fn zeros(number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        zigzag::write(-i64::try_from(number).unwrap(), &mut bytes);
        bytes
    }

    #[test]
    fn counters_have_the_bytes_worked_out_by_hand() {
        let mut histogram = Histogram::default();
        for value in [1, 2, 2, 7] {
            assert!(histogram.record(value));
        }
        let mut bytes = Vec::new();
        write_counts(&histogram, &mut bytes);
        // One 0, then 1, 2, four times 0, 1.
        assert_eq!(bytes, [0, 2, 4, 7, 2]);
        assert_eq!(read_counts(&bytes, 4), Ok(histogram));
        assert_eq!(read_counts(&bytes, 3), Err(HistogramError { at: 4 }));
    }

    #[test]
    fn counters_that_no_run_makes_are_refused() {
        let beyond_the_last_bucket = [zeros(BUCKETS), vec![2]].concat();
        let most_negative_then_a_count = [vec![0xff; 9], vec![2]].concat();
        let enormous = [vec![0xfe], vec![0xff; 8]].concat();
        for (payload, at) in [
            (&beyond_the_last_bucket, 3),
            (&most_negative_then_a_count, 9),
            (&enormous, 0),
            (&vec![0x80], 0),
        ] {
            let read = read_counts(payload, MAX_COUNT);
            assert_eq!(read, Err(HistogramError { at }), "{payload:?}");
        }
        let last_bucket = [zeros(BUCKETS - 1), vec![2]].concat();
        assert!(read_counts(&last_bucket, MAX_COUNT).is_ok());
    }

    proptest! {
        #[test]
        fn hostile_counters_are_an_error_or_a_histogram(
            payload in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            if let Ok(histogram) = read_counts(&payload, MAX_COUNT) {
                let mut bytes = Vec::new();
                write_counts(&histogram, &mut bytes);
                prop_assert_eq!(read_counts(&bytes, MAX_COUNT), Ok(histogram));
            }
        }
    }
}
