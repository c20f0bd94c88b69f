//! What happened. One recorder per worker, snapshots of one second, an exact merge, a versioned encoding.
//! Pure: no clock, no thread, no I/O; instants are nanoseconds of the run clock, given by the caller.

mod counters;
mod distribution;
mod failure;
mod histogram;
mod interval;
mod key;
mod metric;
mod recorder;
mod snapshot;
mod tls;

pub use counters::{Connections, Counters, Resumption};
pub use distribution::Distribution;
pub use failure::{CertificateFault, Failure, Kind, Stage};
pub use histogram::Histogram;
pub use interval::{Interval, Spare};
pub use key::{CellId, CellKey, Period};
pub use metric::{Metric, Outcome};
pub use recorder::{Handshake, Operation, Recorder, Verdict};
pub use snapshot::{Cell, Snapshot};
pub use tls::{Chain, HandshakeKind, Negotiated};
