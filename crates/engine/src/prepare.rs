//! Gets a plan ready to start, or explains why it cannot be run here.

use crate::ceilings;
use crate::endpoints::{host_text, policy_name};
use crate::key_log;
use crate::outfitter::Outfitter;
use crate::placement::Placement;
use crate::policy::Policy;
use crate::prepare_error::PrepareError;
use crate::prepared_engine::PreparedEngine;
use crate::resolver::resolve;
use crate::socket::is_own;
use crate::spin::{Spin, SpunTime};
use crate::tls::Materials;
use crate::tokens::Tokens;
use measure::Totals;
use plan::{Destination, Host, KeyLog, Plan};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::sync::Arc;

/// A plan that this agent can run and is allowed to. What remains takes memory and creates files.
pub struct CheckedPlan(Outfitter);

/// Prepares everything for `plan` that can be ready before the start instant.
///
/// # Errors
/// Each error says what to change.
pub fn prepare(
    plan: Arc<Plan>,
    placement: Placement,
    policy: Policy,
) -> Result<PreparedEngine, PrepareError> {
    check(plan, placement, policy)?.prepare()
}

/// Checks `plan` against the agent's own ceilings and policy, and finds the target's addresses. The
/// machine's limits are not checked.
///
/// # Errors
/// Each error says what to change.
pub fn check(
    plan: Arc<Plan>,
    placement: Placement,
    policy: Policy,
) -> Result<CheckedPlan, PrepareError> {
    ceilings::check(&plan, &placement, &policy)?;
    let materials = Materials::new(&plan, placement.agent, placement.agents)?;
    let destinations = plan.target().destinations();
    let destinations = destinations
        .map(|destination| addresses(destination, &policy))
        .collect::<Result<Vec<_>, _>>()?;
    let addresses = unique(&destinations);
    check_cells(plan.requests().len(), addresses.len())?;
    check_sources(&plan)?;
    Ok(CheckedPlan(Outfitter {
        tokens: Tokens::new(&plan),
        plan,
        placement,
        policy: Arc::new(policy),
        destinations,
        addresses,
        materials,
    }))
}

impl CheckedPlan {
    /// Addresses that the load goes to; names that are resolved during the run can add others.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.0.addresses
    }

    /// Where the tokens that its requests carry are put.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    /// Prepares everything else, as [`prepare`] does.
    /// Tokens are expected in [`CheckedPlan::tokens`] before the start.
    ///
    /// # Errors
    /// Each error says what to change.
    pub fn prepare(self) -> Result<PreparedEngine, PrepareError> {
        let outfitter = self.0;
        let (plan, policy) = (&outfitter.plan, &outfitter.policy);
        raise_open_files();
        let log = plan.tls().map_or(KeyLog::Off, |tls| tls.key_log);
        // The last step that can be refused, because it creates a file.
        let (keys, sink) = key_log::open(log, policy.key_log.as_deref())?.unzip();
        let spun = SpunTime::of_workers(outfitter.placement.cpus.len());
        let worker = |number: usize| {
            let places = plan.identities(outfitter.placement.owner(number));
            let spin = Spin::new(policy.spin, spun.clone(), number);
            outfitter.worker(number, &places, spin, sink.clone())
        };
        let workers = (0..outfitter.placement.cpus.len())
            .map(worker)
            .collect::<Result<_, _>>()?;
        Ok(PreparedEngine {
            outfitter,
            workers,
            spun,
            keys,
            sink,
        })
    }
}

/// Raises the soft limit of open files to the hard one, which needs no privilege (getrlimit(2)).
fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The addresses of a destination, if the policy allows them all.
fn addresses(
    destination: Destination<'_>,
    policy: &Policy,
) -> Result<Vec<SocketAddr>, PrepareError> {
    let addresses = resolved(destination)?;
    let name = policy_name(destination);
    let refused = addresses
        .iter()
        .find(|address| !policy.allows(&name, address.ip(), address.port()));
    match refused {
        None => Ok(addresses),
        Some(refused) => Err(PrepareError::NotAllowed {
            host: host_text(&destination.url.host),
            address: refused.ip(),
        }),
    }
}

/// Every address once.
fn unique(destinations: &[Vec<SocketAddr>]) -> Vec<SocketAddr> {
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in destinations.iter().skip(1).flatten() {
        if !destinations[0].contains(address) && !addresses.contains(address) {
            addresses.push(*address);
        }
    }
    [destinations[0].clone(), addresses].concat()
}

/// Checks that this machine has the source addresses; otherwise every bind would fail during the
/// run, as if no port were left.
fn check_sources(plan: &Plan) -> Result<(), PrepareError> {
    let sources = &plan.connection().source_addresses;
    let foreign = sources.iter().find(|&&source| !is_own(source));
    foreign.map_or(Ok(()), |&address| {
        Err(PrepareError::ForeignSource { address })
    })
}

fn resolved(destination: Destination<'_>) -> Result<Vec<SocketAddr>, PrepareError> {
    let port = destination.url.port;
    if !destination.addresses.is_empty() {
        let given = destination.addresses.iter();
        return Ok(given
            .map(|address| SocketAddr::new(address.ip, address.port.unwrap_or(port)))
            .collect());
    }
    match &destination.url.host {
        Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, port)]),
        Host::Name(name) => {
            let failed = |error: std::io::Error| PrepareError::Resolve {
                host: name.clone(),
                reason: error.to_string(),
            };
            let found = resolve(name).map_err(failed)?;
            Ok(found
                .into_iter()
                .map(|ip| SocketAddr::new(ip, port))
                .collect())
        }
    }
}

/// Checks the number of cells, which bounds the size of every second and of the totals.
fn check_cells(requests: usize, addresses: usize) -> Result<(), PrepareError> {
    let cells = Totals::cells_of(requests, addresses);
    let most = Totals::CELLS_MAX;
    if cells > most {
        Err(PrepareError::TooManyCells {
            requests,
            addresses,
            cells,
            most,
        })
    } else {
        Ok(())
    }
}
