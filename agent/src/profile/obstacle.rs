//! Why there is no profile, and what would allow it: one sentence.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// There is no `perf`, or none for this kernel.
pub(super) const NO_PERF: &str = "there is no perf for this kernel; install it: package linux-perf \
    (Debian), linux-tools-$(uname -r) (Ubuntu), perf (Fedora)";

/// What could prevent a profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    /// `kernel.perf_event_paranoid`.
    pub(super) paranoid: Option<i32>,
    pub(super) is_root: bool,
    /// Whether a watched process belongs to another user.
    pub(super) is_foreign: bool,
    /// Whether none of the watched processes exists any more.
    pub(super) is_gone: bool,
}

impl Surroundings {
    pub(super) fn read(pids: &[u32]) -> Surroundings {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        let user = rustix::process::geteuid();
        let owners: Vec<u32> = pids
            .iter()
            .filter_map(|pid| Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid()))
            .collect();
        Surroundings {
            paranoid: paranoid.ok().and_then(|text| text.trim().parse().ok()),
            is_root: user.is_root(),
            is_foreign: owners.iter().any(|owner| *owner != user.as_raw()),
            is_gone: owners.is_empty(),
        }
    }
}

/// Why `perf record` did not record, given what it wrote in `said`.
pub(super) fn obstacle(said: &str, around: Surroundings) -> String {
    let is_said = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if around.is_gone || is_said(&["No such process", "thread/CPU maps"]) {
        return "the processes ended before they could be looked at".to_owned();
    }
    let is_denied = is_said(&[
        "Access to performance monitoring",
        "Permission denied",
        "permission",
        "Operation not permitted",
        "perf_event_paranoid",
    ]);
    if !is_denied {
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        return format!(
            "perf recorded nothing: {}",
            last.unwrap_or("it said nothing")
        );
    }
    if !around.is_root && around.is_foreign {
        return "the process is another user's; run the monitor as that user or as root".to_owned();
    }
    match around.paranoid {
        Some(level) if !around.is_root && level > 1 => format!(
            "this kernel lets nobody but root take profiles (kernel.perf_event_paranoid = \
             {level}); set it by sysctl kernel.perf_event_paranoid=1, or give the monitor \
             CAP_PERFMON"
        ),
        _ => "this container or machine does not allow perf_event_open; give the container \
              CAP_PERFMON and a seccomp profile that has this call, or run the monitor outside"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_obstacle_names_its_cure() {
        let usual = Surroundings {
            paranoid: Some(2),
            is_root: false,
            is_foreign: false,
            is_gone: false,
        };
        let denied = "Error:\nAccess to performance monitoring and observability operations is \
                      limited.\n";
        let root = Surroundings {
            is_root: true,
            ..usual
        };
        let foreign = Surroundings {
            is_foreign: true,
            ..usual
        };
        let gone = Surroundings {
            is_gone: true,
            ..usual
        };
        let container = "Error: perf_event_open(...): Operation not permitted\n";
        for (said, around, cure) in [
            (denied, usual, "sysctl kernel.perf_event_paranoid=1"),
            (denied, foreign, "as that user or as root"),
            (container, root, "seccomp"),
            ("", gone, "ended before"),
            (
                "Couldn't create thread/CPU maps: No such process",
                usual,
                "ended before",
            ),
            ("a\nsomething else\n\n", usual, "something else"),
            ("", usual, "it said nothing"),
        ] {
            let sentence = obstacle(said, around);
            assert!(sentence.contains(cure), "{sentence}");
            assert!(!sentence.contains('\n'), "{sentence:?}");
        }
    }
}
