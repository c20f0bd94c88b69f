//! Why a target cannot start.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a target cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; port 0 takes a free one")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate cannot be made.
    #[error("cannot make the certificate: {0}; names are DNS names or IP addresses")]
    Certificate(#[from] rcgen::Error),
    /// rustls refuses the configuration.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// No such cipher suite.
    #[error(
        "cipher suite {0:#06x} is not one that rustls with aws-lc-rs offers; take one of {known}",
        known = crate::code_points::known_suites()
    )]
    UnknownSuite(u16),
    /// No such group.
    #[error(
        "group {0:#06x} is not one that rustls with aws-lc-rs offers; take one of {known}",
        known = crate::code_points::known_groups()
    )]
    UnknownGroup(u16),
    /// The client CA cannot be used.
    #[error("the client CA cannot be used: {0}; give PEM with at least one CA certificate")]
    ClientCa(String),
    /// The status is not one that can be sent.
    #[error(
        "status {0} cannot be sent here; final ones are 200 to 999, interim ones 100 to 199 but \
         not 101"
    )]
    Status(u16),
    /// The next stall begins before the last has ended.
    #[error(
        "a stall of {lasts:?} every {every:?} would never end; let it last for less than the time \
         between two"
    )]
    EndlessStall {
        /// From one beginning to the next.
        every: Duration,
        /// Length of each.
        lasts: Duration,
    },
}
