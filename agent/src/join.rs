//! `agent join`: the command line of a load machine.

use crate::calibrate;
use crate::data_folders::DataFolders;
use crate::last_words;
use crate::link::{self, AgentIdentity, Keeping, LinkConfig};
use crate::link_args::LinkArgs;
use crate::runner::{self, Resources};
use crate::stay::stay;
use crate::stored_files::CacheFolder;
use anyhow::{Context as _, bail};
use control::Role;
use engine::{Policy, allowed_cpus};
use host::{Facts, Sampler};
use plan::{Calibration, Rate, RateError};
use proto::Bytes;
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long the end of the agent waits for its runner. A key log takes it 5 s at most.
const RUNNER_END_MAX: Duration = Duration::from_secs(10);

/// Join a coordinator and send the load it asks for; stay for run after run.
#[derive(Debug, Clone, clap::Args)]
pub struct JoinArgs {
    /// Where to join, and as whom
    #[command(flatten)]
    pub link: LinkArgs,

    /// Load threads [default: one per CPU this process may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: Option<u32>,

    /// CPUs to use, such as 0,2-3 [default: those this process may use]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,

    /// Also allow load on this host, address or network; otherwise only on loopback and private
    /// addresses; can be repeated
    #[arg(long = "allow", value_name = "CIDR|HOST[:PORT]", value_parser = parse_allowed)]
    pub allow: Vec<String>,

    /// Refuse plans that ask this agent for a higher rate, such as 100/s or 6000/m (a number alone
    /// is per second), with all redirects, steps of journeys and messages that there can be; also
    /// refuses closed loops, whose rate is not known beforehand
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub max_rate: Option<Rate>,

    /// Refuse plans that ask this agent for more connections
    #[arg(long, value_name = "N")]
    pub max_connections: Option<u32>,

    /// Refuse plans that run longer than this
    #[arg(long, value_name = "SECONDS")]
    pub max_duration: Option<u64>,

    /// Let plans write TLS secrets to new files in this folder (tls.key_log), so that captures can
    /// be decrypted; only this user can read the files
    #[arg(long, value_name = "DIR")]
    pub key_log: Option<PathBuf>,

    /// How long to keep what the coordinator has not taken after a run, such as 1h or 30m: it may
    /// come back (start --resume)
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_keep)]
    pub keep: Duration,

    /// Folder with data files that are not sent (data.NAME.send): they are found there by their
    /// names, and proved by their SHA-256; can be repeated
    #[arg(long, value_name = "DIR")]
    pub data: Vec<PathBuf>,

    /// What the coordinator of a local run has mapped already
    #[arg(long, hide = true)]
    pub mapped: Vec<PathBuf>,

    /// Folder in which files of plans are kept for later runs, so that they are sent once;
    /// without it, those of a plan are kept in memory for the runs of one `start`. Certificates,
    /// keys, bodies and data files with secret columns are never kept there
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Most MiB in the folder of --cache; files that were not used for longest make room
    #[arg(long, value_name = "MIB", default_value_t = 2048, requires = "cache")]
    pub cache_max: u32,

    /// Folder for undelivered data that is more than memory holds, in a file without a name
    /// [default: TMPDIR, or /tmp]
    #[arg(long, value_name = "DIR")]
    pub spool: Option<PathBuf>,

    /// What `agent calibrate` kept, if this machine is still as it was then [default:
    /// cannonade/calibration.json in XDG_STATE_HOME, or in ~/.local/state]
    #[arg(long, value_name = "FILE")]
    pub calibration: Option<PathBuf>,

    /// Sleep until each arrival of an open loop. Without this flag a load thread waits on its CPU
    /// for the last 60 µs before an arrival, if no other thread wants that CPU and there is no CPU
    /// quota; arrivals are then sent 20 to 100 µs less late
    #[arg(long)]
    pub no_spin: bool,

    /// End when standard input ends, so that no agent outlives its parent
    #[arg(long, hide = true)]
    pub exit_with_stdin: bool,
}

