//! Both ends of the control plane over loopback TLS, with a runner that sends no load.

mod machine;
mod proxy;
mod strangers;

use agent::link::News;
use control::{
    Audience, Digest, EndCause, FleetRules, JoinSecret, RunEvent, RunFile, RunId, RunOutcome,
    RunRequest, Stop, Token,
};
use coordinator::fleet::{Enrolment, FleetError, FleetHandle, RunEvents, RunRefused, bind, listen};
use machine::{Machine, Script};
use proxy::Proxy;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::timeout;

/// Longer than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(30);

const LOOPBACK: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

async fn fleet() -> (FleetHandle, Token) {
    let enrolment = Enrolment::in_memory().expect("randomness");
    let listener = bind(LOOPBACK).await.expect("a free port");
    let handle = listen(listener, &enrolment).expect("a fleet");
    (handle, enrolment.token().clone())
}

fn request(agents: u32) -> RunRequest {
    let plan = "plan".to_owned();
    RunRequest {
        run: RunId([agents as u8; 16]),
        name: "loopback".into(),
        plan_digest: Digest::from_content(plan.as_bytes()),
        plan: plan.into(),
        files: vec![],
        unsent_bytes: 0,
        minted: Vec::new(),
        agents,
        firing: Some(Duration::from_secs(1)),
        drain: Duration::from_secs(1),
        epoch: 1,
        rules: FleetRules::default(),
        force: false,
        tokens: Vec::new(),
    }
}

/// All events up to and including the first that satisfies `last`.
async fn until(events: &mut RunEvents, last: impl Fn(&RunEvent) -> bool) -> Vec<RunEvent> {
    let mut seen = Vec::new();
    loop {
        let event = timeout(PATIENCE, events.next())
            .await
            .unwrap_or_else(|_| panic!("nothing more after {seen:#?}"));
        let (event, receipt) = event.unwrap_or_else(|| panic!("the end after {seen:#?}"));
        let receipts = events.receipts();
        receipts.stored(receipt.into_iter().collect()).await;
        seen.push(event);
        if seen.last().is_some_and(&last) {
            return seen;
        }
    }
}

async fn until_done(events: &mut RunEvents) -> Vec<RunEvent> {
    until(events, |event| matches!(event, RunEvent::Done { .. })).await
}

fn intervals_of(events: &[RunEvent], wanted: u32) -> Vec<(u32, usize)> {
    let interval = |event: &RunEvent| match event {
        RunEvent::Interval {
            agent,
            interval,
            encoded,
        } if *agent == wanted => Some((*interval, encoded.len())),
        _ => None,
    };
    events.iter().filter_map(interval).collect()
}

fn assert_ran_to_the_end(events: &[RunEvent], agents: u32) {
    assert_eq!(
        events.last(),
        Some(&RunEvent::Done {
            outcome: RunOutcome::Ran
        }),
        "{events:#?}"
    );
    for wanted in 0..agents {
        let ended = events.iter().any(|event| {
            matches!(event, RunEvent::Ended { agent, cause: EndCause::Plan, missing, .. }
                if *agent == wanted && missing.is_empty())
        });
        assert!(ended, "agent {wanted}: {events:#?}");
    }
}

#[tokio::test]
async fn two_agents_run_one_plan_after_another_and_every_interval_comes_once() {
    let (fleet, token) = fleet().await;
    let script = Script {
        interval_bytes: vec![0, 10, 1_300_000],
        ..Script::default()
    };
    let machines: Vec<Machine> = (0..2)
        .map(|_| Machine::start(fleet.address(), &token, script.clone()))
        .collect();
    for _ in 0..2 {
        let mut events = fleet.run(request(2)).await.expect("an idle fleet");
        let events = until_done(&mut events).await;
        assert_ran_to_the_end(&events, 2);
        for agent in 0..2 {
            assert_eq!(
                intervals_of(&events, agent),
                [(0, 0), (1, 10), (2, 1_300_000)]
            );
        }
        let skew = events.iter().find_map(|event| match event {
            RunEvent::Started { skew } => Some(*skew),
            _ => None,
        });
        let skew = skew.expect("both began");
        assert!(skew.agents == 2 && skew.skew_ns < 50_000_000, "{skew:?}");
    }
    for machine in machines {
        machine.quit().await.expect("an idle agent leaves at once");
    }
    fleet.shut_down().await;
}

