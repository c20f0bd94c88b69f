//! Where the runs are recorded.

use super::interrupted_run::InterruptedRun;
use super::resumed::Resumed;
use super::start_request::StartRequest;
use crate::planned_run::PlannedRun;
use crate::run_folder::{CampaignFolder, RunFolder};
use crate::utc::Utc;
use plan::Plan;

/// Where the runs are recorded.
pub(super) enum OutputFolder<'r> {
    /// Of a file that asks for one run, of this plan; that may leave no folder.
    Run(&'r Plan, Option<RunFolder>),
    /// Of a run that another coordinator began.
    Interrupted(Box<PlannedRun>, Box<InterruptedRun>),
    /// Of a file that asks for several, or for a search.
    Campaign(CampaignFolder),
}

impl OutputFolder<'_> {
    /// Makes it, unless there is one that is `resumed`.
    pub(super) fn create(
        request: &StartRequest,
        created: Utc,
        resumed: Resumed,
    ) -> anyhow::Result<OutputFolder<'_>> {
        let name = request.campaign.name();
        let text = &request.plan_text;
        let base = request.output.as_deref();
        let resumed = match resumed {
            Resumed::Run(run, interrupted) => {
                return Ok(OutputFolder::Interrupted(run, interrupted));
            }
            Resumed::Campaign(folder) => Some(folder),
            Resumed::Nothing => None,
        };
        if let Some(plan) = request.campaign.single() {
            let folder = base.map(|base| RunFolder::create(base, created, plan.name(), text));
            return Ok(OutputFolder::Run(plan, folder.transpose()?));
        }
        let folder = match (resumed, base) {
            (Some(folder), _) => folder,
            (None, Some(base)) => CampaignFolder::create(base, created, name, text)?,
            (None, None) => anyhow::bail!("several runs leave a folder; say where by --output"),
        };
        Ok(OutputFolder::Campaign(folder))
    }
}
