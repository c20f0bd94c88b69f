//! The binary with a terminal that is held (Ctrl-S).

use crate::coordinator::{Coordinator, PATIENCE};
use proto::Notice;
use proto::from_coordinator::Message as Down;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::timeout;

const BEATS_ASIDE: Duration = Duration::from_millis(300);

/// Ends the process with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn beats_go_on_while_nobody_reads_what_the_agent_says() {
    let mut coordinator = Coordinator::start().await;
    let child = Command::new(env!("CARGO_BIN_EXE_agent"))
        .args(["join", &coordinator.address.to_string()])
        .env("CANNONADE_TOKEN", coordinator.token.reveal())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let agent = Running(child);
    let (mut stream, _) = coordinator.welcome(None).await;
    let beats = async {
        // Many times what the pipe holds.
        let text = "x".repeat(4_000);
        for _ in 0..200 {
            stream
                .say(Down::Notice(Notice { text: text.clone() }))
                .await;
        }
        stream.beats.clear();
        while stream.beats.len() < 3 {
            // Only beats arrive, and are answered while the next message is waited for.
            let _ = timeout(BEATS_ASIDE, stream.next()).await;
        }
    };
    timeout(PATIENCE, beats).await.expect("beats go on");
    drop(agent);
}