#[tokio::test]
async fn two_runs_at_once_have_their_own_agents_and_events() {
    let (fleet, token) = fleet().await;
    let script = Script {
        interval_bytes: vec![10; 5],
        ..Script::default()
    };
    let mut first = fleet.run(request(1)).await.expect("an idle fleet");
    let mut second = fleet.run(request(2)).await.expect("another run");
    let _machines: Vec<Machine> = (0..3)
        .map(|_| Machine::start(fleet.address(), &token, script.clone()))
        .collect();
    let (first, second) = tokio::join!(until_done(&mut first), until_done(&mut second));
    assert_ran_to_the_end(&first, 1);
    assert_ran_to_the_end(&second, 2);
    let expected: Vec<(u32, usize)> = (0..5).map(|interval| (interval, 10)).collect();
    for (events, agents) in [(&first, 1), (&second, 2)] {
        for agent in 0..agents {
            assert_eq!(intervals_of(events, agent), expected);
        }
    }
    fleet.shut_down().await;
}

#[tokio::test]
async fn files_reach_the_agents_they_are_for() {
    let (fleet, token) = fleet().await;
    let mut machines: Vec<Machine> = (0..2)
        .map(|_| Machine::start(fleet.address(), &token, Script::default()))
        .collect();
    let file = |content: Vec<u8>, audience| RunFile {
        sha256: Digest::from_content(&content),
        content: proto::Bytes::from(content).into(),
        audience,
        is_storable: false,
    };
    let files = vec![
        file(vec![7; 3_000_000], Audience::All),
        file(vec![], Audience::All),
        file(b"private".to_vec(), Audience::Only(vec![1])),
    ];
    let mut events = fleet
        .run(RunRequest {
            files,
            ..request(2)
        })
        .await
        .expect("an idle fleet");
    assert_ran_to_the_end(&until_done(&mut events).await, 2);
    let mut held = Vec::new();
    for machine in &mut machines {
        held.push(machine.assignment().await);
    }
    held.sort_by_key(|assignment| assignment.agent_index);
    let sizes = |index: usize| {
        held[index]
            .files
            .iter()
            .map(|file| file.content.reveal().len())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (sizes(0), sizes(1)),
        (vec![3_000_000, 0], vec![3_000_000, 0, 7])
    );
    fleet.shut_down().await;
}

#[tokio::test]
async fn cut_connection_loses_no_interval_and_repeats_none() {
    let (fleet, token) = fleet().await;
    let proxy = Proxy::start(fleet.address()).await;
    let script = Script {
        interval_bytes: vec![100_000; 12],
        every: Duration::from_millis(100),
        ..Script::default()
    };
    let _machine = Machine::start(proxy.address, &token, script);
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    let mut seen = until(&mut events, |event| {
        matches!(event, RunEvent::Interval { interval: 2, .. })
    })
    .await;
    proxy.cut();
    seen.extend(until_done(&mut events).await);
    assert_ran_to_the_end(&seen, 1);
    assert!(
        seen.iter()
            .any(|event| matches!(event, RunEvent::Back { agent: 0 })),
        "{seen:#?}"
    );
    let expected: Vec<(u32, usize)> = (0..12).map(|interval| (interval, 100_000)).collect();
    assert_eq!(intervals_of(&seen, 0), expected);
    fleet.shut_down().await;
}

#[tokio::test]
#[ignore = "14 s of waiting"]
async fn beats_come_through_while_a_slow_link_is_full() {
    let (fleet, token) = fleet().await;
    let proxy = Proxy::narrow(fleet.address(), 100_000).await;
    // This takes 13 s, and a stream on which nothing is heard ends after 10 s.
    let script = Script {
        interval_bytes: vec![10, 1_300_000],
        ..Script::default()
    };
    let _machine = Machine::start(proxy.address, &token, script);
    let mut events = fleet
        .run(RunRequest {
            firing: None,
            ..request(1)
        })
        .await
        .expect("an idle fleet");
    let events = until_done(&mut events).await;
    assert_ran_to_the_end(&events, 1);
    assert_eq!(intervals_of(&events, 0), [(0, 10), (1, 1_300_000)]);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, RunEvent::Gone { .. })),
        "{events:#?}"
    );
    fleet.shut_down().await;
}

#[tokio::test]
async fn second_too_large_to_travel_ends_the_agents_part_and_it_serves_the_next_run() {
    let (fleet, token) = fleet().await;
    let script = Script {
        interval_bytes: vec![10, control::INTERVAL_MAX_BYTES + 1],
        ..Script::default()
    };
    let mut machine = Machine::start(fleet.address(), &token, script);
    for _ in 0..2 {
        let mut events = fleet.run(request(1)).await.expect("an idle fleet");
        let events = until_done(&mut events).await;
        let ended = |event: &RunEvent| {
            matches!(event, RunEvent::Ended { cause: EndCause::Failed(why), missing, .. }
                if why.contains("second 1 of the run takes 65 MiB") && missing == &[1])
        };
        assert!(events.iter().any(ended), "{events:#?}");
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, RunEvent::Gone { .. })),
            "{events:#?}"
        );
    }
    assert!(matches!(machine.news().await, News::Joined { .. }));
    fleet.shut_down().await;
}

