//! `agent monitor`: watches its machine during the runs of its coordinator, and fires nothing.

use crate::link::{self, Keeping, LinkConfig, RunnerEnd};
use crate::link_args::LinkArgs;
use crate::news::NewsWriter;
use crate::profile::{CallGraph, ProfileOrder, ProfileTaker};
use crate::runner::report_seconds;
use crate::second_watch::SecondWatch;
use crate::stay::stay;
use anyhow::Context as _;
use control::{Order, Report, Role, RunId};
use host::{MachineWatch, ProcessChoice, Sampler, WatchedProcesses};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender};

/// Join a coordinator and watch this machine while its runs last, such as that of the server under
/// test; sends no load
#[derive(Debug, Clone, clap::Args)]
pub struct MonitorArgs {
    /// Where to join, and as whom
    #[command(flatten)]
    pub link: LinkArgs,

    /// Watch these processes and their children, with the CPUs, control group and network namespace
    /// of the first; can be repeated [default: this machine]
    #[arg(long = "process", value_name = "NAME|PID")]
    pub processes: Vec<ProcessChoice>,

    /// Control group whose limits count, such as /sys/fs/cgroup/system.slice/nginx.service
    /// [default: that of the first process]
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,

    /// Take a CPU profile of these processes with perf, of this length, in the middle of each run
    #[arg(long, value_name = "DURATION", value_parser = parse_profile, requires = "processes")]
    pub profile: Option<Duration>,

    /// How perf finds who called whom
    #[arg(long, value_name = "HOW", default_value = "fp", requires = "profile")]
    pub profile_call_graph: CallGraph,
}

/// Longer ones are large, and no longer from the middle of the run.
const PROFILE_MOST: Duration = Duration::from_secs(600);

fn parse_profile(text: &str) -> Result<Duration, String> {
    let wanted = plan::parse_duration(text)?;
    let possible = Duration::from_secs(1)..=PROFILE_MOST;
    if possible.contains(&wanted) {
        Ok(wanted)
    } else {
        Err("a CPU profile takes 1 s to 10 min".to_owned())
    }
}

impl MonitorArgs {
    fn watch(&self) -> MachineWatch {
        let watch = MachineWatch::new(WatchedProcesses::Chosen(self.processes.clone()));
        match &self.cgroup {
            Some(folder) => watch.with_group(folder.clone()),
            None => watch,
        }
    }
}

/// Joins, and stays until it is told to end, as an agent does.
///
/// # Errors
/// If the command line or the token is wrong, or the coordinator refuses for good.
pub fn monitor(arguments: &MonitorArgs) -> anyhow::Result<()> {
    let token = arguments.link.token()?;
    let facts = Sampler::new()
        .facts()
        .context("reading what this machine is")?;
    let config = LinkConfig {
        coordinator: arguments.link.coordinator.clone(),
        token,
        identity: arguments.link.identity(&facts, Role::Monitor, 0),
        keeping: Keeping::default(),
        stay: arguments.link.stay(),
    };
    let (link_end, RunnerEnd { orders, reports }) = link::pair();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("starting to watch")?;
    let mut monitor = Monitor {
        arguments: arguments.clone(),
        reports,
        watched: None,
        profile: None,
        news: NewsWriter::start(std::io::stderr())?,
        said: String::new(),
    };
    let mut watch = arguments.watch();
    watch.pids().context("looking for what to watch")?;
    monitor.say_once(state(&watch));
    let watcher = std::thread::Builder::new()
        .name("monitor".into())
        .spawn(move || monitor.serve(&runtime, orders))?;
    let ended = stay(config, link_end);
    // The watcher ends with its orders.
    let _ = watcher.join();
    ended
}

struct Monitor {
    arguments: MonitorArgs,
    reports: Sender<Report>,
    watched: Option<ObservedRun>,
    /// The profile of this run, or of the last one.
    profile: Option<ProfileTaker>,
    news: NewsWriter,
    /// What was last said about what is watched.
    said: String,
}

/// A run during which this machine is watched.
struct ObservedRun {
    run: RunId,
    seconds: SecondWatch,
}

impl Monitor {
    /// Carries out orders until the link ends.
    fn serve(mut self, runtime: &Runtime, mut orders: Receiver<Order>) {
        while let Some(order) = runtime.block_on(self.next_order(&mut orders)) {
            match order {
                Order::Observe { run, at, firing } => self.begin(run, at.0, firing),
                Order::Forget { run } => self.end(run),
                // A monitor is never asked to fire.
                _ => {}
            }
        }
        self.news.end();
    }

    /// Watches until an order arrives.
    async fn next_order(&mut self, orders: &mut Receiver<Order>) -> Option<Order> {
        while let Some(watched) = &mut self.watched {
            let left = watched
                .seconds
                .wake_at()
                .saturating_sub(engine::monotonic_ns());
            match tokio::time::timeout(Duration::from_nanos(left), orders.recv()).await {
                Ok(order) => return order,
                Err(_) => watched.seconds.wake(),
            }
            let now = state(watched.seconds.watch());
            self.say_once(now);
        }
        orders.recv().await
    }

    fn begin(&mut self, run: RunId, at: u64, firing: Option<Duration>) {
        let tell = report_seconds(run, self.reports.clone());
        let seconds = SecondWatch::new(self.arguments.watch(), at, tell);
        self.watched = Some(ObservedRun { run, seconds });
        // A profile that is still being taken ends before the next one begins.
        self.profile = None;
        self.profile = self.arguments.profile.map(|wanted| {
            let order = ProfileOrder {
                run,
                start_at: at,
                firing,
                wanted,
                call_graph: self.arguments.profile_call_graph,
                watch: self.arguments.watch(),
            };
            ProfileTaker::start(order, self.reports.clone())
        });
    }

    fn end(&mut self, run: RunId) {
        if self
            .watched
            .as_ref()
            .is_some_and(|watched| watched.run == run)
        {
            self.profile.iter().for_each(ProfileTaker::finish);
        }
        self.watched = self.watched.take().filter(|watched| watched.run != run);
    }

    fn say_once(&mut self, state: String) {
        if self.said != state {
            self.news.say(&state);
            self.said = state;
        }
    }
}

/// Describes what is watched, and what is not there to be watched.
fn state(watch: &MachineWatch) -> String {
    let missing = watch.missing();
    let is_there = |choice: &&ProcessChoice| !missing.contains(choice);
    let there: Vec<String> = watch.choices().iter().filter(is_there).map(words).collect();
    let mut state = match &there[..] {
        [] => "watches this machine".to_owned(),
        there => format!("watches {} and this machine", there.join(", ")),
    };
    for choice in &missing {
        state += &format!("; there is no {} yet, and it is looked for", words(choice));
    }
    if let Some(folder) = watch.missing_group() {
        state += &format!(
            "; there is no control group {folder} below /sys/fs/cgroup yet, and it is looked for"
        );
    }
    state
}

fn words(choice: &ProcessChoice) -> String {
    match choice {
        ProcessChoice::Pid(pid) => format!("process {pid}"),
        ProcessChoice::Name(name) => format!("process {name:?}"),
    }
}
