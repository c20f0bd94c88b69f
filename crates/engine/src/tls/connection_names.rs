//! The names that a worker's connections are for.

use super::tls_error::TlsError;
use crate::values::{ColumnSource, Values};
use plan::{Host, Plan, ServerNames, Tls};
use rustls::pki_types::{DnsName, ServerName};
use std::sync::Arc;

/// The name that a connection sends as SNI, and that certificate and session are checked against.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionNames {
    /// All connections have the same.
    One(ServerName<'static>),
    /// Each has that of its first operation's row, in a column of DNS names.
    OfRows(Arc<ColumnSource>),
}

impl ConnectionNames {
    /// The names of the plan's connections.
    pub(super) fn new(plan: &Plan, tls: &Tls) -> Result<ConnectionNames, TlsError> {
        let given = match (&tls.server_name, &plan.target().url.host) {
            (ServerNames::Column(column), _) => {
                let source = ColumnSource::new(column, &plan.row_sources());
                return match source.find_wrong(|cell| DnsName::try_from(cell).is_ok()) {
                    Some(row) => Err(TlsError::RowName(column.to_string(), row)),
                    None => Ok(ConnectionNames::OfRows(Arc::new(source))),
                };
            }
            (ServerNames::Given(given), _) => given,
            (ServerNames::OfUrl, Host::Name(host)) => host,
            // Verified, but not sent: a ClientHello names no addresses (RFC 6066 §3).
            (ServerNames::OfUrl, Host::Ip(ip)) => {
                return Ok(ConnectionNames::One(ServerName::IpAddress((*ip).into())));
            }
        };
        match ServerName::try_from(given.clone()) {
            Ok(name) => Ok(ConnectionNames::One(name)),
            Err(_) => Err(TlsError::ServerName(given.clone())),
        }
    }

    /// Whether connections have different names.
    pub(crate) fn differ(&self) -> bool {
        matches!(self, ConnectionNames::OfRows(_))
    }

    /// The name of a connection that an operation with these values opens.
    pub(crate) fn name(&self, values: impl FnOnce() -> Values) -> ServerName<'static> {
        match self {
            ConnectionNames::One(name) => name.clone(),
            ConnectionNames::OfRows(source) => {
                let name = DnsName::try_from(source.text(&values()).as_slice())
                    .expect("every cell was checked before the run")
                    .to_owned();
                ServerName::DnsName(name)
            }
        }
    }
}