#[tokio::test]
async fn problem_of_one_agent_is_told_and_nothing_starts() {
    let (fleet, token) = fleet().await;
    let _good = Machine::start(fleet.address(), &token, Script::default());
    let bad = Script {
        problem: Some("target 8.8.8.8 is not allowed here".into()),
        ..Script::default()
    };
    let _bad = Machine::start(fleet.address(), &token, bad);
    let mut events = fleet.run(request(2)).await.expect("an idle fleet");
    let events = until_done(&mut events).await;
    assert_eq!(
        events.last(),
        Some(&RunEvent::Done {
            outcome: RunOutcome::NotStarted
        })
    );
    let told = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::Problem { problem, .. } if problem.contains("8.8.8.8")
        )
    };
    assert!(
        events.iter().any(told)
            && !events
                .iter()
                .any(|event| matches!(event, RunEvent::Armed { .. })),
        "{events:#?}"
    );
    fleet.shut_down().await;
}

#[tokio::test]
async fn other_digest_of_the_plan_is_told_with_both() {
    let (fleet, token) = fleet().await;
    let other = Script {
        digest: Some(Digest([0xab; 32])),
        ..Script::default()
    };
    let _machine = Machine::start(fleet.address(), &token, other);
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    let events = until_done(&mut events).await;
    let here = Digest::from_content(b"plan").short();
    let told = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::Problem { problem, .. }
                if problem.contains("abababab") && problem.contains(&here)
        )
    };
    assert!(events.iter().any(told), "{events:#?}");
    fleet.shut_down().await;
}

#[tokio::test]
async fn stop_drains_or_cuts_and_data_so_far_comes() {
    for how in [Stop::Drain, Stop::Now] {
        let (fleet, token) = fleet().await;
        let script = Script {
            interval_bytes: vec![10; 1_000],
            every: Duration::from_millis(50),
            ..Script::default()
        };
        let _machine = Machine::start(fleet.address(), &token, script);
        let mut events = fleet.run(request(1)).await.expect("an idle fleet");
        until(&mut events, |event| {
            matches!(event, RunEvent::Interval { interval: 1, .. })
        })
        .await;
        events.stop(how).await;
        let events = until_done(&mut events).await;
        let stopped = |event: &RunEvent| {
            matches!(
                event,
                RunEvent::Ended {
                    cause: EndCause::Stopped,
                    ..
                }
            )
        };
        assert!(events.iter().any(stopped), "{how:?}: {events:#?}");
        fleet.shut_down().await;
    }
}

#[tokio::test]
async fn wrong_tokens_are_refused_with_a_cure() {
    let (fleet, token) = fleet().await;
    let other = Token::new(token.ca_sha256(), JoinSecret::new([1; 32]));
    let another = Token::new([2; 32], token.secret().clone());
    for (token, part) in [
        (other, "does not accept the token"),
        (another, "not the coordinator that the token is for"),
    ] {
        let error = Machine::start(fleet.address(), &token, Script::default())
            .ended()
            .await
            .expect_err("refused");
        assert!(
            error.to_string().contains(part) && error.to_string().contains("`start` prints"),
            "{error}"
        );
    }
    fleet.shut_down().await;
}

#[tokio::test]
async fn agent_that_comes_first_says_so_once_and_joins_later() {
    let enrolment = Enrolment::in_memory().expect("randomness");
    // Bound, so that no other process gets the port, but not listening yet.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind(LOOPBACK).expect("a free port");
    let address = socket.local_addr().expect("an address");
    let mut machine = Machine::start(address, enrolment.token(), Script::default());
    let away = machine.news().await;
    assert!(
        matches!(
            &away,
            News::Away { why }
                if why.contains("no program listens") && why.contains("coordinator start")
        ),
        "{away:?}"
    );
    let fleet = listen(socket.listen(16).expect("a listener"), &enrolment).expect("a fleet");
    let joined = machine.news().await;
    assert!(
        matches!(joined, News::Joined { .. }),
        "said once, whatever the number of attempts: {joined:?}"
    );
    fleet.shut_down().await;
}

