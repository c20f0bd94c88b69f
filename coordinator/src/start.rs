//! `coordinator start`: what its flags mean for the run.

use crate::exit::Exit;
use crate::front::{self, ResultPrinter};
use crate::job::ResultRules;
use crate::launch::{AgentSource, Hosting, JoinOptions, RunCommands, StartRequest};
use crate::local::LocalOptions;
use crate::own_agents;
use crate::record::replay;
use crate::set_args::SetArgs;
use crate::token::state_folder;
use crate::{plan_file, terminal};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use exposition::OtlpEndpoint;
use plan::{Campaign, MappedFile, Search};
use report::Format;
use run_folder::{BegunRun, ChosenName, RunOrigin, behind_link, in_words};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `coordinator start`, as typed.
#[derive(Debug, Args)]
pub struct StartArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// Start the agents on this machine, each as its own process
    #[arg(long, conflicts_with_all = ["listen", "state", "token_file"])]
    pub local: bool,
    /// Number of agents to wait for; with --local, to start. Without a terminal the wait ends after
    /// 5 min, unless the plan sets fleet.join_timeout [default: 1; with --resume, as before]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    pub agents: Option<u32>,
    /// Address where agents join [default: 0.0.0.0:7711; 127.0.0.1:7711 if the plan's target is on
    /// loopback, which only agents on this machine reach; with --resume, as before]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
    /// Folder for this coordinator's certificate and secret, by which agents recognise it; both are
    /// made once and used again at every start [default: $XDG_STATE_HOME/cannonade, or
    /// ~/.local/state/cannonade]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Write the token to this file (mode 0600) instead of printing it; it is printed to terminals
    /// only, and `coordinator token` prints it beforehand
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Folder in which the run folder is made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub output: PathBuf,
    /// Name of the run folder [default: time and name of the plan]. Beside it `latest` leads to the
    /// newest run
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub(crate) run: Option<ChosenName>,
    /// Go on with what was interrupted: agents deliver what they hold of a run, those that still
    /// fire go on, and complete runs are not repeated. The plan file is found again
    /// unless it has moved
    #[arg(long, value_name = "RUN_FOLDER", conflicts_with = "output")]
    pub resume: Option<PathBuf>,
    /// Also write histograms-by-agent.hlog, with each agent's histograms for every second;
    /// histograms.hlog has those of all agents together
    #[arg(long)]
    pub histograms_by_agent: bool,
    /// Show the run to Prometheus at http://ADDRESS:PORT/metrics while it goes on, such as
    /// 127.0.0.1:9464. There is no password: bind to an address that only trusted machines can
    /// reach
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Show the run to browsers while it goes on, as the page that report.html will be: at a port
    /// that only this machine reaches, such as 7712, or at ADDRESS:PORT, or :PORT for all of this
    /// machine's addresses. Where other machines reach it, its path has a random token, which is
    /// printed
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = dashboard_address)]
    pub dashboard: Option<SocketAddr>,
    /// Send the run to an OpenTelemetry collector while it goes on, by OTLP over HTTP, such as
    /// http://127.0.0.1:4318. Header fields that the collector asks for are read from
    /// OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<OtlpEndpoint>,
    /// Format of standard output: console, brief, json, junit, markdown, csv or html. If it is one
    /// for programs, the summary for people goes to standard error [default: console]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Also append the result as Markdown to this file, such as $GITHUB_STEP_SUMMARY
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Print neither the token, nor progress, nor the last line
    #[arg(long)]
    pub quiet: bool,
    /// Show progress on the whole screen; messages appear when the screen is restored, and then
    /// the result
    #[arg(long, conflicts_with = "quiet")]
    pub tui: bool,
    /// Exit with 3 if the figures prove nothing about the server or agents were lost, even if the
    /// plan has no thresholds
    #[arg(long)]
    pub strict: bool,
    /// Exit with 1 if any operation of the measured part failed, even if all thresholds hold
    #[arg(long)]
    pub fail_on_error: bool,
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
        value_parser = own_agents::parse_allowed,
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
    /// Run this command by `sh -c` before each run, such as to configure the server for the
    /// variant, which $CANNONADE_VARIANT names. What it writes goes to before.log in the run
    /// folder; if it fails, no further run is made
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub before: Option<String>,
    /// Run this command after each run, once its result is saved; also if the run is not made
    /// although --before ended. Its output goes to after.log
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub after: Option<String>,
    /// How long --before and --after may each take
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "60s",
        value_parser = plan::parse_duration,
    )]
    pub command_timeout: Duration,
    /// Go on where an agent's preflight would refuse the plan, and mark the run
    #[arg(long)]
    pub force: bool,
    /// File of the plan; - is standard input
    #[arg(value_name = "PLAN.toml", required_unless_present = "resume")]
    pub plan: Option<PathBuf>,
}

