//! Commands of the user around each run.

use crate::program::command::{ENDLESS, Folder, PLAN, assert_code, told, wait_until};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Two variants, twice each, in about a quarter of a second a run.
const PAIR: &str = r#"
name = "pair"
target.builtin = { body_bytes = 100 }
load = { connections = 4, think_time = "10ms", requests = 60 }
variants = { rsa = {}, p256 = { connection.requests = 5 } }
repeat = { times = 2, pause = "0s" }
"#;

fn start<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["start", "--local"], more, &["plan.toml"]].concat()
}

fn run_file(folder: &Folder, name: &str) -> PathBuf {
    folder.run_folder().join(name)
}

#[test]
fn commands_run_around_every_run_and_know_which_it_is() {
    let folder = Folder::with_plan(PAIR);
    let tell = |word: &str| {
        format!(
            "echo \"{word} $CANNONADE_PLAN $CANNONADE_RUN [$CANNONADE_VARIANT] $CANNONADE_REPEAT \
             $(ls \"$CANNONADE_RUN_FOLDER\" | grep -c result.json)\" | tee -a \
             \"$CANNONADE_RUN_FOLDER/../../../told\""
        )
    };
    let (before, after) = (tell("before"), tell("after"));
    let output = folder.run(&start(&["--before", &before, "--after", &after]));
    assert_code(&output, 0);
    let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
    let names = ["01-rsa-1", "02-p256-1", "03-rsa-2", "04-p256-2"];
    let lines = names.iter().flat_map(|name| {
        let (_, rest) = name.split_once('-').unwrap();
        let (variant, repeat) = rest.rsplit_once('-').unwrap();
        let about = format!("pair {name} [{variant}] {repeat}");
        [format!("before {about} 0"), format!("after {about} 1")]
    });
    assert_eq!(
        told.lines().map(str::to_owned).collect::<Vec<_>>(),
        lines.collect::<Vec<_>>()
    );
    for name in names {
        for (log, word) in [("before.log", "before pair"), ("after.log", "after pair")] {
            let log = run_file(&folder, name).join(log);
            assert!(std::fs::read_to_string(log).unwrap().starts_with(word));
        }
    }
    folder.assert_nothing_is_left();
}

#[test]
fn command_that_fails_ends_the_campaign_with_its_last_line_and_what_was_made_stays() {
    let folder = Folder::with_plan(PAIR);
    let before =
        "echo loading; test \"$CANNONADE_VARIANT\" = rsa || { echo no such key >&2; exit 7; }";
    let output = folder.run(&start(&["--before", before]));
    assert_code(&output, 4);
    let told = told(&output);
    for part in [
        "--before",
        "exit status: 7",
        "02-p256-1",
        "no such key",
        "before.log",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(run_file(&folder, "01-rsa-1/result.json").exists());
    assert!(run_file(&folder, "campaign.json").exists());
    assert!(!run_file(&folder, "03-rsa-2").exists());
    folder.assert_nothing_is_left();
}

#[test]
fn failure_after_the_run_leaves_its_result_and_fails_the_command_line() {
    let folder = Folder::with_plan(PLAN);
    let output = folder.run(&start(&["--after", "echo cannot fetch the log; false"]));
    assert_code(&output, 4);
    let told = told(&output);
    assert!(
        told.contains("--after") && told.contains("cannot fetch the log"),
        "{told}"
    );
    assert_eq!(folder.document().measured.operations.ended, 200);
}

#[test]
fn command_after_a_run_follows_the_one_before_it_if_the_run_is_not_made() {
    // No program listens at port 9, so there is no token for the run.
    const NO_TOKEN: &str = r#"
target.builtin = true
load = { connections = 1, requests = 1 }
request.auth = "api"
vars.password = { secret = "x" }
[auth.api.oauth2]
token_url = "http://127.0.0.1:9/"
client = "load"
secret = "{password}"
per = "fleet"
"#;
    let folder = Folder::with_plan(NO_TOKEN);
    let output = folder.run(&start(&[
        "--before",
        "touch here",
        "--after",
        "touch there; echo cannot go back; false",
    ]));
    assert_code(&output, 4);
    let told = told(&output);
    assert!(told.contains("refused"), "{told}");
    assert!(told.contains("cannot go back"), "{told}");
    assert!(folder.path().join("there").exists());
    folder.assert_nothing_is_left();
}

#[test]
fn command_that_does_not_end_is_ended_with_all_that_it_started() {
    let folder = Folder::with_plan(PLAN);
    let begun = Instant::now();
    let arguments = [
        "--before",
        "sleep 61 & sleep 62",
        "--command-timeout",
        "300ms",
    ];
    let output = folder.run(&start(&arguments));
    assert_code(&output, 4);
    let told = told(&output);
    assert!(
        told.contains("300ms") && told.contains("--command-timeout"),
        "{told}"
    );
    assert!(begun.elapsed() < Duration::from_secs(50));
    folder.assert_nothing_is_left();
}

#[test]
fn interruption_ends_the_command_before_a_run_and_lets_the_one_after_it_happen() {
    let folder = Folder::with_plan(ENDLESS);
    let running = folder.begin(&start(&["--before", "touch here; sleep 63"]));
    wait_until("the command", || folder.path().join("here").exists());
    running.signal("INT");
    assert_code(&running.end(), 130);
    folder.assert_nothing_is_left();

    let folder = Folder::with_plan(ENDLESS);
    let running = folder.begin(&start(&["--after", "touch there"]));
    folder.wait_for("began");
    running.signal("INT");
    assert_code(&running.end(), 130);
    assert!(folder.path().join("there").exists());
}

#[test]
fn interruption_of_the_command_after_a_run_ends_the_campaign() {
    // The pause before the next run is not waited for. After the only run nothing is left but to
    // say that the command was cut short.
    let campaign = PAIR.replace("pause = \"0s\"", "pause = \"640s\"");
    for (plan, result) in [(&*campaign, "01-rsa-1/result.json"), (PLAN, "result.json")] {
        let folder = Folder::with_plan(plan);
        let running = folder.begin(&start(&["--after", "touch there; sleep 64"]));
        wait_until("the command", || folder.path().join("there").exists());
        running.signal("INT");
        assert_code(&running.end(), 130);
        assert!(run_file(&folder, result).exists());
        assert!(!run_file(&folder, "02-p256-1/result.json").exists());
        folder.assert_nothing_is_left();
    }
}

#[test]
fn empty_command_and_senseless_times_are_refused() {
    let folder = Folder::with_plan(PLAN);
    for arguments in [["--before", ""], ["--command-timeout", "soon"]] {
        assert_code(&folder.run(&start(&arguments)), 2);
    }
}
