//! Whether this process was started to outlive its terminal.

use crate::HostError;
use crate::kernel::KernelFiles;
use std::path::Path;

/// SIGHUP is the first signal, and so the lowest bit (signal(7), proc_pid_status(5)).
const HANGUP: u64 = 1;

/// Whether SIGHUP is ignored, as `nohup` has it. To be asked before anything is installed for that
/// signal; where `/proc` does not say, it is not.
#[must_use]
pub fn ignores_hangup() -> bool {
    read(&KernelFiles::new(Path::new("/"))).unwrap_or(false)
}

fn read(files: &KernelFiles) -> Result<bool, HostError> {
    let status = files.read("proc/self/status")?.text;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    Ok(mask.is_some_and(|mask| mask & HANGUP != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_bit_of_the_ignored_signals_is_sighup() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("proc/self");
        std::fs::create_dir_all(&folder).expect("a folder");
        for (mask, expected) in [
            ("0000000000001000", false),
            ("0000000000001001", true),
            ("nonsense", false),
        ] {
            let status = format!("Name:\tx\nSigIgn:\t{mask}\nSigCgt:\t1\n");
            std::fs::write(folder.join("status"), status).expect("written");
            let files = KernelFiles::new(root.path());
            assert_eq!(read(&files).expect("a status"), expected, "{mask}");
        }
    }
}
