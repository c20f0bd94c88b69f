//! The checked plan.

use crate::{Connection, File, Load, Owner, Problems, Request, Sha256, Share, Target, Threshold, Tls, share};

/// What to do, checked: whoever holds one can run it.
///
/// The canonical text is what crosses the wire: every default written out, files by SHA-256. Parsing it gives an equal
/// plan, and its SHA-256 is the plan's digest, by which agents and coordinator know that they hold the same one.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) requests: Vec<Request>,
    pub(crate) connection: Connection,
    pub(crate) tls: Option<Tls>,
    pub(crate) load: Load,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) notes: Vec<String>,
}

/// Where the content of a file comes from: the plan's folder at the coordinator, received chunks at an agent.
pub trait Files {
    /// Content of the file the plan calls `name`, or why it cannot be had.
    ///
    /// # Errors
    /// A reason in words, such as "no such file".
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String>;

    /// Names of the files in a folder, as [`Files::read`] takes them, in any order.
    ///
    /// # Errors
    /// A reason in words, such as "no such folder".
    fn list(&mut self, _folder: &str) -> Result<Vec<String>, String> {
        Err("folders cannot be listed here".to_owned())
    }
}

impl Plan {
    /// Longest text that is read, in bytes.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Parses a plan as a user writes it; reads the files it names.
    ///
    /// # Errors
    /// Every problem of the text at once, each with its place.
    pub fn parse(_text: &str, _files: &mut dyn Files) -> Result<Plan, Problems> {
        unimplemented!()
    }

    /// As [`Plan::parse`], for bytes that may not be text.
    ///
    /// # Errors
    /// As [`Plan::parse`]; bytes that are not UTF-8, or more than [`Plan::MAX_BYTES`], are problems too.
    pub fn parse_bytes(_bytes: &[u8], _files: &mut dyn Files) -> Result<Plan, Problems> {
        unimplemented!()
    }

    /// Parses canonical text; `file` gives content by hash.
    ///
    /// # Errors
    /// As [`Plan::parse`]; content that does not match its hash is a problem too.
    pub fn parse_canonical(_text: &str, _file: &dyn Fn(Sha256) -> Option<std::sync::Arc<[u8]>>) -> Result<Plan, Problems> {
        unimplemented!()
    }

    /// The plan with every default written out and files by hash.
    #[must_use]
    pub fn canonical_text(&self) -> String {
        unimplemented!()
    }

    /// SHA-256 of the canonical text.
    #[must_use]
    pub fn digest(&self) -> Sha256 {
        Sha256::of(self.canonical_text().as_bytes())
    }

    /// Every file the plan names.
    #[must_use]
    pub fn files(&self) -> Vec<&File> {
        unimplemented!()
    }

    /// The same plan against a built-in target that now listens: its URL and, with TLS, its CA (PEM).
    #[must_use]
    pub fn with_builtin_at(self, _address: std::net::SocketAddr, _ca_pem: Option<&[u8]>) -> Plan {
        unimplemented!()
    }

    /// What agent `agent` (from 0) of `agents` does of the load.
    #[must_use]
    pub fn share(&self, agent: u32, agents: u32) -> Share {
        Share::of(&self.load, agent, agents)
    }

    /// Cluster-wide numbers (from 0) of the virtual users that `owner` has at one time or another, ascending; none in an open
    /// loop. When each is active: [`crate::Profile::active_spans`].
    pub fn users(&self, owner: Owner) -> impl Iterator<Item = u32> + use<> {
        share::users_of(&self.load, owner)
    }

    /// Remarks on the text this plan was parsed from: what has no effect, or has one that surprises. No part of the plan.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Name of the plan, fit for a folder's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the load goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// At least one request; with `connection.requests = 0` one that only lends its name.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// How connections are used.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// TLS, where the target is `https`.
    #[must_use]
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// How much load.
    #[must_use]
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// What must hold.
    #[must_use]
    pub fn thresholds(&self) -> &[Threshold] {
        &self.thresholds
    }
}
