//! The names that a worker's connections are for.

use super::recorded_hellos::RecordedHellos;
use super::tls_error::TlsError;
use crate::values::{ColumnSource, Values};
use plan::{Host, Plan, ServerNames, Tls, Url};
use rustls::pki_types::{DnsName, ServerName};
use std::sync::Arc;

/// The name that a connection sends as SNI, and that certificate and session are checked against.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionNames {
    /// All connections have the same.
    One(ServerName<'static>),
    /// Each has that of its first operation's row, in a column of DNS names.
    OfRows(Arc<ColumnSource>),
    /// Each has that of its connection in the log that is replayed.
    Recorded(Arc<RecordedHellos>),
}

/// Another origin that redirects may lead to.
#[derive(Debug)]
pub(super) struct OtherOrigin {
    pub(super) names: ConnectionNames,
    /// It is at the target's host, at another port or by another scheme.
    pub(super) is_at_host: bool,
}

impl OtherOrigin {
    /// That of `url`; at the target's host, its connections have the names of the target's.
    pub(super) fn new(
        plan: &Plan,
        url: &Url,
        names: &ConnectionNames,
    ) -> Result<OtherOrigin, TlsError> {
        let is_at_host = url.host == plan.target().url.host;
        let names = match &url.host {
            _ if is_at_host => names.clone(),
            Host::Name(host) => ConnectionNames::One(dns_name(host)?),
            Host::Ip(ip) => ConnectionNames::One(ServerName::IpAddress((*ip).into())),
        };
        Ok(OtherOrigin { names, is_at_host })
    }
}

impl ConnectionNames {
    /// The names of the plan's connections.
    pub(super) fn new(plan: &Plan, tls: &Tls) -> Result<ConnectionNames, TlsError> {
        if let ServerNames::Column(column) = &tls.server_name {
            let source = ColumnSource::new(column, &plan.row_sources());
            return match source.find_wrong(|cell| DnsName::try_from(cell).is_ok()) {
                Some(row) => Err(TlsError::RowName(column.to_string(), row)),
                None => Ok(ConnectionNames::OfRows(Arc::new(source))),
            };
        }
        let name = server_name(plan, tls)?;
        Ok(match RecordedHellos::new(plan, tls, &name)? {
            Some(recorded) => ConnectionNames::Recorded(Arc::new(recorded)),
            None => ConnectionNames::One(name),
        })
    }

    /// Whether connections have different names.
    pub(crate) fn differ(&self) -> bool {
        matches!(
            self,
            ConnectionNames::OfRows(_) | ConnectionNames::Recorded(_)
        )
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
            ConnectionNames::Recorded(recorded) => recorded.name(&values()),
        }
    }

    /// The handshakes of the log, if a replay repeats them.
    pub(super) fn recorded(&self) -> Option<&Arc<RecordedHellos>> {
        match self {
            ConnectionNames::Recorded(recorded) => Some(recorded),
            ConnectionNames::One(_) | ConnectionNames::OfRows(_) => None,
        }
    }
}

/// The name that the plan has for all connections.
fn server_name(plan: &Plan, tls: &Tls) -> Result<ServerName<'static>, TlsError> {
    let given = match (&tls.server_name, &plan.target().url.host) {
        (ServerNames::Given(given), _) => given,
        (_, Host::Name(host)) => host,
        // Verified, but not sent: a ClientHello names no addresses (RFC 6066 §3).
        (_, Host::Ip(ip)) => return Ok(ServerName::IpAddress((*ip).into())),
    };
    dns_name(given)
}

fn dns_name(text: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(text.to_owned()).map_err(|_| TlsError::ServerName(text.to_owned()))
}
