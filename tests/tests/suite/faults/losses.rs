//! Processes that are killed in the middle of a run: the load ends with the lease, and the result
//! says what is missing.

use interop::{
    Agent, CoordinatorCommand, Invited, Nginx, NginxOptions, NginxServer, Pki, Signal, plan,
    wait_until,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use target::{Config, RunningTarget};

/// The firing lease and one second, as the design promises.
const LOAD_MAX: Duration = Duration::from_secs(6);

/// Long enough never to end by itself here.
const LONG: &str = "load = { connections = 4, duration = \"10m\", think_time = \"5ms\" }\n";

#[test]
fn load_ends_within_the_lease_and_a_second_where_the_coordinator_is_killed() {
    let (pki, state) = (Pki::new(), tempfile::tempdir().unwrap());
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let text = plan(&nginx.url(NginxServer::Plain, "/"), &pki, LONG);
    let invited = Invited::start(
        2,
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        state.path(),
        &text,
    );
    let mut agents = ["one", "two"].map(|name| invited.agent(name));
    let folder = invited.coordinator.run_folder();
    let result = || Some(report::read(&std::fs::read(folder.join("result.json")).ok()?).unwrap());
    // The result in the folder is replaced every few seconds.
    let saved = wait_until("a result with figures", || {
        Some(result()?.measured.operations.ok).filter(|&ok| ok > 0)
    });

    let killed_at = Instant::now();
    invited.coordinator.signal(Signal::KILL);
    // The load continues for most of the lease, and then ends for good.
    let (mut requests, mut last_at) = (nginx.status().requests, killed_at);
    let (mut looked_at, mut seen_at) = (killed_at, killed_at);
    while seen_at.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(20));
        // What is new came after the look before this one.
        let before = std::mem::replace(&mut looked_at, Instant::now());
        let now = nginx.status().requests;
        if now > requests {
            (requests, last_at, seen_at) = (now, before, Instant::now());
        }
        assert!(killed_at.elapsed() < LOAD_MAX * 2, "the load does not end");
    }
    println!(
        "load went on for {:?} after the coordinator was killed",
        last_at - killed_at
    );
    assert!(last_at - killed_at < LOAD_MAX, "{:?}", last_at - killed_at);
    for agent in &mut agents {
        assert!(agent.is_alive(), "{}", agent.output());
        assert!(agent.output().contains("lease"), "{}", agent.output());
    }

    let report = CoordinatorCommand::new(&["report", folder.to_str().unwrap()])
        .run()
        .expect(0);
    assert!(report.clean().stdout.contains("INCOMPLETE"), "{report}");
    let document = result().unwrap();
    assert_eq!(document.run.state, analysis::RunState::Incomplete);
    assert!(
        document.measured.operations.ok >= saved && document.agents.len() == 2,
        "{report}"
    );
}

#[test]
fn local_agents_do_not_outlive_a_coordinator_that_is_killed() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let coordinator =
        CoordinatorCommand::local(2, &format!("target.url = {:?}\n{LONG}", server.url("/")))
            .spawn();
    wait_until("load", || (server.counts().requests > 100).then_some(()));
    let children = coordinator.children();
    assert_eq!(children.len(), 2);
    coordinator.signal(Signal::KILL);
    let is_gone = |id: &u32| !std::path::Path::new(&format!("/proc/{id}/exe")).exists();
    wait_until("the agents' end", || {
        children.iter().all(is_gone).then_some(())
    });
}

#[test]
fn agent_that_is_killed_makes_the_run_invalid_and_leaves_a_visible_gap() {
    let (server, state) = (
        RunningTarget::new(Config::plain()).unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let text = format!(
        "target.url = {:?}\nload = {{ connections = 4, duration = \"10s\", think_time = \"5ms\" \
         }}\nthresholds.\"errors.share\" = \"<= 0.5\"\n",
        server.url("/")
    );
    let invited = Invited::start(
        2,
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        state.path(),
        &text,
    );
    let agents: [Agent; 2] = ["stays", "goes"].map(|name| invited.agent(name));
    wait_until("load for a second", || {
        (server.counts().requests > 600).then_some(())
    });
    agents[1].signal(Signal::KILL);
    let finished = invited.coordinator.wait().expect(3);
    let document = finished.clean().document();
    assert_eq!(document.verdict.verdict, analysis::Verdict::Invalid);
    let lost = document
        .agents
        .iter()
        .find(|agent| agent.name == "goes")
        .unwrap();
    assert_eq!(
        (lost.ended, lost.totals_match),
        (Some(analysis::AgentEndCause::Lost), None),
        "{lost:?}"
    );
    let kept = document
        .agents
        .iter()
        .find(|agent| agent.name == "stays")
        .unwrap();
    assert_eq!(
        (kept.ended, kept.totals_match),
        (Some(analysis::AgentEndCause::Plan), Some(true)),
        "{kept:?}"
    );
    assert!(
        document
            .verdict
            .evidence
            .iter()
            .any(|line| line.contains("goes") && line.contains("lost")),
        "{:?}",
        document.verdict
    );
    assert!(
        finished.stdout.contains("invalid") && finished.stdout.contains("goes"),
        "{finished}"
    );
    // The other agents fired to the end of the plan: they neither take over a lost share nor stop
    // because of it.
    let last = document
        .series
        .rows
        .iter()
        .filter(|row| row.ended > 0)
        .map(|row| row.second)
        .max();
    assert!(last >= Some(7), "{last:?}");
    assert!(
        document.series.rows.iter().any(|row| row.agents == 1),
        "{:?}",
        document.series.rows
    );
}

#[test]
fn agent_that_stops_for_longer_than_its_lease_fires_no_more() {
    let (server, state) = (
        RunningTarget::new(Config::plain()).unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let text = format!(
        "target.url = {:?}\nload = {{ connections = 2, duration = \"12s\", think_time = \"5ms\" \
         }}\n",
        server.url("/")
    );
    let invited = Invited::start(
        1,
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        state.path(),
        &text,
    );
    let agent = invited.agent("sleeper");
    wait_until("load", || (server.counts().requests > 100).then_some(()));
    agent.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(6500));
    let before = server.counts().requests;
    agent.signal(Signal::CONT);
    let finished = invited.coordinator.wait();
    let sent = server.stop().requests - before;
    // Operations under way at the stop may still be counted, one for each user; no new ones begin.
    assert!(
        sent <= 2,
        "{sent} requests after the lease had run out; {finished}\n{}",
        agent.output()
    );
    assert_eq!(finished.code, 3, "{finished}");
    let document = finished.document();
    assert_eq!(
        document.agents[0].ended,
        Some(analysis::AgentEndCause::LeaseExpired),
        "{finished}\n{}",
        agent.output()
    );
}
