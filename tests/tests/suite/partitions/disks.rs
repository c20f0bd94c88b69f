//! Disks that fill up and folders that disappear in the middle of a run.

use crate::partitions::field::{Field, has_event};
use interop::{Agent, CoordinatorCommand, LinkQuality, wait_until};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A small file system; unmounted when dropped.
struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// One of `kilobytes` KiB; `None` if this process may not mount it.
    fn new(kilobytes: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={kilobytes}k");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.path())
            .output()
            .unwrap();
        if !mounted.status.success() {
            println!(
                "skipped: cannot mount a tmpfs: {}",
                String::from_utf8_lossy(&mounted.stderr).trim()
            );
            return None;
        }
        Some(SmallDisk { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn grow(&self, kilobytes: u32) {
        let size = format!("remount,size={kilobytes}k");
        let mut mount = Command::new("mount");
        let grown = mount.args(["-o", &size]).arg(self.path()).status().unwrap();
        assert!(grown.success());
    }

    /// Uses up all of it. Another process may use some of it meanwhile.
    fn fill_up(&self) {
        let free = rustix::fs::statvfs(self.path()).unwrap();
        let bytes = vec![1; (free.f_bfree * free.f_frsize) as usize];
        let written = std::fs::write(self.path().join("ballast"), bytes);
        let is_full = |error: &std::io::Error| error.kind() == ErrorKind::StorageFull;
        assert!(written.as_ref().err().is_none_or(is_full), "{written:?}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Fails only if another process has unmounted it.
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.path())
            .output();
    }
}

/// The only run folder in `folder`.
fn run_folder_in(folder: &Path) -> PathBuf {
    wait_until("a run folder", || {
        let entries = std::fs::read_dir(folder).ok()?;
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            // Not the link to the latest one.
            .find(|path| path.is_dir() && !path.is_symlink())
    })
}

const LOAD: &str = "rate = \"40/s\", max_connections = 8, duration = \"12s\"";
const ARRIVALS: u64 = 480;

/// `coordinator start` with results in `output`.
fn start_in(field: &Field, output: &Path) -> (interop::Coordinator, Agent) {
    let listen = format!("{}:0", field.link.near_address());
    let state = field.state().to_str().unwrap();
    let arguments = [
        "start",
        "--output",
        output.to_str().unwrap(),
        "--listen",
        &listen,
        "--state",
        state,
        "--token-file",
        "token",
        "plan.toml",
    ];
    let plan = field.plan(LOAD, "fleet.max_skew = \"1s\"\n");
    let mut coordinator = CoordinatorCommand::new(&arguments)
        .file("plan.toml", plan.as_bytes())
        .spawn();
    let told = coordinator.wait_for("agent join ");
    let (_, rest) = told.split_once("agent join ").unwrap();
    let address = rest.split_whitespace().next().unwrap().parse().unwrap();
    let token = std::fs::read_to_string(coordinator.folder().join("token")).unwrap();
    let token = token.trim().to_owned();
    let agent = Agent::join_by(field.link.command(), address, &token, &["--name", "a"]);
    (coordinator, agent)
}

#[test]
fn full_disk_is_told_while_it_is_full_and_costs_nothing_once_there_is_room() {
    let (Some(field), Some(disk)) = (Field::new(LinkQuality::default()), SmallDisk::new(400))
    else {
        return;
    };
    let (mut coordinator, _agent) = start_in(&field, disk.path());
    let folder = run_folder_in(disk.path());
    field.wait_for_requests(80);
    disk.fill_up();
    let _ = coordinator.wait_for("cannot store: ");
    let told = coordinator.stderr();
    assert!(
        told.contains("No space left") || told.contains("no space left"),
        "{told}"
    );
    let log = || folder.join("run.log").metadata().unwrap().len();
    let stored = log();
    let requests = field.requests();
    field.wait_for_requests(requests + 120);
    assert_eq!(
        log(),
        stored,
        "nothing is stored, so nothing is acknowledged"
    );
    disk.grow(4000);
    let _ = coordinator.wait_for("storing again, after ");
    let finished = coordinator.wait();
    // 3: a busy machine held the client up.
    assert!([0, 3].contains(&finished.code), "{finished}");
    let document = crate::partitions::field::document(&folder);
    // On a busy machine an arrival may find no free connection; the result says so.
    let operations = &document.measured.operations;
    assert_eq!(
        (operations.started, operations.ended),
        (field.requests(), ARRIVALS),
        "{finished}"
    );
    assert_eq!(document.agents[0].totals_match, Some(true), "{finished}");
    assert!(has_event(&folder, "verdict"), "{finished}");
}

#[test]
fn folder_that_is_removed_in_the_middle_is_told_and_is_no_success() {
    let Some(field) = Field::new(LinkQuality::default()) else {
        return;
    };
    let output = tempfile::tempdir().unwrap();
    let (mut coordinator, _agent) = start_in(&field, output.path());
    let folder = run_folder_in(output.path());
    field.wait_for_requests(80);
    // In one step, since files may be being made in it.
    std::fs::rename(&folder, output.path().join("gone")).unwrap();
    let told = coordinator.wait_for("cannot store: ");
    assert!(told.contains("run.log"), "{told}");
    let finished = coordinator.wait();
    assert_eq!(finished.clean().code, 4, "{finished}");
    let said = &finished.stderr;
    assert!(
        said.contains("gave up storing after 1") && said.contains("not saved in "),
        "{finished}"
    );
    let is_false = |words: &&str| said.contains(words);
    let never = ["storing again", " · saved in "];
    assert!(!never.iter().any(is_false), "{finished}");
}
