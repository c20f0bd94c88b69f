//! The port at which agents join, before any of them is let in.

use super::start_request::AgentSource;
use crate::fleet::{self, Enrolment};
use tokio::net::TcpListener;

/// An open port for agents, and the enrolment that they are let in by.
pub(super) struct JoinPort {
    pub(super) enrolment: Enrolment,
    pub(super) listener: TcpListener,
}

impl JoinPort {
    /// Opens the port. If that is impossible it fails here, before a folder is made.
    pub(super) async fn open(source: &AgentSource) -> anyhow::Result<JoinPort> {
        let enrolment = match source {
            AgentSource::Local(_) => Enrolment::in_memory()?,
            AgentSource::Remote(options) => Enrolment::open(&options.state)?,
        };
        Ok(JoinPort {
            enrolment,
            listener: fleet::bind(source.address()).await?,
        })
    }
}
