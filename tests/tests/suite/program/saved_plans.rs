//! The plan that a run leaves in its folder can be run again, from any folder.

use crate::program::command::{Folder, Running, assert_code, told};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const PLAN: &str = r#"
name = "single"
target.builtin = { body_bytes = 100 }
load = { connections = 2, requests = 20 }
request = { method = "POST", body_file = "data/body" }
tls.client_certificates = "ids"
"#;

const CAMPAIGN: &str = r#"
name = "campaign"
target.builtin = { body_bytes = 100 }
load = { connections = 2, requests = 20 }
request = { method = "POST", body_file = "data/body" }
variants = { a = {}, b = { "load.connections" = 4 } }
"#;

/// Makes a folder with the plan in `plans`, beside the files that it names.
fn folder(plan: &str) -> Folder {
    let folder = Folder::with_plan("");
    let plans = folder.path().join("plans");
    for part in ["data", "ids"] {
        fs::create_dir_all(plans.join(part)).unwrap();
    }
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    fs::write(plans.join("ids/a.pem"), certificate).unwrap();
    fs::write(plans.join("ids/a.key"), key.serialize_pem()).unwrap();
    fs::write(plans.join("data/body"), "twelve bytes").unwrap();
    fs::write(plans.join("plan.toml"), plan).unwrap();
    folder
}

/// Runs `coordinator` in the root folder.
fn from_elsewhere(folder: &Folder, arguments: &[&str]) -> Output {
    Running::new(folder.command(arguments).current_dir("/")).end()
}

/// Starts `plan` from the root folder as the run `name`, and returns its folder.
#[track_caller]
fn started(folder: &Folder, plan: &Path, name: &str) -> PathBuf {
    let runs = folder.path().join("runs");
    let [plan, output] = [plan, &runs].map(|path| path.to_str().unwrap());
    let arguments = ["start", "--local", "--output", output, "--run", name, plan];
    assert_code(&from_elsewhere(folder, &arguments), 0);
    runs.join(name)
}

fn sent(run: &Path) -> u64 {
    let result = fs::read(run.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    result["measured"]["operations"]["ok"].as_u64().unwrap()
}

#[test]
fn saved_plan_finds_its_files_where_they_were() {
    for (plan, part) in [(PLAN, ""), (CAMPAIGN, "01-a-1")] {
        let folder = folder(plan);
        let first = started(&folder, &folder.path().join("plans/plan.toml"), "first");
        let second = started(&folder, &first.join("plan.toml"), "second");
        let third = started(&folder, &second.join("plan.toml"), "third");
        for run in [&first, &second, &third] {
            assert_eq!(sent(&run.join(part)), 20, "{}", run.display());
        }
        // A folder of a plan that has its runs beside it is not the folder of a run.
        let other = folder.path().join("plan.toml");
        fs::write(&other, plan).unwrap();
        let output = from_elsewhere(&folder, &["check", other.to_str().unwrap()]);
        assert_code(&output, 2);
        assert!(!told(&output).contains("saved plan"), "{}", told(&output));
    }
}

#[test]
fn file_that_is_gone_is_said_with_both_places_and_the_cure() {
    let folder = folder(PLAN);
    let first = started(&folder, &folder.path().join("plans/plan.toml"), "first");
    let body = folder.path().join("plans/data/body");
    fs::remove_file(&body).unwrap();
    let saved = first.join("plan.toml");
    let output = from_elsewhere(&folder, &["start", "--local", saved.to_str().unwrap()]);
    assert_code(&output, 2);
    let said = told(&output);
    let place = folder.path().join("plans").display().to_string();
    for part in [
        "\"data/body\" cannot be read: no such file",
        &format!("where the run's plan was ({place})"),
        "put it beside this plan, or back",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    fs::create_dir(first.join("data")).unwrap();
    fs::write(first.join("data/body"), "beside").unwrap();
    started(&folder, &saved, "second");
}

#[test]
fn saved_plan_of_quick_names_its_files_absolutely() {
    let folder = folder(PLAN);
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let url = server.url("/");
    let quick = ["quick", "--quiet", "-n", "20", "-c", "2", "-m", "POST"];
    let files = ["-D", "plans/data/body", "--output", "quick", &url];
    assert_code(&folder.run(&[&quick[..], &files].concat()), 0);
    let made = folder.path().join("quick/latest");
    let again = started(&folder, &made.join("plan.toml"), "again");
    assert_eq!((sent(&made), sent(&again)), (20, 20));
}
