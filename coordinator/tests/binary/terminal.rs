//! The live view on a terminal of few columns.

use crate::command::{Folder, PLAN, Running, assert_code};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

const COLUMNS: u16 = 44;

fn pty() -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = File::options()
        .read(true)
        .write(true)
        .open(Path::new(&name))
        .unwrap();
    tcsetwinsize(
        &slave,
        Winsize {
            ws_row: 10,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )
    .unwrap();
    (master, slave)
}

#[test]
fn live_view_is_redrawn_in_place_and_fits() {
    let folder = Folder::with_plan(PLAN);
    let (master, slave) = pty();
    let mut command = folder.command(&["start", "--local", "--agents", "2", "plan.toml"]);
    command
        .stderr(slave)
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8");
    let running = Running::new(&mut command);
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut shown = Vec::new();
        // The end of a terminal is an error (EIO).
        let _ = File::from(master).read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    assert_code(&running.end(), 0);
    let shown = reader.join().unwrap();
    assert!(
        shown.contains("agents: 2 firing") && shown.contains("\x1b[3A\r\x1b[J"),
        "{shown:?}"
    );
    let frames = shown
        .split("\x1b[?7l")
        .skip(1)
        .map(|rest| rest.split("\x1b[?7h").next().unwrap());
    for line in frames.flat_map(str::lines) {
        assert!(line.chars().count() <= usize::from(COLUMNS), "{line:?}");
    }
    let after = shown.rsplit("\x1b[J").next().unwrap();
    assert!(
        after.starts_with("saved in runs/"),
        "the view is gone at the end: {after:?}"
    );
}
