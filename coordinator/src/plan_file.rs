//! Reads a plan and the files it names, and shows what is wrong with it: each problem with its
//! place in the file.

use crate::own_agents;
use crate::record::replay;
use crate::set_args::SetArgs;
use plan::{Campaign, Files, MapError, MappedFile, MessageEncoder, Plan, Problems, Settings};
use run_folder::{STANDARD_INPUT, in_words};
use rustix::fs::{OFlags, fcntl_setfl};
use std::env::{self, VarError};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file that a plan may name, which is all that agents take; `plan` has lower bounds for
/// most of them. One byte more shows that a file is larger.
const FILE_MAX_BYTES: u64 = control::FILES_MAX_BYTES + 1;

/// A campaign as read from a file, with its text.
#[derive(Debug, Clone)]
pub struct PlanText {
    /// The text as the user gave it, but with [`plan::MASK`] in place of secrets; this is what is
    /// saved.
    pub text: String,
    /// The campaign that the text asks for.
    pub campaign: Campaign,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error("{name}: {why}; write the path of a plan, such as examples/quickstart.toml")]
    Unreadable {
        /// Its name in messages.
        name: String,
        /// The system's reason.
        why: String,
    },
    /// It is wrong; one line for each problem.
    #[error("{0}")]
    Wrong(String),
}

/// Reads the plan at `path`, or from standard input if that is [`STANDARD_INPUT`], with values for
/// its variables from the command line and the environment. The files that it names are relative to
/// its folder, or to this process's. If a run saved the plan, they are also looked for beside that
/// run's original plan.
///
/// # Errors
/// It cannot be read, or has one or several problems.
pub(crate) fn read(path: &Path, set: &SetArgs) -> Result<PlanText, PlanError> {
    let most = Plan::MAX_BYTES as u64;
    let (name, read) = if path.as_os_str() == STANDARD_INPUT {
        (
            "standard input".to_owned(),
            plan::read_held(io::stdin().lock(), 0, most),
        )
    } else {
        (path.display().to_string(), read_up_to(path, most))
    };
    let unreadable = |error: &io::Error| PlanError::Unreadable {
        name: name.clone(),
        why: in_words(error),
    };
    let bytes = read.map_err(|error| unreadable(&error))?;
    if bytes.trim_ascii().is_empty() {
        return Err(unreadable(&io::Error::other("it is empty")));
    }
    let mut files = PlanFolders::new(path);
    let values = set.values().map_err(PlanError::Wrong)?;
    let settings = Settings {
        set: &values,
        environment: &environment,
    };
    let campaign = Campaign::parse_bytes(&bytes, &mut files, settings)
        .map_err(|problems| PlanError::Wrong(list_problems(&name, &problems)))?;
    Ok(PlanText {
        text: plan::mask_secrets(&String::from_utf8_lossy(&bytes)),
        campaign,
    })
}

fn environment(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| match error {
        VarError::NotPresent => "it is not set".to_owned(),
        VarError::NotUnicode(_) => "it is not UTF-8".to_owned(),
    })
}

