//! Ports and folders that cannot be used.

use crate::faults::assert_refused;
use interop::{CoordinatorCommand, Invited};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

const PLAN: &str =
    "target.url = \"http://127.0.0.1:1/\"\nload = { connections = 1, requests = 1 }\n";

#[test]
fn port_in_use_is_told() {
    let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (address, state) = (
        holder.local_addr().unwrap().to_string(),
        tempfile::tempdir().unwrap(),
    );
    let arguments = [
        "--listen",
        &address,
        "--state",
        state.path().to_str().unwrap(),
    ];
    let finished = CoordinatorCommand::start(&arguments, PLAN).run();
    assert_refused(
        &finished,
        4,
        &[&address, "another program does", "--listen"],
    );
    assert_eq!(finished.run_folder(), None);
}

#[test]
fn address_of_another_machine_is_told() {
    let state = tempfile::tempdir().unwrap();
    let arguments = [
        "--listen",
        "192.0.2.1:7711",
        "--state",
        state.path().to_str().unwrap(),
    ];
    assert_refused(
        &CoordinatorCommand::start(&arguments, PLAN).run(),
        4,
        &["192.0.2.1:7711", "--listen"],
    );
}

#[test]
fn run_folder_that_cannot_be_written_is_told_before_any_load() {
    // Root may write anywhere, but not even root can make a folder below a file, or in /proc.
    for output in ["plan.toml/runs", "/proc/runs"] {
        let arguments = ["start", "--local", "--output", output, "plan.toml"];
        let finished = CoordinatorCommand::new(&arguments)
            .file("plan.toml", PLAN.as_bytes())
            .run();
        assert_refused(&finished, 4, &[output, "--output"]);
        assert_eq!(finished.stdout, "", "nothing has run");
    }
}

#[test]
fn state_folder_that_cannot_be_written_is_told() {
    let arguments = ["--listen", "127.0.0.1:0", "--state", "plan.toml/state"];
    assert_refused(
        &CoordinatorCommand::start(&arguments, PLAN).run(),
        4,
        &["plan.toml/state", "--state"],
    );
}

#[test]
fn state_folder_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let state = tempfile::tempdir().unwrap();
    let first = Invited::start(
        1,
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        state.path(),
        PLAN,
    );
    drop(first);
    let secrets: Vec<_> = std::fs::read_dir(state.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    for secret in &secrets {
        assert_eq!(
            std::fs::metadata(secret).unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            secret.display()
        );
        std::fs::set_permissions(secret, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--state",
        state.path().to_str().unwrap(),
    ];
    assert_refused(
        &CoordinatorCommand::start(&arguments, PLAN).run(),
        4,
        &["may be read by others", "chmod 600"],
    );
}
