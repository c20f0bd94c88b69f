//! Agents that joined with a token stay, and serve the coordinator's next run.

use crate::fleet::shares;
use interop::{Invited, Nginx, NginxOptions, NginxServer, Pki, Signal, plan};

const REQUESTS: u64 = 41;
const NAMES: [&str; 2] = ["one", "two"];

#[test]
fn agents_stay_and_serve_the_next_start_with_the_same_state() {
    let (pki, state) = (Pki::new(), tempfile::tempdir().unwrap());
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let load = format!("load = {{ connections = 4, requests = {REQUESTS} }}\n");
    let text = load
        + &plan(
            &nginx.url(NginxServer::Tls13, "/"),
            &pki,
            "connection.requests = 1\n",
        );

    let first = Invited::start(2, interop::free_address(), state.path(), &text);
    let mut agents = NAMES.map(|name| first.agent(name));
    let (address, token) = (first.address, first.token);
    let mut seen = Vec::new();
    seen.push(first.coordinator.wait().expect(0));
    let second = Invited::start(2, address, state.path(), &text);
    assert_eq!(
        (second.address, &second.token),
        (address, &token),
        "the state folder holds who they know"
    );
    seen.push(second.coordinator.wait().expect(0));

    for (number, finished) in (1..).zip(&seen) {
        let document = finished.clean().document();
        let mut names: Vec<&str> = document
            .agents
            .iter()
            .map(|agent| agent.name.as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(names, NAMES);
        let ended: Vec<u64> = document
            .by_agent
            .iter()
            .map(|group| group.figures.operations.ok)
            .collect();
        assert_eq!(ended, shares(REQUESTS, 4, 2));
        assert!(
            nginx.wait_for_requests(REQUESTS as usize * number).len() >= REQUESTS as usize * number
        );
        assert!(
            !finished.stderr.contains(&token) && !finished.stdout.contains(&token),
            "the token has a file of its own"
        );
    }
    assert_eq!(
        (nginx.requests().len(), nginx.status().accepted),
        (2 * REQUESTS as usize, 2 * REQUESTS)
    );
    assert_ne!(seen[0].document().run.id, seen[1].document().run.id);
    for agent in &mut agents {
        assert!(agent.is_alive(), "{}", agent.output());
        agent.signal(Signal::TERM);
        assert!(agent.wait().success(), "{}", agent.output());
        assert_eq!(
            agent.output().matches("everything is delivered").count(),
            2,
            "{}",
            agent.output()
        );
        assert!(
            agent
                .output()
                .contains("agent: run over, waiting for the next")
                && !agent.output().contains("not joined"),
            "{}",
            agent.output()
        );
    }
}
