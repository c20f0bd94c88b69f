//! Why an agent cannot fire a part of another agent's share.

use crate::prepare_error::PrepareError;
use std::time::Duration;

/// Why a part of a lost agent's share cannot be fired here. The part remains as it was.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverError {
    /// It is not a part of another agent's share.
    #[error(
        "it is no part of another agent's share; run the same version on coordinator and agents"
    )]
    NoPart,
    /// Some of it is fired here already.
    #[error("this agent fires some of it already")]
    Held,
    /// Users have certificates of their own, and those of the lost agent's users are not here.
    #[error(
        "tls.client_certificates: the certificates of the lost agent's users are not on this \
         agent, and are not sent during a run; write fleet.lost = \"continue\""
    )]
    ClientCertificates,
    /// How much of the share is left is unknown.
    #[error(
        "load.requests: how many operations the lost agent's users had begun is not known, so \
         nobody can begin the rest; write load.duration, or load.rate in place of \
         load.connections"
    )]
    Counted,
    /// Its start is too long ago.
    #[error(
        "it was to begin {} ms ago: the arrivals since then would all come at once",
        by.as_millis()
    )]
    TooLate {
        /// How long ago it should have begun.
        by: Duration,
    },
    /// Nothing begins here any more.
    #[error("this agent's load has ended")]
    Ended,
    /// It is too much for this agent or its machine.
    #[error(transparent)]
    Refused(#[from] PrepareError),
}

impl From<std::io::Error> for TakeOverError {
    fn from(error: std::io::Error) -> TakeOverError {
        TakeOverError::Refused(PrepareError::System(error))
    }
}
