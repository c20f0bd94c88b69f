//! Runs from beginning to end, the same for local and remote agents: what they need is set up,
//! watched, and taken down again whatever happens.

mod campaign;
mod capacity;
mod crew;
mod ending;
mod invitation;
mod outcome;
mod request;
mod watch;

use crate::exit::Exit;
use crate::local::LocalOptions;
use crate::record::Finished;
use crate::run_folder::RunFolder;
use crate::signals::Signals;
use crate::terminal;
use crate::utc::Utc;
use analysis::Document;
use anyhow::Context as _;
use crew::{Door, Order};
use ending::Ending;
use plan::{Campaign, Plan};
use report::{Format, Style};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

pub(crate) use outcome::SEED;
pub(crate) use request::unfit;

/// A run to be made.
#[derive(Debug)]
pub struct Launch {
    /// What to do.
    pub campaign: Campaign,
    /// Its text for the record.
    pub plan_text: String,
    /// How many agents.
    pub agents: u32,
    /// Where they are.
    pub place: Place,
    /// Folder that gets the run folder; none is left without it.
    pub output: Option<PathBuf>,
    /// Folder of the same runs that were interrupted.
    pub resume: Option<PathBuf>,
    /// Leave what each agent recorded too.
    pub histograms_by_agent: bool,
    /// No progress, no token.
    pub quiet: bool,
    /// As in [`analysis::exit_code`].
    pub strict: bool,
    /// What goes to standard output at the end.
    pub print: Format,
}

/// Where the agents are.
#[derive(Debug)]
pub enum Place {
    /// On this machine, started with the run.
    Local(LocalOptions),
    /// Elsewhere; they join.
    Listen(Listening),
}

/// How agents elsewhere join.
#[derive(Debug)]
pub struct Listening {
    /// Where to listen.
    pub address: SocketAddr,
    /// Folder of the enrolment.
    pub state: PathBuf,
    /// File that gets the token.
    pub token_file: Option<PathBuf>,
}

/// Makes a run, prints what came of it, and says how to exit.
///
/// # Errors
/// What the run needs cannot be had: a port, a folder, a process.
pub fn launch(launch: Launch) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    runtime.block_on(run(launch))
}

async fn run(launch: Launch) -> anyhow::Result<Exit> {
    if let Some(problem) = request::unfit(&launch.campaign, launch.agents) {
        terminal::say(problem);
        return Ok(Exit::Usage);
    }
    let signals = Signals::install().context("cannot listen for signals")?;
    match launch.campaign.single() {
        Some(plan) => once(&launch, plan, signals).await,
        None => campaign::run(&launch, signals).await,
    }
}

/// A single run.
async fn once(launch: &Launch, plan: &Plan, signals: Signals) -> anyhow::Result<Exit> {
    let created = Utc::now();
    let door = Door::open(&launch.place).await?;
    let create = |base: &PathBuf| RunFolder::create(base, created, plan.name(), &launch.plan_text);
    let folder = launch.output.as_ref().map(create).transpose()?;
    let mut crew = door.crew(launch, signals)?;
    let order = Order {
        plan: plan.clone(),
        plan_text: launch.plan_text.clone(),
        agents: launch.agents,
        title: plan.name().to_owned(),
        created,
        folder,
    };
    let exit = match crew.run(order).await? {
        Some(ran) => conclude(launch, &ran.ending, ran.finished),
        None => Ok(Exit::Interrupted),
    };
    crew.dismiss().await;
    exit
}

impl Place {
    fn address(&self) -> SocketAddr {
        match self {
            Place::Local(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            Place::Listen(listening) => listening.address,
        }
    }
}

/// Prints what came of the run, and says how to exit.
fn conclude(launch: &Launch, ending: &Ending, finished: Finished) -> anyhow::Result<Exit> {
    let Finished {
        mut document,
        unsaved,
        folder,
    } = finished;
    ending.problems.iter().for_each(terminal::say);
    document
        .notes
        .extend(unsaved.iter().map(|what| format!("not saved: {what}")));
    if ending.has_begun {
        let style = if launch.print == Format::Console {
            terminal::output_style()
        } else {
            Style::PLAIN
        };
        terminal::print(&launch.print.render(&document, style))
            .context("cannot write the result to standard output")?;
    } else {
        unsaved
            .iter()
            .for_each(|what| terminal::say(format_args!("not saved: {what}")));
    }
    if let Some(folder) = folder.filter(|_| !launch.quiet) {
        terminal::say(format_args!("saved in {}", folder.display()));
    }
    Ok(exit(&document, ending, launch.strict, unsaved.is_empty()))
}

fn exit(document: &Document, ending: &Ending, strict: bool, is_saved: bool) -> Exit {
    let result = if ending.has_begun {
        Exit::of(document, strict)
    } else {
        Exit::Passed
    };
    let failed = (ending.has_failed() || !is_saved).then_some(Exit::Failed);
    let interrupted = ending.is_interrupted.then_some(Exit::Interrupted);
    [Some(result), failed, interrupted]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{CollectorSetup, ResultCollector, RunState, Verdict};
    use control::{RunOutcome, Stop};

    fn document(verdict: Verdict, threshold_failed: bool) -> Document {
        let text = "target.builtin = true\nload = { connections = 1, requests = 1 }\nthresholds = \
                    { \"errors.count\" = \"<= 0\" }";
        let plan = Plan::parse(text, &mut crate::plan_file::Folder(PathBuf::new())).unwrap();
        let setup = CollectorSetup {
            tool_version: String::new(),
            run_id: String::new(),
            started_at: String::new(),
            plan_text: String::new(),
            agents: Vec::new(),
        };
        let mut document = ResultCollector::new(setup, &plan).document(RunState::Complete);
        document.verdict.verdict = verdict;
        document
            .thresholds
            .iter_mut()
            .for_each(|judgement| judgement.passed = !threshold_failed);
        document
    }

    #[test]
    fn exit_code_is_the_documented_one() {
        let ran = Ending {
            has_begun: true,
            outcome: Some(RunOutcome::Ran),
            ..Ending::default()
        };
        let interrupted = Ending {
            is_interrupted: true,
            ..ran.clone()
        };
        let broken = Ending {
            problems: vec!["the built-in target ended".into()],
            ..ran.clone()
        };
        let never = Ending {
            outcome: Some(RunOutcome::NotStarted),
            ..Ending::default()
        };
        let stopped = Ending {
            outcome: Some(RunOutcome::StoppedBeforeStart(Stop::Drain)),
            is_interrupted: true,
            ..Ending::default()
        };
        for (verdict, threshold_failed, ending, is_saved, code) in [
            (Verdict::LoadMet, false, &ran, true, 0),
            (Verdict::Undetermined, false, &ran, true, 0),
            (Verdict::LoadMet, true, &ran, true, 1),
            (Verdict::Invalid, true, &ran, true, 3),
            (Verdict::ClientBound, false, &ran, true, 3),
            (Verdict::LoadMet, false, &ran, false, 4),
            (Verdict::Invalid, true, &ran, false, 4),
            (Verdict::Invalid, false, &broken, true, 4),
            (Verdict::Invalid, true, &interrupted, true, 130),
            (Verdict::LoadMet, false, &interrupted, false, 4),
            (Verdict::Invalid, false, &never, true, 4),
            (Verdict::Invalid, false, &stopped, true, 130),
        ] {
            let document = document(verdict, threshold_failed);
            assert_eq!(
                exit(&document, ending, false, is_saved).code(),
                code,
                "{verdict:?} {threshold_failed} {ending:?} {is_saved}"
            );
        }
    }
}
