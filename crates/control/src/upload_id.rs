//! Identifies what an agent uploads of a run.

use proto::ack::Stored;

/// Something that an agent keeps until it is acknowledged. Totals are not an interval, although
/// they travel as one: their number is how many intervals they sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UploadId {
    Interval(u32),
    Totals(u32),
}

impl UploadId {
    pub(crate) fn from_wire(number: u32, totals: bool) -> UploadId {
        if totals {
            UploadId::Totals(number)
        } else {
            UploadId::Interval(number)
        }
    }

    /// The number, and whether it is that of totals.
    pub(crate) fn to_wire(self) -> (u32, bool) {
        match self {
            UploadId::Interval(number) => (number, false),
            UploadId::Totals(number) => (number, true),
        }
    }

    /// What an acknowledgement says of it.
    pub(crate) fn to_stored(self) -> Stored {
        match self {
            UploadId::Interval(number) => Stored::Interval(number),
            UploadId::Totals(number) => Stored::Totals(number),
        }
    }
}
