//! The run of a file that asks for a single one.

use super::finished_run::FinishedRun;
use super::interrupted_run::InterruptedRun;
use super::run_host::RunHost;
use super::start_request::StartRequest;
use crate::exit::Exit;
use crate::machine_name::public_address;
use crate::planned_run::PlannedRun;
use crate::run_folder::{LatestLink, RunFolder};
use crate::terminal;
use crate::utc::Utc;
use analysis::human;
use plan::Plan;

/// Makes the run, prints its result, and returns how to exit.
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
    // `latest` is to lead to the last run that measured anything.
    let has_begun = matches!(&made, Ok(Some(made)) if made.ending.has_begun);
    if let Some(latest) = latest.filter(|_| !has_begun) {
        latest.put_back();
    }
    conclude(request, made?, host).await
}

/// Resumes the run where an earlier coordinator left it.
pub(super) async fn resume_single(
    request: &StartRequest,
    run: PlannedRun,
    interrupted: InterruptedRun,
    mut host: RunHost,
) -> anyhow::Result<Exit> {
    if let Some(awaited) = whom_it_awaits(&run, &interrupted) {
        terminal::say_unless(request.hosting.quiet, awaited);
    }
    let made = host.resume_run(run, interrupted).await;
    conclude(request, made?, host).await
}

/// Says which agents are waited for, and what they do meanwhile.
fn whom_it_awaits(run: &PlannedRun, interrupted: &InterruptedRun) -> Option<String> {
    let address = interrupted.known_address()?;
    let number = interrupted.awaited_agents();
    (number > 0).then(|| {
        format!(
            "{} of this run {} not ended; each dials {} by itself, fires until {} s after it \
             last heard of a coordinator, and keeps what is not stored",
            human::counted(number as u64, "agent"),
            human::one_or_many(number as u64, "has", "have"),
            public_address(address),
            run.plan.fleet().lease().as_secs_f64(),
        )
    })
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
