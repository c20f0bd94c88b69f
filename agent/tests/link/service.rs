//! The binary as a service (`Type=notify`): what it tells the service manager.

use crate::coordinator::{Coordinator, PATIENCE};
use crate::terminal::Running;
use proto::Notice;
use proto::from_coordinator::Message as Down;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Command, Stdio};
use tokio::net::UnixDatagram;
use tokio::time::timeout;

/// The next message for the manager. Each may hold several lines.
async fn next(manager: &UnixDatagram) -> String {
    let mut message = [0; 8192];
    let received = timeout(PATIENCE, manager.recv(&mut message)).await;
    let length = received.expect("a message in time").unwrap();
    String::from_utf8(message[..length].to_vec()).unwrap()
}

/// Waits for a message that contains `words`.
async fn wait_for(manager: &UnixDatagram, words: &str) -> String {
    loop {
        let message = next(manager).await;
        if message.contains(words) {
            return message;
        }
    }
}

fn start(command: &str, coordinator: &Coordinator, socket: &Path) -> Running {
    let child = Command::new(env!("CARGO_BIN_EXE_agent"))
        .args([command, &coordinator.address.to_string()])
        .env("CANNONADE_TOKEN", coordinator.token.reveal())
        .env("NOTIFY_SOCKET", socket)
        .stderr(Stdio::null())
        .spawn();
    Running(child.unwrap())
}

#[tokio::test]
async fn manager_knows_that_the_service_began_how_it_stands_and_that_it_ends() {
    for command in ["join", "monitor"] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("notify");
        let manager = UnixDatagram::bind(&socket).unwrap();
        let mut coordinator = Coordinator::start().await;
        let mut service = start(command, &coordinator, &socket);
        // No coordinator has welcomed it yet: a machine's boot does not wait for a coordinator.
        wait_for(&manager, "READY=1\n").await;

        let (stream, _) = coordinator.welcome(None).await;
        wait_for(&manager, "STATUS=agent: joined (coordinator 1)").await;
        let text = "go on\nMAINPID=1".to_owned();
        stream.say(Down::Notice(Notice { text })).await;
        let told = wait_for(&manager, "go on").await;
        assert_eq!(told, "STATUS=agent: go on MAINPID=1\n", "one assignment");

        let id = Pid::from_child(&service.0);
        kill_process(id, Signal::TERM).unwrap();
        wait_for(&manager, "STOPPING=1\n").await;
        let status = tokio::task::spawn_blocking(move || service.0.wait());
        assert!(status.await.unwrap().unwrap().success(), "{command}");
    }
}
