//! One run that is to be made: what its request to the fleet, its record and its view begin with.

use crate::utc::Utc;
use control::RunId;
use plan::Plan;

/// One run that is to be made.
#[derive(Debug, Clone)]
pub(crate) struct PlannedRun {
    /// Random; what agents and files know it by.
    pub(crate) id: RunId,
    /// What is done.
    pub(crate) plan: Plan,
    /// The plan as the user gave it, for the record.
    pub(crate) plan_text: String,
    /// How many agents do it.
    pub(crate) agents: u32,
    /// What the live view calls it.
    pub(crate) title: String,
    /// When it was asked for.
    pub(crate) created: Utc,
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
        })
    }
}
