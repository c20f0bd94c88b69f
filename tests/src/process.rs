//! A child process that does not outlive its fixture.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A child process that writes its output to a file; killed by its id and reaped when dropped.
pub struct Process {
    child: Child,
    output: PathBuf,
}

impl Process {
    /// Starts `command` with standard output and error written to the file `output`.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(command: &mut Command, output: &Path) -> Process {
        let file = File::create(output).unwrap();
        command
            .stdin(Stdio::piped())
            .stdout(file.try_clone().unwrap())
            .stderr(file);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Process {
            child,
            output: output.to_owned(),
        }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    #[must_use]
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap()).into_owned()
    }

    /// Types into its standard input, which stays open until the process is dropped.
    ///
    /// # Panics
    /// If it has ended.
    pub fn type_in(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe that nobody takes");
        input
            .write_all(text.as_bytes())
            .and_then(|()| input.flush())
            .unwrap();
    }

    /// Its status, if it has ended.
    #[must_use]
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has ended and been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and waits until it is ready. If it ends before that, most likely because a port
/// was taken, it is started again with new ports.
pub(crate) fn start_ready<T>(
    name: &str,
    start: impl Fn() -> (Process, T),
    ready: impl Fn(&T) -> bool,
) -> (Process, T) {
    const ATTEMPTS: usize = 5;
    let mut output = String::new();
    for _ in 0..ATTEMPTS {
        let (mut process, fixture) = start();
        let alive = crate::wait_until(&format!("{name} to be ready"), || {
            if ready(&fixture) {
                Some(true)
            } else {
                process.ended().map(|_| false)
            }
        });
        if alive {
            return (process, fixture);
        }
        output = process.output();
    }
    panic!("{name} ended {ATTEMPTS} times before it was ready; the last time it wrote:\n{output}");
}
