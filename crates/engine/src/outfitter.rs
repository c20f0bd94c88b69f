//! Makes what a worker needs before it runs, also for workers that join a run under way.

use crate::endpoints::Endpoints;
use crate::key_log::KeySink;
use crate::placement::Placement;
use crate::policy::Policy;
use crate::poller::Poller;
use crate::prepare_error::PrepareError;
use crate::spin::Spin;
use crate::tls::{Materials, WorkerTls};
use crate::tokens::Tokens;
use crate::worker_thread::WorkerResources;
use plan::Plan;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

/// The common material of all workers' resources.
pub(crate) struct Outfitter {
    pub(crate) plan: Arc<Plan>,
    pub(crate) placement: Placement,
    pub(crate) policy: Arc<Policy>,
    /// By place among the target's destinations.
    pub(crate) destinations: Vec<Vec<SocketAddr>>,
    /// All of them, each once.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) materials: Option<Materials>,
    pub(crate) tokens: Tokens,
}

impl Outfitter {
    /// Makes the resources of worker `number`, whose users have the client identities at `places`.
    pub(crate) fn worker(
        &self,
        number: usize,
        places: &BTreeSet<usize>,
        spin: Spin,
        sink: Option<KeySink>,
    ) -> Result<WorkerResources, PrepareError> {
        let poller = Poller::new().map_err(std::io::Error::from)?;
        let tls = |materials| WorkerTls::new(materials, places, sink);
        Ok(WorkerResources {
            tls: self.materials.as_ref().map(tls).transpose()?,
            endpoints: self.endpoints(number, &poller)?,
            spin,
            poller,
            tokens: self.tokens.clone(),
        })
    }

    fn endpoints(&self, number: usize, poller: &Poller) -> Result<Vec<Endpoints>, PrepareError> {
        // Counted among all workers of the run, so that each starts at a different address.
        let rank = self.placement.agent as usize * self.placement.cpus.len() + number;
        let destinations = self.plan.target().destinations();
        let endpoints = destinations.zip(&self.destinations).map(|(to, known)| {
            let policy = Arc::clone(&self.policy);
            Endpoints::new(&self.plan, to, known.clone(), policy, rank, &poller.waker())
        });
        Ok(endpoints.collect::<Result<_, _>>()?)
    }
}
