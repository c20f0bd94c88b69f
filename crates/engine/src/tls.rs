//! TLS of one worker: configuration, sessions, identities, verification, and the byte stream of one
//! connection.

mod accepted_chains;
mod advance;
mod certificate;
mod chains;
mod cheap;
mod client_hello;
mod config;
mod connection_names;
mod der;
mod early_data;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod hkdf;
mod identity;
mod keys;
mod named_places;
mod offer;
mod pem;
mod record_cipher;
mod record_layer;
mod recorded_hellos;
#[cfg(feature = "rehearsal")]
mod rehearsal;
mod sessions;
mod staple;
mod stream;

mod tls_error;
mod verifier;

pub(crate) use advance::Broken;
pub(crate) use chains::Chains;
pub(crate) use config::{Materials, Offering, WorkerTls};
pub use config::{check_certificates, roots_beside_target};
#[cfg(feature = "fuzzing")]
pub use fuzzing::{RecordDoor, RecordForge};
pub(crate) use offer::{Hello, Offer, SessionVersions};
#[cfg(feature = "rehearsal")]
pub use rehearsal::Rehearsal;
pub(crate) use stream::{FRAGMENT, TlsStream};
pub use tls_error::TlsError;