/// Where agents join by default: on all of this machine's addresses.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 7711);

/// A target on loopback is for agents on this machine, so no other machine needs to reach the port.
fn default_address(campaign: &Campaign) -> SocketAddr {
    let mut variants = campaign.variants().iter();
    if variants.all(|variant| variant.plan.target().is_on_loopback()) {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), LISTEN.port())
    } else {
        LISTEN
    }
}

/// Parses an address with a port; `:7711` means all of this machine's addresses, and a name is
/// resolved.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    address(text, "write such as 0.0.0.0:7711, :7711 or localhost:7711")
}

/// The same, except that a port alone is on loopback.
fn dashboard_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => address(text, "write such as 7712, 127.0.0.1:7712 or :7712"),
    }
}

fn address(text: &str, cure: &str) -> Result<SocketAddr, String> {
    let address = match text.strip_prefix(':') {
        Some(port) => format!("{}:{port}", LISTEN.ip()),
        None => text.to_owned(),
    };
    let mut found = address
        .to_socket_addrs()
        .map_err(|error| format!("{}; {cure}", in_words(&error)))?;
    found.next().ok_or_else(|| format!("no such host; {cure}"))
}

/// The command line, completed by what the folder to resume says.
struct StartChoice {
    args: StartArgs,
    before: Option<BegunRun>,
    plan: PathBuf,
    agents: u32,
}

impl StartChoice {
    /// Fills in what is not typed from the run before, or says what must be typed.
    fn new(mut args: StartArgs) -> Result<StartChoice, String> {
        args.resume = args.resume.as_deref().map(behind_link);
        if let Some(folder) = args.resume.as_deref().filter(|folder| !folder.is_dir()) {
            return Err(format!(
                "{}: no such folder; write that of the run to go on with, such as runs/latest",
                folder.display()
            ));
        }
        let before = args.resume.as_deref().and_then(replay::first_begun);
        let origin = before.as_ref().map(|begun| &begun.origin);
        let known = origin.and_then(RunOrigin::plan_file);
        let plan = args.plan.clone().or(known.map(Path::to_owned));
        let plan = plan.ok_or_else(|| {
            let folder = args.resume.as_deref().unwrap_or(Path::new("")).display();
            format!(
                "{folder}: does not say which plan it is of; write that too: coordinator start \
                 --resume {folder} PLAN.toml"
            )
        })?;
        let agents = before.as_ref().map(|begun| begun.agents);
        Ok(StartChoice {
            agents: args.agents.or(agents).unwrap_or(1),
            args,
            before,
            plan,
        })
    }

    /// How many agents run what the file asks for. For a search over agents, the number before is
    /// that of its first run, which had fewer agents than the search needs.
    fn agents_for(&self, campaign: &Campaign) -> u32 {
        match campaign.search() {
            Some(Search::Agents(numbers))
                if self.before.is_some() && self.args.agents.is_none() =>
            {
                numbers.iter().copied().fold(self.agents, u32::max)
            }
            _ => self.agents,
        }
    }

    fn origin(&self) -> Option<&RunOrigin> {
        self.before.as_ref().map(|begun| &begun.origin)
    }

    /// Says why agents of the resumed run do not find this coordinator, if they do not.
    fn other_port(&self) -> Option<String> {
        let known = self.origin()?.listen?;
        let here = self.args.listen.filter(|here| *here != known)?;
        // All addresses at the port that the agents know include the address that they dial.
        let is_for_all = here.ip().is_unspecified() && here.port() == known.port();
        (!is_for_all).then(|| {
            format!(
                "note: agents of this run know {known} alone, and not --listen {here}: they do not \
                 come here, and fire until their leases end; end this with Ctrl-C and leave \
                 --listen out, unless something leads them here"
            )
        })
    }

    /// Where the agents run.
    fn source(&self, campaign: &Campaign) -> anyhow::Result<AgentSource> {
        let args = &self.args;
        if args.local {
            return Ok(AgentSource::Local(LocalOptions {
                workers: args.workers,
                allow: args.allow.clone(),
                key_log: args.key_log.clone(),
                data: unsent_data(campaign),
                no_spin: args.no_spin,
            }));
        }
        let known = self.origin().and_then(|origin| origin.state.clone());
        let state = args.state.clone().or(known);
        let listen = self.origin().and_then(|origin| origin.listen);
        let listen = args.listen.or(listen);
        Ok(AgentSource::Remote(JoinOptions {
            address: listen.unwrap_or_else(|| default_address(campaign)),
            state: state_folder(state.as_deref())?,
            token_file: args.token_file.clone(),
        }))
    }
}

