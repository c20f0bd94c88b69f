//! The coordinator's end of the control plane: agents dial in, one task owns what is known of them, and the caller gets
//! each run as a stream of events. Knows nothing of what the intervals say.

mod handle;

pub use handle::{FleetHandle, RunEvents, RunRefused};
