//! The folder for what outlives a run, such as tokens and calibrations.

use std::path::PathBuf;

/// The folder, by the XDG Base Directory Specification 0.8: a relative path in its variable is not
/// valid and is ignored. `None` if neither that nor a home is known.
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    Some(state?.join("cannonade"))
}
