//! One child process. It ends when its standard input does, is killed when its handle is dropped,
//! and the end of its standard error is kept.

use super::child_death::{ChildDeath, ChildRole};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::task::JoinHandle;

/// How much is kept of a child's standard error: the end, where it says why it ends.
const COMPLAINT_MAX_BYTES: usize = 8 << 10;

/// A child that takes longer to end after its standard input did is killed.
const END_MAX: Duration = Duration::from_secs(2);

/// How long to read what a child wrote before it ended.
const LAST_WORDS_MAX: Duration = Duration::from_millis(200);

/// Longest line that is read from a child.
const LINE_MAX_BYTES: u64 = 64 << 10;

/// A child process.
#[derive(Debug)]
pub(super) struct Child {
    role: ChildRole,
    process: tokio::process::Child,
    /// Kept apart, since waiting for the process would close it, and closing it ends the child.
    stdin: Option<ChildStdin>,
    complaint: Arc<Mutex<Vec<u8>>>,
    /// Fills the complaint; ends with the child's standard error.
    reader: Option<JoinHandle<()>>,
}

impl Child {
    /// The process id; `None` once it has ended and was waited for.
    pub(super) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Runs this program with other arguments. `environment` holds what must not be in arguments,
    /// which all users can read.
    pub(super) fn spawn(
        role: ChildRole,
        arguments: &[String],
        environment: &[(&str, String)],
        stdout: Stdio,
    ) -> io::Result<Child> {
        let mut process = Command::new(program()?)
            .arg0("coordinator")
            .args(arguments)
            .envs(environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped())
            // Ctrl-C reaches the whole process group of the terminal, but a run is to drain.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let complaint = Arc::new(Mutex::new(Vec::new()));
        let reader = process
            .stderr
            .take()
            .map(|stderr| tokio::spawn(keep_tail(stderr, Arc::clone(&complaint))));
        let stdin = process.stdin.take();
        Ok(Child {
            role,
            process,
            stdin,
            complaint,
            reader,
        })
    }

    /// The first line of its standard output, which must be a pipe.
    pub(super) async fn line(&mut self) -> io::Result<String> {
        let stdout = self
            .process
            .stdout
            .take()
            .ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(stdout.take(LINE_MAX_BYTES))
            .read_line(&mut line)
            .await?;
        Ok(line)
    }

    /// Waits until it ends. May be dropped and called again.
    pub(super) async fn died(&mut self) -> ChildDeath {
        match self.process.wait().await {
            Ok(status) => self.obituary(status).await,
            Err(_) => std::future::pending().await,
        }
    }

    /// Lets the child end, or kills it; it is reaped in any case.
    pub(super) async fn stop(mut self) {
        self.stdin = None;
        if tokio::time::timeout(END_MAX, self.process.wait())
            .await
            .is_err()
        {
            // It may have ended just now, and then there is nothing to kill.
            let _ = self.process.kill().await;
        }
    }

    /// Describes the end. A child of the child may hold the pipe open, so the pipe's end is not
    /// waited for long.
    async fn obituary(&mut self, status: ExitStatus) -> ChildDeath {
        if let Some(reader) = &mut self.reader {
            let _ = tokio::time::timeout(LAST_WORDS_MAX, reader).await;
        }
        self.reader = None;
        let complaint = String::from_utf8_lossy(&lock(&self.complaint))
            .trim_end()
            .to_owned();
        ChildDeath {
            role: self.role.clone(),
            status,
            complaint,
        }
    }
}

/// The path of this program; if the file was replaced since, the path in /proc.
fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() {
        path
    } else {
        PathBuf::from("/proc/self/exe")
    })
}

async fn keep_tail(mut stderr: impl AsyncRead + Unpin, tail: Arc<Mutex<Vec<u8>>>) {
    let mut bytes = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
        let mut tail = lock(&tail);
        tail.extend_from_slice(&bytes[..read]);
        let surplus = tail.len().saturating_sub(COMPLAINT_MAX_BYTES);
        // The end is what says why it ends.
        tail.drain(..surplus);
    }
}

/// The bytes are whole even if a thread panicked.
fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}
