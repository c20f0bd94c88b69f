//! Commands of the user around each run: to load a server with another certificate, to empty a
//! cache, to fetch a log.

use super::stop_wish::StopWishes;
use crate::planned_run::PlannedRun;
use run_folder::{in_words, name_of};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, Command};

/// A command that was asked to end (SIGTERM) is killed after this.
const END_MAX: Duration = Duration::from_secs(2);

/// Longest part of a command's last line in a message.
const LAST_WORDS_MAX: usize = 300;

/// Commands around each run, for `sh -c`.
#[derive(Debug, Clone)]
pub struct RunCommands {
    /// Before the run's agents get its plan.
    pub before: Option<String>,
    /// After its result was saved, however it ended; or if it is not made although `before` ended.
    pub after: Option<String>,
    /// How long each may take.
    pub timeout: Duration,
}

/// The variant that a run is of.
#[derive(Debug, Clone)]
pub(super) struct RunVariant {
    pub(super) name: String,
    /// From 1.
    pub(super) repeat: u32,
}

/// The commands around one run.
#[derive(Debug)]
pub(super) struct AroundRun {
    commands: RunCommands,
    environment: Vec<(&'static str, String)>,
    /// The name of the run's folder.
    run: String,
    /// The run's folder, which gets what they write.
    folder: Option<PathBuf>,
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// It ended well, or there is none.
    Well,
    /// The user asked for the end meanwhile, and it was ended.
    Interrupted,
}

/// Why a command ends a campaign.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunCommandError {
    /// It could not be started.
    #[error("{flag} `{command}`: cannot be started: {why}")]
    NotStarted {
        flag: &'static str,
        command: String,
        why: String,
    },
    /// It said that it failed.
    #[error("{flag} `{command}`: {status} at the run {run}{last}{log}")]
    Failed {
        flag: &'static str,
        command: String,
        status: ExitStatus,
        run: String,
        /// Its last line, if it wrote one, as a message goes on.
        last: String,
        /// Where all that it wrote is, as a message goes on.
        log: String,
    },
    /// It took too long.
    #[error(
        "{flag} `{command}`: had not ended after {timeout:?} at the run {run}, and was ended; give \
         it longer by --command-timeout{log}"
    )]
    TimedOut {
        flag: &'static str,
        command: String,
        timeout: Duration,
        run: String,
        log: String,
    },
}

impl RunCommands {
    /// No command.
    pub fn none() -> RunCommands {
        RunCommands {
            before: None,
            after: None,
            timeout: Duration::ZERO,
        }
    }

    /// Around `run`, which is recorded in `folder`.
    pub(super) fn around(
        &self,
        run: &PlannedRun,
        variant: &RunVariant,
        folder: Option<&Path>,
    ) -> AroundRun {
        let folder = folder.map(|folder| std::path::absolute(folder).unwrap_or(folder.to_owned()));
        let of_folder = |part: fn(&Path) -> String| folder.as_deref().map_or(String::new(), part);
        let name = of_folder(name_of);
        AroundRun {
            commands: self.clone(),
            environment: vec![
                ("CANNONADE_PLAN", run.plan.name().to_owned()),
                ("CANNONADE_TARGET", run.plan.target().url.to_string()),
                ("CANNONADE_VARIANT", variant.name.clone()),
                ("CANNONADE_REPEAT", variant.repeat.to_string()),
                ("CANNONADE_RUN", name.clone()),
                (
                    "CANNONADE_RUN_FOLDER",
                    of_folder(|folder| folder.display().to_string()),
                ),
            ],
            run: name,
            folder,
        }
    }
}

impl AroundRun {
    /// Runs the command before the run.
    pub(super) async fn before(
        &self,
        wishes: &mut StopWishes,
    ) -> Result<CommandEnd, RunCommandError> {
        let command = self.commands.before.as_deref();
        self.run("--before", "before.log", command, wishes).await
    }

    /// Runs the command after the run.
    pub(super) async fn after(
        &self,
        wishes: &mut StopWishes,
    ) -> Result<CommandEnd, RunCommandError> {
        let command = self.commands.after.as_deref();
        self.run("--after", "after.log", command, wishes).await
    }

    async fn run(
        &self,
        flag: &'static str,
        log: &str,
        command: Option<&str>,
        wishes: &mut StopWishes,
    ) -> Result<CommandEnd, RunCommandError> {
        let Some(command) = command else {
            return Ok(CommandEnd::Well);
        };
        let log = self.folder.as_ref().map(|folder| folder.join(log));
        let command = command.to_owned();
        let mut child = match self.start(&command, log.as_deref()) {
            Ok(child) => child,
            Err(error) => {
                let why = in_words(&error);
                return Err(RunCommandError::NotStarted { flag, command, why });
            }
        };
        let run = self.run.clone();
        let timeout = self.commands.timeout;
        tokio::select! {
            status = child.wait() => match status {
                Ok(status) if status.success() => Ok(CommandEnd::Well),
                Ok(status) => Err(RunCommandError::Failed {
                    flag,
                    command,
                    status,
                    run,
                    last: last_line(log.as_deref()),
                    log: named(log.as_deref()),
                }),
                Err(error) => {
                    let why = in_words(&error);
                    Err(RunCommandError::NotStarted { flag, command, why })
                }
            },
            () = tokio::time::sleep(timeout) => {
                end(child).await;
                let log = named(log.as_deref());
                Err(RunCommandError::TimedOut { flag, command, timeout, run, log })
            }
            () = wishes.next() => {
                end(child).await;
                Ok(CommandEnd::Interrupted)
            }
        }
    }

    fn start(&self, command: &str, log: Option<&Path>) -> io::Result<Child> {
        let (out, err) = match log {
            Some(log) => {
                let file = File::create(log)?;
                (Stdio::from(file.try_clone()?), Stdio::from(file))
            }
            None => (Stdio::null(), Stdio::null()),
        };
        Command::new("sh")
            .args(["-c", command])
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            // Ctrl-C is for the coordinator, which ends the command's whole group.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}

/// Ends a command and all that it started and left in its group.
async fn end(mut child: Child) {
    let group = child.id().and_then(|id| Pid::from_raw(id as i32));
    let send = |signal| {
        if let Some(group) = group {
            // It may have ended in this moment.
            let _ = kill_process_group(group, signal);
        }
    };
    send(Signal::TERM);
    let _ = tokio::time::timeout(END_MAX, child.wait()).await;
    send(Signal::KILL);
    let _ = child.wait().await;
}

/// The last line of a log, as a message goes on.
fn last_line(log: Option<&Path>) -> String {
    let text = log.and_then(|log| std::fs::read(log).ok());
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    let shown = |line: &str| line.chars().take(LAST_WORDS_MAX).collect::<String>();
    last.map_or_else(String::new, |line| format!(": {}", shown(line.trim())))
}

/// Where a log is, as a message goes on.
fn named(log: Option<&Path>) -> String {
    log.map_or_else(String::new, |log| {
        format!("; all that it wrote is in {}", log.display())
    })
}
