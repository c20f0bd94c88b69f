//! The example of `examples/nginx` in which the server gets another key for each cell of a matrix,
//! run as the comment in its plan says.

use crate::files::{of_the_repository, read};
use interop::{Process, binary, require, wait_until};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

/// The lines of a command in a plan's comment, uncommented.
fn command_of(plan: &str) -> String {
    let lines = plan.lines().filter_map(|line| line.strip_prefix("#     "));
    lines.map(|line| format!("{line}\n")).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            // With its permissions, since scripts must be executable; and by another process, since
            // a program that another test just begins would hold a file that this one writes.
            let copied = Command::new("cp").arg("-p").arg(&path).arg(to).status();
            assert!(copied.unwrap().success());
        }
    }
}

#[test]
fn server_has_the_key_and_the_suite_of_each_cell() {
    if require("nginx").is_none() || require("openssl").is_none() || require("pgrep").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let examples = folder.path().join("examples/nginx");
    copy(&of_the_repository("examples/nginx"), &examples);
    let plan = read(examples.join("keys.toml"));
    let short = plan
        .replace("duration = \"4s\"", "requests = 40")
        .replace("\"1s\"", "\"100ms\"");
    assert!(short.contains("requests = 40"), "{plan}");
    fs::write(examples.join("keys.toml"), short).unwrap();
    let _nginx = ExampleServer::start(&examples);

    let output = Command::new("sh")
        .args(["-c", &command_of(&plan)])
        .current_dir(folder.path())
        .env("PATH", path())
        .output()
        .unwrap();
    // 3: a busy machine may have been the limit.
    let code = output.status.code();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(code, Some(0 | 3)), "{told}");
    let campaign = fs::read_dir(folder.path().join("runs")).unwrap();
    let campaign = campaign.map(|entry| entry.unwrap().path());
    let campaign = campaign.filter(|path| !path.is_symlink()).last().unwrap();
    let mut runs = 0;
    for (key, named) in [("rsa", "RSA"), ("ecdsa", "ECDSA")] {
        for suite in ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"] {
            for entry in fs::read_dir(&campaign).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if !(name.contains(&format!("-{key},")) && name.contains(suite)) {
                    continue;
                }
                runs += 1;
                let result = fs::read(path.join("result.json")).unwrap();
                let measured = report::read(&result).unwrap().measured;
                assert!(measured.operations.ok > 0, "{name}");
                let keys: Vec<_> = measured.chains.iter().map(|chain| &chain.key).collect();
                assert!(
                    keys.iter().all(|key| key.starts_with(named)),
                    "{name}: {keys:?}"
                );
                let suites: Vec<_> = measured.negotiated.iter().map(|it| &it.suite).collect();
                assert!(
                    suites.iter().all(|agreed| *agreed == suite),
                    "{name}: {suites:?}"
                );
            }
        }
    }
    assert_eq!(runs, 8, "{told}");
}

/// The nginx of `start.sh`. If it were killed, the master would leave a worker behind that holds
/// its ports.
struct ExampleServer {
    process: Process,
}

impl ExampleServer {
    fn start(examples: &Path) -> ExampleServer {
        let mut start = Command::new(examples.join("start.sh"));
        start.env("PATH", path());
        let process = Process::start(&mut start, &examples.join("output"));
        let server = ExampleServer { process };
        let pid = examples.join("run/nginx.pid");
        wait_until("nginx", || {
            pid.exists()
                .then(|| TcpStream::connect("127.0.0.1:8443").ok())?
        });
        server
    }
}

impl Drop for ExampleServer {
    fn drop(&mut self) {
        let pid = self.process.id().to_string();
        // It fails only if nginx has ended.
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        wait_until("the end of nginx", || self.process.ended());
    }
}

/// A PATH that begins with the program under test, and contains Debian's folder of nginx.
fn path() -> String {
    let programs = binary("coordinator").parent().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}:/usr/sbin", programs.display())
}
