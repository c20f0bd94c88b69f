//! The runs that a fleet serves at once, on disjoint agents.

use crate::fleet_run::FleetRun;
use crate::gathering::Gathering;
use crate::{AgentId, LEASE, RunId, RunOutcome};
use std::time::Duration;

/// A run that waits for agents, or that has them.
#[derive(Debug)]
pub(crate) enum Serving {
    Gathering(Box<Gathering>),
    Run(Box<FleetRun>),
}

/// The runs that are not over. Those that wait for agents choose them in the order in which they
/// were requested. An agent serves one run until that run is over.
///
/// Runs are few, so they are searched one by one; agents are found by maps within each.
#[derive(Debug, Default)]
pub(crate) struct ServedRuns(Vec<Serving>);

impl Serving {
    fn id(&self) -> RunId {
        match self {
            Serving::Gathering(gathering) => gathering.run(),
            Serving::Run(run) => run.id(),
        }
    }

    fn has_agent(&self, agent: AgentId) -> bool {
        match self {
            Serving::Gathering(gathering) => gathering.has(agent),
            Serving::Run(run) => run.has(agent),
        }
    }
}

impl ServedRuns {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, serving: Serving) {
        self.0.push(serving);
    }

    pub(crate) fn has(&self, run: RunId) -> bool {
        self.0.iter().any(|serving| serving.id() == run)
    }

    /// Whether a run has this agent, or has chosen it.
    pub(crate) fn has_agent(&self, agent: AgentId) -> bool {
        self.0.iter().any(|serving| serving.has_agent(agent))
    }

    /// The run with this id, if it has its agents.
    pub(crate) fn run(&mut self, id: RunId) -> Option<&mut FleetRun> {
        self.runs_mut().find(|run| run.id() == id)
    }

    /// The run that this agent serves.
    pub(crate) fn run_of(&mut self, agent: AgentId) -> Option<&mut FleetRun> {
        self.runs_mut().find(|run| run.has(agent))
    }

    /// The run that monitors watch: a monitor reads one machine, and its seconds go to one run.
    pub(crate) fn run_to_watch(&mut self) -> Option<&mut FleetRun> {
        self.runs_mut().find(|run| run.is_watched())
    }

    /// Runs that have their agents.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &FleetRun> {
        self.0.iter().filter_map(|serving| match serving {
            Serving::Run(run) => Some(&**run),
            Serving::Gathering(_) => None,
        })
    }

    pub(crate) fn runs_mut(&mut self) -> impl Iterator<Item = &mut FleetRun> {
        self.0.iter_mut().filter_map(|serving| match serving {
            Serving::Run(run) => Some(&mut **run),
            Serving::Gathering(_) => None,
        })
    }

    /// Runs that wait for agents.
    pub(crate) fn gatherings_mut(&mut self) -> impl Iterator<Item = &mut Gathering> {
        self.0.iter_mut().filter_map(|serving| match serving {
            Serving::Gathering(gathering) => Some(&mut **gathering),
            Serving::Run(_) => None,
        })
    }

    pub(crate) fn gathering(&mut self, run: RunId) -> Option<&mut Gathering> {
        self.gatherings_mut()
            .find(|gathering| gathering.run() == run)
    }

    /// Takes out a run that waits for agents, for it to begin.
    pub(crate) fn take_gathering(&mut self, run: RunId) -> Option<Gathering> {
        let is_it =
            |serving: &Serving| matches!(serving, Serving::Gathering(_)) && serving.id() == run;
        let place = self.0.iter().position(is_it)?;
        match self.0.remove(place) {
            Serving::Gathering(gathering) => Some(*gathering),
            Serving::Run(_) => None,
        }
    }

    /// Takes a run away.
    pub(crate) fn remove(&mut self, run: RunId) {
        self.0.retain(|serving| serving.id() != run);
    }

    /// Takes away the runs that are over. Returns how each of them ended.
    pub(crate) fn remove_ended(&mut self) -> Vec<(RunId, RunOutcome)> {
        let end = |run: &FleetRun| Some((run.id(), run.outcome()?));
        let ended: Vec<_> = self.runs().filter_map(end).collect();
        ended.iter().for_each(|(run, _)| self.remove(*run));
        ended
    }

    /// The longest lease that an agent can have.
    pub(crate) fn lease_max(&self) -> Duration {
        self.runs().map(FleetRun::lease).fold(LEASE, Duration::max)
    }
}
