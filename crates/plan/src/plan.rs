//! The checked plan.

use crate::{Connection, File, Load, Problems, Request, Sha256, Target, Threshold, Tls};

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
}

/// Where the content of a file comes from: the plan's folder at the coordinator, received chunks at an agent.
pub trait Files {
    /// Content of the file the plan calls `name`, or why it cannot be had.
    ///
    /// # Errors
    /// A reason in words, such as "no such file".
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String>;
}

impl Plan {
    /// Parses a plan as a user writes it; reads the files it names.
    ///
    /// # Errors
    /// Every problem of the text at once, each with its place.
    pub fn parse(_text: &str, _files: &mut dyn Files) -> Result<Plan, Problems> {
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
