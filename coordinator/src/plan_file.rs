//! Reads a plan and the files it names, and shows what is wrong with it: each problem with its
//! place in the file.

use crate::record::replay;
use plan::{Campaign, Files, Plan, Problems};
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Largest file that a plan may name; `plan` has lower bounds for most of them.
const FILE_MAX_BYTES: u64 = 65 << 20;

/// What a file asks for, with the text it was read from.
#[derive(Debug, Clone)]
pub struct PlanText {
    /// As the user gave it, but for [`plan::MASK`] in place of secrets: what is kept of it.
    pub text: String,
    /// What it says.
    pub campaign: Campaign,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error(
        "{}: {why}; write the path of a plan, such as examples/quickstart.toml",
        path.display()
    )]
    Unreadable {
        /// Of the plan.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// It is wrong: one line for each problem.
    #[error("{0}")]
    Wrong(String),
}

/// Reads the plan at `path`; the files it names are relative to its folder. Where a run left the
/// plan, they are also looked for where that run's plan was.
///
/// # Errors
/// It cannot be read, or is wrong in one way or several.
pub fn read(path: &Path) -> Result<PlanText, PlanError> {
    let unreadable = |error: &io::Error| PlanError::Unreadable {
        path: path.to_owned(),
        why: in_words(error),
    };
    let bytes = read_up_to(path, Plan::MAX_BYTES as u64).map_err(|error| unreadable(&error))?;
    let mut files = PlanFolders::new(path);
    let campaign = Campaign::parse_bytes(&bytes, &mut files)
        .map_err(|problems| PlanError::Wrong(placed(&path.display().to_string(), &problems)))?;
    Ok(PlanText {
        text: plan::masked(&String::from_utf8_lossy(&bytes)),
        campaign,
    })
}

/// Files relative to a folder.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
        read_up_to(&self.0.join(name), FILE_MAX_BYTES).map_err(|error| in_words(&error))
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
}

/// Where the files of a plan are: beside it; for one that a run left, also where that run's plan
/// was, which may have been one that a run left too.
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
            // A folder that names itself was not written by us.
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

    /// What is found first, or why nothing is.
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
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
        self.first(|folder| folder.read(name))
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, String> {
        self.first(|place| place.list(folder))
    }
}

fn folder_of(plan: &Path) -> PathBuf {
    plan.parent().unwrap_or(Path::new("")).to_owned()
}

/// `plan.toml:LINE:COL: path: message`, a line for each problem.
fn placed(file: &str, problems: &Problems) -> String {
    let mut text = String::new();
    for (index, problem) in problems.0.iter().enumerate() {
        let separator = if index > 0 { "\n" } else { "" };
        let gap = if problem.place.is_some() { "" } else { " " };
        let _ = write!(text, "{separator}{file}:{gap}{problem}");
    }
    text
}

/// One byte more than `max` at most, which tells that there is more.
fn read_up_to(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(max + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What the system says, without its number.
pub(crate) fn in_words(error: &io::Error) -> String {
    // The kernel's text for these two does not say what to look at.
    let text = match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    };
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(content: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, content).unwrap();
        read(&path)
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
            (&b""[..], "target"),
            (&[0xff, 0xfe][..], "not UTF-8"),
            (&[b'#'; (1 << 20) + 1], "1048577 bytes"),
        ] {
            assert!(error_of(content).contains(why), "{}", error_of(content));
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(
            read(folder.path())
                .unwrap_err()
                .to_string()
                .contains("it is a folder")
        );
        assert!(
            read(&folder.path().join("none"))
                .unwrap_err()
                .to_string()
                .contains("no such file")
        );
    }

    #[test]
    fn files_are_relative_to_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ids")).unwrap();
        std::fs::write(folder.path().join("ids/a.pem"), "a").unwrap();
        let mut files = Folder(folder.path().to_owned());
        assert_eq!(files.list("ids/").unwrap(), ["ids/a.pem"]);
        assert_eq!(files.read("ids/a.pem").unwrap(), b"a");
        assert_eq!(files.read("ids").unwrap_err(), "it is a folder");
    }
}
