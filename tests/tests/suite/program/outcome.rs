//! The parts of a run that programs use: standard output, a summary, the last line, names of
//! folders.

use crate::program::command::{Folder, PLAN, assert_code, told};
use std::process::Output;

/// One threshold holds, and one cannot.
const JUDGED: &str = r#"
name = "judged"
target.builtin = { body_bytes = 100 }
load = { connections = 2, requests = 20 }
thresholds = { "errors.count" = "<= 0", "response_time.p50" = "<= 1ns" }
"#;

const SEVERAL: &str = r#"
name = "several"
target.builtin = { body_bytes = 100 }
load = { connections = 2, requests = 20 }
matrix = { "connection.requests" = [1, 2] }
"#;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn result_goes_to_standard_output_in_the_format_asked_for_and_to_people_beside_it() {
    let folder = Folder::with_plan(JUDGED);
    for (format, begins) in [
        ("json", "{"),
        ("junit", "<?xml"),
        ("markdown", "# judged: "),
        ("csv", "second,"),
        ("html", "<!DOCTYPE html>"),
    ] {
        let output = folder.run(&["start", "--local", "--format", format, "plan.toml"]);
        assert_code(&output, 1);
        assert!(printed(&output).starts_with(begins), "{}", told(&output));
        assert!(said(&output).contains("\nVerdict: "), "{}", told(&output));
    }
    let arguments = [
        "start",
        "--local",
        "--format",
        "json",
        "--quiet",
        "plan.toml",
    ];
    let quiet = folder.run(&arguments);
    report::read(&quiet.stdout).unwrap();
    assert_eq!(said(&quiet), "");
    let console = folder.run(&["start", "--local", "plan.toml"]);
    assert!(printed(&console).contains("\nVerdict: "));
    assert!(!said(&console).contains("Verdict: "), "{}", told(&console));
}

#[test]
fn several_runs_go_to_standard_output_in_the_format_asked_for() {
    let folder = Folder::with_plan(SEVERAL);
    let output = folder.run(&["start", "--local", "--format", "json", "plan.toml"]);
    assert_code(&output, 0);
    assert_eq!(report::read_campaign(&output.stdout).unwrap().runs.len(), 2);
    let said = said(&output);
    let last = said.lines().last().unwrap();
    assert!(
        last.starts_with("2 runs · exit 0 · saved in runs/"),
        "{said}"
    );
}

#[test]
fn last_line_says_it_all_again() {
    let folder = Folder::with_plan(JUDGED);
    let output = folder.run(&["start", "--local", "plan.toml"]);
    let said = said(&output);
    let run = folder.run_folder();
    let run = run.file_name().unwrap().to_str().unwrap();
    let mut lines = said.lines().rev();
    let last = lines.next().unwrap();
    let end = format!(" · 1 of 2 thresholds failed · exit 1 · saved in runs/{run}");
    assert!(last.ends_with(&end), "{said}");
    let page = format!("open runs/{run}/report.html");
    assert_eq!(lines.next(), Some(page.as_str()));
}

#[test]
fn summary_is_appended_and_one_that_cannot_be_written_is_told_before_any_load() {
    let folder = Folder::with_plan(PLAN);
    let summary = folder.path().join("summary.md");
    std::fs::write(&summary, "before\n").unwrap();
    let arguments = ["start", "--local", "--summary", "summary.md", "plan.toml"];
    assert_code(&folder.run(&arguments), 0);
    assert_code(&folder.run(&arguments), 0);
    let text = std::fs::read_to_string(summary).unwrap();
    assert!(text.starts_with("before\n# short: "), "{text}");
    assert_eq!(text.matches("\n# short: ").count(), 2, "{text}");
    let none = Folder::with_plan(PLAN);
    let output = none.run(&["start", "--local", "--summary", "none/s.md", "plan.toml"]);
    assert_code(&output, 4);
    assert!(said(&output).contains("none/s.md: no such file or folder; name a file"));
    assert!(!none.path().join("runs").exists());
}

#[test]
fn run_folder_has_the_name_asked_for_and_latest_leads_to_the_newest() {
    let folder = Folder::with_plan(PLAN);
    for name in ["one", "two"] {
        let output = folder.run(&["start", "--local", "--run", name, "plan.toml"]);
        assert_code(&output, 0);
        let link = std::fs::read_link(folder.path().join("runs/latest")).unwrap();
        assert_eq!(link.to_str(), Some(name));
    }
    let report = folder.run(&["report", "--format", "json", "runs/latest"]);
    assert_code(&report, 0);
    let newest = std::fs::read(folder.path().join("runs/two/result.json")).unwrap();
    assert_eq!(report.stdout, newest);
    let again = folder.run(&["start", "--local", "--run", "one", "plan.toml"]);
    assert_code(&again, 4);
    let cure = "runs/one exists; write another name after --run, or remove it";
    assert!(said(&again).contains(cure), "{}", told(&again));
    let path = folder.run(&["start", "--local", "--run", "../x", "plan.toml"]);
    assert_code(&path, 2);
}

#[test]
fn run_goes_on_where_latest_cannot_be_a_link() {
    let folder = Folder::with_plan(PLAN);
    std::fs::create_dir_all(folder.path().join("runs/latest")).unwrap();
    let output = folder.run(&["start", "--local", "plan.toml"]);
    assert_code(&output, 0);
    let note = "note: `latest` does not lead to this run: something else has that name";
    assert!(said(&output).contains(note), "{}", told(&output));
}

/// One of two requests gets an answer that it does not expect.
const HALF: &str = r#"
name = "half"
target.builtin = { body_bytes = 100 }
load = { connections = 2, requests = 20 }
[[request]]
path = "/as-expected"
[[request]]
path = "/otherwise"
expect.status = ["500"]
"#;

#[test]
fn errors_fail_a_run_where_asked_for() {
    let folder = Folder::with_plan(HALF);
    assert_code(&folder.run(&["start", "--local", "plan.toml"]), 0);
    let strict = ["start", "--local", "--fail-on-error", "plan.toml"];
    let output = folder.run(&strict);
    assert_code(&output, 1);
    assert!(
        said(&output).contains(" · 50.0 % errors · exit 1 · "),
        "{}",
        told(&output)
    );
    std::fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    assert_code(&folder.run(&strict), 0);
    let several = HALF.replace(
        "name = \"half\"",
        "name = \"half\"\nmatrix = { \"connection.requests\" = [1, 2] }",
    );
    std::fs::write(folder.path().join("plan.toml"), several).unwrap();
    assert_code(&folder.run(&strict), 1);
}

#[test]
fn run_of_which_nothing_succeeded_fails() {
    let url = "http://127.0.0.1:9/";
    let plan = format!(
        "target.url = \"{url}\"\nload = {{ connections = 2, requests = 10 }}\n\
         thresholds = {{ \"errors.share\" = \"<= 1\" }}"
    );
    let folder = Folder::with_plan(&plan);
    assert_code(&folder.run(&["start", "--local", "plan.toml"]), 1);
    assert_code(&folder.run(&["quick", "-n", "10", url]), 1);
}
