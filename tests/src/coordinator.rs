//! The binary `coordinator` as users run it, with a folder of its own for the plan and the results.

use crate::{Finished, Pressure, PressureWatch, binary, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A run that takes longer hangs: no plan here lasts longer than a few seconds, and a lost agent is
/// waited for half a minute.
pub const RUN_MAX: Duration = Duration::from_secs(150);

/// A running `coordinator`. Killed when dropped, together with its local agents, which end with
/// their standard input.
pub struct Coordinator {
    child: Child,
    folder: TempDir,
    started_at: Instant,
    pressure: PressureWatch,
}

/// A command line of `coordinator`, not started yet.
pub struct CoordinatorCommand {
    command: Command,
    folder: TempDir,
}

impl CoordinatorCommand {
    /// `coordinator` with these arguments, in an empty folder.
    #[must_use]
    pub fn new(arguments: &[&str]) -> CoordinatorCommand {
        CoordinatorCommand::from_command(Command::new(binary("coordinator")), arguments)
    }

    /// `coordinator start --local` with one agent and this plan, through another program such as
    /// [`Link::command`], which gets the coordinator's path as its last argument.
    ///
    /// [`Link::command`]: crate::Link::command
    #[must_use]
    pub fn local_by(mut by: Command, plan: &str) -> CoordinatorCommand {
        by.arg(binary("coordinator"));
        let command = CoordinatorCommand::from_command(
            by,
            &["start", "--output", "runs", "--local", "plan.toml"],
        );
        command.file("plan.toml", plan.as_bytes())
    }

    fn from_command(mut command: Command, arguments: &[&str]) -> CoordinatorCommand {
        let folder = tempfile::tempdir().unwrap();
        command
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null());
        command.env_remove("CANNONADE_TOKEN").env("NO_COLOR", "1");
        command.stdout(File::create(folder.path().join("stdout")).unwrap());
        command.stderr(File::create(folder.path().join("stderr")).unwrap());
        CoordinatorCommand { command, folder }
    }

    /// `coordinator start --local --agents <agents>` with this plan.
    #[must_use]
    pub fn local(agents: u32, plan: &str) -> CoordinatorCommand {
        CoordinatorCommand::start(&["--local", "--agents", &agents.to_string()], plan)
    }

    /// `coordinator start` with these arguments and this plan. Its run folder is created in the
    /// folder of the command.
    #[must_use]
    pub fn start(arguments: &[&str], plan: &str) -> CoordinatorCommand {
        let fixed = ["start", "--output", "runs"];
        let all: Vec<&str> = fixed
            .iter()
            .chain(arguments)
            .chain(&["plan.toml"])
            .copied()
            .collect();
        CoordinatorCommand::new(&all).file("plan.toml", plan.as_bytes())
    }

    /// Writes a file into the folder of the command.
    #[must_use]
    pub fn file(self, name: &str, content: &[u8]) -> CoordinatorCommand {
        std::fs::write(self.folder.path().join(name), content).unwrap();
        self
    }

    /// Changes the command itself, for what only one test needs.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> CoordinatorCommand {
        change(&mut self.command);
        self
    }

    /// Starts it.
    #[must_use]
    pub fn spawn(mut self) -> Coordinator {
        let child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.command));
        Coordinator {
            child,
            folder: self.folder,
            started_at: Instant::now(),
            pressure: Pressure::watch(),
        }
    }

    /// Starts it and waits for its end.
    #[must_use]
    pub fn run(self) -> Finished {
        self.spawn().wait()
    }
}

impl Coordinator {
    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        text(&self.folder.path().join("stdout"))
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        text(&self.folder.path().join("stderr"))
    }

    /// The folder it runs in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its run folder, once it exists.
    ///
    /// # Panics
    /// If it does not exist at the deadline.
    #[must_use]
    pub fn run_folder(&self) -> PathBuf {
        wait_until("a run folder", || {
            crate::finished::run_folder(self.folder.path())
        })
    }

    /// Waits until standard error contains `word`, and returns all of it.
    ///
    /// # Panics
    /// If it does not at the deadline, or if the coordinator ends first.
    pub fn wait_for(&mut self, word: &str) -> String {
        wait_until(&format!("{word:?} of the coordinator"), || {
            let (ended, stderr) = (self.child.try_wait().unwrap(), self.stderr());
            assert!(
                ended.is_none() || stderr.contains(word),
                "it has ended with {ended:?} before it said {word:?}:\n{stderr}"
            );
            stderr.contains(word).then_some(stderr)
        })
    }

    /// Its running child processes.
    #[must_use]
    pub fn children(&self) -> Vec<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.id());
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id()));
        let of_task = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.ok()?.path().join("children")).ok()
        };
        let text: String = match tasks {
            Ok(tasks) => tasks.filter_map(of_task).collect(),
            Err(error) => panic!("{path}: {error}"),
        };
        text.split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect()
    }

    /// Sends a signal to it alone.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        kill(self.id(), signal);
    }

    /// Whether it has ended.
    ///
    /// # Panics
    /// If the system does not say.
    #[must_use]
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it runs longer than any run here may.
    #[must_use]
    pub fn wait(self) -> Finished {
        self.wait_within(RUN_MAX)
    }

    /// Waits for its end, for a run that may take longer than most; `longest` counts from its
    /// start.
    ///
    /// # Panics
    /// If it takes longer than that.
    #[must_use]
    pub fn wait_within(mut self, longest: Duration) -> Finished {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                self.started_at.elapsed() < longest,
                "it hangs; it wrote {:#?}",
                (self.stdout(), self.stderr())
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        let during = (self.started_at.elapsed(), self.pressure.end());
        let (stdout, stderr) = (self.stdout(), self.stderr());
        // `Drop` has nothing left to kill.
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Finished::new(status, stdout, stderr, during, folder)
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // Both fail only if the process has ended and been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to one process.
///
/// # Panics
/// If no process has this id.
pub fn kill(id: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(id).unwrap()).expect("a process id is not 0");
    kill_process(pid, signal)
        .unwrap_or_else(|error| panic!("cannot send {signal:?} to {id}: {error}"));
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}
