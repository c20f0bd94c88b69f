//! A network namespace: a machine of its own as far as the network is concerned. Needs root.

use crate::require;
use crate::require::skip;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where iproute2 keeps namespaces, see ip-netns(8).
const FOLDER: &str = "/run/netns";

/// A network namespace with only loopback; removed when dropped.
pub struct Namespace {
    ip: PathBuf,
    name: String,
}

impl Namespace {
    /// A new namespace; `None` if this process may not make one, or iproute2 is not installed.
    ///
    /// # Panics
    /// If it may not and `CI=true`.
    #[must_use]
    pub fn new() -> Option<Namespace> {
        Namespace::make(require("ip")?)
            .map_err(|why| skip(&why))
            .ok()
    }

    /// A new namespace, or why this process may not make it.
    pub(crate) fn make(ip: PathBuf) -> Result<Namespace, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "cannonade-{}-{}",
            std::process::id(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        let made = Command::new(&ip)
            .args(["netns", "add", &name])
            .output()
            .unwrap();
        if !made.status.success() {
            return Err(format!(
                "cannot make network namespaces: {}",
                String::from_utf8_lossy(&made.stderr).trim()
            ));
        }
        let namespace = Namespace { ip, name };
        namespace.ip(&["link", "set", "lo", "up"]);
        Ok(namespace)
    }

    /// Its name in `ip netns`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command that runs the program in its arguments in this namespace. The process id stays the
    /// same.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.ip);
        command.args(["netns", "exec", &self.name]);
        command
    }

    /// As [`Namespace::command`], but with this process's view of files: `ip netns exec` hides the
    /// control groups. Network interfaces in `/sys` are then those of the namespace.
    #[must_use]
    pub fn command_among_files(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={FOLDER}/{}", self.name));
        command
    }

    /// Runs `body` in this namespace. Sockets made there remain there, wherever they are used.
    ///
    /// # Panics
    /// If `body` does.
    pub fn enter<T: Send>(&self, body: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            let namespace = File::open(Path::new(FOLDER).join(&self.name)).unwrap();
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            body()
        };
        // Threads enter a namespace, so this one ends with it.
        std::thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Runs `ip` with these arguments in this namespace.
    pub(crate) fn ip(&self, arguments: &[&str]) {
        run_ip(&self.ip, &[&["-n", &self.name], arguments].concat());
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Fails only if another process has removed it.
        let _ = Command::new(&self.ip)
            .args(["netns", "del", &self.name])
            .output();
    }
}

/// Runs `ip` with these arguments.
pub(crate) fn run_ip(ip: &Path, arguments: &[&str]) {
    let output = Command::new(ip).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "ip {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
