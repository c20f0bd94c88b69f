//! Agents that may not join: with a wrong token, a mistyped one, none, or with another version of
//! the wire.

use crate::faults::hand_made::Attached;
use interop::{Agent, Invited};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

const PLAN: &str =
    "target.url = \"http://127.0.0.1:1/\"\nload = { connections = 1, requests = 1 }\n";

fn listening(state: &Path) -> Invited {
    Invited::start(1, interop::free_address(), state, PLAN)
}

/// Asserts that the agent ends by itself with exit code 4, and one line with all of these words.
fn assert_turned_away(case: &str, mut agent: Agent, words: &[&str]) {
    let status = agent.wait();
    let output = agent.output();
    assert_eq!(status.code(), Some(4), "{case}: {output}");
    assert!(!output.contains("panicked"), "{case}: {output}");
    assert!(
        output
            .lines()
            .any(|line| words.iter().all(|word| line.contains(word))),
        "{case}: no line has {words:?}:\n{output}"
    );
}

#[test]
fn agents_with_a_token_that_is_wrong_in_any_way_are_turned_away_with_a_reason() {
    let (state, other_state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (coordinator, other) = (listening(state.path()), listening(other_state.path()));
    let (right, wrong) = (&coordinator.token, &other.token);
    let mut mistyped = right.clone().into_bytes();
    let at = mistyped.len() / 2;
    mistyped[at] = if mistyped[at] == b'a' { b'b' } else { b'a' };
    let mistyped = String::from_utf8(mistyped).unwrap();
    let join = |token: &str| Agent::join(coordinator.address, token, &[]);
    assert_turned_away(
        "of another coordinator",
        join(wrong),
        &["token", "another authority"],
    );
    assert_turned_away("mistyped", join(&mistyped), &["token", "mistyped"]);
    assert_turned_away(
        "cut",
        join(&right[..right.len() - 3]),
        &["token", "characters"],
    );
    assert_turned_away("no token", join("swordfish"), &["token", "cnn1_"]);
    assert!(
        !coordinator.coordinator.stderr().contains("joined"),
        "{}",
        coordinator.coordinator.stderr()
    );
}

#[test]
fn agent_waits_for_a_coordinator_that_is_not_there_yet() {
    let state = tempfile::tempdir().unwrap();
    let first = listening(state.path());
    let (address, token) = (first.address, first.token.clone());
    drop(first);
    let agent = Agent::join(address, &token, &["--name", "early"]);
    agent.wait_for("not joined", 1);
    let second = Invited::start(1, address, state.path(), PLAN);
    let finished = second.coordinator.wait();
    assert_eq!(
        finished.document().agents[0].name,
        "early",
        "{finished}\n{}",
        agent.output()
    );
}

#[test]
fn agents_of_one_name_are_told_apart() {
    let state = tempfile::tempdir().unwrap();
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let plan = PLAN.replace("= 1", "= 2");
    let invited = Invited::start(2, listen, state.path(), &plan);
    let _agents = ["web", "web"].map(|name| invited.agent(name));
    let finished = invited.coordinator.wait();
    for told in ["agent web joined (1 of 2)", "agent web (2) joined (2 of 2)"] {
        assert!(finished.stderr.contains(told), "{told}: {finished}");
    }
}

#[test]
fn agent_of_another_version_of_the_wire_is_refused_with_a_reason() {
    let state = tempfile::tempdir().unwrap();
    let coordinator = listening(state.path());
    for protocol in [proto::PROTOCOL + 1, 0] {
        let Some(mut attached) = Attached::new(coordinator.address, &coordinator.token) else {
            return;
        };
        attached.say(&proto::Hello {
            protocol,
            version: "99.0.0".to_owned(),
            agent_id: vec![7; 16].into(),
            ..Default::default()
        });
        let refused = attached.refusal();
        assert!(!refused.r#final, "it stays for the next one: {refused:?}");
        assert!(
            refused.reason.contains("version") && refused.reason.contains("99.0.0"),
            "{refused:?}"
        );
    }
    assert!(
        !coordinator.coordinator.stderr().contains("joined"),
        "{}",
        coordinator.coordinator.stderr()
    );
}