/// Parses a rate as plans write it. Earlier versions took only a number without a unit.
fn parse_rate(text: &str) -> Result<Rate, String> {
    let rate = match text.parse() {
        Err(RateError::NoUnit(_)) => format!("{text}/s").parse(),
        parsed => parsed,
    };
    rate.map_err(|error: RateError| error.to_string())
}

/// Parses a duration as plans write it.
fn parse_keep(text: &str) -> Result<Duration, String> {
    plan::parse_duration(text)
}

/// Checks a value of `--allow`, for programs that start agents with it.
///
/// # Errors
/// If it is neither a network, an address nor a host.
pub fn parse_allowed(text: &str) -> Result<String, String> {
    Policy::default()
        .allow(text)
        .map(|()| text.to_owned())
        .map_err(|error| error.to_string())
}

/// Joins, and stays until it is told to end: by its arguments (`--once`, `--wait`), by SIGINT or
/// SIGTERM, by a terminal that goes away while no run is held (SIGHUP), or by a coordinator that
/// will never have it.
///
/// # Errors
/// If the command line or the token is wrong, or the coordinator refuses for good.
pub fn join(arguments: &JoinArgs) -> anyhow::Result<()> {
    let token = arguments.link.token()?;
    let facts = Sampler::new()
        .facts()
        .context("reading what this machine is")?;
    let cpus = cpus(arguments, &facts)?;
    let policy = policy(arguments, &facts)?;
    let key_log = arguments
        .key_log
        .as_deref()
        .map(private_folder)
        .transpose()?;
    let data = DataFolders::open(&arguments.data, &arguments.mapped)?;
    let cache_max = u64::from(arguments.cache_max) << 20;
    let cache = arguments.cache.as_deref();
    let cache = cache.map(|folder| CacheFolder::open(folder, cache_max));
    let cache = cache.transpose()?;
    let calibration = calibrate::to_send(arguments.calibration.as_deref(), &facts);
    let own_calibration = Calibration::decode(&calibration).ok();
    let identity = AgentIdentity {
        calibration: Bytes::from(calibration),
        ..arguments.link.identity(&facts, Role::Agent, cpus.len())
    };
    let config = LinkConfig {
        coordinator: arguments.link.coordinator.clone(),
        token,
        identity,
        keeping: Keeping {
            keep: arguments.keep,
            spool: arguments.spool.clone().unwrap_or_else(std::env::temp_dir),
            files: cache.clone(),
        },
        stay: arguments.link.stay(),
    };
    if arguments.exit_with_stdin {
        exit_with_stdin()?;
    }
    last_words::keep();
    let (link_end, runner_end) = link::pair();
    let resources = Resources {
        cpus,
        policy,
        key_log,
        calibration: own_calibration,
        data,
        cache,
    };
    let (serving, served) = mpsc::channel::<()>();
    let runner = std::thread::Builder::new()
        .name("runner".into())
        .spawn(move || {
            runner::serve(runner_end, resources);
            drop(serving);
        })?;
    let ended = stay(config, link_end);
    // The runner ends with its orders, and ends the run that it fires. A plan that it still
    // prepares can take it minutes, and is not waited for.
    if let Err(RecvTimeoutError::Disconnected) = served.recv_timeout(RUNNER_END_MAX) {
        let _ = runner.join();
    }
    ended
}

/// One entry per load thread, pinned if there is a CPU for each.
fn cpus(arguments: &JoinArgs, facts: &Facts) -> anyhow::Result<Vec<Option<u32>>> {
    let usable = choose_cpus(arguments.cpus.as_deref())?;
    let default = usable.len().min(facts.usable_cpus()).max(1);
    let workers = arguments
        .workers
        .map_or(default, |workers| workers as usize);
    // More threads than CPUs are not pinned: the kernel spreads them better than a fixed choice
    // does.
    let pinned = workers <= usable.len();
    Ok((0..workers)
        .map(|worker| usable.get(worker).copied().filter(|_| pinned))
        .collect())
}