/// Files relative to a folder.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        read_up_to(&self.0.join(name), FILE_MAX_BYTES).map_err(|error| in_words(&error))
    }

    fn size(&mut self, name: &str) -> Option<u64> {
        let metadata = std::fs::metadata(self.0.join(name)).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    fn map(&mut self, name: &str) -> Result<MappedFile, String> {
        let file = open_without_waiting(&self.0.join(name)).map_err(|error| in_words(&error))?;
        own_agents::map_file(file).map_err(|error| match error {
            MapError::Io(error) => in_words(&error),
            other => other.to_string(),
        })
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, String> {
        let entries = std::fs::read_dir(self.0.join(folder)).map_err(|error| in_words(&error))?;
        let name = |entry: io::Result<std::fs::DirEntry>| {
            let name = entry.map_err(|error| in_words(&error))?.file_name();
            let name = name
                .into_string()
                .map_err(|name| format!("{name:?} in it is not UTF-8"))?;
            Ok(format!("{}/{name}", folder.trim_end_matches('/')))
        };
        entries.map(name).collect()
    }

    fn encoder(&self) -> Option<MessageEncoder> {
        Some(protobuf::encode)
    }
}

/// The folders in which a plan's files are looked for: its own, and for a plan that a run saved
/// also that of the run's original plan, which may itself have been saved by a run.
#[derive(Debug)]
struct PlanFolders {
    beside: Folder,
    before: Vec<Folder>,
}

impl PlanFolders {
    fn new(plan: &Path) -> PlanFolders {
        let mut before: Vec<PathBuf> = Vec::new();
        let mut saved = plan.to_owned();
        while let Some(original) = replay::origin_of_plan(&saved) {
            let folder = folder_of(&original);
            // We write no folder that names itself.
            if before.contains(&folder) {
                break;
            }
            before.push(folder);
            saved = original;
        }
        PlanFolders {
            beside: Folder(folder_of(plan)),
            before: before.into_iter().map(Folder).collect(),
        }
    }

    /// Returns what is found first, or why nothing is.
    fn first<T>(
        &mut self,
        mut look: impl FnMut(&mut Folder) -> Result<T, String>,
    ) -> Result<T, String> {
        let failure = match look(&mut self.beside) {
            Err(failure) if !self.before.is_empty() => failure,
            found => return found,
        };
        if let Some(found) = self.before.iter_mut().find_map(|folder| look(folder).ok()) {
            return Ok(found);
        }
        let before = self.before.iter().map(|folder| folder.0.display());
        let before: Vec<String> = before.map(|folder| folder.to_string()).collect();
        Err(format!(
            "{failure} beside this saved plan, nor where the run's plan was ({}); put it beside \
             this plan, or back",
            before.join(", ")
        ))
    }
}

impl Files for PlanFolders {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        self.first(|folder| folder.read(name))
    }

    fn size(&mut self, name: &str) -> Option<u64> {
        let size = |folder: &mut Folder| folder.size(name).ok_or_else(String::new);
        self.first(size).ok()
    }

    fn map(&mut self, name: &str) -> Result<MappedFile, String> {
        self.first(|folder| folder.map(name))
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, String> {
        self.first(|place| place.list(folder))
    }

    fn encoder(&self) -> Option<MessageEncoder> {
        self.beside.encoder()
    }
}

fn folder_of(plan: &Path) -> PathBuf {
    plan.parent().unwrap_or(Path::new("")).to_owned()
}

/// A line for each problem, as in `plan.toml:LINE:COL: path: message`.
fn list_problems(file: &str, problems: &Problems) -> String {
    let mut text = String::new();
    for (index, problem) in problems.0.iter().enumerate() {
        let separator = if index > 0 { "\n" } else { "" };
        let gap = if problem.place.is_some() { "" } else { " " };
        let _ = write!(text, "{separator}{file}:{gap}{problem}");
    }
    text
}

/// The content of a file, as from [`plan::read_held`]. A pipe counts as a file as long as there is
/// a writer.
fn read_up_to(path: &Path, max: u64) -> io::Result<Arc<[u8]>> {
    let file = open_without_waiting(path)?;
    let bytes = plan::read_held(&file, file.metadata()?.len(), max)?;
    if bytes.is_empty() && is_pipe(&file)? {
        return Err(io::Error::other("it is a pipe that no process writes to"));
    }
    Ok(bytes)
}

/// Opens a file for reading; a pipe too if no process writes to it.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    // Needed only for opening: a pipe would otherwise wait for a writer, for ever if there is none.
    let nonblocking = OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(nonblocking).open(path)?;
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

fn is_pipe(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    fn error_of(content: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, content).unwrap();
        read(&path, &SetArgs::default())
            .unwrap_err()
            .to_string()
            .replace(&format!("{}/", folder.path().display()), "")
    }

    #[test]
    fn each_problem_stands_on_a_line_with_its_place() {
        let text = "[target]\nurl = \"ftp://x\"\n\n[load]\nconnections = 4\ndurations = \"5s\"\n";
        let error = error_of(text.as_bytes());
        let starts: Vec<&str> = error
            .lines()
            .map(|line| line.split_once(' ').unwrap().0)
            .collect();
        assert_eq!(
            starts,
            ["plan.toml:2:7:", "plan.toml:4:2:", "plan.toml:6:1:"],
            "{error}"
        );
    }

    #[test]
    fn plan_that_cannot_be_read_says_why() {
        for (content, why) in [
            (&b" \n"[..], "it is empty; write the path of a plan"),
            (&[0xff, 0xfe][..], "UTF-16"),
            (&[0xff, 0xff][..], "not UTF-8"),
            (&[b'#'; (1 << 20) + 1], "1048577 bytes"),
        ] {
            assert!(error_of(content).contains(why), "{}", error_of(content));
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(
            read(folder.path(), &SetArgs::default())
                .unwrap_err()
                .to_string()
                .contains("it is a folder")
        );
        assert!(
            read(&folder.path().join("none"), &SetArgs::default())
                .unwrap_err()
                .to_string()
                .contains("no such file")
        );
    }

    #[test]
    fn pipes_are_read_and_never_waited_for_without_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let mut files = Folder(folder.path().to_owned());
        let (said, answer) = std::sync::mpsc::channel();
        let mut without_writer = Folder(folder.path().to_owned());
        std::thread::spawn(move || said.send(without_writer.read("pipe")));
        let answer = answer.recv_timeout(std::time::Duration::from_secs(60));
        let why = answer.expect("nobody is waited for").unwrap_err();
        assert_eq!(why, "it is a pipe that no process writes to");
        let (reader, writer) = io::pipe().unwrap();
        let of_reader = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let late = std::thread::spawn(move || (&writer).write_all(b"late").unwrap());
        assert_eq!(files.read(&of_reader).unwrap()[..], b"late"[..]);
        late.join().unwrap();
    }

    #[test]
    fn files_are_relative_to_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ids")).unwrap();
        std::fs::write(folder.path().join("ids/a.pem"), "a").unwrap();
        let mut files = Folder(folder.path().to_owned());
        assert_eq!(files.list("ids/").unwrap(), ["ids/a.pem"]);
        assert_eq!(files.read("ids/a.pem").unwrap()[..], b"a"[..]);
        assert_eq!(files.read("ids").unwrap_err(), "it is a folder");
    }
}
