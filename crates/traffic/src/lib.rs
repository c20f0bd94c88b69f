//! Recorded traffic: logs of other programs in, requests for replay out. Reads from what it is
//! given and writes to what it is given; it knows no files, clock or network.

mod entry;
mod stamp;

pub use entry::{ReplayEntry, ReplayRequest};
pub use stamp::Stamp;
