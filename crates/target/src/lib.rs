//! An HTTP/1.1 and TLS server with known delays, capacities and faults: for the quickstart, for
//! tests and for benches. It shares no code with the load engine, so that a fault of one cannot
//! hide in the other.

mod acceptor;
mod alarm;
mod answer;
mod authority;
mod bad_framing;
mod config;
mod connection;
mod counts;
mod error;
mod exchange;
mod fault;
mod pace;
mod prepared;
mod request;
mod running;
mod target;
mod timetable;
mod tls;
mod wire;

pub use answer::{Answer, Framing};
pub use authority::{Authority, Identity, KeyKind, Leaf};
pub use bad_framing::BadFraming;
pub use config::{Config, KeepAlive, LastRequest};
pub use counts::{Counts, Tally};
pub use error::BindError;
pub use fault::{ConnectionFault, Ending, Fault, Place};
pub use pace::Pace;
pub use running::Running;
pub use target::Target;
pub use timetable::Timetable;
pub use tls::{CertificateFault, Tls, TlsVersion};
