//! Where a calibration is kept, and whether the one that is kept belongs to this machine.

use anyhow::bail;
use command_line::state_folder;
use host::Facts;
use plan::{Calibration, Fingerprint};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Name of the file in [`state_folder()`].
pub const CALIBRATION_FILE: &str = "calibration.json";

pub(crate) fn default_file() -> Option<PathBuf> {
    Some(state_folder()?.join(CALIBRATION_FILE))
}

/// What this machine is, for comparison with that of a calibration.
#[must_use]
pub fn fingerprint(facts: &Facts) -> Fingerprint {
    Fingerprint {
        cpu_model: facts.cpu_model.clone(),
        cpus: facts.cpus_allowed.len() as u32,
        cpu_quota: facts.cpu_quota,
        kernel: facts.kernel.clone(),
        version: version(),
    }
}

/// A debug build is far slower, so it counts as another version.
fn version() -> String {
    let build = if cfg!(debug_assertions) {
        " (debug)"
    } else {
        ""
    };
    format!("{}{build}", env!("CARGO_PKG_VERSION"))
}

/// The calibration in a file, if it is that of this machine as it is now.
///
/// # Errors
/// If there is no such file, it is broken, or it is of another machine.
pub fn read_calibration(path: &Path, facts: &Facts) -> anyhow::Result<Calibration> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(Calibration::MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    let calibration = Calibration::decode(&bytes)?;
    let (then, now) = (&calibration.fingerprint, fingerprint(facts));
    match difference(then, &now) {
        None => Ok(calibration),
        Some((what, then, now)) => bail!(
            "was measured with the {what} {then}, which is {now} here; run `agent calibrate` again"
        ),
    }
}

/// The first field that has changed: its name, its value then, and its value now.
fn difference(then: &Fingerprint, now: &Fingerprint) -> Option<(&'static str, String, String)> {
    let quota = |quota: Option<f32>| quota.map_or("none".to_owned(), |cpus| cpus.to_string());
    let texts = |of: &Fingerprint| {
        [
            ("CPU", of.cpu_model.clone()),
            ("number of CPUs", of.cpus.to_string()),
            ("CPU quota", quota(of.cpu_quota)),
            ("kernel", of.kernel.clone()),
            ("version", of.version.clone()),
        ]
    };
    let both = texts(then).into_iter().zip(texts(now));
    both.into_iter()
        .find(|((_, then), (_, now))| then != now)
        .map(|((what, then), (_, now))| (what, then, now))
}

/// Replaces the file in one step, so that a reader never sees half of it.
pub(super) fn keep(path: &Path, calibration: &Calibration) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let write = || {
        let mut file = File::create(&draft)?;
        file.write_all(&calibration.encode())?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(folder)?.sync_all()
    };
    let written = write();
    if written.is_err() {
        // If even that fails, the draft does no harm.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// The encoded calibration that an agent sends when it joins; empty if there is none, or it does
/// not hold. `named` is the file from the command line: a missing file is reported only if it was
/// named.
pub(crate) fn to_send(named: Option<&Path>, facts: &Facts) -> Vec<u8> {
    let Some(path) = named.map(Path::to_owned).or_else(default_file) else {
        return Vec::new();
    };
    match read_calibration(&path, facts) {
        Ok(calibration) => calibration.encode(),
        Err(error) if named.is_none() && is_missing(&error) => Vec::new(),
        Err(error) => {
            let path = path.display();
            crate::say(format_args!(
                "the calibration {path} is not used: {error:#}"
            ));
            Vec::new()
        }
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}
