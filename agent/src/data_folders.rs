//! Data files that lie on this machine: found in the folders of `agent join --data`, and proved by
//! their hash before a run.

use anyhow::Context as _;
use host::Sampler;
use plan::{MapError, MappedFile, Sha256};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The folders, and the files that were found in them for the latest run.
///
/// What is kept is a map that cannot change, so the next run of the same plan reads, hashes and
/// copies nothing, whatever has become of the file since.
#[derive(Debug, Clone, Default)]
pub struct DataFolders {
    folders: Vec<PathBuf>,
    /// Maps that the coordinator has on this machine, for its own agents.
    given: Vec<MappedFile>,
    kept: RefCell<Vec<MappedFile>>,
}

/// Maps a file, with its copy in the memory that this machine has left.
///
/// # Errors
/// See [`MappedFile::map`]; also if the machine does not say how much memory it has.
pub fn map_file(file: File) -> Result<MappedFile, MapError> {
    let limits = Sampler::new().limits(&[]).map_err(io::Error::other)?;
    MappedFile::map(file, limits.memory_bytes)
}

impl DataFolders {
    /// The files in `folders`, and those that are mapped at the paths `mapped`.
    ///
    /// # Errors
    /// A folder is none or cannot be read, or a path is no file.
    pub fn open(folders: &[PathBuf], mapped: &[PathBuf]) -> anyhow::Result<DataFolders> {
        for folder in folders {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(folder, flags, Mode::empty())
                .with_context(|| format!("--data {}: no folder to read", folder.display()))?;
        }
        let map = |path: &PathBuf| {
            let mapped = File::open(path).map_err(MapError::from).and_then(map_file);
            mapped.with_context(|| format!("--mapped {}", path.display()))
        };
        Ok(DataFolders {
            folders: folders.to_vec(),
            given: mapped.iter().map(map).collect::<anyhow::Result<_>>()?,
            kept: RefCell::default(),
        })
    }

    /// Finds the file that the plan calls `name`: by its content among those at hand, or else by
    /// its file name in the folders. Takes seconds for each GiB.
    ///
    /// # Errors
    /// Why there is none, and what to do, in words.
    pub(crate) fn find(&self, name: &str, wanted: Sha256) -> Result<MappedFile, String> {
        let mut kept = self.kept.borrow_mut();
        let mut known = self.given.iter().chain(&*kept);
        if let Some(known) = known.find(|file| file.sha256() == wanted.0) {
            return Ok(known.clone());
        }
        if self.folders.is_empty() {
            return Err("start this agent with --data DIR, a folder that has the file".to_owned());
        }
        let name = Path::new(name).file_name();
        let name = name.ok_or("its name is none of a file; correct it in the plan")?;
        let mut reasons = Vec::new();
        for folder in &self.folders {
            match prove(folder, name, wanted) {
                Ok(found) => {
                    kept.push(found.clone());
                    return Ok(found);
                }
                Err(why) => reasons.push(why),
            }
        }
        Err(reasons.join("; "))
    }

    /// Lets go of files that this canonical text does not name, so that the plan's files have
    /// their memory.
    pub(crate) fn keep_for(&self, plan: &str) {
        let is_named = |file: &MappedFile| plan.contains(&Sha256(file.sha256()).to_string());
        self.kept.borrow_mut().retain(is_named);
    }
}

/// Maps the file `name` of `folder`, whose hash must be `wanted`.
fn prove(folder: &Path, name: &OsStr, wanted: Sha256) -> Result<MappedFile, String> {
    let path = folder.join(name);
    let path = path.display();
    let file = open_beneath(folder, name).map_err(|error| match error {
        Errno::NOENT => format!("{path} is missing; copy the coordinator's file there"),
        Errno::XDEV | Errno::LOOP => {
            format!("{path} is a link that leads out of the folder; put the file itself there")
        }
        other => format!("{path} cannot be read: {}", in_words(&other.into())),
    })?;
    let mapped = map_file(file).map_err(|error| match error {
        MapError::Io(error) => format!("{path} cannot be read: {}", in_words(&error)),
        other => format!("{path}: {other}"),
    })?;
    let found = Sha256(mapped.sha256());
    if found != wanted {
        return Err(format!(
            "{path} has the SHA-256 {found}, and the coordinator's file has {wanted}; copy that \
             one there"
        ));
    }
    Ok(mapped)
}

