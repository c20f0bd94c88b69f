//! Runs `perf`, and ends it. Its files are in a folder of their own, which goes with it.

use super::CallGraph;
use super::folding::fold;
use super::obstacle::{NO_PERF, Surroundings, obstacle};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Samples a second and CPU: not 100, so that what happens a hundred times a second is not always
/// or never seen.
const FREQUENCY: &str = "99";

/// Between two looks at a child.
const LOOK: Duration = Duration::from_millis(50);

/// A `perf record` that is told to end has written its file by then, and symbols are found by then.
const FINISH_MAX: Duration = Duration::from_secs(60);

/// Whether the profile is still wanted.
pub(super) struct Halt {
    asked: Receiver<()>,
    is_asked: bool,
}

impl Halt {
    /// A message finishes the profile, its sender's end gives it up.
    pub(super) fn new(asked: Receiver<()>) -> Halt {
        Halt {
            asked,
            is_asked: false,
        }
    }

    /// Waits for so long, and no longer than until it shall finish; whether it shall. Nothing: it
    /// is given up.
    pub(super) fn wait(&mut self, time: Duration) -> Option<bool> {
        match self.asked.recv_timeout(time) {
            Ok(()) => self.is_asked = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some(self.is_asked)
    }
}

/// What `perf` is to record.
pub(super) struct Recording<'p> {
    pub(super) pids: &'p [u32],
    pub(super) length: Duration,
    pub(super) call_graph: CallGraph,
}

/// Stacks and how often each was seen.
type Stacks = Vec<(String, u64)>;

/// Whether there is a `perf` that runs on this kernel; else what to do.
pub(super) fn is_there() -> Result<(), String> {
    let output = perf().arg("--version").output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(NO_PERF.to_owned()),
    }
}

impl Recording<'_> {
    /// Samples, and folds what was sampled; how long, and the stacks. Nothing: it is given up.
    pub(super) fn take(&self, halt: &mut Halt) -> Option<Result<(Duration, Stacks), String>> {
        let failed = |what: &str, error: &io::Error| Some(Err(format!("cannot {what}: {error}")));
        let folder = match tempfile::Builder::new().prefix("cannonade-").tempdir() {
            Ok(folder) => folder,
            Err(error) => return failed("make a folder for perf", &error),
        };
        let (data, said) = (folder.path().join("perf.data"), folder.path().join("said"));
        let begun = Instant::now();
        match self.record(&data, &said, halt)? {
            Ok(_) => {}
            Err(error) => return failed("run perf", &error),
        }
        let duration = begun.elapsed().min(self.length);
        let has_data = std::fs::metadata(&data).is_ok_and(|data| data.len() > 0);
        if !has_data {
            let said = std::fs::read_to_string(&said).unwrap_or_default();
            return Some(Err(obstacle(&said, Surroundings::read(self.pids))));
        }
        match script(&data, halt)? {
            Ok(stacks) => Some(Ok((duration, stacks))),
            Err(error) => failed("read what perf recorded", &error),
        }
    }

    fn record(&self, data: &Path, said: &Path, halt: &mut Halt) -> Option<io::Result<ExitStatus>> {
        let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
        let graph = match self.call_graph {
            CallGraph::Fp => "fp",
            CallGraph::Dwarf => "dwarf",
        };
        // It ends by itself, too, if this process is killed.
        let longest = self.length.as_secs().saturating_add(2).to_string();
        let record = || {
            let mut command = perf();
            command.args(["record", "--no-buildid-cache", "-F", FREQUENCY]);
            command.args(["--call-graph", graph, "-p", &pids.join(","), "-o"]);
            command.arg(data).args(["--", "sleep", &longest]);
            command.stderr(std::fs::File::create(said)?).spawn()
        };
        match record() {
            Ok(child) => watch(child, halt, |time, shall_finish| {
                shall_finish || time >= self.length
            }),
            Err(error) => Some(Err(error)),
        }
    }
}

/// What `perf script` writes, folded while it comes.
fn script(data: &Path, halt: &mut Halt) -> Option<io::Result<Stacks>> {
    let mut command = perf();
    command.args(["script", "--force", "--no-inline", "-i"]);
    command
        .arg(data)
        .args(["-F", "comm,pid,tid,time,event,ip,sym,dso"]);
    let child = command.stdout(Stdio::piped()).spawn();
    let (child, output) = match child.map(|mut child| (child.stdout.take(), child)) {
        Ok((Some(output), child)) => (child, output),
        Ok((None, _)) => return Some(Err(io::ErrorKind::BrokenPipe.into())),
        Err(error) => return Some(Err(error)),
    };
    std::thread::scope(|scope| {
        let folding = scope.spawn(|| fold(output));
        let watched = watch(child, halt, |time, _| time >= FINISH_MAX);
        // It ends with what it reads.
        let folded = folding
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::InvalidData.into()));
        Some(watched?.and_then(|status| match status.success() {
            true => folded,
            false => Err(io::Error::other(format!("perf script ended with {status}"))),
        }))
    })
}

fn perf() -> Command {
    let mut command = Command::new("perf");
    // In a group of its own, so that it ends with what it starts, and not by Ctrl-C in the middle.
    command.process_group(0);
    // Symbols are those of this machine: no server is asked for more.
    command.env("DEBUGINFOD_URLS", "");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
}

/// Waits until a child ends. It is told to once `is_over` says so of the time and of whether the
/// profile shall finish; it is killed where it does not, or where the profile is given up.
fn watch(
    mut child: Child,
    halt: &mut Halt,
    is_over: impl Fn(Duration, bool) -> bool,
) -> Option<io::Result<ExitStatus>> {
    let group = Pid::from_child(&child);
    let begun = Instant::now();
    let mut told_at: Option<Instant> = None;
    loop {
        match child.try_wait() {
            Ok(None) => {}
            ended => return Some(ended.map(Option::unwrap_or_default)),
        }
        let shall_finish = halt.wait(LOOK);
        let is_late = told_at.is_some_and(|at| at.elapsed() >= FINISH_MAX);
        // One that has just ended needs no signal.
        if shall_finish.is_none() || is_late {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = child.wait();
        }
        if told_at.is_none() && is_over(begun.elapsed(), shall_finish?) {
            told_at = Some(Instant::now());
            let _ = kill_process(group, Signal::INT);
        }
    }
}
