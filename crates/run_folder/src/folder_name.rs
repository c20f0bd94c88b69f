//! The name of a folder of runs: made from time and plan, or chosen by the user.

use super::durable::sync_parent;
use super::latest::LATEST;
use super::{FolderError, new_folder};
use crate::utc::Utc;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longest chosen name in bytes; Linux allows 255 for a name.
const CHOSEN_MAX: usize = 200;

/// The name of a folder of runs.
#[derive(Debug, Clone)]
pub enum FolderName {
    /// `<time>-<name>`; if several runs of one name begin in one second, the later ones are
    /// numbered.
    Stamped(Utc, String),
    /// This name and no other.
    Chosen(ChosenName),
}

/// A name that the user chose: a folder's name, not a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenName(String);

/// Why a name cannot be that of a folder of runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a folder of runs cannot be called {0:?}; write a name without `/`, such as nightly-42, and \
     not `latest`, which leads to the newest run"
)]
pub struct NameError(String);

impl FromStr for ChosenName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<ChosenName, NameError> {
        let is_path = name.contains('/') || name.starts_with('.') || name == LATEST;
        let is_odd = name.is_empty() || name.chars().any(measure::is_unprintable);
        if is_path || is_odd || name.len() > CHOSEN_MAX {
            return Err(NameError(name.to_owned()));
        }
        Ok(ChosenName(name.to_owned()))
    }
}

impl FolderName {
    /// Makes a folder of this name in `base`.
    pub(super) fn make(&self, base: &Path) -> Result<PathBuf, FolderError> {
        match self {
            FolderName::Stamped(created, name) => {
                new_folder(base, &format!("{}-{name}", created.stamp()))
            }
            FolderName::Chosen(ChosenName(name)) => choose_folder(base, name),
        }
    }
}

fn choose_folder(base: &Path, name: &str) -> Result<PathBuf, FolderError> {
    let path = base.join(name);
    let made = fs::create_dir_all(base)
        .and_then(|()| fs::create_dir(&path))
        .and_then(|()| sync_parent(&path));
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.exists() => {
            Err(FolderError::Exists { path })
        }
        Err(error) => Err(FolderError::unwritable(&path, &error)),
        Ok(()) => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use super::ChosenName;

    #[test]
    fn chosen_name_is_one_of_a_folder() {
        for (name, is_one) in [
            ("nightly-42", true),
            ("2026 März", true),
            ("", false),
            ("a/b", false),
            ("..", false),
            (".hidden", false),
            ("latest", false),
            ("a\nb", false),
        ] {
            assert_eq!(name.parse::<ChosenName>().is_ok(), is_one, "{name:?}");
        }
        assert!("x".repeat(201).parse::<ChosenName>().is_err());
    }
}
