//! Carries out the actions of a [`Job`] over a [`RunHost`], and tells the job what became of them.

use super::LaunchError;
use super::finished_run::FinishedRun;
use super::interrupted_run::{InterruptedRun, InterruptedRunError};
use super::job_observer::{JobNews, JobObserver};
use super::job_results::JobResults;
use super::not_made::NotMade;
use super::resumed::check_agents;
use super::run_beginning::RunBeginning;
use super::run_commands::RunVariant;
use super::run_host::RunHost;
use super::start_request::StartRequest;
use crate::job::{
    Job, JobAction, JobEvent, JobObstacle, JobOutcome, JobResult, JobSetup, JobStanding, KeptRun,
    RunName, RunOrder,
};
use crate::planned_run::PlannedRun;
use anyhow::Context as _;
use run_folder::{CampaignFolder, name_of};
use std::path::PathBuf;
use tokio::time::Instant;

/// Carries out a job.
struct JobDriver<'r> {
    request: &'r StartRequest,
    observer: &'r dyn JobObserver,
    host: RunHost<'r>,
    results: JobResults<'r>,
    /// The folder of the search under way, within that of the job.
    search_folder: Option<CampaignFolder>,
}

/// Makes the runs that `request` asks for, tells their result, and lets the agents go. Returns how
/// the runs stand.
pub(super) async fn carry_out(
    request: &StartRequest,
    observer: &dyn JobObserver,
    host: RunHost<'_>,
    results: JobResults<'_>,
) -> Result<JobStanding, LaunchError> {
    let mut job = Job::new(JobSetup {
        campaign: &request.campaign,
        agents: request.hosting.agents,
        resumes: request.resume.is_some(),
        rules: request.rules,
    });
    let mut driver = JobDriver {
        request,
        observer,
        host,
        results,
        search_folder: None,
    };
    let begun_at = Instant::now();
    let mut failure = None;
    while let Some(action) = job.next() {
        let event = match driver.act(action).await {
            Ok(event) => event,
            Err(NotMade::Stopped) => Some(JobEvent::Stopped),
            Err(NotMade::Failed(error)) => {
                failure = Some(error);
                Some(JobEvent::Failed)
            }
        };
        if let Some(event) = event {
            job.take(event, begun_at.elapsed());
        }
    }
    let JobOutcome {
        standing: made,
        obstacle,
    } = job.outcome();
    let standing = match driver.host.is_after_cut() {
        true => JobStanding::Stopped.max(*made),
        false => *made,
    };
    // Runs that were to follow are missing from the result.
    let made = match failure.is_none() && obstacle.is_none() {
        true => *made,
        false => JobStanding::Failed,
    };
    let result = driver.results.conclude(made, request.rules.strict);
    let of_result = result.as_ref().map(|result| result.standing);
    if let Some(result) = result {
        observer.tell(JobNews::Result(Box::new(result)));
    }
    driver.host.dismiss().await;
    match (failure, obstacle) {
        (Some(failure), _) => Err(failure.into()),
        (None, Some(JobObstacle::Plan(problem))) => Err(anyhow::anyhow!("{problem}").into()),
        (None, Some(_)) => Ok(JobStanding::Failed),
        (None, None) => Ok(of_result.map_or(standing, |result| result.max(standing))),
    }
}

