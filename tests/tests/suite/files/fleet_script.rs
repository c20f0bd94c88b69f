//! `examples/fleet.sh`, with a stand-in for ssh(1) whose machines are folders.

use crate::files::of_the_repository;
use interop::{PythonServer, binary};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the command in the machine's folder, as sshd(8) does in the home of its user.
const SSH: &str = r#"#!/bin/sh
machine=$1
shift
mkdir -p "$MACHINES/$machine"
cd "$MACHINES/$machine"
HOME=$PWD exec sh -c "$*"
"#;

const PLAN: &str = r#"
name = "fleet"
target.url = "URL"
load = { rate = "50/s", duration = "2s" }
"#;

/// Runs the script in `folder` with agents on `machines`.
fn run(folder: &Path, plan: &str, machines: &[&str]) -> Output {
    let ssh = folder.join("ssh");
    fs::write(&ssh, SSH).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("plan.toml"), plan).unwrap();
    let programs = binary("coordinator").parent().unwrap().to_owned();
    let path = [folder, &programs].map(|folder| folder.display().to_string());
    let port = interop::free_address().port();
    Command::new(of_the_repository("examples/fleet.sh"))
        .args(["127.0.0.1", "plan.toml"])
        .args(machines)
        .current_dir(folder)
        .env("MACHINES", folder.join("machines"))
        .env(
            "PATH",
            format!("{}:{}", path.join(":"), std::env::var("PATH").unwrap()),
        )
        .env("PORT", port.to_string())
        .env("XDG_STATE_HOME", folder.join("state"))
        .output()
        .unwrap()
}

#[test]
fn agents_of_all_machines_share_a_run() {
    let Some(server) = PythonServer::start(IpAddr::V4(Ipv4Addr::LOCALHOST), &["lock", "1"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let plan = PLAN.replace("URL", &server.url());
    let output = run(folder.path(), &plan, &["load1", "load2"]);
    let result = fs::read(folder.path().join("runs/latest/result.json"));
    let result = result.unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    let agents = result["agents"].as_array().unwrap();
    let mut names: Vec<_> = agents.iter().map(|agent| agent["name"].as_str()).collect();
    // Agents stand in the order in which they joined.
    names.sort_unstable();
    assert_eq!(names, [Some("load1"), Some("load2")], "{}", told(&output));
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{}",
        told(&output)
    );
}

#[test]
fn wrong_plan_is_told_before_a_machine_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &PLAN.replace("50/s", "x"), &["load1"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("load.rate"), "{}", told(&output));
    assert!(!folder.path().join("machines").exists());
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
