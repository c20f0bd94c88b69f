//! The request that the command line makes, whichever command it was.

use super::run_commands::RunCommands;
use crate::job::ResultRules;
use crate::local::LocalOptions;
use exposition::OtlpEndpoint;
use plan::Campaign;
use run_folder::{ChosenName, RunOrigin};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The runs to make.
#[derive(Debug)]
pub struct StartRequest {
    /// The runs that the file asks for.
    pub campaign: Campaign,
    /// The file's text, for the record.
    pub plan_text: String,
    /// Where they were asked for.
    pub(crate) origin: RunOrigin,
    /// The agents that make them.
    pub hosting: Hosting,
    /// The folder that run folders are created in; without it nothing is saved.
    pub output: Option<PathBuf>,
    /// The run folder's name, if not made from time and plan.
    pub(crate) run_name: Option<ChosenName>,
    /// Folder of the same runs, which were interrupted.
    pub resume: Option<PathBuf>,
    /// Whether agents run a plan that their preflight would refuse.
    pub force: bool,
    /// Rules that can fail a run in addition to its thresholds.
    pub rules: ResultRules,
}

/// The agents of all runs, and what stays the same from run to run.
#[derive(Debug)]
pub struct Hosting {
    /// Number of agents.
    pub agents: u32,
    /// Where they come from.
    pub source: AgentSource,
    /// Whether to save what each agent recorded too.
    pub histograms_by_agent: bool,
    /// Where programs can read the figures of the run under way.
    pub metrics: Option<SocketAddr>,
    /// The collector that those figures are pushed to.
    pub(crate) otlp: Option<OtlpEndpoint>,
    /// Where people can see them in a browser.
    pub dashboard: Option<SocketAddr>,
    /// What the user wants done around each run.
    pub commands: RunCommands,
}

/// Where the agents come from.
#[derive(Debug)]
pub enum AgentSource {
    /// On this machine: they are started with the run.
    Local(LocalOptions),
    /// On other machines: they join.
    Remote(JoinOptions),
}

/// How agents on other machines join.
#[derive(Debug)]
pub struct JoinOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// Folder of the enrolment.
    pub state: PathBuf,
    /// File that the token is written to.
    pub token_file: Option<PathBuf>,
}

impl AgentSource {
    /// Where the coordinator listens for agents.
    pub(super) fn address(&self) -> SocketAddr {
        match self {
            AgentSource::Local(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            AgentSource::Remote(options) => options.address,
        }
    }
}
