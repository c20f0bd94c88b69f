//! Runs `perf`, and ends it. Its files are in a folder of their own, which is deleted with it.

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

/// Samples per second and CPU. Not 100, so that what happens a hundred times per second is not seen
/// always or never.
const FREQUENCY: &str = "99";

/// Time between two looks at a child.
const LOOK: Duration = Duration::from_millis(50);

/// Time for a `perf record` that is told to end to write its file, and for finding symbols.
const FINISH_MAX: Duration = Duration::from_secs(60);

/// Whether a profile is still wanted.
pub(super) struct Halt {
    asked: Receiver<()>,
    is_asked: bool,
}

impl Halt {
    /// A message finishes the profile early; if the sender is dropped, the profile is given up.
    pub(super) fn new(asked: Receiver<()>) -> Halt {
        Halt {
            asked,
            is_asked: false,
        }
    }

    /// Waits for this long, or until the profile is to finish early. Returns whether it is; `None`
    /// if it is given up.
    pub(super) fn wait(&mut self, time: Duration) -> Option<bool> {
        match self.asked.recv_timeout(time) {
            Ok(()) => self.is_asked = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some(self.is_asked)
    }
}

/// What `perf` records.
pub(super) struct Recording<'p> {
    pub(super) pids: &'p [u32],
    pub(super) length: Duration,
    pub(super) call_graph: CallGraph,
}

/// Stacks, and how often each was seen.
type Stacks = Vec<(String, u64)>;

/// Checks that there is a `perf` that runs on this kernel. If not, says what to do.
pub(super) fn is_there() -> Result<(), String> {
    let output = perf().arg("--version").output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(NO_PERF.to_owned()),
    }
}

impl Recording<'_> {
    /// Samples, and folds the samples. Returns the duration and the stacks; `None` if the profile
    /// is given up.
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
        // It also ends by itself if this process is killed.
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

/// Folds the output of `perf script` while it is written.
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
        // The folding ends with what it reads.
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
    // In a group of its own, so that it can be ended with what it started, and Ctrl-C does not
    // interrupt it.
    command.process_group(0);
    // Symbols are those of this machine; no server is asked for more.
    command.env("DEBUGINFOD_URLS", "");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
}

/// Waits until a child ends. The child is told to end once `is_over` returns true, given the time
/// so far and whether the profile is to finish early. It is killed if it does not end, or if the
/// profile is given up.
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
        // A child that has just ended needs no signal.
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
