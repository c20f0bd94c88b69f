//! Agents that come, are refused, and are chosen for a run.

use super::coordinator::{
    Coordinator, RUN, SECOND, armed, began, events, has, held, hello, holding, losses, part,
    prepared, receipt, request, sent,
};
use control::{
    Audience, ConnectionId, Digest, FleetAction, FleetEvent, RunEvent, RunFile, RunOutcome,
    RunRequest,
};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Bytes, HeldRun, Hello, PROTOCOL, Want};
use std::time::Duration;

#[test]
fn agent_of_another_protocol_is_refused_with_the_cure_and_may_try_again() {
    let mut coordinator = Coordinator::new();
    let actions = coordinator.join(
        0,
        Hello {
            protocol: PROTOCOL + 1,
            version: "9.9".into(),
            ..hello(0)
        },
    );
    let [Down::Refused(refused)] = sent(&actions, 0)[..] else {
        panic!("{actions:?}")
    };
    assert!(
        !refused.r#final
            && refused.reason.contains("9.9")
            && refused.reason.contains("same version"),
        "{refused:?}"
    );
    assert!(actions.contains(&FleetAction::Close(ConnectionId(0))));
}

#[test]
fn stream_that_does_not_begin_with_a_hello_is_refused() {
    let mut coordinator = Coordinator::new();
    coordinator.on(FleetEvent::Opened(ConnectionId(0)));
    let actions = coordinator.say(0, Up::Beat(Beat::default()));
    assert!(
        matches!(sent(&actions, 0)[..], [Down::Refused(_)]),
        "{actions:?}"
    );
}

#[test]
fn silent_streams_are_closed_with_and_without_a_hello() {
    let mut coordinator = Coordinator::with_agents(1);
    coordinator.on(FleetEvent::Opened(ConnectionId(7)));
    let closed =
        |actions: &[FleetAction], at| actions.contains(&FleetAction::Close(ConnectionId(at)));
    let actions = coordinator.pass(5, &[]);
    assert!(closed(&actions, 7) && !closed(&actions, 0), "{actions:?}");
    assert!(closed(&coordinator.pass(1, &[]), 0));
}

#[test]
fn coordinator_that_stood_still_reads_before_it_gives_agents_up() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.start(2);
    for agent in 0..2 {
        coordinator.say(agent, Up::Beat(Beat::default()));
    }
    coordinator.on(FleetEvent::Tick);
    // All limits have passed, and no agent was heard: the messages wait in the sockets.
    coordinator.now_ns += 100 * SECOND;
    assert_eq!(coordinator.on(FleetEvent::Tick), []);
    coordinator.say(0, began(2 * SECOND));
    coordinator.now_ns += SECOND / 4;
    let actions = coordinator.on(FleetEvent::Tick);
    let closed = |at| actions.contains(&FleetAction::Close(ConnectionId(at)));
    assert!(closed(1) && !closed(0), "{actions:?}");
    assert_eq!(losses(&actions), [], "it may have begun: {actions:?}");
}

#[test]
fn coordinator_that_is_always_late_still_closes_silent_streams() {
    let mut coordinator = Coordinator::going(1);
    let mut actions = Vec::new();
    for _ in 0..4 {
        coordinator.now_ns += 5 * SECOND;
        actions.extend(coordinator.on(FleetEvent::Tick));
    }
    let closed = FleetAction::Close(ConnectionId(0));
    assert!(actions.contains(&closed), "{actions:?}");
}

