//! The names that a worker's connections are for.

use super::tls_error::TlsError;
use crate::values::Values;
use plan::{Host, Plan, Tls};
use rustls::pki_types::ServerName;

/// The name that a connection sends as SNI, and that certificate and session are checked against.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionNames {
    /// All connections have the same.
    One(ServerName<'static>),
}

impl ConnectionNames {
    /// The names of the plan's connections.
    pub(super) fn new(plan: &Plan, tls: &Tls) -> Result<ConnectionNames, TlsError> {
        let name = match (&tls.server_name, &plan.target().url.host) {
            (Some(given), _) => given,
            (None, Host::Name(host)) => host,
            // Verified, but not sent: a ClientHello names no addresses (RFC 6066 §3).
            (None, Host::Ip(ip)) => {
                return Ok(ConnectionNames::One(ServerName::IpAddress((*ip).into())));
            }
        };
        match ServerName::try_from(name.clone()) {
            Ok(name) => Ok(ConnectionNames::One(name)),
            Err(_) => Err(TlsError::ServerName(name.clone())),
        }
    }

    /// Whether connections have different names.
    pub(crate) fn differ(&self) -> bool {
        false
    }

    /// The name of a connection that an operation with these values opens.
    pub(crate) fn name(&self, _values: impl FnOnce() -> Values) -> ServerName<'static> {
        let ConnectionNames::One(name) = self;
        name.clone()
    }
}
