//! Which boot of which machine this is: clocks that begin with a boot are the same within it.

use crate::HostError;
use crate::kernel::KernelFiles;
use std::path::Path;

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// This boot's random number (`random(4)`): programs that read the same one share CLOCK_MONOTONIC.
///
/// # Errors
/// The kernel's file cannot be read, or holds something else.
pub fn boot_id() -> Result<[u8; 16], HostError> {
    read(&KernelFiles::new(Path::new("/")))
}

fn read(files: &KernelFiles) -> Result<[u8; 16], HostError> {
    let text = files.read(BOOT_ID)?;
    parse(text.text.trim()).ok_or_else(|| text.malformed("a UUID"))
}

/// 32 hexadecimal digits; where hyphens stand between them does not matter.
fn parse(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|&c| c != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_id_is_read_as_its_sixteen_bytes() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(BOOT_ID);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let files = KernelFiles::new(root.path());
        for (text, first) in [
            ("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9\n", Some(0x0a)),
            ("0a1b2c3d4e5f60718293a4b5c6d7e8f9", Some(0x0a)),
            ("0a1b2c3d-4e5f", None),
            ("+a1b2c3d4e5f60718293a4b5c6d7e8f9", None),
        ] {
            std::fs::write(&file, text).unwrap();
            let id = read(&files).ok();
            assert_eq!(id.map(|id| id[0]), first, "{text}");
        }
    }

    #[test]
    fn boot_id_stays_as_long_as_the_machine_runs() {
        assert_eq!(boot_id().unwrap(), boot_id().unwrap());
    }
}
