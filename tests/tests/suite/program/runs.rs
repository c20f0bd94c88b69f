//! Whole local runs.

use crate::program::command::{ENDLESS, Folder, PLAN, Running, assert_code, send, told};
use analysis::{AgentEndCause, RunState, Verdict};

#[test]
fn local_run_leaves_a_whole_result_and_no_process() {
    let folder = Folder::with_plan(PLAN);
    let output = folder.run(&["start", "--local", "--agents", "2", "plan.toml"]);
    assert_code(&output, 0);
    let document = folder.document();
    assert_eq!(
        (document.run.state, document.run.name.as_str()),
        (RunState::Complete, "short")
    );
    assert_eq!(document.measured.operations.ended, 200, "{}", told(&output));
    assert_eq!(document.measured.operations.ok, 200);
    assert_eq!(document.agents.len(), 2);
    assert!(
        document
            .agents
            .iter()
            .all(|agent| agent.totals_match == Some(true)
                && agent.ended == Some(AgentEndCause::Plan))
    );
    assert_eq!(document.plan.text, PLAN);
    assert!(document.plan.builtin_target);
    assert!(
        document.server.is_some(),
        "the target's process was looked at"
    );
    folder.assert_nothing_is_left();
}

#[test]
fn plan_from_standard_input_names_files_of_this_folder_and_is_kept() {
    let plan = format!("request = {{ method = \"POST\", body_file = \"body\" }}\n{PLAN}");
    let folder = Folder::with_plan(&plan);
    std::fs::write(folder.path().join("body"), "seven..").unwrap();
    let piped = |arguments: &[&str]| {
        let plan = std::fs::File::open(folder.path().join("plan.toml")).unwrap();
        let output = Running::new(folder.command(arguments).stdin(plan)).end();
        assert_code(&output, 0);
        output
    };
    let checked = piped(&["check", "-"]);
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.contains("body of 7 bytes"), "{checked}");
    piped(&["start", "--local", "-"]);
    let kept = std::fs::read_to_string(folder.run_folder().join("plan.toml")).unwrap();
    assert_eq!(kept, plan);
    let run = folder.run_folder().display().to_string();
    let resumed = folder.run(&["start", "--local", "--resume", &run]);
    assert_code(&resumed, 2);
    assert!(
        told(&resumed).contains("does not say which plan"),
        "{}",
        told(&resumed)
    );
}

/// However busy the machine is, no answer comes before the target's own timetable allows it.
#[test]
fn built_in_target_keeps_the_pace_that_the_plan_gives_it() {
    let plan = |pace: &str| {
        format!(
            "target.builtin = {{ tls = false, {pace} }}\nload = {{ connections = 4, requests = 40 \
             }}\nname = \"paced\"\n"
        )
    };
    let times = |pace: &str| {
        let folder = Folder::with_plan(&plan(pace));
        let output = folder.run(&["start", "--local", "plan.toml"]);
        assert_code(&output, 0);
        let (document, ms) = (folder.document(), 1_000_000.0);
        let time = &document.measured.times["service_time"];
        (
            time.min_ns as f64 / ms,
            time.max_ns as f64 / ms,
            document.run.duration_ns as f64 / ms,
        )
    };
    // Two servers of 20 ms are busy for 360 ms until the last four of 40 requests have arrived.
    let (min, _, took) = times("servers = { count = 2, service_time = \"20ms\" }");
    assert!(
        min >= 20.0 && took >= 360.0,
        "at least {min} ms, {took} ms until the last one began"
    );
    let (_, max, _) =
        times("stall = { every = \"1h\", for = \"300ms\", first = \"0s\" }, delay = \"5ms\"");
    // The stall began when the first request arrived, a little after that request was begun.
    assert!(max >= 300.0, "{max} ms");
    let (_, max, _) = times("stall = { every = \"1h\", for = \"59m\" }");
    assert!(
        max < 3_000_000.0,
        "the first stall comes an hour after the first request: {max} ms"
    );
}

