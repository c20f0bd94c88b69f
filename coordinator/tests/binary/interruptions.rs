//! Ctrl-C, SIGTERM, and a coordinator that is killed.

use crate::command::{ENDLESS, Folder, assert_code, told, wait_until};
use analysis::RunState;
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
    let running = folder.begin(&["start", "--local", "plan.toml"]);
    folder.wait_for("started");
    let begun = Instant::now();
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(300));
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
        begun.elapsed() < Duration::from_secs(5),
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
    // The first saving that holds figures.
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
}
