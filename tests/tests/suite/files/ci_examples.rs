//! The commands of `examples/ci`, as the runners of GitHub and GitLab execute them.

use crate::files::{of_the_repository, read};
use interop::{binary, require};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A checkout with the plan, shortened to a tenth of its time.
fn checkout() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let plan = read(of_the_repository("examples/ci/plan.toml"));
    assert!(plan.contains("duration = \"20s\""), "{plan}");
    let plan = plan.replace("\"20s\"", "\"2s\"");
    fs::create_dir_all(folder.path().join("examples/ci")).unwrap();
    fs::write(folder.path().join("examples/ci/plan.toml"), plan).unwrap();
    folder
}

/// The lines below the first line `head` that are indented more, without that additional
/// indentation.
fn block(text: &str, head: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip_while(|line| line.trim() != head);
    let outer = indent(lines.next().unwrap_or_else(|| panic!("no {head}")));
    let inner: Vec<&str> = lines
        .take_while(|line| line.is_empty() || indent(line) > outer)
        .collect();
    let least = inner.iter().map(|line| indent(line)).min().unwrap();
    inner
        .iter()
        .map(|line| line[least..].to_owned() + "\n")
        .collect()
}

/// `bash -e`, as both runners call it.
fn bash(folder: &Path, script: &str) -> Output {
    let programs = binary("coordinator").parent().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    Command::new("bash")
        .args(["-e", "-c", script])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{}\n{stdout}{stderr}", output.status)
}

#[track_caller]
fn assert_passes(folder: &Path, script: &str) {
    let output = bash(folder, script);
    assert!(output.status.success(), "{script}{}", told(&output));
}

/// On a busy machine a threshold may fail, or the run may not be trusted.
#[track_caller]
fn assert_makes_a_run(folder: &Path, script: &str) {
    let output = bash(folder, script);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1 | 3)), "{script}{}", told(&output));
    assert!(
        folder.join("runs/latest/result.json").is_file(),
        "{}",
        told(&output)
    );
}

#[track_caller]
fn assert_holds(folder: &Path, files: [(&str, &str); 3]) {
    for (file, part) in files {
        let text = read(folder.join(file));
        assert!(text.contains(part), "{file}: {text}");
    }
}

#[test]
fn commands_of_the_github_example_do_what_it_says() {
    if require("bash").is_none() {
        return;
    }
    let workflow = read(of_the_repository("examples/ci/github-actions.yml"));
    let step = |name: &str| {
        let (_, step) = workflow.split_once(&format!("- name: {name}\n")).unwrap();
        block(step, "run: |")
    };
    let folder = checkout();
    let folder = folder.path();
    assert_passes(folder, &step("Check the plan"));
    assert_makes_a_run(folder, &step("Load test"));
    assert_passes(folder, &step("Summary"));
    let summary = ("summary.md", "# pull-request: ");
    let junit = ("junit.xml", "name=\"errors.share &lt;= 0.1 %\"");
    assert_holds(folder, [summary, junit, ("report.html", "pull-request")]);
}

#[test]
fn commands_of_the_gitlab_example_do_what_it_says() {
    if require("bash").is_none() {
        return;
    }
    let job = read(of_the_repository("examples/ci/gitlab-ci.yml"));
    let script = |name: &str| block(&job, name).replace("- coordinator", "coordinator");
    let folder = checkout();
    let folder = folder.path();
    assert_makes_a_run(folder, &script("script:"));
    assert_passes(folder, &script("after_script:"));
    let summary = ("load-test.md", "# pull-request: ");
    let junit = ("junit.xml", "name=\"errors.share &lt;= 0.1 %\"");
    assert_holds(folder, [summary, junit, ("report.html", "pull-request")]);
}
