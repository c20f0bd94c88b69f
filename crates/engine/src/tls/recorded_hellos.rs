//! How the connections of a log begin that a replay repeats: server name, version, resumption.

use super::offer::{Offer, SessionVersions};
use super::tls_error::TlsError;
use crate::values::Values;
use plan::{Plan, RecordedArrivals, RecordedName, Tls, TlsVersion};
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// The kinds of handshakes of a log.
#[derive(Debug)]
pub(crate) struct RecordedHellos {
    arrivals: Arc<RecordedArrivals>,
    kinds: Vec<HelloKind>,
}

#[derive(Debug)]
struct HelloKind {
    name: ServerName<'static>,
    sessions: SessionVersions,
    format: HelloFormat,
}

/// What takes a configuration of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HelloFormat {
    /// The versions that are offered.
    pub(super) versions: Vec<TlsVersion>,
    /// Whether the server name is sent.
    pub(super) names_server: bool,
}

impl RecordedHellos {
    /// The handshakes of the plan's log, if a replay repeats them. `of_plan` is the name that
    /// connections have without it.
    pub(super) fn new(
        plan: &Plan,
        tls: &Tls,
        of_plan: &ServerName<'static>,
    ) -> Result<Option<RecordedHellos>, TlsError> {
        let Some(arrivals) = plan.replay().map(|replay| &replay.arrivals) else {
            return Ok(None);
        };
        let Some(handshakes) = arrivals.handshakes() else {
            return Ok(None);
        };
        let kind = |recorded: &plan::RecordedHandshake| {
            let name = match &recorded.server_name {
                RecordedName::OfPlan | RecordedName::Absent => of_plan.clone(),
                RecordedName::Given(name) => ServerName::try_from(name.clone())
                    .map_err(|_| TlsError::RecordedName(name.clone()))?,
            };
            let versions = recorded.version.map(|version| vec![version]);
            Ok(HelloKind {
                name,
                sessions: match (recorded.resumes, recorded.version) {
                    (false, _) => SessionVersions::NONE,
                    (true, Some(TlsVersion::V12)) => SessionVersions::TLS12,
                    (true, Some(TlsVersion::V13)) => SessionVersions::TLS13,
                    (true, None) => SessionVersions::ANY,
                },
                format: HelloFormat {
                    versions: versions.unwrap_or_else(|| tls.versions.clone()),
                    names_server: recorded.server_name != RecordedName::Absent,
                },
            })
        };
        let kinds = handshakes.kinds().iter().map(kind);
        Ok(Some(RecordedHellos {
            arrivals: Arc::clone(arrivals),
            kinds: kinds.collect::<Result<_, TlsError>>()?,
        }))
    }

    /// The formats of the kinds, by kind.
    pub(super) fn formats(&self) -> impl Iterator<Item = &HelloFormat> {
        self.kinds.iter().map(|kind| &kind.format)
    }

    /// What the connection offers that an operation with these values opens.
    pub(crate) fn offer(&self, values: &Values) -> Offer {
        let kind = self.arrivals.handshake(values.number_in_part());
        kind.map_or(Offer::Nothing, Offer::Recorded)
    }

    /// Its name.
    pub(super) fn name(&self, values: &Values) -> ServerName<'static> {
        let kind = self.arrivals.handshake(values.number_in_part());
        self.kinds[kind.unwrap_or(0) as usize].name.clone()
    }

    /// The versions whose sessions a handshake of `kind` may offer.
    pub(super) fn sessions(&self, kind: u32) -> SessionVersions {
        self.kinds[kind as usize].sessions
    }
}
