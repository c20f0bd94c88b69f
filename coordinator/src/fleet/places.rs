//! How many connections may be open, which follows from how many files this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Most agents at once, if files allow it. Beyond that the coordinator's single loop is the limit.
const MEMBERS_MAX: u64 = 10_000;

/// Most strangers at each step of joining, if files allow it.
const STRANGERS_MAX: u64 = 256;

/// Steps that a stranger goes through; each has places of its own.
const STEPS: u64 = 4;

/// Files that are not connections: listener, run folder, logs, pipes of local processes.
const OWN_FILES: u64 = 128;

/// Places for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places {
    /// Agents that said hello.
    pub(super) members: usize,
    /// Strangers at each step.
    pub(super) strangers: usize,
    /// Strangers at each step from one address.
    pub(super) strangers_per_address: usize,
}

impl Places {
    /// Returns as many places as the process can have; raises its limit of open files as far as it
    /// can.
    pub(super) fn here() -> Places {
        Places::within(raise_open_files())
    }

    /// Strangers leave most of a small limit to members.
    fn within(open_files: u64) -> Places {
        let strangers = (open_files / 16).clamp(8, STRANGERS_MAX);
        let members = open_files.saturating_sub(STEPS * strangers + OWN_FILES);
        Places {
            members: small(members.clamp(1, MEMBERS_MAX)),
            strangers: small(strangers),
            strangers_per_address: small(strangers / 4),
        }
    }
}

/// Says why `agents` agents cannot be attached at once to a coordinator here, if they cannot.
#[must_use]
pub fn too_many(agents: u32) -> Option<String> {
    too_many_for(u64::from(agents), raise_open_files())
}

fn too_many_for(agents: u64, open_files: u64) -> Option<String> {
    let places = Places::within(open_files).members as u64;
    if agents <= places {
        return None;
    }
    if agents > MEMBERS_MAX {
        return Some(format!(
            "--agents {agents}: a coordinator takes {MEMBERS_MAX} agents at most; ask for fewer, \
             with more load for each"
        ));
    }
    let needed = agents + STEPS * STRANGERS_MAX + OWN_FILES;
    Some(format!(
        "--agents {agents}: this process may open {open_files} files, which is enough for {places} \
         agents; write `ulimit -n {needed}` before it, or ask for fewer agents"
    ))
}

/// Raises the process's limit of open files as far as it can, and returns it. Raising it to the
/// hard limit needs no privilege (getrlimit(2)).
fn raise_open_files() -> u64 {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    let highest = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limits.maximum,
        Err(_) => limits.current,
    };
    highest.unwrap_or(u64::MAX)
}

fn small(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_from_the_limit_of_files() {
        let of_limit = |files| {
            let places = Places::within(files);
            (
                places.members,
                places.strangers,
                places.strangers_per_address,
            )
        };
        assert_eq!(of_limit(u64::MAX), (10_000, 256, 64));
        assert_eq!(of_limit(20_000), (10_000, 256, 64));
        assert_eq!(of_limit(4_096), (2_944, 256, 64));
        assert_eq!(of_limit(1_024), (640, 64, 16));
        assert_eq!(of_limit(0), (1, 8, 2), "a limit too small for anything");
    }

    #[test]
    fn more_agents_than_files_are_refused_with_both_numbers_and_the_cure() {
        assert_eq!(too_many_for(640, 1_024), None);
        let problem = too_many_for(1_100, 1_024).unwrap();
        for part in ["1100", "1024", "640", "ulimit -n 2252"] {
            assert!(problem.contains(part), "{part}: {problem}");
        }
        assert!(too_many_for(1_100, 2_252).is_none(), "the cure cures");
        assert_eq!(too_many_for(10_000, u64::MAX), None);
        assert!(too_many_for(10_001, u64::MAX).unwrap().contains("10000"));
    }
}
