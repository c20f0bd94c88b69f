//! What TLS the target speaks and what is wrong with its certificate.

use crate::{CertificateDefect, KeyKind};

/// TLS of the target. The default is TLS 1.2 and 1.3, P-256, no resumption of any kind.
#[derive(Debug, Clone)]
pub struct ServerTls {
    /// Kind of the server's key, and of its CA's.
    pub key: KeyKind,
    /// Names and addresses of the certificate beside `localhost`, `127.0.0.1` and `::1`.
    pub names: Vec<String>,
    /// What is wrong with the certificate.
    pub certificate_fault: Option<CertificateDefect>,
    /// Versions that are spoken; a client that offers none of them gets an alert.
    pub versions: Vec<ServerTlsVersion>,
    /// Cipher suites by IANA code point, in the server's order of preference; all where absent.
    pub cipher_suites: Option<Vec<u16>>,
    /// Key exchange groups by IANA code point; all where absent. A client whose key share is for
    /// none of them pays a HelloRetryRequest.
    pub groups: Option<Vec<u16>>,
    /// Stateless tickets: TLS 1.2 by RFC 5077, TLS 1.3 two per full handshake and per resumption.
    pub tickets: bool,
    /// A session cache: TLS 1.2 by session id, TLS 1.3 by tickets that name a cached session and
    /// work once.
    pub session_cache: bool,
    /// PEM of the CAs of client certificates, which are then required. Absent asks for none.
    pub client_ca_pem: Option<String>,
    /// A DER OCSP response, sent to clients that ask for one.
    pub ocsp_staple: Option<Vec<u8>>,
    /// ALPN protocols accepted, in order; empty ignores ALPN.
    pub alpn: Vec<String>,
}

impl Default for ServerTls {
    fn default() -> ServerTls {
        ServerTls {
            key: KeyKind::P256,
            names: Vec::new(),
            certificate_fault: None,
            versions: vec![ServerTlsVersion::V12, ServerTlsVersion::V13],
            cipher_suites: None,
            groups: None,
            tickets: false,
            session_cache: false,
            client_ca_pem: None,
            ocsp_staple: None,
            alpn: vec!["http/1.1".to_owned()],
        }
    }
}

/// A version of TLS that the target can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerTlsVersion {
    /// TLS 1.2 (RFC 5246).
    V12,
    /// TLS 1.3 (RFC 8446).
    V13,
}
