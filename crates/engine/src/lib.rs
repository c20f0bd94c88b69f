//! Does a plan: workers, pacing, open and closed loop, TLS, HTTP. Knows nothing of fleets or wires:
//! a plan with a start instant goes in, intervals come out.

mod body;
mod ceilings;
mod clock;
mod collector;
mod connection;
mod death_notice;
mod endpoints;
mod engine;
mod http2;
mod key_log;
mod lease;
mod live_operation;
mod policy;
mod poller;
mod random;
mod request;
mod resolver;
mod response;
mod seat;
mod slot;
mod socket;
mod source;
mod spin;
mod template;
mod timers;
mod tls;
mod unique_stack;
mod worker;

pub use clock::{RunClock, boot_time_ns, monotonic_ns};
#[cfg(feature = "rehearsal")]
pub use collector::CollectorRehearsal;
pub use collector::Event;
pub use engine::{Placement, PrepareError, Prepared, Running, allowed_cpus, prepare, thread_name};
pub use key_log::KeysWritten;
pub use lease::{FiringLease, StopMode};
pub use policy::{AllowError, Policy};
pub use spin::SpunTime;
#[cfg(feature = "rehearsal")]
pub use tls::Rehearsal;
pub use tls::TlsError;
pub use worker::{Cut, Spent, WorkerFigures};
