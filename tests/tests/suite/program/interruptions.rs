//! Ctrl-C, SIGTERM, and a coordinator that is killed.

use crate::program::command::{ENDLESS, Folder, Running, assert_code, told, wait_until};
use analysis::RunState;
use std::io::{BufRead as _, BufReader};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn first_signal_drains_and_still_writes_the_result() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::with_plan(ENDLESS);
        let running = folder.begin(&["start", "--local", "--agents", "2", "plan.toml"]);
        folder.wait_for("started");
        running.signal(signal);
        let output = running.end();
        assert_code(&output, 130);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("endless"),
            "{}",
            told(&output)
        );
        let document = folder.document();
        assert_eq!(document.run.state, RunState::Interrupted);
        assert!(
            document
                .agents
                .iter()
                .all(|agent| agent.totals_match == Some(true)),
            "{signal}: {document:?}"
        );
        folder.assert_nothing_is_left();
    }
}

#[test]
fn second_signal_does_not_wait_for_slow_answers() {
    let plan = ENDLESS.replace("body_bytes = 100", "delay = \"25s\"");
    let folder = Folder::with_plan(&plan);
    let mut running = folder.begin(&["start", "--local", "plan.toml"]);
    folder.wait_for("started");
    let mut said = BufReader::new(running.child().stderr.take().unwrap()).lines();
    let begun = Instant::now();
    running.signal("INT");
    // Two signals that come while the process stands still are one.
    assert!(said.any(|line| line.unwrap().contains("once more stops at once")));
    running.signal("INT");
    assert_code(&running.end(), 130);
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(folder.document().run.state, RunState::Interrupted);
    folder.assert_nothing_is_left();
}

#[test]
fn signal_while_waiting_for_agents_ends_at_once() {
    let folder = Folder::with_plan(
        "target.url = \"http://127.0.0.1:9/\"\nload = { connections = 1, duration = \"1s\" }",
    );
    let running = folder.begin(&["start", "--listen", "127.0.0.1:0", "plan.toml"]);
    wait_until("the run folder", || folder.path().join("runs").exists());
    wait_until("the enrolment", || {
        folder.path().join("cannonade/enrolment.json").exists()
    });
    let begun = Instant::now();
    running.signal("INT");
    let output = running.end();
    assert_code(&output, 130);
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        told(&output).contains("waiting for 1 agent on 127.0.0.1:"),
        "{}",
        told(&output)
    );
}

#[test]
fn killed_coordinator_leaves_no_process_and_a_result_that_renders() {
    let folder = Folder::with_plan(ENDLESS);
    let running = folder.begin(&["start", "--local", "--agents", "2", "plan.toml"]);
    folder.wait_for("started");
    // The first result that has figures.
    wait_until("figures in the result", || {
        folder.document().measured.operations.ended > 0
    });
    running.signal("KILL");
    let _ = running.end();
    folder.assert_nothing_is_left();
    let output = folder.run(&["report", folder.run_folder().to_str().unwrap()]);
    assert_code(&output, 0);
    assert!(
        told(&output).contains("never finished"),
        "{}",
        told(&output)
    );
    // The result as it was left, against the one made from the log: every stored second of both
    // agents.
    let folder_path = folder.run_folder();
    let left = folder.document();
    let path = folder_path.to_str().unwrap();
    let output = folder.run(&["report", "--format", "json", path]);
    let shown = report::read(&output.stdout).unwrap();
    assert_eq!(folder.document(), left, "report writes nothing");
    let ended = |document: &analysis::Document| document.measured.operations.ended;
    assert!(
        ended(&shown) >= ended(&left),
        "{} {}",
        ended(&shown),
        ended(&left)
    );
    let output = folder.run(&["report", "--remake", "--format", "json", path]);
    assert_code(&output, 0);
    assert_eq!(report::read(&output.stdout).unwrap(), shown);
    assert_eq!(folder.document(), shown);
}

/// Files can grow to 20 KiB, as on a disk that fills up; then room is made.
#[test]
fn disk_that_fills_up_is_told_at_once_and_nothing_is_missing_when_there_is_room_again() {
    let folder = Folder::with_plan(ENDLESS);
    let limited = folder.command(&["start", "--local", "--agents", "2", "plan.toml"]);
    // A process that ignores the signal gets an error from the write instead (setrlimit(2)).
    let script = "trap '' XFSZ; ulimit -S -f 20; exec \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]);
    command.arg(limited.get_program()).args(limited.get_args());
    command.current_dir(folder.path());
    for (name, value) in limited.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env_remove("CANNONADE_TOKEN");
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut running = Running::new(&mut command);
    let said = BufReader::new(running.child().stderr.take().unwrap());
    let mut lines = said.lines().map(Result::unwrap);
    let told = lines.find(|line| line.contains("cannot store: ")).unwrap();
    assert!(told.contains("run.log: file too large"), "{told}");
    let lifted = Command::new("prlimit")
        .args(["--pid", &running.id().to_string(), "--fsize=unlimited"])
        .status();
    assert!(lifted.unwrap().success());
    assert!(lines.any(|line| line.contains("storing again")));
    running.signal("INT");
    let rest = std::thread::spawn(move || lines.collect::<Vec<String>>());
    assert_code(&running.end(), 130);
    let rest = rest.join().unwrap();
    assert!(
        !rest.iter().any(|line| line.contains("not saved")),
        "{rest:?}"
    );
    let document = folder.document();
    assert_eq!(document.run.state, RunState::Interrupted);
    let all = |agent: &analysis::AgentResult| agent.totals_match == Some(true);
    assert!(document.agents.iter().all(all), "{document:?}");
    let path = folder.run_folder();
    let output = folder.run(&[
        "report",
        "--remake",
        "--format",
        "json",
        path.to_str().unwrap(),
    ]);
    assert_eq!(report::read(&output.stdout).unwrap(), document);
}
