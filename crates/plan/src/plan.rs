//! The checked plan.

use crate::read::{self, Elsewhere, Hashes, Names};
use crate::{
    Body, ClientCertificates, Connection, File, FleetPlan, Host, Load, Minted, Owner, Portion,
    Problem, Problems, Request, Seats, Sha256, Shape, Share, Target, Threshold, Tls, canonical,
    mask,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

/// Name of the built-in target's CA among a plan's files.
const BUILTIN_CA: &str = "builtin-ca.pem";

/// What to do, checked: whoever holds one can run it.
///
/// The canonical text is what crosses the wire: every default written out, files by SHA-256.
/// Parsing it gives an equal plan, and its SHA-256 is the plan's digest, by which agents and
/// coordinator know that they hold the same one.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) requests: Vec<Request>,
    pub(crate) connection: Connection,
    pub(crate) tls: Option<Tls>,
    pub(crate) load: Load,
    pub(crate) fleet: FleetPlan,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) notes: Vec<String>,
}

/// Where the content of a file comes from: the plan's folder at the coordinator, received chunks at
/// an agent.
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
    /// Every key a plan can have, as a dotted path without indices.
    pub const KEYS: &[&str] = read::KEYS;

    /// Longest text that is read, in bytes.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Longest canonical text of a plan, in bytes: it crosses the wire in one message of at most 1
    /// MiB, with other things.
    pub const MAX_CANONICAL_BYTES: usize = 768 << 10;

    /// Parses a plan as a user writes it; reads the files it names.
    ///
    /// # Errors
    /// Every problem of the text at once, each with its place.
    pub fn parse(text: &str, files: &mut dyn Files) -> Result<Plan, Problems> {
        read::plan(text, &Names(RefCell::new(files)))
    }

    /// As [`Plan::parse`], for bytes that may not be text.
    ///
    /// # Errors
    /// As [`Plan::parse`]; bytes that are not UTF-8, or more than [`Plan::MAX_BYTES`], are problems
    /// too.
    pub fn parse_bytes(bytes: &[u8], files: &mut dyn Files) -> Result<Plan, Problems> {
        Plan::parse(read::utf8(bytes)?, files)
    }

    /// Parses canonical text; `file` gives content by hash.
    ///
    /// # Errors
    /// As [`Plan::parse`]; content that does not match its hash is a problem too.
    pub fn parse_canonical(
        text: &str,
        file: &dyn Fn(Sha256) -> Option<Arc<[u8]>>,
    ) -> Result<Plan, Problems> {
        read::plan(text, &Hashes(file))
    }

    /// Parses what [`Plan::masked_text`] gave, to read what came of a run: neither the content of
    /// files nor secrets are in it, so that nobody can run it, and its digest is another one.
    ///
    /// # Errors
    /// As [`Plan::parse`].
    pub fn parse_saved(text: &str) -> Result<Plan, Problems> {
        read::plan(text, &Elsewhere)
    }

    /// The plan with every default written out and files by hash.
    #[must_use]
    pub fn canonical_text(&self) -> String {
        canonical::text(self)
    }

    /// The canonical text with [`crate::MASK`] for the values of secret headers, for everything
    /// that is kept or shown. The digest is not that of this text.
    #[must_use]
    pub fn masked_text(&self) -> String {
        mask::masked(&self.canonical_text())
    }

    /// Names of the secret headers that requests have, each once, in lower case.
    #[must_use]
    pub fn secret_headers(&self) -> Vec<&'static str> {
        let headers = self.requests.iter().flat_map(|request| &request.headers);
        mask::secret_headers(headers.map(|(name, _)| name.as_str()))
    }

    /// SHA-256 of the canonical text.
    #[must_use]
    pub fn digest(&self) -> Sha256 {
        Sha256::hash(self.canonical_text().as_bytes())
    }

    /// Every file the plan names that is for everybody: bodies and roots.
    #[must_use]
    pub fn files(&self) -> Vec<&File> {
        let bodies = self
            .requests
            .iter()
            .filter_map(|request| match &request.body {
                Some(Body::File(file)) => Some(file),
                _ => None,
            });
        bodies
            .chain(self.tls.iter().filter_map(|tls| tls.ca.as_ref()))
            .collect()
    }

    /// Places, in `tls.client_certificates`, of the identities that `owner`'s virtual users have
    /// (open loop: its connections).
    #[must_use]
    pub fn identities(&self, owner: Owner) -> BTreeSet<usize> {
        let identities = self
            .tls
            .as_ref()
            .map_or(0, |tls| tls.client_certificates.number());
        let all = |places: &BTreeSet<usize>| places.len() == identities;
        let mut places = BTreeSet::new();
        for user in Seats::new(&self.load, owner).iter() {
            if all(&places) {
                break;
            }
            places.insert(user as usize % identities);
        }
        places
    }

    /// The same plan with the identities that were minted for this agent's virtual users; nothing
    /// where it mints none.
    #[must_use]
    pub fn with_minted(mut self, minted: Minted) -> Plan {
        if let Some(Tls {
            client_certificates: ClientCertificates::Mint(minting),
            ..
        }) = &mut self.tls
        {
            minting.minted = Arc::new(minted);
        }
        self
    }

    /// The same plan against a built-in target that now listens: its URL and, with TLS, its CA
    /// (PEM).
    #[must_use]
    pub fn with_builtin_at(mut self, address: SocketAddr, ca_pem: Option<&[u8]>) -> Plan {
        self.target.url.host = Host::Ip(address.ip());
        self.target.url.port = address.port();
        if let (Some(tls), Some(pem)) = (&mut self.tls, ca_pem) {
            tls.ca = Some(File {
                name: BUILTIN_CA.to_owned(),
                sha256: Sha256::hash(pem),
                content: pem.into(),
            });
        }
        self
    }

    /// What agent `agent` (from 0) of `agents` does of the load.
    #[must_use]
    pub fn share(&self, agent: u32, agents: u32) -> Share {
        let owner = Owner {
            agent,
            agents,
            ..Owner::ALONE
        };
        self.share_of(&owner.into())
    }

    /// What `portion` is of the load.
    #[must_use]
    pub fn share_of(&self, portion: &Portion) -> Share {
        Share::new(&self.load, portion)
    }

    /// Whether `agents` agents can share the load so that none is left without a connection.
    ///
    /// # Errors
    /// The field that is too small for them.
    pub fn check_fleet(&self, agents: u32) -> Result<(), Problem> {
        let key = match self.load.shape {
            Shape::Closed { .. } => "connections",
            Shape::Open { .. } => "max_connections",
        };
        let connections = Seats::new(&self.load, Owner::ALONE).number();
        if agents <= connections {
            return Ok(());
        }
        let message = format!(
            "{connections} cannot be shared by {agents} agents; write at least {agents}, or use \
             fewer agents"
        );
        Err(Problem {
            path: format!("load.{key}"),
            place: None,
            message,
        })
    }

    /// Remarks on the text this plan was parsed from: what has no effect, or has one that
    /// surprises. No part of the plan.
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

    /// What it asks of its fleet.
    #[must_use]
    pub fn fleet(&self) -> &FleetPlan {
        &self.fleet
    }

    /// What must hold.
    #[must_use]
    pub fn thresholds(&self) -> &[Threshold] {
        &self.thresholds
    }
}

impl PartialEq for Plan {
    /// Notes are about the text, and leave the plan what it is.
    fn eq(&self, other: &Plan) -> bool {
        self.name == other.name
            && self.load == other.load
            && self.fleet == other.fleet
            && self.target == other.target
            && self.requests == other.requests
            && self.connection == other.connection
            && self.tls == other.tls
            && self.thresholds == other.thresholds
    }
}
