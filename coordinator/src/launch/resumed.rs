//! Finds what an interrupted run or campaign left behind, and checks that it was made from the same
//! plan.

use super::interrupted_run::InterruptedRun;
use super::start_request::{AgentSource, StartRequest};
use crate::job::{ScheduledRun, agents_folder, hold_prefix};
use crate::planned_run::PlannedRun;
use analysis::{Bounds, Document, Hold, LoadSearch, PlanDifference, PlanRecord, SearchAction};
use plan::{Campaign, Capacity, Plan, Search};
use run_folder::CampaignFolder;
use std::path::{Path, PathBuf};

/// The run or campaign that `--resume` names.
pub(super) enum Resumed {
    /// `--resume` was not given.
    Nothing,
    /// One run.
    Run(Box<PlannedRun>, Box<InterruptedRun>),
    /// Several runs, or a search.
    Campaign(CampaignFolder),
}

impl Resumed {
    /// Returns what the named folder holds, or why it cannot go on.
    pub(super) fn new(
        request: &StartRequest,
        schedule: &[ScheduledRun<'_>],
    ) -> Result<Resumed, String> {
        let Some(path) = &request.resume else {
            return Ok(Resumed::Nothing);
        };
        if let Some(plan) = request.campaign.single() {
            let interrupted = InterruptedRun::open(path).map_err(|error| error.to_string())?;
            let run = interrupted.planned(plan.clone(), request.force);
            let run = run.map_err(|error| error.to_string())?;
            check_agents(path, run.agents, request.hosting.agents)?;
            let is_local = matches!(request.hosting.source, AgentSource::Local(_));
            if is_local && interrupted.past().start_at().is_some() {
                return Err(format!(
                    "{}: its agents joined from elsewhere, and --local would start others; leave \
                     --local out",
                    path.display()
                ));
            }
            return Ok(Resumed::Run(Box::new(run), Box::new(interrupted)));
        }
        folder(request, path, schedule).map(Resumed::Campaign)
    }
}

pub(super) fn check_agents(path: &Path, before: u32, now: u32) -> Result<(), String> {
    if before == now {
        return Ok(());
    }
    Err(format!(
        "{}: was made with --agents {before}; write that again, or leave it out",
        path.display()
    ))
}

/// Returns the folder of a campaign, or why its runs cannot go on.
fn folder(
    request: &StartRequest,
    path: &Path,
    schedule: &[ScheduledRun<'_>],
) -> Result<CampaignFolder, String> {
    let folder =
        CampaignFolder::resume(path, &request.plan_text).map_err(|error| error.to_string())?;
    let problem =
        changed(request, schedule, &folder).or_else(|| changed_values(&request.campaign, &folder));
    problem.map_or(Ok(folder), Err)
}

/// Says so if the runs had other secrets or variables, which nothing else shows: the saved texts do
/// not have their values. The cause may also be a changed file that no run has used yet.
fn changed_values(campaign: &Campaign, folder: &CampaignFolder) -> Option<String> {
    let values = campaign.unsaved_values();
    let before = folder.before()?.plan_digest;
    let is_same = before.is_empty() || before == campaign.digest().to_string();
    (!values.is_empty() && !is_same).then(|| {
        format!(
            "{}: was made with other values of {}, which are not saved, or with other files; give \
             the same plan, files and --set, or start anew without --resume",
            folder.path().display(),
            values.join(", ")
        )
    })
}

/// Says why earlier runs are not runs of this plan, if they are not: its file is the same, but a
/// file that it names may have changed.
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

/// Returns what exists of one run of the campaign; for a search, its first hold or its run with
/// each number of agents.
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
            let hold = first_hold(capacity);
            let plan = hold.and_then(|hold| capacity.plan_at(plan, hold.amount).ok());
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

/// The hold that a search begins with. It does not depend on any result.
fn first_hold(capacity: &Capacity) -> Option<Hold> {
    match LoadSearch::new(Bounds::from_plan(capacity).ok()?).next() {
        SearchAction::Hold(hold) => Some(hold),
        SearchAction::End => None,
    }
}

impl MadeBefore {
    /// Returns the run if it is complete; `None` without a `plan`, since it would not be made now.
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

    /// Describes the first difference from what would be made now.
    fn difference(self) -> Option<String> {
        let path = self.path.display();
        let agents = self.document.agents.len();
        if agents != self.agents as usize {
            return Some(format!(
                "{path}: was made with --agents {agents}; write that again"
            ));
        }
        let plan = PlanRecord::new(&self.plan, String::new());
        let difference = PlanDifference::between_repeats(&self.document.plan, &plan)
            .into_iter()
            .next()?
            .display();
        Some(format!(
            "{path}: was made by another plan ({difference}); start anew without --resume"
        ))
    }
}
