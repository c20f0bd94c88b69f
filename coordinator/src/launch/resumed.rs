//! What an interrupted campaign left, and whether it was the same one.

use super::schedule::{ScheduledRun, agents_folder, hold_prefix};
use super::start_request::StartRequest;
use crate::run_folder::CampaignFolder;
use analysis::{Document, PlanDifference, PlanRecord};
use plan::{Campaign, Plan, Search};
use std::path::PathBuf;

/// The folder that `--resume` names, or why its runs cannot go on.
pub(super) fn folder(
    request: &StartRequest,
    schedule: &[ScheduledRun<'_>],
) -> Result<Option<CampaignFolder>, String> {
    let Some(path) = &request.resume else {
        return Ok(None);
    };
    let folder =
        CampaignFolder::resume(path, &request.plan_text).map_err(|error| error.to_string())?;
    let problem =
        changed(request, schedule, &folder).or_else(|| changed_secrets(&request.campaign, &folder));
    problem.map_or(Ok(Some(folder)), Err)
}

/// Why the runs had other secrets, where nothing else tells: the saved texts hold none. A file that
/// no run has been made with yet may be another one too.
fn changed_secrets(campaign: &Campaign, folder: &CampaignFolder) -> Option<String> {
    let headers = campaign.secret_headers();
    let before = folder.before()?.plan_digest;
    let is_same = before.is_empty() || before == campaign.digest().to_string();
    (!headers.is_empty() && !is_same).then(|| {
        format!(
            "{}: was made with other values of {}, which are not saved, or with other files; give \
             the same plan and files, or start anew without --resume",
            folder.path().display(),
            headers.join(", ")
        )
    })
}

/// Why runs that were made before are no runs of this plan: the file is the same, but one that it
/// names may not be.
fn changed(
    request: &StartRequest,
    schedule: &[ScheduledRun<'_>],
    folder: &CampaignFolder,
) -> Option<String> {
    let search = request.campaign.search();
    let agents = request.hosting.agents;
    schedule
        .iter()
        .flat_map(|scheduled| made_before(scheduled, search, agents, folder))
        .find_map(MadeBefore::difference)
}

/// A run that was made before, and the one that would be made now.
struct MadeBefore {
    path: PathBuf,
    document: Document,
    plan: Plan,
    agents: u32,
}

/// What there is of one run of the campaign; of a search its first hold, or its run with each
/// number of agents.
fn made_before(
    scheduled: &ScheduledRun<'_>,
    search: Option<&Search>,
    agents: u32,
    folder: &CampaignFolder,
) -> Vec<MadeBefore> {
    let plan = scheduled.plan;
    let Some(search) = search else {
        let made = MadeBefore::in_folder(folder, &scheduled.prefix, Some(plan.clone()), agents);
        return made.into_iter().collect();
    };
    let Some(part) = folder.part_named(&scheduled.prefix) else {
        return Vec::new();
    };
    match search {
        Search::Capacity(capacity) => {
            let (from, _) = capacity.range.ends();
            let plan = capacity.plan_at(plan, from).ok();
            MadeBefore::in_folder(&part, &hold_prefix(1), plan, agents)
                .into_iter()
                .collect()
        }
        Search::Agents(numbers) => {
            let of_agents = |&agents: &u32| {
                let plan = plan.for_agents(agents).ok();
                MadeBefore::in_folder(&part, &agents_folder(agents), plan, agents)
            };
            numbers.iter().filter_map(of_agents).collect()
        }
    }
}

impl MadeBefore {
    /// Where it is complete; without a `plan` it would not be made now.
    fn in_folder(
        folder: &CampaignFolder,
        prefix: &str,
        plan: Option<Plan>,
        agents: u32,
    ) -> Option<MadeBefore> {
        let (path, document) = folder.completed(prefix)?;
        Some(MadeBefore {
            path,
            document,
            plan: plan?,
            agents,
        })
    }

    /// What is not as it would be now.
    fn difference(self) -> Option<String> {
        let path = self.path.display();
        let agents = self.document.agents.len();
        if agents != self.agents as usize {
            return Some(format!(
                "{path}: was made with --agents {agents}; write that again"
            ));
        }
        let plan = PlanRecord::new(&self.plan, String::new());
        let difference = PlanDifference::between(&self.document.plan, &plan)
            .into_iter()
            .next()?
            .display();
        Some(format!(
            "{path}: was made by another plan ({difference}); start anew without --resume"
        ))
    }
}
