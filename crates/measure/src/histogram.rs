//! A histogram of nanoseconds, bucket for bucket that of HdrHistogram.

/// Counts of values, 3 significant digits from 1 ns to one hour, in HdrHistogram's layout (lowest discernible value 1,
/// highest trackable 3.6·10¹², 3 digits), so that other HdrHistogram tools read what we write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {}
