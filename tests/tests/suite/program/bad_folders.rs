//! Folders that no run left whole: each is refused with what, where, why and a cure, within bounded
//! time.

use crate::program::command::{Folder, assert_code, told};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const CURE: &str = "write the folder of a run";
const AGAIN: &str = "name another run, or bring the file again";
const NEWER: &str = "use the version that wrote it, or a newer one";

fn golden(name: &str) -> String {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/report/tests/golden");
    fs::read_to_string(golden.join(name)).unwrap()
}

fn newer(name: &str) -> String {
    golden(name).replacen("\"schema\": 1", "\"schema\": 2", 1)
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from(0o600), 0).unwrap();
}

fn file(name: &str, text: &str) -> impl Fn(&Path) {
    move |folder| fs::write(folder.join(name), text).unwrap()
}

/// A bad folder: its name, how to make it, and what its refusal must contain.
type Case<'c> = (&'c str, &'c dyn Fn(&Path), [&'c str; 3]);

/// Asserts that `arguments`, followed by the folder's name, are refused in each case.
#[track_caller]
fn assert_refused(arguments: &[&str], cases: &[Case<'_>]) {
    for (name, make, parts) in cases {
        let folder = Folder::with_plan("");
        fs::create_dir(folder.path().join(name)).unwrap();
        make(&folder.path().join(name));
        let output = folder.run(&[arguments, &[name]].concat());
        assert_code(&output, 2);
        let said = told(&output);
        let has_all = parts.iter().all(|part| said.contains(part));
        assert!(
            has_all && output.stdout.is_empty(),
            "{arguments:?} {name}: {said}"
        );
    }
}

#[test]
fn bad_folder_is_refused_with_its_place_and_a_cure() {
    let result = golden("result-v1.json");
    let cut = file("result.json", &result[..result.len() / 2]);
    let other = file("result.json", "{\"a\":1}");
    let newer_run = newer("result-v1.json");
    let newer_run = file("result.json", &newer_run);
    let log = file("run.log", "no log");
    let newer_campaign = newer("campaign-v1.json");
    let newer_campaign = file("campaign.json", &newer_campaign);
    let broken = file("campaign.json", "{\"schema\": 1,");
    let result_pipe = |folder: &Path| pipe(&folder.join("result.json"));
    let campaign_pipe = |folder: &Path| pipe(&folder.join("campaign.json"));
    let device = |folder: &Path| symlink("/dev/zero", folder.join("result.json")).unwrap();
    let inner = |folder: &Path| fs::create_dir(folder.join("result.json")).unwrap();
    let cases: [Case<'_>; 11] = [
        (
            "empty",
            &|_| {},
            ["empty/result.json: ", "no such file", CURE],
        ),
        ("cut", &cut, ["cut/result.json: ", "cut off: EOF", AGAIN]),
        (
            "other",
            &other,
            ["other/result.json: ", "missing field", AGAIN],
        ),
        (
            "newer",
            &newer_run,
            ["newer/result.json: ", "has schema 2", NEWER],
        ),
        (
            "pipe",
            &result_pipe,
            ["pipe/result.json: ", "it is a pipe", CURE],
        ),
        (
            "device",
            &device,
            ["device/result.json: ", "it is a pipe", CURE],
        ),
        (
            "inner",
            &inner,
            ["inner/result.json: ", "it is a folder", CURE],
        ),
        ("log", &log, ["log/run.log: ", "is no run log", CURE]),
        (
            "runs",
            &newer_campaign,
            ["runs/campaign.json: ", "has schema 2", NEWER],
        ),
        (
            "broken",
            &broken,
            ["broken/campaign.json: ", "cut off: EOF", AGAIN],
        ),
        (
            "wait",
            &campaign_pipe,
            ["wait/campaign.json: ", "it is a pipe", CURE],
        ),
    ];
    for command in ["report", "explain"] {
        assert_refused(&[command], &cases);
    }
    let whole = Folder::with_plan("");
    fs::write(whole.path().join("result.json"), &result).unwrap();
    assert_refused(&["compare", whole.path().to_str().unwrap()], &cases);
    let baseline = ["--format", "markdown", whole.path().to_str().unwrap()];
    assert_refused(
        &[&["report"], &baseline[..], &["--baseline"]].concat(),
        &cases,
    );
}

#[test]
fn log_that_cannot_be_replayed_is_refused_with_its_place_and_a_cure() {
    let log = file("run.log", "no log");
    let log_pipe = |folder: &Path| pipe(&folder.join("run.log"));
    let cases: [Case<'_>; 3] = [
        ("empty", &|_| {}, ["empty/run.log: ", "no such file", CURE]),
        ("log", &log, ["log/run.log: ", "is no run log", CURE]),
        ("pipe", &log_pipe, ["pipe/run.log: ", "it is a pipe", CURE]),
    ];
    assert_refused(&["report", "--remake"], &cases);
}

#[test]
fn campaign_of_another_hand_leads_nowhere_else() {
    let campaign = |name: &'static str| {
        let known = golden("campaign-v1.json");
        let mut campaign: serde_json::Value = serde_json::from_str(&known).unwrap();
        campaign["searches"] = serde_json::json!([]);
        campaign["scalings"] = serde_json::json!([]);
        for run in campaign["runs"].as_array_mut().unwrap() {
            run["folder"] = name.into();
            run["state"] = "complete".into();
        }
        let text = campaign.to_string();
        move |folder: &Path| {
            let whole = folder.with_file_name("whole");
            fs::create_dir(&whole).unwrap();
            fs::write(whole.join("result.json"), golden("result-v1.json")).unwrap();
            symlink(whole.join("result.json"), folder.join("run")).unwrap();
            fs::write(folder.join("campaign.json"), &text).unwrap();
        }
    };
    let [above, root, none, gone] = ["../whole", "/etc", "", "run"].map(campaign);
    let other = "names the run";
    let cases: [Case<'_>; 4] = [
        (
            "above",
            &above,
            ["above/campaign.json: ", other, "\"../whole\""],
        ),
        ("root", &root, ["root/campaign.json: ", other, "\"/etc\""]),
        ("none", &none, ["none/campaign.json: ", other, "\"\""]),
        (
            "gone",
            &gone,
            ["gone/run/result.json: ", "not a directory", CURE],
        ),
    ];
    for (name, make, parts) in &cases {
        assert_refused(&["compare", name], &[(name, make, *parts)]);
    }
}

