//! What all connections of a target share.

use crate::counts::TargetTally;
use crate::prepared_answer::PreparedAnswer;
use crate::{KeepAlive, OpeningFault};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// What all connections of a target share.
pub(crate) struct Service {
    pub acceptor: Option<TlsAcceptor>,
    /// The default answer, then those of `paths`.
    pub answers: Vec<PreparedAnswer>,
    pub paths: Vec<String>,
    pub keep_alive: KeepAlive,
    pub connection_fault: Option<OpeningFault>,
    pub tally: Arc<TargetTally>,
}

impl Service {
    /// Which of `answers` a path gets.
    pub fn answer_of(&self, path: &str) -> usize {
        self.paths
            .iter()
            .position(|own| own == path)
            .map_or(0, |index| index + 1)
    }
}
