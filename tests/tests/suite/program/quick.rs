//! `quick` against a target of its own.

use crate::program::command::{Folder, Running, assert_code, told};
use analysis::Document;
use std::io::{BufRead as _, BufReader};
use std::process::{Output, Stdio};

/// Starts a target, and makes a folder with its CA.
fn target() -> (Folder, Running, String) {
    let folder = Folder::with_plan("");
    let mut command = folder.command(&["target", "--body-bytes", "1000"]);
    let mut running = Running::new(command.stdin(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(running.child().stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let listening: serde_json::Value = serde_json::from_str(&line).unwrap();
    std::fs::write(
        folder.path().join("ca.pem"),
        listening["ca_pem"].as_str().unwrap(),
    )
    .unwrap();
    let url = format!("https://{}/a", listening["address"].as_str().unwrap());
    (folder, running, url)
}

fn document(output: &Output) -> Document {
    report::read(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", told(output)))
}

#[test]
fn exactly_the_requests_asked_for_are_sent() {
    let (folder, _target, url) = target();
    for (arguments, requests, connections) in [
        (&["-n", "100", "-c", "7"][..], 100, 7),
        (&["-n", "30", "--no-keepalive"], 30, 30),
        (&["-n", "5"], 5, 5),
        (&["-n", "40", "-q", "400", "--agents", "2"], 40, 2),
    ] {
        let arguments = [
            &["quick", "--json", "--ca", "ca.pem"],
            arguments,
            &[url.as_str()],
        ]
        .concat();
        let output = folder.run(&arguments);
        // A busy machine misses the schedule of an open loop, and the run is then invalid.
        let code = output.status.code();
        assert!(
            code == Some(0) || arguments.contains(&"-q") && code == Some(3),
            "{}",
            told(&output)
        );
        let measured = document(&output).measured;
        assert_eq!(
            (measured.operations.ended, measured.operations.ok),
            (requests, requests),
            "{arguments:?}"
        );
        assert!(
            measured.connections.opened >= connections,
            "{arguments:?}: {:?}",
            measured.connections
        );
    }
    assert!(
        !folder.path().join("runs").exists(),
        "nothing is saved unless asked for"
    );
}

#[test]
fn certificate_is_checked_unless_told_otherwise() {
    let (folder, _target, url) = target();
    let errors = |flag: &[&str]| {
        let output = folder.run(&[&["quick", "--json", "-n", "4"], flag, &[url.as_str()]].concat());
        document(&output).measured.operations.error_share
    };
    assert_eq!((errors(&[]), errors(&["-k"])), (Some(1.0), Some(0.0)));
}

#[test]
fn run_folder_is_left_where_asked_for_and_holds_no_password() {
    let (folder, _target, url) = target();
    let output = folder.run(&[
        "quick",
        "-n",
        "4",
        "-k",
        "-a",
        "me:geheim",
        "--output",
        "runs",
        &url,
    ]);
    assert_code(&output, 0);
    assert!(
        told(&output).contains("Status       4 × 200"),
        "{}",
        told(&output)
    );
    for file in [
        "plan.toml",
        "result.json",
        "events.jsonl",
        "histograms.hlog",
    ] {
        let text = std::fs::read_to_string(folder.run_folder().join(file)).unwrap();
        assert!(
            !text.contains("geheim") && !text.contains("bWU6Z2VoZWlt"),
            "{file}: {text}"
        );
    }
}

#[test]
fn summary_is_one_screen_and_the_whole_one_is_asked_for() {
    let (folder, _target, url) = target();
    let quick = |flags: &[&str]| {
        let output = folder.run(&[&["quick", "-n", "20", "-k"], flags, &[url.as_str()]].concat());
        assert_code(&output, 0);
        output
    };
    let brief = quick(&[]);
    let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().count();
    assert!(lines(&brief.stdout) <= 22, "{}", told(&brief));
    assert!(!told(&brief).contains("Percentiles"), "{}", told(&brief));
    let whole = quick(&["-v"]);
    assert!(told(&whole).contains("\nPercentiles\n"), "{}", told(&whole));
    let csv = quick(&["-o", "csv"]);
    assert!(csv.stdout.starts_with(b"second,"), "{}", told(&csv));
}

#[test]
fn status_that_is_asked_for_is_no_error() {
    let (folder, _target, url) = target();
    let code = |flags: &[&str], code| {
        let output = folder.run(&[&["quick", "-n", "5", "-k"], flags, &[url.as_str()]].concat());
        assert_code(&output, code);
        output
    };
    code(&["--expect", "200-299,404"], 0);
    let failed = code(&["--expect", "404"], 1);
    let said = told(&failed);
    assert!(
        said.contains("say so with --expect") && !said.contains("request."),
        "{said}"
    );
    // The same after it was saved and is printed again.
    code(&["--expect", "404", "--output", "runs"], 1);
    let printed = told(&folder.run(&["report", "--remake", "runs/latest"]));
    assert!(
        printed.contains("say so with --expect") && !printed.contains("request."),
        "{printed}"
    );
}

#[test]
fn refusals_speak_of_flags() {
    let (folder, _target, url) = target();
    let pem = std::fs::read_to_string(folder.path().join("ca.pem")).unwrap();
    std::fs::write(folder.path().join("cut.pem"), &pem[..99]).unwrap();
    for (arguments, code, said) in [
        (
            &["--ca", "cut.pem", &url][..],
            2,
            "/cut.pem holds no usable certificate (it ends before",
        ),
        (&["http://192.0.2.1/"], 4, "; write --allow 192.0.2.1 if"),
        (
            &["http://nothing.invalid/"],
            4,
            "; check it, or give --connect-to",
        ),
    ] {
        let output = folder.run(&[&["quick", "-n", "5"], arguments].concat());
        assert_code(&output, code);
        assert!(told(&output).contains(said), "{said}: {}", told(&output));
    }
}

#[test]
fn several_urls_are_asked_for_in_turn() {
    let (folder, _target, url) = target();
    let other = url.replace("/a", "/b?c");
    let output = folder.run(&[
        "quick", "-k", "--json", "-n", "40", &url, &other, &other, &url,
    ]);
    let document = document(&output);
    let counts = document.by_request.iter();
    let counts: Vec<(&str, u64)> = counts
        .map(|group| (group.name.as_str(), group.figures.operations.ok))
        .collect();
    assert_eq!(counts, [("GET /a", 20), ("GET /b", 20)]);
}
