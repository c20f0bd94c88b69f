//! `latest` beside the folders of runs: a link to the newest of them, so that its name need not be
//! looked up.

use super::name_of;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Name of the link.
pub(super) const LATEST: &str = "latest";

/// The link that leads to a run, and where it led before.
#[derive(Debug)]
pub struct LatestLink {
    link: PathBuf,
    run: PathBuf,
    before: Option<PathBuf>,
}

impl LatestLink {
    /// Makes the link beside `folder` lead to it, in one step. It is relative, so that the folder
    /// around both can be moved.
    ///
    /// # Errors
    /// The file system has no links, or something that is not a link has the name.
    pub fn lead_to(folder: &Path) -> io::Result<LatestLink> {
        let link = folder.with_file_name(LATEST);
        if fs::symlink_metadata(&link).is_ok_and(|found| !found.is_symlink()) {
            return Err(io::Error::other("something else has that name"));
        }
        let made = LatestLink {
            before: fs::read_link(&link).ok(),
            run: name_of(folder).into(),
            link,
        };
        made.set(&made.run)?;
        Ok(made)
    }

    /// Points the link back to where it led before, since nothing came of the run. If it leads to a
    /// newer run by now, it stays.
    pub fn put_back(&self) {
        if fs::read_link(&self.link).ok().as_ref() != Some(&self.run) {
            return;
        }
        // A link that cannot be put back leads to a run that says why it did not begin.
        let _ = match &self.before {
            Some(before) => self.set(before),
            None => fs::remove_file(&self.link),
        };
    }

    fn set(&self, run: &Path) -> io::Result<()> {
        // Named after this process, so that two coordinators do not share a draft.
        let draft = format!(".{LATEST}-{}", std::process::id());
        let draft = self.link.with_file_name(draft);
        symlink(run, &draft)?;
        let linked = fs::rename(&draft, &self.link);
        if linked.is_err() {
            // If even that fails, the draft does no harm.
            let _ = fs::remove_file(&draft);
        }
        linked
    }
}

/// Returns the folder that a link such as `runs/latest` leads to now, and any other folder as it
/// is. A run that goes on must not follow the link to the next one.
#[must_use]
pub fn behind_link(folder: &Path) -> PathBuf {
    // With a slash at its end the name would be that of the folder.
    let folder: PathBuf = folder.components().collect();
    match fs::read_link(&folder) {
        Ok(leads_to) => folder.with_file_name("").join(leads_to),
        Err(_) => folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_leads_to_the_newest_and_takes_no_name_of_others() {
        let base = tempfile::tempdir().unwrap();
        for name in ["first", "second"] {
            let folder = base.path().join(name);
            fs::create_dir(&folder).unwrap();
            LatestLink::lead_to(&folder).unwrap();
            let link = fs::read_link(base.path().join(LATEST)).unwrap();
            assert_eq!(link, Path::new(name));
            for given in [name, LATEST, "latest/"] {
                assert_eq!(behind_link(&base.path().join(given)), folder);
            }
        }
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 3, "no draft");
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join(LATEST), "mine").unwrap();
        LatestLink::lead_to(&other.path().join("run")).unwrap_err();
        assert_eq!(
            fs::read_to_string(other.path().join(LATEST)).unwrap(),
            "mine"
        );
    }

    #[test]
    fn link_leads_back_where_nothing_came_of_a_run() {
        let base = tempfile::tempdir().unwrap();
        let [first, second, third] =
            ["first", "second", "third"].map(|name| base.path().join(name));
        let leads_to = || fs::read_link(base.path().join(LATEST)).ok();
        LatestLink::lead_to(&first).unwrap().put_back();
        assert_eq!(leads_to(), None);
        LatestLink::lead_to(&first).unwrap();
        let link = LatestLink::lead_to(&second).unwrap();
        link.put_back();
        assert_eq!(leads_to(), Some("first".into()));
        let link = LatestLink::lead_to(&second).unwrap();
        LatestLink::lead_to(&third).unwrap();
        link.put_back();
        assert_eq!(leads_to(), Some("third".into()));
    }
}
