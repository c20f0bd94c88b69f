//! Executes a plan: workers, pacing, open and closed loop, TLS, HTTP. Knows nothing of fleets or
//! wire protocols: a plan with a start instant goes in, intervals come out.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "load is sent from Linux only; elsewhere build the coordinator alone: cargo install --locked \
     --path coordinator --no-default-features (docs/INSTALL.md says more)"
);

mod arrival;
mod body;
mod ceilings;
mod checks;
mod clock;
mod collector;
mod connection;
mod connection_key;
mod cookie_source;
mod cookies;
mod day_key;
mod death_notice;
mod digest;
mod endpoints;
mod failed_row;
mod fill;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hop_request;
mod hops;
mod http2;
mod journey_memory;
mod journeys;
mod key_log;
mod lane_event;
mod lease;
mod live_operation;
mod local_ports;
mod location;
mod open_files;
mod outfitter;
mod path_mark;
mod placement;
mod plan_requests;
mod policy;
mod poller;
mod pool_users;
mod prepare;
mod prepare_error;
mod prepared_engine;
mod proxy_header;
mod random;
mod recorded_connections;
mod replayed_request;
mod request;
mod request_bytes;
#[cfg(feature = "rehearsal")]
mod request_rehearsal;
mod request_rules;
mod request_tallies;
mod resolver;
mod response;
mod running_engine;
mod sample;
mod script;
mod seat;
mod sent_secrets;
mod signing_meter;
mod slot;
mod socket;
mod source;
mod spin;
mod take_over_error;
mod template;
mod timers;
mod tls;
mod tokens;
mod unique_stack;
mod values;
mod websocket;
mod worker;
mod worker_thread;

pub use clock::{RunClock, boot_time_ns, monotonic_ns};
#[cfg(feature = "rehearsal")]
pub use collector::CollectorRehearsal;
pub use collector::Event;
pub use endpoints::port_pairs;
pub use key_log::KeysWritten;
pub use lease::{FiringLease, StopMode};
pub use open_files::OPEN_FILES_BESIDE;
pub use placement::{Placement, allowed_cpus};
pub use policy::{AllowError, Policy};
pub use prepare::{CheckedPlan, check, prepare};
pub use prepare_error::PrepareError;
pub use prepared_engine::PreparedEngine;
#[cfg(feature = "rehearsal")]
pub use request_rehearsal::RequestRehearsal;
pub use running_engine::RunningEngine;
pub use sample::{SampleRequest, sample_requests};
pub use spin::SpunTime;
pub use take_over_error::TakeOverError;
#[cfg(feature = "rehearsal")]
pub use tls::Rehearsal;
pub use tls::{TlsError, check_certificates, roots_beside_target};
pub use tokens::{TokenShelf, Tokens};
pub use worker::{Cut, Spent, WorkerFigures};
pub use worker_thread::{is_worker_thread, thread_name};
