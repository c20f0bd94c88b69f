//! TLS of one worker: configuration, sessions, identities, verification, and the byte stream of one
//! connection.

mod certificate;
mod cheap;
mod config;
mod der;
mod direct;
mod hkdf;
mod identity;
mod keys;
mod record;
#[cfg(feature = "rehearsal")]
mod rehearsal;
mod sessions;
mod staple;
mod stream;
mod tally;
mod verifier;

pub use config::TlsError;
pub(crate) use config::{Materials, WorkerTls};
#[cfg(feature = "rehearsal")]
pub use rehearsal::Rehearsal;
pub(crate) use stream::{Broken, FRAGMENT, TlsStream};
pub(crate) use tally::Chains;
