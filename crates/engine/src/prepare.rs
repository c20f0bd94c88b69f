//! Gets a plan ready to start, or says why it cannot be run here.

use crate::ceilings;
use crate::endpoints::{Endpoints, host_text, policy_name};
use crate::key_log::{self, KeySink};
use crate::placement::Placement;
use crate::policy::Policy;
use crate::poller::Poller;
use crate::prepare_error::PrepareError;
use crate::prepared_engine::PreparedEngine;
use crate::resolver::resolve;
use crate::spin::{Spin, SpunTime};
use crate::tls::{Materials, WorkerTls};
use crate::worker_thread::WorkerResources;
use measure::Totals;
use plan::{Host, KeyLog, Plan};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::sync::Arc;

/// Files an agent has open beside its connections, generously.
const FILES_BESIDE: u64 = 128;

/// Gets everything ready for `plan` that can be ready before the start instant.
///
/// # Errors
/// Each says what to change.
pub fn prepare(
    plan: Arc<Plan>,
    placement: Placement,
    policy: Policy,
) -> Result<PreparedEngine, PrepareError> {
    ceilings::check(&plan, &placement, &policy)?;
    check_open_files(&plan, &placement)?;
    let materials = Materials::new(&plan, placement.agent, placement.agents)?;
    let addresses = addresses(&plan)?;
    check_cells(plan.requests().len(), addresses.len())?;
    check_allowed(&plan, &addresses, &policy)?;
    let log = plan.tls().map_or(KeyLog::Off, |tls| tls.key_log);
    // Last of the checks: it makes a file.
    let (keys, sink) = key_log::open(log, policy.key_log.as_deref())?.unzip();
    let spun = SpunTime::of_workers(placement.cpus.len());
    let preparation = Preparation {
        plan: &plan,
        placement: &placement,
        policy: Arc::new(policy),
        addresses: &addresses,
        materials,
        sink,
        spun: &spun,
    };
    let workers = (0..placement.cpus.len())
        .map(|number| preparation.worker(number))
        .collect::<Result<_, _>>()?;
    Ok(PreparedEngine {
        plan,
        placement,
        addresses,
        workers,
        spun,
        keys,
    })
}

/// What the resources of every worker are made of.
struct Preparation<'a> {
    plan: &'a Plan,
    placement: &'a Placement,
    policy: Arc<Policy>,
    addresses: &'a [SocketAddr],
    materials: Option<Materials>,
    sink: Option<KeySink>,
    spun: &'a SpunTime,
}

impl Preparation<'_> {
    fn worker(&self, number: usize) -> Result<WorkerResources, PrepareError> {
        let poller = Poller::new().map_err(std::io::Error::from)?;
        Ok(WorkerResources {
            tls: self.tls(number)?,
            endpoints: self.endpoints(number, &poller)?,
            spin: Spin::new(self.policy.spin, self.spun.clone(), number),
            poller,
        })
    }

    fn tls(&self, number: usize) -> Result<Option<WorkerTls>, PrepareError> {
        let Some(materials) = &self.materials else {
            return Ok(None);
        };
        let places = self.plan.identities(self.placement.owner(number));
        Ok(Some(WorkerTls::new(materials, &places, self.sink.clone())?))
    }

    fn endpoints(&self, number: usize, poller: &Poller) -> Result<Endpoints, PrepareError> {
        // Among all workers of the run, so that each begins with another address.
        let rank = self.placement.agent as usize * self.placement.cpus.len() + number;
        Ok(Endpoints::new(
            self.plan,
            self.addresses.to_vec(),
            Arc::clone(&self.policy),
            rank,
            &poller.waker(),
        )?)
    }
}

/// The policy holds for every address of the target.
fn check_allowed(
    plan: &Plan,
    addresses: &[SocketAddr],
    policy: &Policy,
) -> Result<(), PrepareError> {
    let name = policy_name(plan.target());
    let refused = addresses
        .iter()
        .find(|address| !policy.allows(&name, address.ip(), address.port()));
    refused.map_or(Ok(()), |refused| {
        Err(PrepareError::NotAllowed {
            host: host_text(&plan.target().url.host),
            address: refused.ip(),
        })
    })
}

fn addresses(plan: &Plan) -> Result<Vec<SocketAddr>, PrepareError> {
    let target = plan.target();
    if !target.addresses.is_empty() {
        let given = target.addresses.iter();
        return Ok(given
            .map(|address| SocketAddr::new(address.ip, address.port.unwrap_or(target.url.port)))
            .collect());
    }
    match &target.url.host {
        Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, target.url.port)]),
        Host::Name(name) => {
            let failed = |error: std::io::Error| PrepareError::Resolve {
                host: name.clone(),
                reason: error.to_string(),
            };
            let found = resolve(name).map_err(failed)?;
            Ok(found
                .into_iter()
                .map(|ip| SocketAddr::new(ip, target.url.port))
                .collect())
        }
    }
}

/// What every second and the totals have to hold follows from these two alone.
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

/// Raises the soft limit of open files to the hard one, and compares it with the virtual users of
/// the share.
fn check_open_files(plan: &Plan, placement: &Placement) -> Result<(), PrepareError> {
    let limits = getrlimit(Resource::Nofile);
    // Raising to the hard limit needs no privilege (getrlimit(2)).
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limits.maximum,
            maximum: limits.maximum,
        },
    );
    let asked = plan
        .share(placement.agent, placement.agents)
        .peak_connections
        .unwrap_or(0);
    match limits.maximum {
        Some(limit) if u64::from(asked) + FILES_BESIDE > limit => {
            Err(PrepareError::OpenFiles { asked, limit })
        }
        _ => Ok(()),
    }
}
