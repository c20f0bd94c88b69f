//! A coordinator with a fleet: real sessions over the real wire, with agents that fire nothing.
//! Each delivers a second with two requests at two addresses every second; one of ten agents is a
//! second late.
//!
//! The coordinator is a process of its own, and all agents share another one. `histograms.hlog`
//! gets a second once the following second, which also holds response times of it, is merged for
//! all agents. So polling the file every 10 ms tells when that happened.
//!
//! `--agents N,N,…` (default 10,100,1000), `--seconds N` (default 20), `--test`: ten agents for 3
//! s. Exits with 1 if a second of an agent is missing from the result.

use benches::{AgentsLog, RecordedSeconds, SharedAgentsLog, flag, is_trial, simulate};
use clap::Parser as _;
use control::Token;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::{Instant, interval, sleep, timeout};

/// One of this many agents delivers late, by [`LATE_BY`].
const LATE_ONE_OF: u32 = 10;
const LATE_BY: Duration = Duration::from_secs(1);

/// Time for all agents to join.
const JOINED_MAX: Duration = Duration::from_secs(120);

/// Longest time that a run takes in addition to its seconds.
const AROUND_MAX: Duration = Duration::from_secs(150);

/// How often the folder is polled.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Clock ticks per second of CPU time, on every architecture this runs on (time(7)).
const TICKS: f64 = 100.0;

/// Tells this process to be the coordinator.
const ROLE: &str = "--be-coordinator";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|role| role == ROLE) {
        let words = std::iter::once("coordinator".to_owned()).chain(arguments.into_iter().skip(2));
        return coordinator::run(coordinator::Cli::parse_from(words)).into();
    }
    raise_files();
    let seconds = number("--seconds", if is_trial() { 3 } else { 20 });
    let kinds = RecordedSeconds::kinds(seconds);
    println!(
        "{seconds} seconds of about {} bytes from each agent\n",
        kinds[0].bytes_of_second()
    );
    println!(
        "| agents | all joined after | coordinator's CPU while they fire | peak resident set | \
         second merged after its last part: median, p99, most | streams cut | result |"
    );
    println!("|---|---|---|---|---|---|---|");
    let agents = flag("--agents").unwrap_or_else(|| {
        let all = if is_trial() { "10" } else { "10,100,1000" };
        all.to_owned()
    });
    let mut is_whole = true;
    let mut reasons = BTreeMap::new();
    for count in agents.split(',') {
        let count = count.parse().expect("--agents takes numbers");
        let outcome = FleetRun::start(count, seconds).watch(&kinds);
        println!("{}", outcome.row());
        is_whole &= outcome.problem.is_none();
        for reason in outcome.cuts {
            *reasons.entry(reason).or_insert(0) += 1;
        }
    }
    for (reason, times) in reasons {
        println!("\n{times} times: {reason}");
    }
    if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn number(name: &str, default: u32) -> u32 {
    flag(name).map_or(default, |text| text.parse().expect("a number"))
}

fn raise_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // If this fails, the fleet is too large for this machine, and connecting reports it.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// A coordinator that waits for its fleet.
struct FleetRun {
    agents: u32,
    seconds: u32,
    address: SocketAddr,
    coordinator: Child,
    folder: tempfile::TempDir,
}

/// What is visible of a run from outside.
#[derive(Default)]
struct Seen {
    all_joined_after: Duration,
    /// The coordinator's CPU time and when it was read, from the first second to the last.
    cpu: Vec<(Instant, f64)>,
    peak_kib: u64,
    /// For each second, when it appeared in the log.
    merged: Vec<Instant>,
}

struct FleetOutcome {
    agents: u32,
    seen: Seen,
    lags_ms: Vec<f64>,
    cuts: Vec<String>,
    problem: Option<String>,
}