impl JobDriver<'_> {
    /// Carries out an action; returns the event that it awaits.
    async fn act(&mut self, action: JobAction) -> Result<Option<JobEvent>, NotMade> {
        Ok(match action {
            JobAction::Say(line) => {
                self.observer.say(line);
                None
            }
            JobAction::Warn(line) => {
                self.observer.tell(JobNews::Warned(line));
                None
            }
            JobAction::Enter { run, search } => {
                let campaign = &self.request.campaign;
                self.host.begin_variant(RunVariant {
                    name: campaign.variant(run).name.clone(),
                    repeat: run.repeat + 1,
                });
                if let (Some(name), JobResults::Campaign(report)) = (search, &self.results) {
                    self.search_folder = Some(report.search_folder(&name)?);
                }
                None
            }
            JobAction::ShowSearch(step) => {
                self.host.show_search(step);
                None
            }
            JobAction::Report(result) => {
                self.report(result);
                None
            }
            JobAction::Save => {
                if let JobResults::Campaign(report) = &mut self.results {
                    report.save();
                }
                None
            }
            JobAction::Discard(name) => {
                self.folder()?.discard(&name);
                None
            }
            JobAction::Find(name) => Some(JobEvent::Found(find(self.folder()?, &name))),
            JobAction::Resume(order, part) => Some(self.resume(order, part).await?),
            JobAction::Begin(order) => Some(self.begin(order).await?),
            JobAction::Wait(duration) => match self.host.pause(duration).await {
                true => Some(JobEvent::Waited),
                false => Some(JobEvent::Stopped),
            },
        })
    }

    /// The folder of the runs under way.
    fn folder(&self) -> Result<&CampaignFolder, NotMade> {
        match (&self.search_folder, &self.results) {
            (Some(folder), _) => Ok(folder),
            (None, JobResults::Campaign(report)) => Ok(report.folder()),
            (None, JobResults::Single(_)) => {
                Err(anyhow::anyhow!("a single run has no folder for several").into())
            }
        }
    }

    fn report(&mut self, result: JobResult) {
        let search = self.search_folder.as_ref().map(CampaignFolder::path);
        let search = search.map_or(String::new(), name_of);
        let JobResults::Campaign(report) = &mut self.results else {
            return;
        };
        match result {
            JobResult::Run {
                run,
                folder,
                document,
            } => report.take_run(run, folder, *document),
            JobResult::Search { run, record } => report.take_search(run, &search, &record),
            JobResult::Agents {
                run,
                folder,
                document,
            } => report.take_agents(run, format!("{search}/{folder}"), &document),
        }
    }

    async fn begin(&mut self, order: RunOrder) -> Result<JobEvent, NotMade> {
        let planned = PlannedRun {
            origin: self.request.origin.clone(),
            force: self.request.force,
            ..PlannedRun::new(
                order.plan,
                self.request.plan_text.clone(),
                order.agents,
                order.title,
            )?
        };
        if let JobResults::Single(single) = &mut self.results {
            if let Some(line) = single.whom_it_awaits() {
                self.observer.say(line);
            }
            let made = single.make(planned, &mut self.host).await?;
            return Ok(tell_end(made, &self.host));
        }
        let text = planned.plan.masked_text();
        let folder = self.folder()?.run(&order.name, &text)?;
        let made = self
            .host
            .make(planned, RunBeginning::New(Some(folder)))
            .await?;
        Ok(tell_end(&made, &self.host))
    }

    /// Resumes one part of what an interruption left of a run.
    async fn resume(&mut self, order: RunOrder, part: usize) -> Result<JobEvent, NotMade> {
        let Some(path) = self.folder()?.parts(&order.name).into_iter().nth(part) else {
            return Ok(JobEvent::NoPart);
        };
        let interrupted = match open(path).await? {
            Ok(interrupted) => interrupted,
            Err(error) if error.leaves_nothing() => return Ok(JobEvent::EmptyPart),
            Err(error) => return Err(error.into()),
        };
        let Ok(run) = interrupted.planned(order.plan, self.request.force) else {
            return Ok(JobEvent::OtherPlan {
                lease: interrupted.lease(),
            });
        };
        check_agents(interrupted.folder(), run.agents, order.agents).map_err(anyhow::Error::msg)?;
        let made = self
            .host
            .make(run, RunBeginning::Interrupted(interrupted))
            .await?;
        Ok(tell_end(&made, &self.host))
    }
}

fn tell_end(made: &FinishedRun, host: &RunHost<'_>) -> JobEvent {
    JobEvent::Ended(Box::new(made.to_facts(!host.is_whole())))
}

fn find(folder: &CampaignFolder, name: &RunName) -> Option<Box<KeptRun>> {
    let kept = match name {
        RunName::Prefix(prefix) => folder.completed(prefix),
        RunName::Exact(name) => folder.completed_run(name),
    };
    kept.map(|(path, document)| {
        Box::new(KeptRun {
            folder: name_of(&path),
            document,
        })
    })
}

/// Opens the log on a thread of its own: a long log takes a while, and connected agents must still
/// be served.
async fn open(path: PathBuf) -> anyhow::Result<Result<InterruptedRun, InterruptedRunError>> {
    tokio::task::spawn_blocking(move || InterruptedRun::open_unfinished(&path))
        .await
        .context("the log of the run before was not read")
}
