//! Plays a case with the real programs against a server that counts, and reports what does not
//! agree.

use crate::pairs::case::{Case, Fault};
use analysis::{Document, RunState};
use interop::{
    Agent, Coordinator, CoordinatorCommand, Finished, Invited, Signal, Tried, ensure, kill,
    wait_until,
};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::{Config, Pace, RunningTarget, TargetAnswer};
use tempfile::TempDir;

/// Four servers of 10 ms each: at most 400 requests per second.
const SERVERS: u32 = 4;
const SERVICE_TIME: Duration = Duration::from_millis(10);

/// Operations before something goes wrong.
const BEFORE_THE_FAULT: u64 = 40;

/// With faults, agents end several seconds after their load.
const LONGEST: Duration = Duration::from_secs(180);

/// A case that is being played.
struct Stage {
    case: Case,
    server: RunningTarget,
    /// The state by which agents know the coordinator.
    _state: TempDir,
    coordinator: Coordinator,
    /// Where agents join; `None` if they are local.
    door: Option<Door>,
    agents: Vec<Agent>,
    _monitor: Option<Agent>,
}

/// Where and how the agents of a case join.
struct Door {
    address: SocketAddr,
    token: String,
    workers: String,
}

impl Door {
    fn agent(&self, name: &str) -> Agent {
        let arguments = ["--name", name, "--workers", &self.workers];
        Agent::join(self.address, &self.token, &arguments)
    }
}

/// Plays `case`, and compares its result with what the server counted.
pub(crate) fn play(case: Case) -> Tried {
    let mut stage = Stage::set(case);
    if case.fault() != Fault::Nothing {
        wait_until("operations before the fault", || {
            (stage.counted() >= BEFORE_THE_FAULT).then_some(())
        });
    }
    match case.fault() {
        Fault::Nothing => {}
        Fault::CtrlC => stage.coordinator.signal(Signal::INT),
        Fault::Lost => stage.replace_an_agent(),
        Fault::Resumed => return stage.resume(),
    }
    let Stage {
        coordinator,
        server,
        agents: _agents,
        ..
    } = stage;
    let finished = coordinator.wait_within(LONGEST);
    judge(case, &finished, &finished.run_folder(), &server)
}

impl Stage {
    fn set(case: Case) -> Stage {
        let answer = TargetAnswer {
            pace: Pace::Servers {
                count: NonZeroU32::new(SERVERS).unwrap(),
                service_time: SERVICE_TIME,
            },
            ..TargetAnswer::default()
        };
        let server = RunningTarget::new(Config {
            answer,
            ..Config::plain()
        })
        .unwrap();
        let plan = case.plan(&server.url("/"));
        let state = tempfile::tempdir().unwrap();
        let workers = case.workers().to_string();
        if case.is_local() {
            let agents = case.agents().to_string();
            let arguments = ["--local", "--agents", &agents, "--workers", &workers];
            let coordinator = CoordinatorCommand::start(&arguments, &plan).spawn();
            return Stage {
                case,
                server,
                _state: state,
                coordinator,
                door: None,
                agents: Vec::new(),
                _monitor: None,
            };
        }
        let address = interop::free_address();
        let invited = Invited::start(case.agents(), address, state.path(), &plan);
        let monitor = case.has_monitor().then(|| invited.monitor("watcher", &[]));
        let door = Door {
            address: invited.address,
            token: invited.token,
            workers,
        };
        let agents = (0..case.agents()).map(|number| door.agent(&format!("agent-{number}")));
        Stage {
            case,
            server,
            _state: state,
            agents: agents.collect(),
            door: Some(door),
            coordinator: invited.coordinator,
            _monitor: monitor,
        }
    }

    /// The operations that the server counted.
    fn counted(&self) -> u64 {
        counted(self.case, &self.server)
    }

    /// Kills an agent. If agents join over the network, another one joins for the following runs.
    fn replace_an_agent(&mut self) {
        let Some(door) = &self.door else {
            let children = self.coordinator.children();
            return kill(*children.last().expect("a local agent"), Signal::KILL);
        };
        self.agents
            .last()
            .expect("a joined agent")
            .signal(Signal::KILL);
        self.agents.push(door.agent("replacement"));
    }

    /// Kills the coordinator, and continues with another one.
    fn resume(self) -> Tried {
        let Stage {
            case,
            server,
            coordinator,
            agents,
            _state,
            _monitor,
            ..
        } = self;
        let folder = coordinator.run_folder();
        coordinator.signal(Signal::KILL);
        // Its folder is locked until it is gone.
        let _killed = coordinator.wait();
        let arguments = ["start", "--resume", folder.to_str().unwrap()];
        let resumed = CoordinatorCommand::new(&arguments).spawn();
        let finished = resumed.wait_within(LONGEST);
        let told: Vec<String> = agents.iter().map(Agent::output).collect();
        judge(case, &finished, &Some(folder), &server)
            .map_err(|why| format!("{why}\n{}", told.join("---\n")))
    }
}

fn counted(case: Case, server: &RunningTarget) -> u64 {
    let counts = server.counts();
    if case.is_handshake_only() {
        counts.connections
    } else {
        counts.requests
    }
}

