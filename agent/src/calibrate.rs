//! `agent calibrate`: what each kind of work costs this machine's load threads, measured by real
//! runs against the built-in target on CPUs of its own.

mod disturbance;
mod kept;
mod load_round;
mod quiet_rounds;
mod work_kind;

pub(crate) use kept::to_send;
pub use kept::{CALIBRATION_FILE, fingerprint, read_calibration};

use crate::join::{choose_cpus, policy_of_machine};
use anyhow::{Context as _, bail};
use disturbance::{Disturbance, LoadCpus};
use host::{Facts, Sampler};
use load_round::{LoadRound, LocalServer, MachineHalves};
use plan::{CalibratedWork, Calibration, CalibrationRow};
use quiet_rounds::{QuietRounds, ROUNDS, ROUNDS_MAX};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use work_kind::WorkKind;

/// Measure what this machine's load threads spend on each kind of work, and keep it for `agent
/// join`.
#[derive(Debug, Clone, clap::Args)]
pub struct CalibrateArgs {
    /// Seconds for each of the 12 kinds of work, in three rounds
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_seconds)]
    pub seconds: Duration,

    /// CPUs to use, such as 0,2-3; half of them for the load, the others for the target [default:
    /// those this process may use]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,

    /// File to keep the figures in [default: cannonade/calibration.json in XDG_STATE_HOME, or in
    /// ~/.local/state]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Keep the figures even if something else took more than 10 % of the CPU time meanwhile, which
    /// makes them too high
    #[arg(long)]
    pub force: bool,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|s| (0.1..=60.0).contains(s));
    let seconds = seconds.ok_or("write seconds from 0.1 to 60")?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Measures, prints a line for each kind of work, and keeps the figures. If interrupted, it keeps
/// nothing.
///
/// # Errors
/// A run or the target fails, something else takes the CPUs, or the file cannot be written.
pub fn calibrate(arguments: &CalibrateArgs) -> anyhow::Result<()> {
    let facts = Sampler::new()
        .facts()
        .context("reading what this machine is")?;
    let output = arguments.output.clone().or_else(kept::default_file);
    let output = output.context(
        "neither XDG_STATE_HOME nor HOME is set; name a file by --output to keep the figures in",
    )?;
    let halves = MachineHalves::new(&choose_cpus(arguments.cpus.as_deref())?);
    let servers = work_kind::Servers::start(&halves)?;
    let kinds = work_kind::all();
    tell(&opening(&halves, &facts, kinds.len(), arguments.seconds))?;
    let mut rows = Vec::new();
    let mut disturbed = 0.0_f64;
    for kind in &kinds {
        let server = servers.server(kind);
        let (row, share) = run_rounds(kind, server, &halves, &facts, arguments.seconds)?;
        if share > Calibration::DISTURBED_MAX && !arguments.force {
            bail!("{}", busy_machine(kind.work, share));
        }
        tell(&line(&row))?;
        rows.push(row);
        disturbed = disturbed.max(share);
    }
    tell(&format!(
        "\nsomething else took at most {:.1} % of the CPU time",
        disturbed * 100.0
    ))?;
    let calibration = Calibration {
        fingerprint: fingerprint(&facts),
        measured_at_s: since_1970(),
        disturbed_share: Some(disturbed),
        rows,
    };
    kept::keep(&output, &calibration)
        .with_context(|| format!("keeping the figures in {}", output.display()))?;
    tell(&format!(
        "kept in {}; `agent join` sends it along, and `coordinator check` compares plans with it",
        output.display()
    ))
}

fn busy_machine(work: CalibratedWork, share: f64) -> String {
    format!(
        "nothing is kept: while {work} were measured, something else took at least {:.0} % of the \
         CPU time in each of {ROUNDS_MAX} rounds, and {:.0} % is the most; end it, choose other \
         CPUs (--cpus), or keep figures that are too high with --force",
        share * 100.0,
        Calibration::DISTURBED_MAX * 100.0
    )
}

/// Runs the rounds of one kind of work. Returns the cheapest of the quiet rounds, and the part of
/// the CPU time that something else took in the least quiet of them. If no round was quiet, returns
/// the cheapest of all, and the smallest part.
fn run_rounds(
    kind: &WorkKind,
    server: &LocalServer,
    halves: &MachineHalves,
    facts: &Facts,
    seconds: Duration,
) -> anyhow::Result<(CalibrationRow, f64)> {
    let measuring = || format!("measuring {}", kind.work);
    let plan = kind
        .plan(server, halves.load.len(), seconds / ROUNDS)
        .with_context(measuring)?;
    let policy = policy_of_machine(facts);
    let cpus = halves.all();
    // If the target or a quota stops the load threads, their waiting says nothing about others.
    let of_load = if halves.are_shared() || facts.cpu_quota.is_some() {
        LoadCpus::Shared
    } else {
        LoadCpus::Own
    };
    let mut rounds = QuietRounds::default();
    while rounds.are_wanted() {
        let disturbance = Disturbance::begin(&cpus)?;
        let round =
            LoadRound::run(plan.clone(), &halves.load, policy.clone()).with_context(measuring)?;
        let share = disturbance.share(&round, of_load)?;
        if round.ok == 0 || round.failed * 100 > round.ok {
            bail!(
                "measuring {}: {} operations failed and {} did not: something limits this \
                 machine, such as open files or a firewall on loopback",
                kind.work,
                round.failed,
                round.ok
            );
        }
        rounds.add(round, share);
    }
    let (rounds, share) = rounds.choose();
    Ok((row(kind.work, &rounds), share))
}

fn row(work: CalibratedWork, rounds: &[LoadRound]) -> CalibrationRow {
    let amount = |round: &LoadRound| match work {
        CalibratedWork::Byte => round.payload_bytes as f64,
        _ => round.ok as f64,
    };
    let least = |figure: fn(&LoadRound) -> f64| {
        let each = rounds.iter().map(|round| figure(round) / amount(round));
        each.fold(f64::INFINITY, f64::min)
    };
    CalibrationRow {
        work,
        cpu_ns: least(|round| round.working_ns as f64),
        rate_per_worker: 1e9 / least(|round| round.wall_ns as f64),
    }
}

/// Describes what will happen, and what makes the figures less certain.
fn opening(halves: &MachineHalves, facts: &Facts, kinds: usize, seconds: Duration) -> String {
    let lasts = (seconds.as_secs_f64() * kinds as f64).ceil();
    let mut text = if halves.are_shared() {
        format!(
            "load and target share CPU {:?}, the only one: what the one leaves in its caches costs \
             the other",
            halves.load
        )
    } else {
        format!(
            "load on CPUs {:?}, the target on {:?}",
            halves.load, halves.target
        )
    };
    text += &format!("; about {lasts} s, during which nothing else should run here");
    if let Some(quota) = facts.cpu_quota {
        text += &format!(
            "\na quota of {quota} CPUs holds load and target back: figures are of CPU time, and \
             stay right; rates do not"
        );
    }
    text + "\n\nCPU time each        at most, per load thread   work"
}

fn line(row: &CalibrationRow) -> String {
    let most = 1e9 / row.cpu_ns;
    match row.work {
        CalibratedWork::Byte => format!(
            "{:>10.3} ns {:>22.0} MB/s   {}",
            row.cpu_ns,
            most / 1e6,
            row.work
        ),
        _ => format!(
            "{:>10.1} µs {:>25.0}/s   {}",
            row.cpu_ns / 1e3,
            most,
            row.work
        ),
    }
}

fn tell(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout().lock(), "{text}").context("writing to standard output")
}

fn since_1970() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}
