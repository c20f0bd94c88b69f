//! An HTTP/1.1 and TLS server with known delays, capacities and faults: for the quickstart, for
//! tests and for benches. It shares no code with the load engine, so that a fault of one cannot
//! hide in the other.

mod accept_loop;
mod acceptor;
mod alarm;
mod answer;
mod authority;
mod bad_framing;
mod bound_target;
mod certificate;
mod code_points;
mod config;
mod connection;
mod counts;
mod error;
mod exchange;
mod fault;
mod pace;
mod prepared_answer;
mod request;
mod running_target;
mod service;
mod timetable;
mod tls;
mod wire;

pub use answer::{BodyFraming, TargetAnswer};
pub use authority::{Leaf, TestAuthority, TestIdentity};
pub use bad_framing::BadFraming;
pub use bound_target::BoundTarget;
pub use certificate::{CertificateDefect, KeyKind};
pub use config::{Config, KeepAlive, LastRequest};
pub use counts::{Counts, TargetTally};
pub use error::BindError;
pub use fault::{ConnectionEnd, FaultPlace, OpeningFault, TargetFault};
pub use pace::Pace;
pub use running_target::RunningTarget;
pub use timetable::Timetable;
pub use tls::{ServerTls, ServerTlsVersion};
