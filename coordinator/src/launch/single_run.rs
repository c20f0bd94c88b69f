//! The one run of a file that asks for a single one.

use super::join_port::JoinPort;
use super::run_host::RunHost;
use super::start_request::StartRequest;
use crate::exit::Exit;
use crate::planned_run::PlannedRun;
use crate::run_folder::RunFolder;
use crate::signals::Signals;
use plan::Plan;

/// Makes it, prints what came of it, and says how to exit.
pub(super) async fn make_single(
    request: &StartRequest,
    plan: &Plan,
    signals: Signals,
) -> anyhow::Result<Exit> {
    let hosting = &request.hosting;
    let name = plan.name();
    let run = PlannedRun::new(
        plan.clone(),
        request.plan_text.clone(),
        hosting.agents,
        name.to_owned(),
    )?;
    // What cannot be had for the port fails before a folder is made, and an agent is let in only
    // where there is one.
    let port = JoinPort::open(&hosting.source).await?;
    let folder = match &request.output {
        Some(base) => Some(RunFolder::create(base, run.created, name, &run.plan_text)?),
        None => None,
    };
    let mut host = RunHost::start(port, hosting, signals)?;
    let exit = match host.make_run(run, folder).await? {
        Some(made) => made.conclude(request.print, request.strict, hosting.quiet),
        None => Ok(Exit::Interrupted),
    };
    host.dismiss().await;
    exit
}
