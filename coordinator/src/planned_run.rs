//! A run to be made: what its request to the fleet, its record and its view begin with.

use crate::fleet;
use control::RunId;
use plan::Plan;
use run_folder::{BegunRun, RunOrigin, Utc};
use std::time::Duration;

/// A run to be made.
#[derive(Debug, Clone)]
pub(crate) struct PlannedRun {
    /// Random; the id that agents and files know it by.
    pub(crate) id: RunId,
    /// The plan that the run follows.
    pub(crate) plan: Plan,
    /// The plan as the user gave it, for the record.
    pub(crate) plan_text: String,
    /// Number of agents.
    pub(crate) agents: u32,
    /// The run's name in the live view.
    pub(crate) title: String,
    /// When it was asked for.
    pub(crate) created: Utc,
    /// Where it was asked for.
    pub(crate) origin: RunOrigin,
    /// Counts the run's coordinators, from 1.
    pub(crate) epoch: u64,
    /// Whether agents run a plan that their preflight would refuse.
    pub(crate) force: bool,
}

impl PlannedRun {
    /// A run that is asked for now.
    pub(crate) fn new(
        plan: Plan,
        plan_text: String,
        agents: u32,
        title: String,
    ) -> anyhow::Result<PlannedRun> {
        Ok(PlannedRun {
            id: RunId(secret::random()?),
            plan,
            plan_text,
            agents,
            title,
            created: Utc::now(),
            origin: RunOrigin::default(),
            epoch: 1,
            force: false,
        })
    }

    /// The run's first entry in its log.
    pub(crate) fn to_log(&self) -> BegunRun {
        BegunRun {
            run: self.id.0,
            epoch: self.epoch,
            plan_digest: self.plan.digest().0,
            plan_text: self.plan_text.clone(),
            canonical_text: self.plan.masked_text(),
            title: self.title.clone(),
            agents: self.agents,
            created_ns: u64::try_from(self.created.since_1970().as_nanos()).unwrap_or(u64::MAX),
            clock: fleet::clock_name(),
            origin: self.origin.clone(),
        }
    }

    /// The run that a log is of. It serves only to read results: without its secrets, the plan
    /// cannot be run.
    pub(crate) fn from_log(begun: &BegunRun) -> Result<PlannedRun, plan::Problems> {
        Ok(PlannedRun {
            id: RunId(begun.run),
            plan: Plan::parse_saved(&begun.canonical_text)?,
            plan_text: begun.plan_text.clone(),
            agents: begun.agents,
            title: begun.title.clone(),
            created: Utc::after_1970(Duration::from_nanos(begun.created_ns)),
            origin: begun.origin.clone(),
            epoch: begun.epoch,
            force: false,
        })
    }
}