#[test]
fn run_gathers_the_first_agents_and_tells_the_others_that_they_wait() {
    let mut coordinator = Coordinator::new();
    let waiting = coordinator.on(FleetEvent::Run(request(2)));
    assert_eq!(events(&waiting), [&RunEvent::Waiting { have: 0, want: 2 }]);
    coordinator.join(0, hello(0));
    let left = coordinator.cut(0);
    assert!(
        has(&left, |event| *event
            == RunEvent::Waiting { have: 0, want: 2 }),
        "{left:?}"
    );
    coordinator.join(1, hello(1));
    let full = coordinator.join(2, hello(2));
    let names = events(&full).into_iter().find_map(|event| match event {
        RunEvent::Assembled { agents } => Some(
            agents
                .iter()
                .map(|agent| agent.name.clone())
                .collect::<Vec<_>>(),
        ),
        _ => None,
    });
    assert_eq!(names.unwrap(), ["agent-1", "agent-2"]);
    let late = coordinator.join(3, hello(3));
    assert!(
        matches!(sent(&late, 3)[..], [Down::Welcome(_), Down::Notice(_)]),
        "{late:?}"
    );
}

#[test]
fn file_goes_only_to_its_audience_and_if_it_is_missing_there() {
    let mut coordinator = Coordinator::with_agents(2);
    let file = |byte: u8, audience| RunFile {
        sha256: Digest([byte; 32]),
        content: Bytes::from(vec![byte]).into(),
        audience,
        is_storable: byte == 1,
    };
    let files = vec![file(1, Audience::All), file(2, Audience::Only(vec![1]))];
    let actions = coordinator.on(FleetEvent::Run(RunRequest {
        files,
        ..request(2)
    }));
    let needs = |to: u64| {
        sent(&actions, to)
            .into_iter()
            .find_map(|message| match message {
                Down::Prepare(prepare) => Some(prepare.needs.clone()),
                _ => None,
            })
    };
    let [first, second] = [1, 2].map(|byte| Digest([byte; 32]).to_wire());
    assert_eq!(needs(0), Some(vec![first.clone()]));
    assert_eq!(needs(1), Some(vec![first.clone(), second.clone()]));
    let mut parts = |at: u64, sha256: &[&Bytes]| {
        let sha256 = sha256.iter().map(|&digest| digest.clone()).collect();
        let run_id = RUN.to_wire();
        let actions = coordinator.say(at, Up::Want(Want { run_id, sha256 }));
        let files = actions.iter().find_map(|action| match action {
            FleetAction::SendFiles(to, files) if *to == ConnectionId(at) => Some(files.clone()),
            _ => None,
        });
        files.map_or(0, Iterator::count)
    };
    let foreign = Digest([7; 32]).to_wire();
    assert_eq!(parts(0, &[&second, &foreign]), 0, "the key of another");
    assert_eq!(parts(0, &[&first]), 0, "it has answered already");
    assert_eq!(parts(1, &[&second]), 1, "it kept the first");
}

#[test]
fn second_hello_ends_the_stream_and_the_part_in_the_run() {
    let mut coordinator = Coordinator::going(2);
    let actions = coordinator.say(0, Up::Hello(hello(0)));
    assert!(
        actions.contains(&FleetAction::Close(ConnectionId(0))),
        "{actions:?}"
    );
    assert!(
        matches!(losses(&actions)[..], [(0, why)] if why.contains("second hello")),
        "{actions:?}"
    );
}

#[test]
fn second_stream_of_an_agent_takes_the_place_of_the_first() {
    let mut coordinator = Coordinator::going(1);
    let actions = coordinator.join(
        5,
        Hello {
            held_runs: held(),
            ..hello(0)
        },
    );
    assert!(
        actions.contains(&FleetAction::Close(ConnectionId(0))),
        "{actions:?}"
    );
    assert!(
        coordinator.say(0, part(0)).is_empty(),
        "the first one says nothing any more"
    );
    assert!(has(&coordinator.say(5, part(0)), |event| matches!(
        event,
        RunEvent::Interval { .. }
    )));
}

#[test]
fn too_few_agents_end_the_wait_for_them() {
    let mut coordinator = Coordinator::with_agents(1);
    let mut request = request(3);
    request.rules.join_timeout = Some(Duration::from_secs(10));
    coordinator.on(FleetEvent::Run(request));
    assert!(events(&coordinator.pass(9, &[0])).is_empty());
    let actions = coordinator.pass(1, &[0]);
    let outcome = RunOutcome::TooFewAgents { have: 1, want: 3 };
    assert_eq!(events(&actions), [&RunEvent::Done { outcome }]);
    assert!(coordinator.fleet.is_idle());
}

