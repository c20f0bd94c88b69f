//! A CPU quota by control groups of version 1 or 2, as containers have it. Needs root.

use crate::require::skip;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Period of the quota in microseconds, the default of container runtimes.
const PERIOD_US: u64 = 100_000;

/// A process in this group waits once it has used up its share of a tenth of a second. The group is
/// removed when dropped; its processes must have ended by then.
pub struct CpuQuota {
    folder: PathBuf,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl CpuQuota {
    /// A quota of `cpus` CPUs, such as 0.25; `None` if this process may not make a control group.
    ///
    /// # Panics
    /// If it may not and `CI=true`.
    #[must_use]
    pub fn new(cpus: f64) -> Option<CpuQuota> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let Some((root, version)) = root() else {
            skip("no control group here has a controller for the CPU");
            return None;
        };
        let name = format!(
            "cannonade-{}-{}",
            std::process::id(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        let quota = CpuQuota {
            folder: root.join(name),
            version,
        };
        match quota.make((cpus * PERIOD_US as f64) as u64) {
            Ok(()) => Some(quota),
            Err(error) => {
                skip(&format!("cannot set a CPU quota: {error}"));
                None
            }
        }
    }

    /// A command that runs the program in its arguments under the quota. The process id stays the
    /// same.
    #[must_use]
    pub fn command(&self) -> Command {
        self.around(&Command::new("env"))
    }

    /// Runs `inner`, another such command, under the quota.
    #[must_use]
    pub fn around(&self, inner: &Command) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", r#"echo $$ > "$0" && exec "$@""#])
            .arg(self.folder.join("cgroup.procs"));
        command.arg(inner.get_program()).args(inner.get_args());
        command
    }

    /// Moves a process under the quota, with the children that it starts from now on.
    ///
    /// # Panics
    /// If it has ended.
    pub fn add(&self, process: u32) {
        self.write("cgroup.procs", &process.to_string()).unwrap();
    }

    /// How long its processes have had to wait in total.
    ///
    /// # Panics
    /// If the kernel does not say.
    #[must_use]
    pub fn throttled(&self) -> Duration {
        let text = std::fs::read_to_string(self.folder.join("cpu.stat")).unwrap();
        let value = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        let in_ns = value("throttled_time ").map(Duration::from_nanos);
        in_ns
            .or_else(|| value("throttled_usec ").map(Duration::from_micros))
            .expect("the kernel counts it")
    }

    fn make(&self, quota_us: u64) -> io::Result<()> {
        std::fs::create_dir(&self.folder)?;
        match self.version {
            Version::One => {
                self.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                self.write("cpu.cfs_quota_us", &quota_us.to_string())
            }
            Version::Two => self.write("cpu.max", &format!("{quota_us} {PERIOD_US}")),
        }
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        std::fs::write(self.folder.join(file), value)
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // A killed process remains in it for a moment, so this is tried several times.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        eprintln!("cannot remove {}", self.folder.display());
    }
}

/// The folder in which control groups with a quota can be made.
fn root() -> Option<(PathBuf, Version)> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (folder, kind, options) = (
            PathBuf::from(fields.next()?),
            fields.next()?,
            fields.next()?,
        );
        match kind {
            "cgroup" => options
                .split(',')
                .any(|option| option == "cpu")
                .then_some((folder, Version::One)),
            "cgroup2" => gives_cpu(&folder).then_some((folder, Version::Two)),
            _ => None,
        }
    })
}

/// Whether groups in this one can use the controller, which may have to be enabled for them first.
fn gives_cpu(folder: &Path) -> bool {
    let given = folder.join("cgroup.subtree_control");
    let has_cpu = || {
        std::fs::read_to_string(&given)
            .is_ok_and(|text| text.split_whitespace().any(|name| name == "cpu"))
    };
    has_cpu() || (std::fs::write(&given, "+cpu").is_ok() && has_cpu())
}
