//! What the command line asks for, whichever command it was.

use super::result_printer::ResultPrinter;
use super::run_commands::RunCommands;
use crate::exit::ExitRules;
use crate::local::LocalOptions;
use crate::otlp::OtlpEndpoint;
use crate::run_folder::ChosenName;
use crate::run_origin::RunOrigin;
use plan::Campaign;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Runs that are to be made.
#[derive(Debug)]
pub struct StartRequest {
    /// What to do.
    pub campaign: Campaign,
    /// Its text for the record.
    pub plan_text: String,
    /// Where it was asked for.
    pub(crate) origin: RunOrigin,
    /// Who does it.
    pub hosting: Hosting,
    /// Folder that gets the run folder; none is left without it.
    pub output: Option<PathBuf>,
    /// What the run folder is called, if not by time and plan.
    pub(crate) run_name: Option<ChosenName>,
    /// Folder of the same runs that were interrupted.
    pub resume: Option<PathBuf>,
    /// Agents go on where their preflight would refuse the plan.
    pub force: bool,
    /// What makes a run fail beside its thresholds.
    pub rules: ExitRules,
    /// Gets what came of them.
    pub printer: ResultPrinter,
}

/// The agents of all runs, and what stays the same from run to run.
#[derive(Debug)]
pub struct Hosting {
    /// How many agents.
    pub agents: u32,
    /// Where they come from.
    pub source: AgentSource,
    /// Leave what each agent recorded too.
    pub histograms_by_agent: bool,
    /// No progress, no token.
    pub quiet: bool,
    /// Progress takes the whole screen, where there is one.
    pub tui: bool,
    /// Where programs see the run that goes on.
    pub metrics: Option<SocketAddr>,
    /// The collector that it is sent to.
    pub(crate) otlp: Option<OtlpEndpoint>,
    /// Where people do.
    pub dashboard: Option<SocketAddr>,
    /// What the user wants done around each run.
    pub commands: RunCommands,
}

/// Where the agents come from.
#[derive(Debug)]
pub enum AgentSource {
    /// This machine: they are started with the run.
    Local(LocalOptions),
    /// Elsewhere: they join.
    Remote(JoinOptions),
}

/// How agents elsewhere join.
#[derive(Debug)]
pub struct JoinOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// Folder of the enrolment.
    pub state: PathBuf,
    /// File that gets the token.
    pub token_file: Option<PathBuf>,
}

impl AgentSource {
    /// Where the coordinator listens for them.
    pub(super) fn address(&self) -> SocketAddr {
        match self {
            AgentSource::Local(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            AgentSource::Remote(options) => options.address,
        }
    }
}