#[test]
fn agent_of_other_language_stays_and_is_not_chosen() {
    let mut coordinator = Coordinator::new();
    let other = Hello {
        plan_language: 3,
        ..hello(0)
    };
    let actions = coordinator.join(0, other);
    let [Down::Welcome(_), Down::Notice(notice)] = sent(&actions, 0)[..] else {
        panic!("{actions:?}")
    };
    let text = "reads plans of language version 3 (program 1), this coordinator 4";
    assert!(notice.text.contains(text), "{notice:?}");
    let mut told = coordinator.on(FleetEvent::Run(request(1)));
    told.extend(coordinator.pass(2, &[0]));
    told.extend(coordinator.join(1, hello(1)));
    let notes = events(&told).into_iter().filter(|event| {
        matches!(event, RunEvent::Note { event, text: told, .. }
            if event == "version" && told.contains(text))
    });
    assert_eq!(notes.count(), 1, "{told:?}");
    let assembled = |event: &RunEvent| {
        matches!(event, RunEvent::Assembled { agents } if agents.len() == 1
            && agents[0].name == "agent-1")
    };
    assert!(has(&told, assembled), "{told:?}");
}

#[test]
fn coordinator_yields_to_a_later_one_and_says_nothing_to_agents() {
    let mut coordinator = Coordinator::going(2);
    let later = Hello {
        held_runs: vec![HeldRun {
            run_id: RUN.to_wire(),
            epoch: 2,
        }],
        ..hello(1)
    };
    let actions = coordinator.join(5, later);
    let told = [
        &RunEvent::Superseded { epoch: 2 },
        &RunEvent::Done {
            outcome: RunOutcome::Superseded,
        },
    ];
    assert!(events(&actions).ends_with(&told), "{actions:?}");
    let released = |to| {
        sent(&actions, to)
            .iter()
            .any(|message| matches!(message, Down::Release(_)))
    };
    assert!(!released(0) && !released(5), "{actions:?}");
    coordinator.cut(0);
    let back = coordinator.join(6, holding(0));
    assert!(matches!(sent(&back, 6)[..], [Down::Welcome(_)]), "{back:?}");
}

/// Seconds that a fleet of `agents` agents takes to handle one second of beats and intervals.
fn second_of(agents: u64) -> f64 {
    let mut coordinator = Coordinator::new();
    let id = |agent: u64| {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&agent.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        Bytes::copy_from_slice(&id)
    };
    for agent in 0..agents {
        let agent_id = id(agent);
        coordinator.join(
            agent,
            Hello {
                agent_id,
                ..hello(0)
            },
        );
    }
    coordinator.on(FleetEvent::Run(request(agents as u32)));
    for agent in 0..agents {
        coordinator.say(agent, Up::Prepared(prepared(500)));
    }
    for agent in 0..agents {
        coordinator.say(agent, armed(1));
    }
    for agent in 0..agents {
        coordinator.say(agent, Up::Beat(Beat::default()));
    }
    let mut best = f64::MAX;
    for interval in 0..5 {
        let begun = std::time::Instant::now();
        for agent in 0..agents {
            coordinator.say(agent, Up::Beat(Beat::default()));
            let actions = coordinator.say(agent, part(interval));
            let receipt = receipt(&actions).expect("an interval is handed over");
            coordinator.on(FleetEvent::Delivered(receipt));
        }
        best = begun.elapsed().as_secs_f64().min(best);
    }
    best
}

#[test]
fn ten_times_the_agents_are_about_ten_times_the_work() {
    // Maps grow by a few levels and no longer fit the caches; looking at every agent for each
    // message would give a factor of a hundred.
    let ratio = second_of(10_000) / second_of(1_000);
    assert!(ratio < 50.0, "{ratio}");
}
