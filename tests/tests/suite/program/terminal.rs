//! The live view on a terminal with few columns.

use crate::program::command::{ENDLESS, Folder, PLAN, Running, assert_code, wait_until};
use analysis::RunState;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

const COLUMNS: u16 = 44;

fn pty() -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
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

/// Everything that a run writes to a terminal with few columns.
fn shown() -> String {
    // Four seconds, so that figures come: the first are of a whole second.
    let folder = Folder::with_plan(&PLAN.replace("requests = 200", "requests = 800"));
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
    reader.join().unwrap()
}

/// Number of visible characters of a line: all but colours.
fn seen(line: &str) -> usize {
    let rest = |part: &str| {
        part.split_once('m')
            .map_or(0, |(_, rest)| rest.chars().count())
    };
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap().chars().count();
    first + parts.map(rest).sum::<usize>()
}

#[test]
fn live_view_is_redrawn_in_place_and_fits() {
    // On a busy machine the run may be over before figures come.
    let has_figures = (0..5).any(|_| {
        let shown = shown();
        let frames = shown
            .split("\x1b[?7l")
            .skip(1)
            .map(|rest| rest.split("\x1b[?7h").next().unwrap());
        for line in frames.flat_map(str::lines) {
            assert!(seen(line) <= usize::from(COLUMNS), "{line:?}");
        }
        let after = shown.rsplit("\x1b[J").next().unwrap();
        assert!(
            after.starts_with("open runs/"),
            "the view is gone at the end: {after:?}"
        );
        ["agents: 2 firing", "p99", "CPU", "\x1b[7A\r\x1b[J"]
            .iter()
            .all(|part| shown.contains(part))
    });
    assert!(has_figures, "no run showed figures");
}

/// The program as the leader of a session that has the terminal at `slave`, like a shell in a
/// window. `hangup` is an option of env(1) about SIGHUP; it holds wherever the tests run, even
/// under `nohup`.
fn in_session(command: &Command, hangup: &str, slave: &File) -> Command {
    let mut session = Command::new("setsid");
    session
        .args(["--ctty", "env", hangup])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .env("TERM", "xterm")
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(slave.try_clone().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => session.env(name, value),
            None => session.env_remove(name),
        };
    }
    session
}

#[test]
fn terminal_that_closes_in_the_middle_drains_the_run_and_saves_it() {
    let folder = Folder::with_plan(ENDLESS);
    let (master, slave) = pty();
    let command = folder.command(&["start", "--local", "--agents", "2", "plan.toml"]);
    let mut session = in_session(&command, "--default-signal=HUP", &slave);
    let running = Running::new(&mut session);
    drop((session, slave));
    folder.wait_for("started");
    wait_until("figures in the result", || {
        folder.document().measured.operations.ended > 0
    });
    drop(master);
    assert_code(&running.end(), 130);
    let document = folder.document();
    assert_eq!(document.run.state, RunState::Interrupted);
    assert!(
        document
            .agents
            .iter()
            .all(|agent| agent.totals_match == Some(true)),
        "{document:?}"
    );
    folder.assert_nothing_is_left();
}

#[test]
fn run_under_nohup_goes_on_to_its_end_when_the_terminal_closes() {
    let folder = Folder::with_plan(PLAN);
    let (master, slave) = pty();
    let command = folder.command(&["start", "--local", "plan.toml"]);
    let mut session = in_session(&command, "--ignore-signal=HUP", &slave);
    let running = Running::new(&mut session);
    drop((session, slave));
    folder.wait_for("started");
    drop(master);
    let _ = running.end();
    assert_eq!(folder.document().run.state, RunState::Complete);
}
