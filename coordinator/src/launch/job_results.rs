//! Where the runs of a job are recorded, and what they come to.

use super::campaign_report::CampaignReport;
use super::final_result::FinalResult;
use super::finished_run::FinishedRun;
use super::job_observer::JobObserver;
use super::resumed::Resumed;
use super::run_beginning::RunBeginning;
use super::single_run::SingleRun;
use super::start_request::StartRequest;
use crate::job::JobStanding;
use run_folder::{CampaignFolder, FolderName, LatestLink, RunFolder, Utc, in_words};
use std::path::Path;

/// The results of a job.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum JobResults<'r> {
    /// The results of one run.
    Single(SingleRun),
    /// The results of several runs, or of a search.
    Campaign(CampaignReport<'r>),
}

impl<'r> JobResults<'r> {
    /// Lets `latest` lead to the run before again, since this one is not made.
    pub(super) fn leave(&self) {
        if let JobResults::Single(single) = self {
            single.latest.iter().for_each(|latest| latest.put_back());
        }
    }

    /// Creates the folder that is asked for, unless an existing one is `resumed`.
    pub(super) fn create(
        request: &'r StartRequest,
        resumed: Resumed,
        observer: &dyn JobObserver,
    ) -> anyhow::Result<JobResults<'r>> {
        let created = Utc::now();
        let text = &request.plan_text;
        let base = request.output.as_deref();
        let chosen = request.run_name.clone().map(FolderName::Chosen);
        let named = |name: &str| {
            let stamped = || FolderName::Stamped(created, name.to_owned());
            chosen.clone().unwrap_or_else(stamped)
        };
        let link = |folder: &Path| {
            let linked = LatestLink::lead_to(folder).map_err(|error| {
                let why = in_words(&error);
                let note = format!("note: `latest` does not lead to this run: {why}");
                observer.say(note);
            });
            linked.ok().map(Box::new)
        };
        let folder = match (resumed, request.campaign.single(), base) {
            (Resumed::Run(run, interrupted), ..) => {
                return Ok(JobResults::Single(SingleRun {
                    created,
                    beginning: Some(RunBeginning::Interrupted(*interrupted)),
                    interrupted: Some(run),
                    latest: None,
                    made: None,
                }));
            }
            (Resumed::Nothing, Some(plan), base) => {
                let folder = base.map(|base| RunFolder::create(base, &named(plan.name()), text));
                let folder = folder.transpose()?;
                return Ok(JobResults::Single(SingleRun {
                    created,
                    latest: folder.as_ref().and_then(|folder| link(folder.path())),
                    beginning: Some(RunBeginning::New(folder)),
                    interrupted: None,
                    made: None,
                }));
            }
            (Resumed::Campaign(folder), ..) => folder,
            (Resumed::Nothing, None, Some(base)) => {
                let folder = CampaignFolder::create(base, &named(request.campaign.name()), text)?;
                link(folder.path());
                folder
            }
            (Resumed::Nothing, None, None) => {
                anyhow::bail!("several runs leave a folder; say where by --output")
            }
        };
        let report = CampaignReport::new(&request.campaign, text.clone(), folder);
        Ok(JobResults::Campaign(report))
    }

    /// What they come to, since no run follows; `made` is the worst of the single runs. `None` if
    /// the only run was not made.
    pub(super) fn conclude(self, made: JobStanding, strict: bool) -> Option<FinalResult> {
        match self {
            JobResults::Single(single) => single.made.map(FinishedRun::into_result),
            JobResults::Campaign(report) => Some(report.conclude(made, strict)),
        }
    }
}
