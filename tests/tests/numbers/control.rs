//! A bad link between coordinator and agent: no second is lost or counted twice, and an agent that
//! is cut off stops.

use crate::reading::Reading;
use crate::{come_first, must_be_trusted, must_hold};
use interop::{Invited, Link, LinkQuality, Reply, ScriptedServer, listen, wait_until};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// A lease, plus a second in which the load may end.
const LEASE: Duration = Duration::from_secs(6);

/// 2 % of the packets are lost, and the others take different times.
const BAD: LinkQuality = LinkQuality {
    delay: Duration::from_millis(20),
    jitter: Duration::from_millis(10),
    loss: 0.02,
    reordered: 0.0,
    rate: None,
    packets_max: 1000,
    is_up: true,
    seed: 7,
};

/// The server is on the agent's side of the link, so only the control stream crosses it.
struct Scene {
    link: Link,
    server: ScriptedServer,
    invited: Invited,
    _state: tempfile::TempDir,
}

impl Scene {
    fn new(load: &str) -> Option<Scene> {
        let link = Link::new(BAD)?;
        let listener = link.far().enter(|| listen(Ipv4Addr::LOCALHOST.into()));
        let server = ScriptedServer::on(listener, |request| Reply::At(request.asked_at));
        let state = tempfile::tempdir().unwrap();
        let listen_at = SocketAddr::new(link.near_address().into(), 0);
        let invited = Invited::start(
            1,
            listen_at,
            state.path(),
            &crate::plan(&server.url(), load, ""),
        );
        Some(Scene {
            link,
            server,
            invited,
            _state: state,
        })
    }

    fn wait_for_load(&self) {
        wait_until("load", || {
            (!self.server.exchanges().is_empty()).then_some(())
        });
    }
}

#[test]
fn control_link_that_goes_away_for_a_moment_loses_no_count() {
    come_first();
    must_hold(|| {
        let load = "rate = \"130/s\", duration = \"6700ms\"";
        let Some(scene) = Scene::new(load) else {
            return Ok(());
        };
        let agent = scene.invited.agent_by(scene.link.command(), "far");
        scene.wait_for_load();
        std::thread::sleep(Duration::from_millis(1500));
        scene.link.change(|quality| quality.is_up = false);
        std::thread::sleep(Duration::from_secs(2));
        scene.link.change(|quality| quality.is_up = true);
        let finished = scene.invited.coordinator.wait();
        let reading = Reading::new(&finished);
        // 130 × 6.7.
        let counts = (
            reading.count("/measured/operations/ok"),
            scene.server.exchanges().len(),
        );
        assert_eq!(counts, (871, 871), "{finished}\n{}", agent.output());
        assert_eq!(
            reading.find("/agents/0/totals_match"),
            Some(&true.into()),
            "{finished}"
        );
        must_be_trusted(&finished)
    });
}

#[test]
fn agent_that_is_cut_off_stops_within_its_lease_and_hands_over_what_it_has() {
    come_first();
    let Some(scene) = Scene::new("rate = \"130/s\", duration = \"40s\"") else {
        return;
    };
    let agent = scene.invited.agent_by(scene.link.command(), "far");
    scene.wait_for_load();
    std::thread::sleep(Duration::from_millis(1500));
    let cut_at = Instant::now();
    scene.link.change(|quality| quality.is_up = false);
    std::thread::sleep(LEASE + Duration::from_secs(3));
    scene.link.change(|quality| quality.is_up = true);
    let finished = scene.invited.coordinator.wait();
    let exchanges = scene.server.exchanges();
    let went_on = exchanges.last().unwrap().asked_at - cut_at;
    println!("it went on for {went_on:?}");
    assert!(
        went_on <= LEASE,
        "{went_on:?} after it was cut off it still asked; {finished}"
    );
    let reading = Reading::new(&finished);
    // The lease may run out during a request: that request is cut off, and the server may or may
    // not have seen it. What a client that woke late found due after that was never sent.
    let ok = reading.count("/measured/operations/ok");
    let started = reading.count("/measured/operations/started");
    let asked = exchanges.len() as u64;
    assert!(
        ok <= asked && asked <= started && started <= ok + 1,
        "{ok} ok, {started} started, {asked} asked: {finished}\n{}",
        agent.output()
    );
    assert_eq!(
        (finished.code, reading.verdict().as_str()),
        (3, "invalid"),
        "{finished}"
    );
}
