//! The one run of a file that asks for a single one.

use super::finished_run::FinishedRun;
use super::interrupted_run::InterruptedRun;
use super::run_host::RunHost;
use super::start_request::StartRequest;
use crate::exit::Exit;
use crate::planned_run::PlannedRun;
use crate::run_folder::{LatestLink, RunFolder};
use crate::utc::Utc;
use plan::Plan;

/// Makes it, prints what came of it, and says how to exit.
pub(super) async fn make_single(
    request: &StartRequest,
    plan: &Plan,
    created: Utc,
    (folder, latest): (Option<RunFolder>, Option<Box<LatestLink>>),
    mut host: RunHost,
) -> anyhow::Result<Exit> {
    let text = request.plan_text.clone();
    let agents = request.hosting.agents;
    let run = PlannedRun {
        created,
        origin: host.origin(&request.origin),
        force: request.force,
        ..PlannedRun::new(plan.clone(), text, agents, plan.name().to_owned())?
    };
    let made = host.make_run(run, folder).await;
    let has_begun = matches!(&made, Ok(Some(made)) if made.ending.has_begun);
    if let Some(latest) = latest.filter(|_| !has_begun) {
        latest.put_back();
    }
    conclude(request, made?, host).await
}

/// Goes on with it where a coordinator before left it.
pub(super) async fn resume_single(
    request: &StartRequest,
    run: PlannedRun,
    interrupted: InterruptedRun,
    mut host: RunHost,
) -> anyhow::Result<Exit> {
    let made = host.resume_run(run, interrupted).await;
    conclude(request, made?, host).await
}

async fn conclude(
    request: &StartRequest,
    made: Option<FinishedRun>,
    host: RunHost,
) -> anyhow::Result<Exit> {
    let exit = match made {
        Some(made) => made.conclude(&request.printer, request.rules),
        None => Ok(Exit::Interrupted),
    };
    host.dismiss().await;
    exit
}