impl FleetRun {
    fn start(agents: u32, seconds: u32) -> FleetRun {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // All processes share a few CPUs, so clocks are less precise than between machines.
        let plan = format!(
            "name = \"fleet\"\ntarget.url = \"http://10.0.0.1:9/\"\nload = {{ rate = \"{}/s\", \
             duration = \"{seconds}s\" }}\nfleet.max_skew = \"1s\"\n[[request]]\npath = \
             \"/a\"\n[[request]]\npath = \"/b\"\n",
            200 * agents
        );
        std::fs::write(folder.path().join("plan.toml"), plan).expect("the plan is written");
        // The port was free a moment ago, and nothing else here uses fixed ports.
        let address = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let log = File::create(folder.path().join("stderr")).expect("a log");
        let coordinator = Command::new(std::env::current_exe().expect("this program"))
            .args([ROLE, "start", "--agents", &agents.to_string()])
            .args(["--listen", &address.to_string(), "--token-file", "token"])
            .args(["--state", "state", "plan.toml"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the coordinator starts");
        FleetRun {
            agents,
            seconds,
            address,
            coordinator,
            folder,
        }
    }

    fn watch(mut self, kinds: &[RecordedSeconds]) -> FleetOutcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let log = SharedAgentsLog::default();
        let fleet = LocalSet::new();
        let most = Duration::from_secs(u64::from(self.seconds)) + AROUND_MAX;
        let seen = fleet.block_on(&runtime, async {
            let token = self.token().await;
            let begun = Instant::now();
            for number in 0..self.agents {
                let late = number % LATE_ONE_OF == LATE_ONE_OF - 1;
                let delay = if late { LATE_BY } else { Duration::ZERO };
                let kind = kinds[number as usize % kinds.len()].clone();
                let (address, token, log) = (self.address, token.clone(), Rc::clone(&log));
                tokio::task::spawn_local(simulate(number, address, token, kind, delay, log));
            }
            timeout(most, self.look(begun, &log)).await
        });
        let is_in_time = seen.is_ok();
        if !is_in_time {
            // The folder shows how far the run got.
            let _ = self.coordinator.kill();
        }
        let _ = self.coordinator.wait();
        let log = log.borrow();
        self.outcome(seen.unwrap_or_default(), &log, is_in_time)
    }

    async fn token(&self) -> Token {
        let file = self.folder.path().join("token");
        loop {
            if let Some(token) = std::fs::read_to_string(&file)
                .ok()
                .and_then(|text| text.trim().parse().ok())
            {
                return token;
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Watches until the coordinator has ended.
    async fn look(&mut self, begun: Instant, log: &SharedAgentsLog) -> Seen {
        let mut seen = Seen::default();
        let mut looks = interval(LOOK_EVERY);
        let mut hlog = None;
        loop {
            looks.tick().await;
            if matches!(self.coordinator.try_wait(), Ok(Some(_)) | Err(_)) {
                return seen;
            }
            let joined = log.borrow().joined.len();
            if seen.all_joined_after.is_zero() && joined >= self.agents as usize {
                seen.all_joined_after = begun.elapsed();
            }
            let is_late = seen.all_joined_after.is_zero() && begun.elapsed() > JOINED_MAX;
            assert!(!is_late, "{joined} agents have joined");
            hlog = hlog.or_else(|| HlogTail::open(&self.run_folder()?));
            let now = Instant::now();
            if let Some(second) = hlog.as_mut().and_then(HlogTail::last_second) {
                seen.merged.resize(seen.merged.len().max(second + 1), now);
            }
            seen.sample(self.coordinator.id(), &log.borrow(), self.seconds);
        }
    }

    fn run_folder(&self) -> Option<PathBuf> {
        let latest = self.folder.path().join("runs/latest");
        latest.is_dir().then_some(latest)
    }

    fn outcome(&self, seen: Seen, log: &AgentsLog, is_in_time: bool) -> FleetOutcome {
        let lag = |(merged, handed_over): (&Instant, &Instant)| {
            merged.saturating_duration_since(*handed_over).as_secs_f64() * 1e3
        };
        let next = log.handed_over.iter().skip(1);
        let mut lags_ms: Vec<f64> = seen.merged.iter().zip(next).map(lag).collect();
        lags_ms.sort_by(f64::total_cmp);
        let problem = if is_in_time {
            log.problems.first().cloned().or_else(|| self.missing())
        } else {
            Some("the run did not end".to_owned())
        };
        FleetOutcome {
            agents: self.agents,
            seen,
            lags_ms,
            cuts: log.away.clone(),
            problem,
        }
    }

    /// What is missing from the result.
    fn missing(&self) -> Option<String> {
        let saved = self.run_folder().map(|run| run.join("result.json"))?;
        let document = match std::fs::read(&saved).map(|bytes| report::read(&bytes)) {
            Ok(Ok(document)) => document,
            _ => return Some(format!("no result: {}", self.last_words())),
        };
        let whole = document.agents.iter();
        let whole = whole.filter(|agent| agent.totals_match == Some(true));
        let (whole, all) = (whole.count(), self.agents as usize);
        let ended = document.measured.operations.ended;
        let expected = u64::from(self.agents) * u64::from(self.seconds) * 200;
        if whole == all && ended == expected {
            return None;
        }
        Some(format!(
            "{whole} of {all} agents are whole, {ended} of {expected} operations are there: {}",
            self.last_words()
        ))
    }

    fn last_words(&self) -> String {
        let said = std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }
}

impl Seen {
    fn sample(&mut self, coordinator: u32, log: &AgentsLog, seconds: u32) {
        if let Some(kib) = peak_kib(coordinator) {
            self.peak_kib = self.peak_kib.max(kib);
        }
        let handed = log.handed_over.len();
        let is_firing = handed > 0 && handed < seconds as usize;
        if let Some(used) = cpu_seconds(coordinator).filter(|_| is_firing) {
            self.cpu.push((Instant::now(), used));
        }
    }

    /// As a share of one CPU.
    fn cpu_share(&self) -> f64 {
        match (self.cpu.first(), self.cpu.last()) {
            (Some((begun, before)), Some((ended, after))) => {
                (after - before) / ended.duration_since(*begun).as_secs_f64().max(0.001)
            }
            _ => f64::NAN,
        }
    }
}

impl FleetOutcome {
    fn row(&self) -> String {
        let lags = &self.lags_ms;
        let at = |share: f64| {
            let rank = (share * lags.len() as f64).ceil() as usize;
            lags.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
        };
        format!(
            "| {} | {:.1} s | {:.1} % | {:.0} MiB | {:.0}, {:.0}, {:.0} ms | {} | {} |",
            self.agents,
            self.seen.all_joined_after.as_secs_f64(),
            self.seen.cpu_share() * 100.0,
            self.seen.peak_kib as f64 / 1024.0,
            at(0.5),
            at(0.99),
            at(1.0),
            self.cuts.len(),
            self.problem.as_deref().unwrap_or("whole"),
        )
    }
}

/// The log of merged seconds, read while it grows.
struct HlogTail {
    lines: BufReader<File>,
    line: String,
    last: Option<usize>,
}

impl HlogTail {
    fn open(run: &Path) -> Option<HlogTail> {
        let file = File::open(run.join("histograms.hlog")).ok()?;
        Some(HlogTail {
            lines: BufReader::new(file),
            line: String::new(),
            last: None,
        })
    }

    /// The last second in the log so far.
    fn last_second(&mut self) -> Option<usize> {
        while self.lines.read_line(&mut self.line).is_ok_and(|n| n > 0) {
            // The rest of a partial line is read the next time.
            if !self.line.ends_with('\n') {
                break;
            }
            self.last = second_of(&self.line).or(self.last);
            self.line.clear();
        }
        self.last
    }
}

/// `Tag=…,start,length,max,histogram`; `start` is relative to the start of the log.
fn second_of(line: &str) -> Option<usize> {
    let start = line.strip_prefix("Tag=")?.split(',').nth(1)?;
    Some(start.parse::<f64>().ok()?.round() as usize)
}

/// proc_pid_stat(5): user and system time are fields 14 and 15. Field 2 may contain spaces, and
/// ends with the last parenthesis.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

/// proc_pid_status(5): the largest resident set so far.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
