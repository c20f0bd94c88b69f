//! What is written where: to a pipe, to a pipe without a reader, to a narrow terminal, to a file.

use interop::{CoordinatorCommand, wait_until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use target::{Config, RunningTarget};

const LOAD: &str = "load = { connections = 2, duration = \"1500ms\", think_time = \"5ms\" }\n";

#[test]
fn pipe_gets_plain_lines_and_quiet_none_of_them() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let plan = format!("target.url = {:?}\n{LOAD}", server.url("/"));
    let told = CoordinatorCommand::local(1, &plan).run().expect(0);
    // `clean` finds escapes, too.
    assert!(
        told.clean().stderr.contains("joined") && told.stderr.contains("saved in runs/"),
        "{told}"
    );
    assert!(
        told.stdout.contains("Verdict: ") && told.stdout.contains("response time"),
        "{told}"
    );
    let quiet = CoordinatorCommand::start(&["--local", "--quiet"], &plan)
        .run()
        .expect(0);
    assert!(!quiet.clean().stderr.contains("joined"), "{quiet}");
    assert!(quiet.stdout.contains("Verdict: "), "{quiet}");
}

#[test]
fn reader_that_has_seen_enough_is_no_error() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let plan = format!("target.url = {:?}\n{LOAD}", server.url("/"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let finished = CoordinatorCommand::local(1, &plan)
        .with(|command| {
            command.stdout(writer);
        })
        .run();
    let finished = finished.expect(0);
    let _ = finished.clean();
    assert_eq!(finished.document().run.state, analysis::RunState::Complete);
}

#[test]
fn full_disk_is_told_and_is_no_success() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let plan = format!("target.url = {:?}\n{LOAD}", server.url("/"));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let finished = CoordinatorCommand::local(1, &plan)
        .with(|command| {
            command.stdout(full);
        })
        .run();
    assert_eq!(finished.clean().code, 4, "{finished}");
    assert!(finished.stderr.contains("space"), "{finished}");
}

/// A terminal of this width: the side for the program, and the side that receives what it writes.
fn terminal(columns: u16) -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(
        &master,
        Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )
    .unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let program = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    (OwnedFd::from(program), File::from(master))
}

/// Everything written to a terminal, until the program's side is closed.
fn read_all(mut master: File) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
        // A terminal whose other side is closed gives an error.
        while let Ok(read @ 1..) = master.read(&mut bytes) {
            seen.extend_from_slice(&bytes[..read]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    })
}

/// Lines as a person sees them, without escape sequences.
fn lines(seen: &str) -> Vec<String> {
    let mut text = String::new();
    let mut characters = seen.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => drop(characters.by_ref().skip(1).find(char::is_ascii_alphabetic)),
            '\r' => {}
            other => text.push(other),
        }
    }
    text.lines().map(str::to_owned).collect()
}

#[test]
fn nothing_is_wider_than_a_narrow_terminal() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let plan = format!("target.url = {:?}\n{LOAD}", server.url("/"));
    for columns in [40, 80, 200] {
        let (program, master) = terminal(columns);
        let seen = read_all(master);
        let command = CoordinatorCommand::local(2, &plan).with(|command| {
            command
                .env("TERM", "xterm")
                .env("LC_ALL", "C.UTF-8")
                .env_remove("NO_COLOR");
            command
                .stdout(Stdio::from(program.try_clone().unwrap()))
                .stderr(Stdio::from(program));
        });
        let coordinator = command.spawn();
        let id = coordinator.id();
        let finished = coordinator.wait();
        wait_until("its end", || {
            (!std::path::Path::new(&format!("/proc/{id}")).exists()).then_some(())
        });
        let _ = finished.expect(0);
        let lines = lines(&seen.join().unwrap());
        assert!(
            lines.iter().any(|line| line.contains("Verdict")),
            "{lines:#?}"
        );
        let too_wide: Vec<_> = lines
            .iter()
            .filter(|line| line.chars().count() > usize::from(columns))
            .collect();
        // Words that cannot be broken, such as a path, may stick out.
        let breakable: Vec<_> = too_wide
            .iter()
            .filter(|line| line.trim().contains(' '))
            .collect();
        assert!(breakable.is_empty(), "{columns} columns: {breakable:#?}");
    }
}
