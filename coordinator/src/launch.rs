//! Runs from beginning to end, the same for local and remote agents: what they need is set up,
//! watched, and taken down again whatever happens.

mod agents_search;
mod campaign;
mod campaign_report;
mod capacity;
mod finished_run;
mod invitation;
mod join_port;
mod resumed;
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
use crate::signals::Signals;
use crate::terminal;
use anyhow::Context as _;

pub(crate) use campaign_report::BOOTSTRAP_SEED;
pub(crate) use run_request::unfit;
pub use start_request::{AgentSource, Hosting, JoinOptions, StartRequest};

/// Makes the runs that are asked for, prints what came of them, and says how to exit.
///
/// # Errors
/// What a run needs cannot be had: a port, a folder, a process.
pub fn launch(request: &StartRequest) -> anyhow::Result<Exit> {
    if let Some(problem) = unfit(&request.campaign, request.hosting.agents) {
        terminal::say(problem);
        return Ok(Exit::Usage);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    runtime.block_on(async {
        let signals = Signals::install().context("cannot listen for signals")?;
        match request.campaign.single() {
            Some(plan) => single_run::make_single(request, plan, signals).await,
            None => campaign::make_campaign(request, signals).await,
        }
    })
}
