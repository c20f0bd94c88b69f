//! Runs from beginning to end, the same for local and remote agents: sets up what they need,
//! watches them, and takes everything down again whatever happens.

mod agents_search;
mod campaign;
mod campaign_report;
mod capacity;
mod finished_run;
mod interrupted_run;
mod invitation;
mod join_port;
mod output_folder;
mod result_printer;
mod resumed;
mod run_beginning;
mod run_commands;
mod run_course;
mod run_ending;
mod run_host;
mod run_request;
mod run_watch;
mod schedule;
mod series;
mod single_run;
mod start_request;
mod variant_run;

use crate::exit::Exit;
use crate::exposition::Exposition;
use crate::fleet;
use crate::run_folder::CampaignFolder;
use crate::signals::Signals;
use crate::terminal;
use crate::utc::Utc;
use anyhow::Context as _;
use join_port::JoinPort;
use output_folder::OutputFolder;
use resumed::Resumed;
use run_host::RunHost;

pub(crate) use campaign_report::BOOTSTRAP_SEED;
pub use result_printer::ResultPrinter;
pub use run_commands::RunCommands;
pub(crate) use run_request::unfit;
pub use start_request::{AgentSource, Hosting, JoinOptions, StartRequest};

/// Makes the runs that are asked for, prints their results, and returns how to exit.
///
/// # Errors
/// Something that a run needs cannot be had: a port, a folder, a process.
pub fn launch(request: &StartRequest) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    runtime.block_on(make(request))
}

async fn make(request: &StartRequest) -> anyhow::Result<Exit> {
    if let Some(problem) = unfit(&request.campaign, request.hosting.agents) {
        terminal::say(request.origin.in_its_words(&problem));
        return Ok(Exit::Usage);
    }
    if let Some(problem) = fleet::too_many(request.hosting.agents) {
        terminal::say(problem);
        return Ok(Exit::Usage);
    }
    let signals = Signals::install().context("cannot listen for signals")?;
    let created = Utc::now();
    let schedule = schedule::of_campaign(&request.campaign);
    let resumed = match Resumed::new(request, &schedule) {
        Ok(resumed) => resumed,
        Err(problem) => {
            terminal::say(problem);
            return Ok(Exit::Usage);
        }
    };
    let before = resumed.campaign().and_then(CampaignFolder::before);
    let hosting = &request.hosting;
    // A port that cannot be opened is reported before a folder is made, and a folder that cannot be
    // made before an agent is let in.
    let port = JoinPort::open(&hosting.source).await?;
    let exposition =
        Exposition::open(hosting.metrics, hosting.dashboard, hosting.otlp.clone()).await?;
    let folder = OutputFolder::create(request, created, resumed)?;
    let host = RunHost::start(port, exposition, hosting, signals)?;
    match folder {
        OutputFolder::Run(plan, folder, latest) => {
            single_run::make_single(request, plan, created, (folder, latest), host).await
        }
        OutputFolder::Interrupted(run, interrupted) => {
            single_run::resume_single(request, *run, *interrupted, host).await
        }
        OutputFolder::Campaign(folder) => {
            campaign::make_campaign(request, &schedule, folder, before, host).await
        }
    }
}
