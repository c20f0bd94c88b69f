//! The binary calibrates. When it joins, it sends what it kept, if that still holds.

use crate::coordinator::{Coordinator, PATIENCE};
use crate::terminal::Running;
use plan::{CalibratedWork, Calibration};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// Held by a test that keeps the CPUs busy, which would spoil what another one measures.
static CPUS: Mutex<()> = Mutex::const_new(());

/// The calibration that an agent with this home sends when it joins, and the first thing it says.
async fn sent(home: &Path, more: &[&str]) -> (Vec<u8>, String) {
    let mut coordinator = Coordinator::start().await;
    let child = Command::new(env!("CARGO_BIN_EXE_agent"))
        .args(["join", &coordinator.address.to_string()])
        .args(more)
        .env("CANNONADE_TOKEN", coordinator.token.reveal())
        .env("XDG_STATE_HOME", home)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut agent = Running(child);
    let (_stream, hello) = coordinator.welcome(None).await;
    let said = BufReader::new(agent.0.stderr.take().unwrap());
    let first = tokio::task::spawn_blocking(|| said.lines().next());
    let line = timeout(PATIENCE, first).await.unwrap().unwrap();
    (hello.calibration.to_vec(), line.unwrap().unwrap())
}

#[tokio::test]
async fn what_is_calibrated_is_sent_while_it_holds() {
    let _cpus = CPUS.lock().await;
    let home = tempfile::tempdir().unwrap();
    assert!(sent(home.path(), &[]).await.0.is_empty(), "there is none");
    let output = Command::new(env!("CARGO_BIN_EXE_agent"))
        // Kept even if something else runs beside the tests.
        .args(["calibrate", "--seconds", "0.1", "--force"])
        .env("XDG_STATE_HOME", home.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let file = home.path().join("cannonade/calibration.json");
    let kept = std::fs::read(&file).unwrap();
    let calibration = Calibration::decode(&kept).unwrap();
    assert_eq!(calibration.rows.len(), 12);
    let cpu_ns = |work| calibration.row(work).unwrap().cpu_ns;
    let full =
        |row: &&plan::CalibrationRow| matches!(row.work, CalibratedWork::FullHandshake { .. });
    let request = cpu_ns(CalibratedWork::Request);
    assert!(cpu_ns(CalibratedWork::Byte) < request);
    let handshakes = calibration.rows.iter().filter(full);
    assert!(handshakes.clone().count() == 8 && handshakes.clone().all(|row| row.cpu_ns > request));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("full handshakes (X25519MLKEM768, rsa2048)"),
        "{text}"
    );

    assert_eq!(sent(home.path(), &[]).await.0, kept);

    let elsewhere = home.path().join("elsewhere.json");
    let named = elsewhere.to_str().unwrap();
    let another = String::from_utf8(kept)
        .unwrap()
        .replace("\"kernel\": \"", "\"kernel\": \"2.");
    for (content, why) in [
        (Some(another.as_str()), "was measured with the kernel 2."),
        (Some("{"), "is not a calibration"),
        (None, "No such file"),
    ] {
        let _ = std::fs::remove_file(&elsewhere);
        if let Some(content) = content {
            std::fs::write(&elsewhere, content).unwrap();
        }
        let (bytes, line) = sent(home.path(), &["--calibration", named]).await;
        assert!(bytes.is_empty() && line.contains(why), "{line}");
    }
}

#[test]
fn figures_of_a_busy_machine_are_not_kept_unless_that_is_wanted() {
    let _cpus = CPUS.blocking_lock();
    let home = tempfile::tempdir().unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get();
    let busy: Vec<Running> = (0..2 * cpus)
        .map(|_| {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
        })
        .map(|child| Running(child.unwrap()))
        .collect();
    let output = Command::new(env!("CARGO_BIN_EXE_agent"))
        .args(["calibrate", "--seconds", "0.6"])
        .env("XDG_STATE_HOME", home.path())
        .output()
        .unwrap();
    drop(busy);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(
        said.contains("nothing is kept") && said.contains("--force"),
        "{said}"
    );
    assert!(!home.path().join("cannonade").exists(), "{said}");
}

#[test]
fn seconds_that_cannot_be_are_refused() {
    for seconds in ["0", "-1", "61", "NaN", "two"] {
        let output = Command::new(env!("CARGO_BIN_EXE_agent"))
            .args(["calibrate", &format!("--seconds={seconds}")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("write seconds from 0.1 to 60"), "{said}");
    }
}
