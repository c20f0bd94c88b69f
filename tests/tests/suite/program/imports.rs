//! `import`: what it prints where, and how it ends.

use super::command::{Folder, assert_code, told};
use std::io::Write as _;
use std::process::{Output, Stdio};

const LOG: &str = "\
1.1.1.1 - - [25/Nov/2026:07:35:26 +0000] \"GET /a HTTP/1.1\" 200 6 \"-\" \"x\"
1.1.1.1 - - [25/Nov/2026:07:35:27 +0000] \"POST /b HTTP/1.1\" 200 6 \"-\" \"x\"
";

fn folder(log: &str) -> Folder {
    let folder = Folder::with_plan("");
    std::fs::write(folder.path().join("access.log"), log).unwrap();
    folder
}

fn import(log: &str, flags: &[&str]) -> Output {
    let arguments = [&["import"], flags, &["access.log"]].concat();
    folder(log).run(&arguments)
}

#[track_caller]
fn assert_refused(output: &Output, message: &str) {
    assert_code(output, 2);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(message), "{message:?}: {}", told(output));
}

#[test]
fn requests_go_to_standard_output_and_counts_to_standard_error() {
    let output = import(LOG, &["--bodies", "skip"]);
    assert_code(&output, 0);
    let expected =
        r#"{"at":0.0,"method":"GET","path":"/a","headers":{"user-agent":"x"},"status":200}"#;
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), expected);
    let error = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(
        lines[0],
        "combined: read 2 lines, wrote 1 request over 0.000 s"
    );
    assert_eq!(
        lines[1],
        "skipped 1, first line 2: with a body that is not in the log"
    );
}

#[test]
fn standard_input_is_a_log_too() {
    let folder = folder("");
    let mut command = folder.command(&["import", "--bodies", "empty", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(LOG.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 0);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
}

#[test]
fn what_cannot_be_used_is_refused_with_a_cure() {
    for (log, flags, message) in [
        (
            LOG,
            &[][..],
            "access.log: line 2: the log does not have the body of this POST; write",
        ),
        ("", &[], "access.log: it is empty"),
        (
            "x\n",
            &[],
            "access.log: its format is not one that is recognised; name it by --format",
        ),
        (
            LOG,
            &["--format", "json"],
            "access.log: no request is left; the reasons above say",
        ),
        (
            LOG,
            &["--methods", "PUT"],
            "skipped 2, first line 1: left out by --methods",
        ),
        (LOG, &["--format", "xml"], "write combined, json, har"),
        (LOG, &["--bodies", "no"], "write refuse, skip or empty"),
        (
            LOG,
            &["--log-format", "$status"],
            "it has no time; log nginx's $msec",
        ),
        (
            LOG,
            &["--from", "noon"],
            "write a time with its zone, such as 2026-11-24T12:00:00Z",
        ),
        (
            LOG,
            &["--from", "2026-11-24T12:00:00"],
            "write a time with its zone",
        ),
        (
            LOG,
            &["--rate", "0/s"],
            "0 is not a rate; write a value above 0, such as 100/s",
        ),
        (
            LOG,
            &[
                "--from",
                "2026-11-24T12:00:00Z",
                "--to",
                "2026-11-24T12:00:00Z",
            ],
            "--from is not before --to",
        ),
    ] {
        assert_refused(&import(log, flags), message);
    }
    let folder = folder("");
    let missing = folder.run(&["import", "no.log"]);
    assert_refused(
        &missing,
        "no.log: no such file or folder; write the path of a log",
    );
    assert_refused(&folder.run(&["import", "."]), ".: it is a folder");
}

#[test]
fn reader_may_leave_before_the_end() {
    let folder = folder(&LOG.repeat(50_000));
    let arguments = ["import", "--bodies", "skip", "access.log"];
    let mut child = folder.command(&arguments).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 0);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn replay_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let folder = folder(LOG);
    let mut command = folder.command(&["import", "--bodies", "skip", "access.log"]);
    let output = command.stdout(full).output().unwrap();
    assert_code(&output, 4);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("access.log: cannot write the replay: "),
        "{error}"
    );
}
