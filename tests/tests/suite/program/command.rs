//! Runs the binary in a folder of its own, and never for longer than three minutes.

use analysis::Document;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// No test here takes a twentieth of this on an idle machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Tries of a run that this machine disturbs.
const TRIES: usize = 3;

/// Marks every process that a test starts, directly or indirectly.
const MARK: &str = "CANNONADE_TEST_FOLDER";

/// 200 operations in about a second. A closed loop with pauses takes longer on a busy machine, and
/// is no less valid.
pub const PLAN: &str = r#"
name = "short"
target.builtin = { body_bytes = 100 }
load = { connections = 4, think_time = "20ms", requests = 200 }
fleet.max_skew = "1s"
"#;

/// Runs for much longer than any test waits.
pub const ENDLESS: &str = r#"
name = "endless"
target.builtin = { body_bytes = 100 }
load = { rate = "100/s", duration = "10m" }
"#;

/// A folder to work in.
pub struct Folder {
    folder: TempDir,
}

/// A process of the binary under test, killed when it is dropped.
pub struct Running {
    child: Option<Child>,
}

impl Folder {
    /// Makes a folder with `plan` as `plan.toml`.
    pub fn with_plan(plan: &str) -> Folder {
        let folder = Folder {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::write(folder.path().join("plan.toml"), plan).unwrap();
        folder
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(interop::binary("coordinator"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env(MARK, self.path())
            .env("XDG_STATE_HOME", self.path());
        command
            .env_remove("CANNONADE_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn begin(&self, arguments: &[&str]) -> Running {
        Running::new(&mut self.command(arguments))
    }

    /// Runs it to its end. A run that this machine held up is made again.
    pub fn run(&self, arguments: &[&str]) -> Output {
        for _ in 1..TRIES {
            let before = self.runs();
            let output = self.begin(arguments).end();
            let mut made = self.runs();
            made.retain(|run| !before.contains(run));
            if output.status.code() != Some(3) || !made.iter().any(|run| was_held_up(run)) {
                return output;
            }
            println!("this machine held the client up: {}", told(&output));
            for run in &made {
                std::fs::remove_dir_all(run).unwrap();
            }
        }
        self.begin(arguments).end()
    }

    fn runs(&self) -> Vec<PathBuf> {
        folders_in(&self.path().join("runs")).collect()
    }

    /// The folder of the only run.
    pub fn run_folder(&self) -> PathBuf {
        self.run_folder_so_far().expect("a run folder")
    }

    /// The folder of the only run, once it is there. Waits ask for this one: the folder `runs` is
    /// made before it.
    pub fn run_folder_so_far(&self) -> Option<PathBuf> {
        let entries = std::fs::read_dir(self.path().join("runs")).ok()?;
        let entries = entries.map(|entry| entry.unwrap());
        // The link to the latest run has another name while it is made, and may be gone when it is
        // looked at.
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let folders = entries.filter(is_folder).map(|entry| entry.path());
        let mut folders: Vec<PathBuf> = folders.collect();
        assert!(folders.len() <= 1, "{folders:?}");
        folders.pop()
    }

    pub fn document(&self) -> Document {
        report::read(&std::fs::read(self.run_folder().join("result.json")).unwrap()).unwrap()
    }

    pub fn events(&self) -> String {
        let events = self.path().join("runs/latest/events.jsonl");
        std::fs::read_to_string(events).unwrap_or_default()
    }

    /// Waits until the run has come to the event `word`.
    pub fn wait_for(&self, word: &str) {
        wait_until(&format!("event {word}"), || {
            self.events().contains(&format!("\"event\":\"{word}\""))
        });
    }

    /// Processes that were started from here, with `part` in their arguments.
    pub fn processes(&self, part: &str) -> Vec<i32> {
        let mark = format!("{MARK}={}", self.path().display());
        let is_ours = |pid: &i32| {
            let read = |file| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let has = |bytes: &[u8], text: &str| {
                bytes
                    .split(|&byte| byte == 0)
                    .any(|word| word == text.as_bytes())
            };
            let arguments = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            has(&read("environ"), &mark) && arguments.contains(part)
        };
        let pids = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(is_ours).collect()
    }

    pub fn assert_nothing_is_left(&self) {
        wait_until("the end of every process", || self.processes("").is_empty());
    }
}

/// The folders in a folder; links do not count.
fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_folder).map(|entry| entry.path())
}

/// Whether a run in this folder or below is invalid since its client was held up.
fn was_held_up(folder: &Path) -> bool {
    let saved = std::fs::read(folder.join("result.json")).ok();
    let document = saved.and_then(|bytes| report::read(&bytes).ok());
    let is_so = document.is_some_and(|document| {
        let first = document.verdict.evidence.first().map_or("", String::as_str);
        first.starts_with("a client's loop stood still ") || first.starts_with("agents began ")
    });
    is_so || folders_in(folder).any(|folder| was_held_up(&folder))
}

impl Running {
    pub fn new(command: &mut Command) -> Running {
        Running {
            child: Some(command.spawn().unwrap()),
        }
    }

    pub fn id(&self) -> i32 {
        self.child.as_ref().unwrap().id() as i32
    }

    pub fn signal(&self, signal: &str) {
        send(signal, self.id());
    }

    pub fn child(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }

    /// Waits for the process to end.
    pub fn end(mut self) -> Output {
        let child = self.child.take().unwrap();
        let pid = child.id() as i32;
        let (ended, end) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            let output = child.wait_with_output().unwrap();
            let _ = ended.send(());
            output
        });
        let in_time = end.recv_timeout(PATIENCE).is_ok();
        if !in_time {
            send("KILL", pid);
        }
        let output = waiter.join().unwrap();
        assert!(in_time, "it did not end: {}", told(&output));
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn send(signal: &str, pid: i32) {
    let sent = Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success(), "{signal} to {pid}");
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    interop::wait_until(what, || is_so().then_some(()));
}

/// Everything that the process printed, for a message.
pub fn told(output: &Output) -> String {
    format!(
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[track_caller]
pub fn assert_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}", told(output));
}
