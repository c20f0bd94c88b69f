//! Why the plan's TLS cannot be set up on this machine.

/// Why the plan's TLS cannot be set up on this machine.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file with certificates has none, or a broken one.
    #[error(
        "{field}: {file} holds no usable certificate ({reason}); give a PEM file with -----BEGIN \
         CERTIFICATE-----"
    )]
    Certificates {
        /// Field of the plan.
        field: &'static str,
        /// File as the plan names it.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A private key cannot be used.
    #[error(
        "tls.client_certificates: {file} holds no usable private key ({reason}); give an \
         unencrypted PEM key (PKCS#8, PKCS#1 or SEC1)"
    )]
    Key {
        /// File as the plan names it.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// Certificate and key do not belong together.
    #[error(
        "tls.client_certificates: the key {key} does not belong to the certificate {cert}; give \
         the two of one pair"
    )]
    Mismatch {
        /// Certificate file.
        cert: String,
        /// Key file.
        key: String,
    },
    /// A client identity that is needed here was not sent.
    #[error(
        "tls.client_certificates: {file} did not come with the plan, though a virtual user of \
         this agent has it; run the coordinator's version here"
    )]
    NotHere {
        /// File as the plan names it.
        file: String,
    },
    /// The platform has no roots.
    #[error(
        "tls.ca: this machine's own root certificates cannot be read ({0}); name a CA file in \
         tls.ca, or set tls.verify = \"none\""
    )]
    PlatformRoots(String),
    /// The name to verify is not a valid name.
    #[error("tls.server_name: {0:?} is neither a host name nor an IP address")]
    ServerName(String),
    /// A cell that is to name connections is not a valid name.
    #[error("tls.server_name: {0} is no DNS name in row {1} of the file")]
    RowName(String, u64),
    /// A server name of a log is not a valid name.
    #[error(
        "replay.handshakes: the log's server name {0:?} is no DNS name; remove server_name from \
         its lines in replay.file"
    )]
    RecordedName(String),
    /// rustls refuses the combination.
    #[error("tls: {0}")]
    Rustls(#[from] rustls::Error),
}