#[tokio::test]
async fn peers_that_speak_nonsense_or_nothing_hold_nobody_up() {
    use tokio::io::AsyncWriteExt as _;
    let (fleet, token) = fleet().await;
    let mut peers = Vec::new();
    for text in ["", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01"] {
        let mut peer = tokio::net::TcpStream::connect(fleet.address())
            .await
            .expect("accepted");
        peer.write_all(text.as_bytes()).await.expect("sent");
        peers.push(peer);
    }
    let _machine = Machine::start(fleet.address(), &token, Script::default());
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    assert_ran_to_the_end(&until_done(&mut events).await, 1);
    timeout(Duration::from_secs(5), fleet.shut_down())
        .await
        .expect("shut down in time");
}

#[tokio::test]
async fn agent_beyond_the_wanted_ones_is_told_that_it_waits() {
    let (fleet, token) = fleet().await;
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    let slow = Script {
        interval_bytes: vec![1; 60],
        every: Duration::from_millis(50),
        ..Script::default()
    };
    let _first = Machine::start(fleet.address(), &token, slow);
    until(&mut events, |event| {
        matches!(event, RunEvent::Assembled { .. })
    })
    .await;
    let mut second = Machine::start(fleet.address(), &token, Script::default());
    assert!(matches!(second.news().await, News::Joined { .. }));
    let notice = second.news().await;
    assert!(
        matches!(&notice, News::Notice(text) if text.contains("waits for the next run")),
        "{notice:?}"
    );
    events.stop(Stop::Now).await;
    until_done(&mut events).await;
    fleet.shut_down().await;
}

#[tokio::test]
async fn run_is_begun_once_and_not_without_agents() {
    let (fleet, _) = fleet().await;
    let mut first = fleet.run(request(1)).await.expect("an idle fleet");
    assert_eq!(
        fleet.run(request(1)).await.expect_err("busy"),
        RunRefused::Busy
    );
    assert_eq!(
        fleet.run(request(0)).await.expect_err("no agents"),
        RunRefused::NoAgents
    );
    let large = RunRequest {
        plan: "x".repeat(1 << 20).into(),
        ..request(1)
    };
    assert_eq!(
        fleet.run(large).await.expect_err("large"),
        RunRefused::PlanTooLarge { bytes: 1 << 20 }
    );
    first.stop(Stop::Drain).await;
    let events = until_done(&mut first).await;
    assert_eq!(
        events.last(),
        Some(&RunEvent::Done {
            outcome: RunOutcome::StoppedBeforeStart(Stop::Drain)
        })
    );
    fleet.shut_down().await;
}

#[tokio::test]
async fn caller_that_drops_its_events_stops_the_run() {
    let (fleet, token) = fleet().await;
    let script = Script {
        interval_bytes: vec![1; 10_000],
        every: Duration::from_millis(10),
        ..Script::default()
    };
    let mut machine = Machine::start(fleet.address(), &token, script);
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    until(&mut events, |event| matches!(event, RunEvent::Began { .. })).await;
    drop(events);
    let ended = loop {
        if let News::Ended { cause, .. } = machine.news().await {
            break cause;
        }
    };
    assert_eq!(ended, EndCause::Stopped);
    let released = machine.news().await;
    assert!(
        matches!(
            released,
            News::Released {
                dropped_intervals: 0,
                ..
            }
        ),
        "{released:?}"
    );
    fleet
        .run(request(1))
        .await
        .expect("a fleet that is idle again");
    fleet.shut_down().await;
}

#[tokio::test]
async fn port_in_use_is_told_with_the_address() {
    let taken = bind(LOOPBACK).await.expect("a free port");
    let address = taken.local_addr().expect("an address");
    let error = bind(address).await.expect_err("taken");
    assert!(
        matches!(error, FleetError::PortInUse { .. })
            && error.to_string().contains(&address.to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn agent_told_to_quit_in_a_run_stops_and_delivers() {
    let (fleet, token) = fleet().await;
    let script = Script {
        interval_bytes: vec![1; 10_000],
        every: Duration::from_millis(20),
        ..Script::default()
    };
    let machine = Machine::start(fleet.address(), &token, script);
    let mut events = fleet.run(request(1)).await.expect("an idle fleet");
    until(&mut events, |event| {
        matches!(event, RunEvent::Interval { interval: 3, .. })
    })
    .await;
    let (left, events) = tokio::join!(machine.quit(), until_done(&mut events));
    left.expect("it was asked to");
    let ended = |event: &RunEvent| {
        matches!(event, RunEvent::Ended { cause: EndCause::Failed(why), missing, .. }
            if why.contains("told to quit") && missing.is_empty())
    };
    assert!(events.iter().any(ended), "{events:#?}");
    fleet.shut_down().await;
}
