//! `coordinator start`: what its flags mean for the run.

use crate::exit::Exit;
use crate::launch::{AgentSource, Hosting, JoinOptions, StartRequest, launch};
use crate::local::LocalOptions;
use crate::{plan_file, terminal};
use clap::Args;
use plan::{Campaign, Search};
use report::Format;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `coordinator start`, as typed.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// Start the agents on this machine, each as its own process
    #[arg(long, conflicts_with_all = ["listen", "state", "token_file"])]
    pub local: bool,
    /// Number of agents to wait for; with --local, to start
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    pub agents: u32,
    /// Address where agents join
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:7711")]
    pub listen: SocketAddr,
    /// Folder for this coordinator's certificate and secret, by which agents recognise it; both are
    /// made once and used again at every start [default: $XDG_STATE_HOME/cannonade, or
    /// ~/.local/state/cannonade]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Write the token to this file (mode 0600) instead of printing it
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Folder in which the run folder is made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub output: PathBuf,
    /// Continue interrupted runs of this plan: runs that are complete in this folder are not
    /// repeated
    #[arg(long, value_name = "RUN_FOLDER", conflicts_with = "output")]
    pub resume: Option<PathBuf>,
    /// Also write histograms-by-agent.hlog, with each agent's histograms for every second;
    /// histograms.hlog has those of all agents together
    #[arg(long)]
    pub histograms_by_agent: bool,
    /// Print neither the token nor progress
    #[arg(long)]
    pub quiet: bool,
    /// Exit with 3 if the load generator was the limit, even if the plan has no thresholds
    #[arg(long)]
    pub strict: bool,
    /// Load threads of each local agent [default: one per CPU it gets]
    #[arg(
        long,
        value_name = "N",
        requires = "local",
        value_parser = clap::value_parser!(u32).range(1..=1024),
    )]
    pub workers: Option<u32>,
    /// Also let local agents load this host, address or network; otherwise only loopback and
    /// private addresses; can be repeated
    #[arg(
        long,
        value_name = "CIDR|HOST[:PORT]",
        requires = "local",
        value_parser = agent::parse_allowed,
    )]
    pub allow: Vec<String>,
    /// Let local agents write TLS secrets to new files in this folder, if the plan asks for it
    /// (tls.key_log)
    #[arg(long, value_name = "DIR", requires = "local")]
    pub key_log: Option<PathBuf>,
    /// Let local agents sleep until each arrival instead of waiting on their CPUs; see `agent join
    /// --no-spin`
    #[arg(long, requires = "local")]
    pub no_spin: bool,
    /// File of the plan
    #[arg(value_name = "PLAN.toml")]
    pub plan: PathBuf,
}

/// Runs a plan.
///
/// # Errors
/// As [`launch`].
pub fn start(args: StartArgs) -> anyhow::Result<Exit> {
    let read = match plan_file::read(&args.plan) {
        Ok(read) => read,
        Err(error) => {
            terminal::say(error);
            return Ok(Exit::Usage);
        }
    };
    if let Some(problem) = unfit(&read.campaign, &args) {
        terminal::say(format_args!("{}: {problem}", args.plan.display()));
        return Ok(Exit::Usage);
    }
    read.campaign
        .notes()
        .iter()
        .for_each(|note| terminal::say(format_args!("note: {note}")));
    let source = source(&args)?;
    launch(&StartRequest {
        campaign: read.campaign,
        plan_text: read.text,
        hosting: Hosting {
            agents: args.agents,
            source,
            histograms_by_agent: args.histograms_by_agent,
            quiet: args.quiet,
        },
        output: Some(args.output),
        resume: args.resume,
        strict: args.strict,
        print: Format::Console,
    })
}

/// Why the file cannot be run as the flags say.
fn unfit(campaign: &Campaign, args: &StartArgs) -> Option<String> {
    let is_builtin = campaign
        .variants()
        .iter()
        .any(|variant| variant.plan.target().builtin.is_some());
    if is_builtin && !args.local {
        return Some(
            "target.builtin: only agents on this machine reach it; add --local, or write \
             target.url"
                .to_owned(),
        );
    }
    if args.resume.is_some() && campaign.single().is_some() {
        return Some(
            "asks for a single run, and there is nothing to resume; leave out --resume".to_owned(),
        );
    }
    let Some(Search::Agents(numbers)) = campaign.search() else {
        return None;
    };
    let most = numbers
        .iter()
        .copied()
        .max()
        .filter(|&most| most > args.agents)?;
    Some(format!(
        "search.agents: asks for {most} agents, and --agents is {}; write --agents {most}",
        args.agents
    ))
}

fn source(args: &StartArgs) -> anyhow::Result<AgentSource> {
    if args.local {
        return Ok(AgentSource::Local(LocalOptions {
            workers: args.workers,
            allow: args.allow.clone(),
            key_log: args.key_log.clone(),
            no_spin: args.no_spin,
        }));
    }
    let state = match &args.state {
        Some(state) => state.clone(),
        None => default_state().ok_or_else(|| {
            anyhow::anyhow!("neither XDG_STATE_HOME nor HOME is set; name a folder by --state")
        })?,
    };
    Ok(AgentSource::Remote(JoinOptions {
        address: args.listen,
        state,
        token_file: args.token_file.clone(),
    }))
}

/// XDG Base Directory Specification 0.8: a relative path in the variable is not valid and is
/// ignored.
fn default_state() -> Option<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    Some(state?.join("cannonade"))
}