/// Opens a file for reading. No link leads out of the folder (openat2, RESOLVE_BENEATH), and a pipe
/// is not waited for.
fn open_beneath(folder: &Path, name: &OsStr) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::empty())?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(&folder, name, flags, Mode::empty(), resolve).map(File::from)
}

/// What the system says, without its number.
fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const USERS: &[u8] = b"login\nann\n";

    fn folder_of(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    fn open(folders: &[&tempfile::TempDir]) -> DataFolders {
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().into()).collect();
        DataFolders::open(&paths, &[]).unwrap()
    }

    #[test]
    fn file_is_found_by_its_name_in_any_folder_and_proved_by_its_hash() {
        let other = folder_of(&[("users.csv", b"login\nbob\n")]);
        let right = folder_of(&[("users.csv", USERS)]);
        let folders = open(&[&other, &right]);
        let wanted = Sha256::hash(USERS);
        for name in [
            "users.csv",
            "deep/down/users.csv",
            "/etc/users.csv",
            "../users.csv",
        ] {
            assert_eq!(folders.find(name, wanted).unwrap().text()[..], *USERS);
        }
        assert_eq!(folders.kept.borrow().len(), 1, "found once, then known");
        // What was proved stays, whatever becomes of the file.
        std::fs::write(right.path().join("users.csv"), "login\n").unwrap();
        assert_eq!(
            folders.find("users.csv", wanted).unwrap().text()[..],
            *USERS
        );
        folders.keep_for(&format!("file = {{ sha256 = \"{wanted}\" }}"));
        assert!(folders.find("users.csv", wanted).is_ok());
        folders.keep_for("a plan without it");
        let why = folders.find("users.csv", wanted).unwrap_err();
        let [first, second] = [&other, &right].map(|folder| folder.path().join("users.csv"));
        let found = [b"login\nbob\n".as_slice(), b"login\n"].map(Sha256::hash);
        let expected = [(first, found[0]), (second, found[1])].map(|(path, found)| {
            format!(
                "{} has the SHA-256 {found}, and the coordinator's file has {wanted}; copy that \
                 one there",
                path.display()
            )
        });
        assert_eq!(why, expected.join("; "));
    }

    #[test]
    fn what_is_no_file_of_the_folder_is_refused() {
        let outside = folder_of(&[("users.csv", USERS)]);
        let folder = folder_of(&[("inside.csv", USERS)]);
        let path = |name: &str| folder.path().join(name);
        symlink(outside.path().join("users.csv"), path("out.csv")).unwrap();
        symlink("../users.csv", path("up.csv")).unwrap();
        symlink("/proc/self/fd/0", path("magic.csv")).unwrap();
        symlink("around.csv", path("around.csv")).unwrap();
        symlink("inside.csv", path("link.csv")).unwrap();
        std::fs::create_dir(path("folder.csv")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(path("pipe.csv"))
            .status();
        assert!(made.unwrap().success());
        let folders = open(&[&folder]);
        for (name, expected) in [
            ("none.csv", "none.csv is missing; copy"),
            ("out.csv", "leads out of the folder"),
            ("up.csv", "leads out of the folder"),
            ("magic.csv", "leads out of the folder"),
            ("around.csv", "leads out of the folder"),
            ("folder.csv", "it is no regular file"),
            ("pipe.csv", "it is no regular file"),
            ("..", "its name is none of a file"),
        ] {
            let why = folders.find(name, Sha256::hash(USERS)).unwrap_err();
            assert!(why.contains(expected), "{name}: {why}");
        }
        assert!(folders.find("link.csv", Sha256::hash(USERS)).is_ok());
        let none = DataFolders::default();
        let why = none.find("inside.csv", Sha256::hash(USERS)).unwrap_err();
        assert!(why.contains("--data DIR"), "{why}");
        let error = DataFolders::open(&[path("none")], &[]).unwrap_err();
        assert!(format!("{error:#}").contains("No such file"), "{error:#}");
    }
}
