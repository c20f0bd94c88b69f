//! Files that are not plans.

use crate::faults::assert_refused;
use interop::{CoordinatorCommand, Finished};

/// A plan as bytes, and words of one line about it.
type Case = (&'static str, Vec<u8>, &'static [&'static str]);

fn start(plan: &[u8]) -> Finished {
    CoordinatorCommand::start(&["--local"], "")
        .file("plan.toml", plan)
        .run()
}

fn assert_no_trace(finished: &Finished) {
    assert_eq!(
        (finished.run_folder(), finished.stdout.as_str()),
        (None, ""),
        "{finished}"
    );
}

#[test]
fn wrong_plan_is_told_at_once_and_leaves_nothing() {
    let target = "target.url = \"http://127.0.0.1:1/\"\n";
    let with = |more: &str| format!("{target}{more}").into_bytes();
    let cases: [Case; 9] = [
        ("empty", Vec::new(), &["plan.toml", "it is empty"]),
        ("huge", vec![b'#'; 3 << 20], &["plan.toml", "bytes"]),
        (
            "not UTF-8",
            b"name = \"\xff\xfe\"\n".to_vec(),
            &["plan.toml", "UTF-8"],
        ),
        ("not TOML", b"name = [\n".to_vec(), &["plan.toml:"]),
        ("binary", (0..=255).collect(), &["plan.toml"]),
        (
            "wrong type",
            with("load = { connections = \"many\", requests = 1 }"),
            &["plan.toml:2:", "load.connections", "\"many\""],
        ),
        (
            "unknown key",
            with("load = { connections = 1, request = 1 }"),
            &["plan.toml:2:", "load.request", "requests"],
        ),
        (
            "impossible",
            with("load = { connections = 0, requests = 1 }"),
            &["plan.toml:2:", "load.connections"],
        ),
        (
            "built in, elsewhere",
            b"target.builtin = true\nload.connections = true".to_vec(),
            &["load.connections"],
        ),
    ];
    for (case, plan, words) in cases {
        println!("{case}");
        let finished = start(&plan);
        assert_refused(&finished, 2, words);
        assert_no_trace(&finished);
    }
}

#[test]
fn every_problem_is_told_at_once_by_check_and_by_start() {
    let plan = "target.url = \"127.0.0.1\"\ntls.versions = [\"1.1\"]\nload = { rate = 5, duraton \
                = \"1s\" }\n";
    let check = CoordinatorCommand::new(&["check", "plan.toml"])
        .file("plan.toml", plan.as_bytes())
        .run();
    for finished in [check, start(plan.as_bytes())] {
        for words in [
            ["target.url", "scheme"],
            ["tls.versions", "1.1"],
            ["load.rate", "unit"],
            ["load.duraton", "duration"],
        ] {
            assert_refused(&finished, 2, &words);
        }
        assert_eq!(
            finished
                .stderr
                .lines()
                .filter(|line| line.starts_with("plan.toml:"))
                .count(),
            5,
            "{finished}"
        );
    }
}

#[test]
fn plan_that_is_not_there_is_told() {
    assert_refused(
        &CoordinatorCommand::new(&["start", "--local", "none.toml"]).run(),
        2,
        &["none.toml", "no such file"],
    );
    assert_refused(
        &CoordinatorCommand::new(&["start", "--local", "."]).run(),
        2,
        &["it is a folder"],
    );
}

#[test]
fn wrong_command_line_is_told() {
    for (arguments, words) in [
        (
            &["start", "--local", "--agents", "0", "plan.toml"][..],
            &["--agents", "0"][..],
        ),
        (&["start", "--agent", "2", "plan.toml"], &["--agent"]),
        (&["start"], &["PLAN.toml"]),
        (&["begin"], &["begin"]),
        (&["quick", "127.0.0.1"], &["URL", "scheme"]),
        (&["report", "--format", "pdf", "."], &["pdf", "markdown"]),
    ] {
        assert_refused(&CoordinatorCommand::new(arguments).run(), 2, words);
    }
}
