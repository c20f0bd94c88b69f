//! A terminal as people use it, by tmux with a server of its own: the text on its screen, its size,
//! and its keys.

use crate::finished::is_victim_of_pressure;
use crate::wait::look_until;
use crate::{DEADLINE, Pressure, PressureWatch, require};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Stands before an exit code on the screen.
const OVER: &str = "over: ";

/// A terminal with one shell. Its server is stopped when dropped.
pub struct Tmux {
    program: PathBuf,
    folder: TempDir,
    pressure: PressureWatch,
}

impl Tmux {
    /// A terminal of this size whose shell is in an empty folder; `None` if tmux is not installed,
    /// see [`crate::require()`].
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(columns: u16, rows: u16) -> Option<Tmux> {
        let program = require("tmux")?;
        let tmux = Tmux {
            program,
            folder: tempfile::tempdir().unwrap(),
            pressure: Pressure::watch(),
        };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let size = ["-x", &columns, "-y", &rows];
        let shell = "exec env PS1='$ ' sh";
        let start = ["-f", "/dev/null", "new-session", "-d"];
        tmux.tell(&[&start[..], &size, &[shell]].concat());
        tmux.wait_for("$");
        Some(tmux)
    }

    /// The folder in which its shell starts.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Types a line.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn line(&self, line: &str) {
        self.tell(&["send-keys", "-l", line]);
        self.key("Enter");
    }

    /// Presses a key by tmux's name for it, such as `C-c`.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn key(&self, key: &str) {
        self.tell(&["send-keys", key]);
    }

    /// Changes its size.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tell(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// The text on its screen, without blanks at the ends of lines and empty lines at the end.
    ///
    /// # Panics
    /// If the terminal is gone.
    #[must_use]
    pub fn screen(&self) -> String {
        self.tell(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    /// The text on its screen and above, as far as one can scroll.
    ///
    /// # Panics
    /// If the terminal is gone.
    #[must_use]
    pub fn history(&self) -> String {
        let all = ["capture-pane", "-p", "-S", "-"];
        self.tell(&all).trim_end().to_owned()
    }

    /// Waits until the screen contains `words`, and returns all of its text.
    ///
    /// # Panics
    /// If it does not at the deadline.
    pub fn wait_for(&self, words: &str) -> String {
        let seen = || Some(self.screen()).filter(|screen| screen.contains(words));
        self.wait_until(&format!("{words:?} on the screen"), seen)
    }

    fn wait_until<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        look_until(look)
            .unwrap_or_else(|| panic!("waited {DEADLINE:?} for {what}: {}", self.history()))
    }

    /// Types a line that runs a program, after which the screen shows its exit code.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn run(&self, program: &str) {
        self.line(&format!("{program}; echo \"{OVER}$?\""));
    }

    /// The exit code of the program that [`Tmux::run`] started, once it has ended.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        let screen = self.screen();
        let mut lines = screen.lines();
        lines.find_map(|line| line.strip_prefix(OVER)?.trim().parse().ok())
    }

    /// Waits for the end of such a program, and returns all that one can scroll to. It must have
    /// ended with `code`, or with 3 instead of 0 if it was a run, and this machine too busy for it.
    ///
    /// # Panics
    /// If it ends otherwise, or not at the deadline.
    pub fn end(&self, code: i32) -> String {
        let ended = self.wait_until("the end of the program", || self.exit_code());
        let all = self.history();
        let is_victim = || is_victim_of_pressure(self.folder(), &self.pressure.end());
        assert!(
            ended == code || (code == 0 && ended == 3 && is_victim()),
            "{code} was to come: {all}"
        );
        all
    }

    fn tell(&self, words: &[&str]) -> String {
        let mut command = Command::new(&self.program);
        let socket = self.folder.path().join(".socket");
        command.arg("-u").arg("-S").arg(socket).args(words);
        command.current_dir(self.folder.path());
        command.env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        command.env_remove("TMUX");
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let socket = self.folder.path().join(".socket");
        let mut command = Command::new(&self.program);
        // Fails only if the server has ended.
        let _ = command.arg("-S").arg(socket).arg("kill-server").output();
    }
}
