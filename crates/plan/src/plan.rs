//! The checked plan.

use crate::{
    Auth, Body, Capture, Check, ClientCertificates, Connection, DataFile, File, FleetPlan, Host,
    Journey, Load, MadeValue, Minted, Owner, Piece, Portion, Problem, Replay, Request, Seats,
    Sha256, Shape, Share, Target, Template, Threshold, Tls, TokenRequest, WebSocket, WorkUnit,
    mask,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// Name of the built-in target's CA among a plan's files.
const BUILTIN_CA: &str = "builtin-ca.pem";

/// A checked description of what to do: every `Plan` can be run.
///
/// The canonical text crosses the wire: every default written out, files by SHA-256. Parsing it
/// gives an equal plan, and its SHA-256 is the plan's digest, by which agents and coordinator
/// verify that they have the same plan.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) data: Vec<Arc<DataFile>>,
    pub(crate) made: Vec<Arc<MadeValue>>,
    pub(crate) replay: Option<Replay>,
    pub(crate) auth: Vec<Arc<Auth>>,
    pub(crate) requests: Vec<Request>,
    pub(crate) journeys: Vec<Journey>,
    pub(crate) connection: Connection,
    pub(crate) tls: Option<Tls>,
    pub(crate) load: Load,
    pub(crate) fleet: FleetPlan,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// Longest text that is read, in bytes.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Longest canonical text of a plan, in bytes: it crosses the wire in one message of at most 1
    /// MiB, along with other things.
    pub const MAX_CANONICAL_BYTES: usize = 768 << 10;

    /// Names of the secrets that its requests send, each once: headers in lower case, and variables
    /// in braces.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let headers = self.requests.iter().flat_map(Request::fields);
        let headers = mask::secret_headers(headers.map(|(name, _)| name));
        let variables = self.secret_variables().into_keys();
        let variables = variables.map(|name| format!("{{{name}}}"));
        headers
            .into_iter()
            .map(str::to_owned)
            .chain(variables)
            .collect()
    }

    /// Names and values of the secret variables in its requests and made values, by name.
    pub(crate) fn secret_variables(&self) -> BTreeMap<&str, &str> {
        let of_requests = self.requests.iter().flat_map(Request::all_pieces);
        let made = self.made.iter().flat_map(|made| made.templates());
        let auth = self.auth.iter().flat_map(|auth| auth.templates());
        let auth = auth.flat_map(Template::all_pieces);
        let pieces = of_requests.chain(auth);
        let pieces = pieces.chain(made.flat_map(|template| &template.pieces));
        let mut secrets = BTreeMap::new();
        for piece in pieces {
            if let Piece::Secret { name, value, .. } = piece {
                secrets.insert(&**name, &**value.reveal());
            }
        }
        secrets
    }

    /// All files of the plan that every agent gets: bodies, data, the log of a replay, and roots.
    #[must_use]
    pub fn files(&self) -> Vec<&File> {
        let bodies = self
            .requests
            .iter()
            .filter_map(|request| request.body.as_ref());
        let bodies = bodies.flat_map(Body::files);
        let sent = self.data.iter().filter(|data| data.place.is_sent());
        let data = sent.map(|data| &data.file);
        bodies
            .chain(data)
            .chain(self.replay.iter().map(|replay| &replay.file))
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

    /// Adds the identities that were minted for this agent's virtual users; changes nothing if the
    /// plan mints none.
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

    /// Points the plan at a built-in target that now listens: sets its URL and, with TLS, its CA
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

    /// The share of agent `agent` (from 0) of `agents` in the load.
    #[must_use]
    pub fn share(&self, agent: u32, agents: u32) -> Share {
        let owner = Owner {
            agent,
            agents,
            ..Owner::ALONE
        };
        self.share_of(&owner.into())
    }

    /// The share of `portion` in the load.
    #[must_use]
    pub fn share_of(&self, portion: &Portion) -> Share {
        Share::new(&self.load, portion)
    }

    /// Checks that `agents` agents can share the load so that each gets a connection.
    ///
    /// # Errors
    /// Names the field that is too small for them.
    pub fn check_fleet(&self, agents: u32) -> Result<(), Problem> {
        let connections = Seats::new(&self.load, Owner::ALONE).number();
        let (key, number) = match self.load.shape {
            Shape::Closed {
                max_connections: None,
                ..
            } => ("connections", connections),
            _ => match self.load.sharing_users() {
                Some(users) if users < connections => ("users", users),
                _ => ("max_connections", connections),
            },
        };
        if agents <= number {
            return Ok(());
        }
        let message = format!(
            "{number} cannot be shared by {agents} agents; write at least {agents}, or use \
             fewer agents"
        );
        Err(Problem {
            path: format!("load.{key}"),
            place: None,
            message,
        })
    }

    /// Remarks on the text that this plan was parsed from, about settings without effect, or with a
    /// surprising one. Not part of the plan.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Name of the plan, valid as a folder's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The target of the load.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The data files that requests take rows of, in the plan's order.
    #[must_use]
    pub fn data(&self) -> &[Arc<DataFile>] {
        &self.data
    }

    /// The values that are made for each operation, in the plan's order.
    #[must_use]
    pub fn made(&self) -> &[Arc<MadeValue>] {
        &self.made
    }

    /// The log whose requests are sent, if any is. There is a request for each of its methods.
    #[must_use]
    pub fn replay(&self) -> Option<&Replay> {
        self.replay.as_ref()
    }

    /// The credentials of requests, in the plan's order.
    #[must_use]
    pub fn auth(&self) -> &[Arc<Auth>] {
        &self.auth
    }

    /// The tokens that are fetched for its requests: names of credentials, and how.
    pub fn token_requests(&self) -> impl Iterator<Item = (&str, &TokenRequest)> {
        let is_sent = |auth: &&Arc<Auth>| {
            let mut requests = self.requests.iter();
            requests.any(|request| request.auth.as_ref() == Some(auth))
        };
        let sent = self.auth.iter().filter(is_sent);
        sent.filter_map(|auth| Some((auth.name.as_str(), auth.token_request()?)))
    }

    /// At least one request; with `connection.requests = 0` only the name of one is used.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The journeys that the load is made of, in the plan's order; none if it is made of requests.
    #[must_use]
    pub fn journeys(&self) -> &[Journey] {
        &self.journeys
    }

    /// What the load is made of: what arrives, what virtual users do in turn, what is counted by
    /// its end.
    #[must_use]
    pub fn unit(&self) -> WorkUnit {
        if self.journeys.is_empty() {
            WorkUnit::Request
        } else {
            WorkUnit::Journey
        }
    }

    /// Operations for each unit of the load if no journey ends early: 1 without journeys, or else
    /// the mean over the journeys by weight.
    #[must_use]
    pub fn operations_per_unit(&self) -> f64 {
        self.mean_of_journeys(Journey::mean_steps).unwrap_or(1.0)
    }

    /// Most requests for each unit of the load: 1, or those of the journey and the ways with the
    /// most steps. Each redirect that is followed counts as one, as does each message and ping over
    /// a WebSocket; infinite if nothing bounds those.
    #[must_use]
    pub fn most_requests_per_unit(&self) -> f64 {
        let steps = self.journeys.iter().map(Journey::most_steps);
        let steps = steps.max().map_or(1.0, |steps| steps as f64);
        let more = self.requests.iter().map(|request| {
            let socket = request.websocket.as_ref();
            f64::from(request.redirects) + socket.map_or(0.0, WebSocket::most_sent)
        });
        steps * (1.0 + more.fold(0.0, f64::max))
    }

    /// Seconds that a journey pauses, on average; 0 without journeys.
    pub(crate) fn mean_pauses(&self) -> f64 {
        self.mean_of_journeys(Journey::mean_pauses).unwrap_or(0.0)
    }

    /// The share of journeys that begin with a new connection.
    pub(crate) fn journeys_on_new(&self) -> f64 {
        self.mean_of_journeys(Journey::new_connections)
            .unwrap_or(0.0)
    }

    /// How much of what is sent is this request: its weight, or how often a journey sends it.
    #[must_use]
    pub fn weight_of(&self, request: &Request) -> f64 {
        let mut requests = self.requests.iter();
        let place = requests.position(|other| other.name == request.name);
        let place = place.and_then(|place| u16::try_from(place).ok());
        let uses = |journey: &Journey| place.map_or(0.0, |place| journey.mean_uses(place));
        let of_journeys = self.mean_of_journeys(uses);
        of_journeys.unwrap_or_else(|| f64::from(request.weight))
    }

    fn mean_of_journeys(&self, each: impl Fn(&Journey) -> f64) -> Option<f64> {
        Journey::mean_of(&self.journeys, &self.load, each)
    }

    /// Names of the texts that are captured from answers, by their index.
    #[must_use]
    pub fn capture_names(&self) -> Vec<&str> {
        let captures = self.requests.iter().flat_map(|request| &request.captures);
        let by_index: BTreeMap<u16, &str> = captures
            .map(|capture| (capture.index, &*capture.name))
            .collect();
        by_index.into_values().collect()
    }

    /// What can be wrong with answers, in the order that numbers it, the first one with 1: for each
    /// request its checks, and then its captures. In the words of a failure.
    pub fn checks(&self) -> impl Iterator<Item = (&Request, String)> {
        self.requests.iter().flat_map(|request| {
            let checks = request.expect.checks.iter().map(Check::failure);
            let captures = request.captures.iter().map(Capture::failure);
            checks
                .chain(captures)
                .map(move |failure| (request, failure))
        })
    }

    /// How connections are used.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// TLS, if the target is `https`, or an origin that redirects may lead to.
    #[must_use]
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// How much load.
    #[must_use]
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Its demands on the fleet.
    #[must_use]
    pub fn fleet(&self) -> &FleetPlan {
        &self.fleet
    }

    /// The conditions for a run to pass.
    #[must_use]
    pub fn thresholds(&self) -> &[Threshold] {
        &self.thresholds
    }
}

impl PartialEq for Plan {
    /// Notes are about the text, and not part of the plan.
    fn eq(&self, other: &Plan) -> bool {
        self.name == other.name
            && self.load == other.load
            && self.fleet == other.fleet
            && self.target == other.target
            && self.data == other.data
            && self.made == other.made
            && self.replay == other.replay
            && self.auth == other.auth
            && self.requests == other.requests
            && self.journeys == other.journeys
            && self.connection == other.connection
            && self.tls == other.tls
            && self.thresholds == other.thresholds
    }
}
