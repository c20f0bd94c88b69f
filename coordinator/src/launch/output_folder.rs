//! Where the runs are recorded.

use super::interrupted_run::InterruptedRun;
use super::resumed::Resumed;
use super::start_request::StartRequest;
use crate::io_words::in_words;
use crate::planned_run::PlannedRun;
use crate::run_folder::{CampaignFolder, FolderName, LatestLink, RunFolder};
use crate::terminal;
use crate::utc::Utc;
use plan::Plan;
use std::path::Path;

/// Where the runs are recorded.
pub(super) enum OutputFolder<'r> {
    /// For a file that asks for one run, of this plan. There is no folder if none was asked for,
    /// and no link if it could not be made.
    Run(&'r Plan, Option<RunFolder>, Option<Box<LatestLink>>),
    /// For a run that another coordinator began.
    Interrupted(Box<PlannedRun>, Box<InterruptedRun>),
    /// For a file that asks for several runs, or for a search.
    Campaign(CampaignFolder),
}

impl OutputFolder<'_> {
    /// Creates the folder, unless an existing one is `resumed`.
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
        let chosen = request.run_name.clone().map(FolderName::Chosen);
        let named = |name: &str| {
            let stamped = || FolderName::Stamped(created, name.to_owned());
            chosen.clone().unwrap_or_else(stamped)
        };
        let link = |folder: &Path| {
            let linked = LatestLink::lead_to(folder).map_err(|error| {
                let why = in_words(&error);
                let note = format_args!("note: `latest` does not lead to this run: {why}");
                terminal::say_unless(request.hosting.quiet, note);
            });
            linked.ok().map(Box::new)
        };
        if let Some(plan) = request.campaign.single() {
            let folder = base.map(|base| RunFolder::create(base, &named(plan.name()), text));
            let folder = folder.transpose()?;
            let latest = folder.as_ref().and_then(|folder| link(folder.path()));
            return Ok(OutputFolder::Run(plan, folder, latest));
        }
        let folder = match (resumed, base) {
            (Some(folder), _) => folder,
            (None, Some(base)) => {
                let folder = CampaignFolder::create(base, &named(name), text)?;
                link(folder.path());
                folder
            }
            (None, None) => anyhow::bail!("several runs leave a folder; say where by --output"),
        };
        Ok(OutputFolder::Campaign(folder))
    }
}