/// The data files that are not sent, each once.
fn unsent_data(campaign: &Campaign) -> Vec<MappedFile> {
    let data = campaign
        .variants()
        .iter()
        .flat_map(|variant| variant.plan.data());
    let mapped = data.filter_map(|data| data.place.mapped());
    let by_hash: BTreeMap<_, _> = mapped.map(|file| (file.sha256(), file)).collect();
    by_hash.into_values().cloned().collect()
}

/// Runs a plan.
///
/// # Errors
/// See [`front::run`].
pub fn start(args: StartArgs) -> anyhow::Result<Exit> {
    let choice = match StartChoice::new(args) {
        Ok(choice) => choice,
        Err(problem) => {
            terminal::say(problem);
            return Ok(Exit::Usage);
        }
    };
    let read = match plan_file::read(&choice.plan, &choice.args.set) {
        Ok(read) => read,
        Err(error) => {
            terminal::say(error);
            return Ok(Exit::Usage);
        }
    };
    if let Some(problem) = unfit(&read.campaign, choice.args.local) {
        terminal::say(format_args!("{}: {problem}", choice.plan.display()));
        return Ok(Exit::Usage);
    }
    read.campaign
        .notes()
        .iter()
        .for_each(|note| terminal::say(format_args!("note: {note}")));
    choice.other_port().into_iter().for_each(terminal::say);
    let printer = ResultPrinter::new(
        choice.args.format,
        Format::Console,
        choice.args.quiet,
        choice.args.summary.as_deref(),
    )?;
    let source = choice.source(&read.campaign)?;
    let origin = RunOrigin::from_plan_file(&choice.plan);
    let agents = choice.agents_for(&read.campaign);
    let StartChoice { args, .. } = choice;
    let request = StartRequest {
        campaign: read.campaign,
        plan_text: read.text,
        origin: match &source {
            AgentSource::Local(_) => origin,
            AgentSource::Remote(options) => origin.with_port(options.address, &options.state),
        },
        hosting: Hosting {
            agents,
            source,
            histograms_by_agent: args.histograms_by_agent,
            metrics: args.metrics,
            dashboard: args.dashboard,
            otlp: args.otlp,
            commands: RunCommands {
                before: args.before,
                after: args.after,
                timeout: args.command_timeout,
            },
        },
        output: Some(args.output),
        run_name: args.run,
        resume: args.resume,
        force: args.force,
        rules: ResultRules {
            strict: args.strict,
            fail_on_error: args.fail_on_error,
        },
    };
    front::run(&request, printer, args.tui)
}

/// Says why agents that join cannot run what the file asks for, if they cannot.
fn unfit(campaign: &Campaign, is_local: bool) -> Option<&'static str> {
    if let Some(lack) = own_agents::lack(campaign, is_local) {
        return Some(lack);
    }
    let is_builtin = campaign
        .variants()
        .iter()
        .any(|variant| variant.plan.target().builtin.is_some());
    (is_builtin && !is_local).then_some(
        "target.builtin: only agents on this machine reach it; add --local, or write target.url",
    )
}

#[cfg(test)]
mod tests {
    use super::{dashboard_address, listen_address};

    #[test]
    fn port_alone_and_names_are_addresses_too() {
        for (text, address) in [
            (":7711", "0.0.0.0:7711"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::1]:7711", "[::1]:7711"),
        ] {
            assert_eq!(listen_address(text), Ok(address.parse().unwrap()));
        }
        let local = listen_address("localhost:7711").unwrap();
        assert!(local.ip().is_loopback() && local.port() == 7711);
        for text in ["7711", ":x", "localhost", ""] {
            let error = listen_address(text).unwrap_err();
            assert!(error.contains("write such as"), "{text}: {error}");
        }
    }

    #[test]
    fn dashboard_is_on_loopback_unless_somebody_says_otherwise() {
        for (text, address) in [
            ("7712", "127.0.0.1:7712"),
            ("0", "127.0.0.1:0"),
            (":7712", "0.0.0.0:7712"),
            ("10.0.0.1:1", "10.0.0.1:1"),
            ("[::1]:7712", "[::1]:7712"),
        ] {
            assert_eq!(dashboard_address(text), Ok(address.parse().unwrap()));
        }
        assert!(dashboard_address("localhost:1").unwrap().ip().is_loopback());
        for text in ["65536", "-1", "plan.toml", ""] {
            let error = dashboard_address(text).unwrap_err();
            assert!(error.contains("write such as 7712"), "{text}: {error}");
        }
    }
}