#[test]
fn run_folder_holds_plan_histograms_and_events() {
    let folder = Folder::with_plan(PLAN);
    assert_code(
        &folder.run(&["start", "--local", "--quiet", "plan.toml"]),
        0,
    );
    let read = |file| std::fs::read_to_string(folder.run_folder().join(file)).unwrap();
    assert_eq!(read("plan.toml"), PLAN);
    let log = read("histograms.hlog");
    assert!(
        log.starts_with("#[Histogram log format version 1.3]")
            && log.contains("Tag=response_time.ok,0.000,"),
        "{log}"
    );
    let mut events: Vec<String> = read("events.jsonl").lines().map(word).collect();
    // A busy machine can miss start instants; another one is announced after each.
    let is_missed = |pair: &[String]| pair[0] == "armed" && pair[1] == "postponed";
    while let Some(at) = events.windows(2).position(is_missed) {
        events.drain(at..at + 2);
    }
    let expected = [
        "joined",
        "assembled",
        "ready",
        "armed",
        "began",
        "started",
        "ended",
        "done",
        "verdict",
    ];
    assert_eq!(events, expected);
}

fn word(line: &str) -> String {
    let object: serde_json::Value = serde_json::from_str(line).unwrap();
    object["event"].as_str().unwrap().to_owned()
}

#[test]
fn saved_run_renders_in_every_format() {
    let folder = Folder::with_plan(PLAN);
    assert_code(&folder.run(&["start", "--local", "plan.toml"]), 0);
    let run = folder.run_folder();
    for (format, part) in [
        ("console", "Verdict: "),
        ("json", "\"schema\""),
        ("markdown", "# short"),
        ("csv", "second,"),
        ("junit", "<testsuite"),
    ] {
        let output = folder.run(&["report", "--format", format, run.to_str().unwrap()]);
        assert_code(&output, 0);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(part),
            "{format}: {}",
            told(&output)
        );
    }
}

#[test]
fn rules_of_a_saved_verdict_are_explained() {
    let folder = Folder::with_plan(PLAN);
    assert_code(&folder.run(&["start", "--local", "plan.toml"]), 0);
    let output = folder.run(&["explain", folder.run_folder().to_str().unwrap()]);
    assert_code(&output, 0);
    let text = String::from_utf8_lossy(&output.stdout);
    let rules = analysis::explain(&folder.document());
    assert!(!rules.is_empty());
    for rule in rules {
        assert!(
            text.contains(rule.rule.name()),
            "{}: {}",
            rule.rule,
            told(&output)
        );
    }
    assert_code(&folder.run(&["explain", "runs/none"]), 2);
}

#[test]
fn failed_threshold_is_exit_code_1() {
    let folder = Folder::with_plan(&format!(
        "{PLAN}thresholds = {{ \"response_time.p50\" = \"<= 1us\" }}"
    ));
    assert_code(&folder.run(&["start", "--local", "plan.toml"]), 1);
    assert!(folder.events().contains("\"event\":\"threshold\""));
}

#[test]
fn lost_agent_is_exit_code_3() {
    let plan = PLAN.replace("200", "1500");
    let folder = Folder::with_plan(&plan);
    let running = folder.begin(&["start", "--local", "--agents", "2", "plan.toml"]);
    folder.wait_for("began");
    let agents = folder.processes("--name=local-1");
    send("KILL", agents[0]);
    let output = running.end();
    assert_code(&output, 3);
    assert!(
        told(&output).contains("agent local-1 ended with signal: 9"),
        "{}",
        told(&output)
    );
    let document = folder.document();
    assert_eq!(document.verdict.verdict, Verdict::Invalid);
    assert!(
        document
            .agents
            .iter()
            .any(|agent| agent.name == "local-1" && agent.ended == Some(AgentEndCause::Lost))
    );
    folder.assert_nothing_is_left();
}

#[test]
fn result_that_cannot_be_saved_is_exit_code_4_and_is_printed() {
    // On a busy machine the run can be over before its folder goes.
    let mut tries = (0..3).map(|_| {
        let folder = Folder::with_plan(PLAN);
        let running = folder.begin(&["start", "--local", "plan.toml"]);
        folder.wait_for("began");
        // In one step, since files may be being made in it.
        std::fs::rename(folder.run_folder(), folder.path().join("gone")).unwrap();
        running.end()
    });
    let output = tries.find(|output| output.status.code() == Some(4));
    let output = output.expect("a run that lost its folder");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        printed.contains("not saved: ") && printed.contains("200 ended"),
        "{}",
        told(&output)
    );
}

#[test]
fn built_in_target_that_dies_is_exit_code_4() {
    let folder = Folder::with_plan(ENDLESS);
    let running = folder.begin(&["start", "--local", "plan.toml"]);
    folder.wait_for("began");
    send("KILL", folder.processes(" target ")[0]);
    let output = running.end();
    assert_code(&output, 4);
    assert!(
        told(&output).contains("the built-in target ended with signal: 9"),
        "{}",
        told(&output)
    );
    folder.assert_nothing_is_left();
}
