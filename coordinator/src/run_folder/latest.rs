//! `latest` beside the folders of runs: a link to the newest of them, so that nobody has to find
//! out its name.

use super::name_of;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Name of the link.
pub(crate) const LATEST: &str = "latest";

/// Makes the link beside `folder` lead to it, in one step. It is relative, so that the folder
/// around both can be moved.
///
/// # Errors
/// The file system has no links, or something that is no link has the name.
pub(crate) fn link_latest(folder: &Path) -> io::Result<()> {
    let link = folder.with_file_name(LATEST);
    if fs::symlink_metadata(&link).is_ok_and(|found| !found.is_symlink()) {
        return Err(io::Error::other("something else has that name"));
    }
    let draft = folder.with_file_name(format!(".{LATEST}-{}", std::process::id()));
    symlink(name_of(folder), &draft)?;
    let linked = fs::rename(&draft, &link);
    if linked.is_err() {
        // Where even that fails, the draft is in nobody's way.
        let _ = fs::remove_file(&draft);
    }
    linked
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
            link_latest(&folder).unwrap();
            let link = fs::read_link(base.path().join(LATEST)).unwrap();
            assert_eq!(link, Path::new(name));
        }
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 3, "no draft");
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join(LATEST), "mine").unwrap();
        link_latest(&other.path().join("run")).unwrap_err();
        assert_eq!(
            fs::read_to_string(other.path().join(LATEST)).unwrap(),
            "mine"
        );
    }
}