/// The CPUs of a list on the command line; without a list, those this process may use.
///
/// # Errors
/// If it is no list, or has a CPU that this process may not use.
pub(crate) fn choose_cpus(list: Option<&str>) -> anyhow::Result<Vec<u32>> {
    let allowed = allowed_cpus();
    let Some(list) = list else {
        return Ok(allowed);
    };
    let wanted = cpu_list(list)
        .with_context(|| format!("--cpus {list}: write numbers and ranges, such as 0,2-3"))?;
    match wanted.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(other) => {
            bail!("--cpus {list}: this process may not use CPU {other}; it may use {allowed:?}")
        }
        None => Ok(wanted),
    }
}

/// Numbers and ranges, ascending, each once.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u32, u32) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        if low > high || high >= 4096 {
            return None;
        }
        cpus.extend(low..=high);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// The policy of this machine without any flags.
pub(crate) fn policy_of_machine(facts: &Facts) -> Policy {
    let mut policy = Policy::default();
    // Spinning would use up a quota, and then the kernel stops the whole process for a while.
    policy.spin = facts.cpu_quota.is_none();
    policy
}

fn policy(arguments: &JoinArgs, facts: &Facts) -> anyhow::Result<Policy> {
    let mut policy = policy_of_machine(facts);
    policy.spin &= !arguments.no_spin;
    policy.max_rate = arguments.max_rate;
    policy.max_connections = arguments.max_connections;
    policy.max_duration = arguments.max_duration.map(Duration::from_secs);
    for allowed in &arguments.allow {
        policy.allow(allowed)?;
    }
    Ok(policy)
}

/// Makes the folder for secrets if there is none, for this user only.
fn private_folder(path: &Path) -> anyhow::Result<PathBuf> {
    let making = || format!("making the folder {} of --key-log", path.display());
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(making)?;
    path.canonicalize().with_context(making)
}

/// Ends the process when its parent is gone. By then the load has ended, by its lease.
fn exit_with_stdin() -> anyhow::Result<()> {
    let wait = || {
        let mut rest = [0_u8; 64];
        while std::io::stdin()
            .read(&mut rest)
            .is_ok_and(|bytes| bytes > 0)
        {}
        std::process::exit(0);
    };
    std::thread::Builder::new()
        .name("parent".into())
        .spawn(wait)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_hold_numbers_and_ranges() {
        assert_eq!(cpu_list("0,2-4,3"), Some(vec![0, 2, 3, 4]));
        for bad in ["", "a", "3-1", "1,", "0-99999"] {
            assert_eq!(cpu_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn rates_are_written_as_in_plans_or_as_a_number_a_second() {
        let per_second = |text| parse_rate(text).map(Rate::as_per_second);
        for (text, expected) in [
            ("100/s", 100.0),
            ("6000/m", 100.0),
            ("100", 100.0),
            ("0.5", 0.5),
        ] {
            assert_eq!(per_second(text), Ok(expected), "{text}");
        }
        for (bad, part) in [
            ("100/min", "100/m"),
            ("-1", "negative"),
            ("NaN", "2000/s"),
            ("", "2000/s"),
            ("1e3", "2000/s"),
        ] {
            assert!(
                per_second(bad).is_err_and(|why| why.contains(part)),
                "{bad}: {:?}",
                per_second(bad)
            );
        }
    }

    #[test]
    fn keeping_time_is_written_as_in_plans() {
        assert_eq!(parse_keep("1h30m"), Ok(Duration::from_secs(5_400)));
        for bad in ["", "3600", "1d", "-1s"] {
            assert!(parse_keep(bad).is_err(), "{bad}");
        }
    }
}
