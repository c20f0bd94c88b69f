//! Runs from beginning to end, the same for local and remote agents: sets up what they need,
//! watches them, and takes everything down again whatever happens. It knows neither a terminal nor
//! signals nor exit codes: a [`JobObserver`] is told, a [`StopHandle`] asks for the end.

mod campaign_report;
mod final_result;
mod finished_run;
mod fleet_tokens;
mod interrupted_run;
mod job_driver;
mod job_observer;
mod job_results;
mod join_port;
mod not_made;
mod resumed;
mod run_beginning;
mod run_commands;
mod run_course;
mod run_ending;
mod run_host;
mod run_request;
mod run_watch;
mod single_run;
mod start_request;
mod stop_wish;
#[cfg(test)]
#[cfg(feature = "load")]
mod tests;

pub(crate) use campaign_report::BOOTSTRAP_SEED;
pub(crate) use final_result::{FinalResult, JobDocument, ResultPlace};
pub(crate) use job_observer::{JobNews, JobObserver};
pub(crate) use run_commands::RunCommands;
pub(crate) use run_request::unfit;
pub(crate) use start_request::{AgentSource, Hosting, JoinOptions, StartRequest};
pub(crate) use stop_wish::{StopHandle, StopWishes};

use crate::fleet;
use crate::job::{JobStanding, schedule_runs};
use crate::machine_name::public_address;
use crate::quick::in_words_of;
use exposition::Exposition;
use job_results::JobResults;
use join_port::JoinPort;
use resumed::Resumed;
use run_host::RunHost;

/// Why a job has no outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// The request cannot be carried out as it is.
    #[error("{0}")]
    Unfit(String),
    /// Something that the job needs failed: a port, a folder, a process, a command.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

/// Makes the runs that are asked for, and returns how they stand together.
pub(crate) async fn launch(
    request: &StartRequest,
    observer: &dyn JobObserver,
    wishes: StopWishes,
) -> Result<JobStanding, LaunchError> {
    let hosting = &request.hosting;
    let unfit = unfit(&request.campaign, hosting.agents);
    let unfit = unfit.map(|problem| in_words_of(&request.origin, &problem));
    if let Some(problem) = unfit.or_else(|| fleet::too_many(hosting.agents)) {
        return Err(LaunchError::Unfit(problem));
    }
    let schedule = schedule_runs(&request.campaign);
    let resumed = Resumed::new(request, &schedule).map_err(LaunchError::Unfit)?;
    // A port that cannot be opened is reported before a folder is made, and a folder that cannot be
    // made before an agent is let in.
    let port = JoinPort::open(&hosting.source).await?;
    let say = |line| observer.tell(JobNews::Warned(line));
    let exposition = Exposition::open(
        hosting.metrics,
        hosting.dashboard,
        hosting.otlp.clone(),
        public_address,
        say,
    )
    .await?;
    let results = JobResults::create(request, resumed, observer)?;
    let host = RunHost::start(port, exposition, hosting, observer, wishes)
        .inspect_err(|_| results.leave())?;
    job_driver::carry_out(request, observer, host, results).await
}