#[test]
fn pipe_that_is_named_itself_is_read() {
    let folder = Folder::with_plan("");
    let path = folder.path().join("pipe");
    pipe(&path);
    let text = golden("result-v1.json");
    let writer = std::thread::spawn(move || fs::write(path, text).unwrap());
    assert_code(&folder.run(&["report", "pipe"]), 0);
    writer.join().unwrap();
}

#[test]
fn name_of_a_folder_does_not_reach_the_terminal_as_it_is() {
    let name = "a\u{1b}[31mb";
    let cases: [Case<'_>; 1] = [(name, &|_| {}, ["a?[31mb/result.json: ", "no such", CURE])];
    assert_refused(&["report"], &cases);
    assert_refused(&["explain"], &cases);
}

#[test]
fn manual_goes_into_a_folder_only() {
    let folder = Folder::with_plan("");
    let output = folder.run(&["man", "plan.toml"]);
    assert_code(&output, 4);
    let said = told(&output);
    let parts = [
        "to plan.toml; ",
        "name a folder that can be written",
        "File exists",
    ];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
}

/// This failed once: the search for the run that a plan is of tried every path that links make.
#[test]
fn links_that_lead_back_are_not_followed() {
    let folder = Folder::with_plan("");
    let saved = folder.path().join("saved");
    fs::create_dir(&saved).unwrap();
    fs::write(saved.join("campaign.json"), "{}").unwrap();
    let plan = "target.url = \"https://127.0.0.1:9/\"\ntls.ca = \"gone.pem\"\n";
    fs::write(saved.join("plan.toml"), plan).unwrap();
    for name in ["a", "b"] {
        symlink(".", saved.join(name)).unwrap();
    }
    let output = folder.run(&["check", "saved/plan.toml"]);
    assert_code(&output, 2);
    assert!(told(&output).contains("gone.pem"), "{}", told(&output));
}