/// Compares the results of a case with what the server counted, and with each other.
fn judge(
    case: Case,
    finished: &Finished,
    folder: &Option<PathBuf>,
    server: &RunningTarget,
) -> Tried {
    let wrong = |what: String| Err(format!("{what}; {}", finished.clean()));
    let expected: &[i32] = match case.fault() {
        // A busy machine makes a run invalid, or lets agents begin apart.
        Fault::Nothing | Fault::Resumed => &[0, 1, 3],
        Fault::CtrlC => &[130],
        // With 4 there is no agent left for the next run.
        Fault::Lost if case.ends_with_its_agent() => &[4],
        Fault::Lost => &[0, 1, 3],
    };
    if !expected.contains(&finished.code) {
        return wrong(format!("exit code {}", finished.code));
    }
    let Some(folder) = folder else {
        return wrong("it left no run folder".to_owned());
    };
    let results = results(folder);
    if results.is_empty() {
        return wrong("no run left a result".to_owned());
    }
    for (path, document) in &results {
        let told = agrees_with_itself(case, document).and_then(|()| is_made_again(path, document));
        if let Err(why) = told {
            return wrong(format!("{}: {why}", path.display()));
        }
    }
    let begun: u64 = results.iter().map(|(_, document)| begun(document)).sum();
    let counted = counted(case, server);
    // What a killed agent sent in its last seconds is not stored anywhere.
    let is_counted = match case.fault() {
        Fault::Lost => begun <= counted,
        _ => begun == counted,
    };
    if !is_counted {
        return wrong(format!(
            "{begun} begun by the results, {counted} counted by the server"
        ));
    }
    Ok(())
}

/// Every result below `folder`, with the folder of its run.
fn results(folder: &Path) -> Vec<(PathBuf, Document)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        if let Ok(bytes) = std::fs::read(folder.join("result.json")) {
            found.push((folder.clone(), report::read(&bytes).unwrap()));
        }
        let entries = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        waiting.extend(entries.filter(|path| path.is_dir() && !path.is_symlink()));
    }
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    found
}

/// Operations begun in both parts of a run.
fn begun(document: &Document) -> u64 {
    let parts = [Some(&document.measured), document.warm_up.as_ref()];
    let started = parts
        .into_iter()
        .flatten()
        .map(|part| part.operations.started);
    started.sum()
}

/// What must hold within any result.
fn agrees_with_itself(case: Case, document: &Document) -> Tried {
    let operations = &document.measured.operations;
    let outcomes = operations.ok + operations.timed_out + operations.failed;
    ensure(outcomes == operations.ended, || format!("{operations:?}"))?;
    let of_agents = document
        .by_agent
        .iter()
        .map(|agent| agent.figures.operations.ended);
    let of_agents: u64 = of_agents.sum();
    ensure(of_agents == operations.ended, || {
        format!(
            "{of_agents} ended at the agents, {} in the whole",
            operations.ended
        )
    })?;
    let is_whole = document.run.state == RunState::Complete && case.fault() != Fault::Lost;
    if let Some(requests) = case.requests().filter(|_| is_whole) {
        // In a search for agents, each agent performs this many.
        let agents = document.agents.len().max(1) as u64;
        ensure(
            operations.ended == requests || operations.ended == requests * agents,
            || format!("{} ended of {requests}", operations.ended),
        )?;
    }
    let rates = &document.measured.rates;
    let most = f64::from(SERVERS) / SERVICE_TIME.as_secs_f64();
    ensure(
        case.is_handshake_only() || rates.ok_per_second <= most * 1.3,
        || {
            format!(
                "{} ok per second of a server that can do {most}",
                rates.ok_per_second
            )
        },
    )?;
    let seconds = document.run.duration_ns as f64 / 1e9;
    // Operations of the warm-up may end in the measured part.
    let most = operations.ok
        + document
            .warm_up
            .as_ref()
            .map_or(0, |part| part.operations.ok);
    ensure(rates.ok_per_second * seconds <= most as f64 + 1e-6, || {
        format!("{}/s for {seconds} s of {most} ok", rates.ok_per_second)
    })
}

/// Checks that a run's log gives the same result again, and that every format can be printed.
fn is_made_again(folder: &Path, document: &Document) -> Tried {
    let folder = folder.to_str().unwrap();
    let report = |more: &[&str]| {
        let finished = CoordinatorCommand::new(&[&["report", folder], more].concat()).run();
        if finished.clean().code == 0 {
            Ok(finished.stdout)
        } else {
            Err(format!("report {more:?}: {finished}"))
        }
    };
    report(&["--remake"])?;
    let again = report(&["--format", "json"])?;
    let again = report::read(again.as_bytes()).map_err(|error| error.to_string())?;
    if again != *document {
        return Err(format!(
            "--remake makes another result: {}",
            difference(document, &again)
        ));
    }
    for format in ["console", "brief", "junit", "markdown", "csv", "html"] {
        report(&["--format", format])?;
    }
    Ok(())
}

/// Lines that only one of two results contains.
fn difference(one: &Document, other: &Document) -> String {
    let [one, other] = [one, other].map(|document| format!("{document:#?}"));
    let only = |sign: char, these: &str, those: &str| -> Vec<String> {
        let those: HashSet<&str> = those.lines().map(str::trim).collect();
        let lines = these
            .lines()
            .map(str::trim)
            .filter(|line| !those.contains(line));
        lines.take(8).map(|line| format!("{sign} {line}")).collect()
    };
    [only('-', &one, &other), only('+', &other, &one)]
        .concat()
        .join("\n")
}
