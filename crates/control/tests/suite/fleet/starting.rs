//! From the plan to the first lease: the start instant, and what keeps a run from starting.

use super::coordinator::{
    Coordinator, RUN, SECOND, armed, bearing, began, events, has, hello, leases, losses, part,
    prepared, receipt, request, sent, start_receipt,
};
use super::shares::take_overs;
use control::{ConnectionId, FleetAction, FleetEvent, LostPolicy, RunEvent, RunOutcome, Stop};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, FromAgent};
use std::time::Duration;

#[test]
fn start_instant_is_far_enough_ahead_for_the_slowest_path() {
    for (bound_ns, expected_ms) in [(100_000, 1_002), (50_000_000, 1_601), (5 * SECOND, 10_000)] {
        let mut coordinator = Coordinator::with_agents(2);
        coordinator.on(FleetEvent::Run(request(2)));
        coordinator.say(0, Up::Prepared(prepared(1_000)));
        let actions = coordinator.say(1, Up::Prepared(prepared(bound_ns)));
        let start_in = events(&actions).into_iter().find_map(|event| match event {
            RunEvent::Armed { start_in, .. } => Some(*start_in),
            _ => None,
        });
        assert_eq!(start_in.unwrap().as_millis(), expected_ms, "{bound_ns}");
    }
}

#[test]
fn lease_is_granted_once_all_know_the_start_and_only_to_agents_of_the_run() {
    let mut coordinator = Coordinator::with_agents(2);
    let lease = |coordinator: &mut Coordinator, at| {
        leases(&coordinator.say(at, Up::Beat(Beat::default())), at)[0] > 0
    };
    coordinator.on(FleetEvent::Run(request(1)));
    assert!(!lease(&mut coordinator, 0), "preparing");
    coordinator.say(0, Up::Prepared(prepared(500)));
    assert!(
        !lease(&mut coordinator, 0),
        "the start is named, and nobody answered"
    );
    coordinator.say(0, armed(1));
    assert!(lease(&mut coordinator, 0), "all know the start");
    assert!(!lease(&mut coordinator, 1), "not of this run");
    coordinator.on(FleetEvent::Stop(RUN, Stop::Drain));
    assert!(lease(&mut coordinator, 0), "draining");
    coordinator.on(FleetEvent::Stop(RUN, Stop::Now));
    assert!(!lease(&mut coordinator, 0), "stopped");
}

#[test]
fn skew_is_told_once_every_agent_has_begun() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.start(2);
    for agent in 0..2 {
        coordinator.say(agent, Up::Beat(Beat::default()));
    }
    let first = coordinator.say(0, began(1_000));
    assert!(!has(&first, |event| matches!(
        event,
        RunEvent::Started { .. }
    )));
    let second = coordinator.say(1, began(1_700));
    let told = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::Started { skew } if (skew.skew_ns, skew.bound_ns) == (700, 20)
        )
    };
    assert!(has(&second, told), "{second:?}");
    assert!(
        coordinator.say(1, began(9_999)).is_empty(),
        "a second time counts for nothing"
    );
}

#[test]
fn agent_that_does_not_answer_to_the_plan_keeps_the_run_from_starting() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.say(0, Up::Prepared(prepared(500)));
    let actions = coordinator.pass(120, &[0, 1]);
    let told = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::Problem { agent: 1, problem } if problem.contains("120 s")
        )
    };
    assert!(has(&actions, told));
    assert_eq!(
        events(&actions).last(),
        Some(&&RunEvent::Done {
            outcome: RunOutcome::NotStarted
        })
    );
}

#[test]
fn agent_that_is_busy_with_another_run_has_as_long_as_a_lease_to_answer_later() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.say(0, Up::Prepared(prepared(500)));
    let busy = || {
        Up::Note(proto::Note {
            run_id: RUN.to_wire(),
            event: "busy".into(),
            text: "it still fires".into(),
        })
    };
    coordinator.say(1, busy());
    let problem = |event: &RunEvent| matches!(event, RunEvent::Problem { agent: 1, .. });
    assert!(!has(&coordinator.pass(239, &[0, 1]), problem));
    coordinator.say(1, busy());
    assert!(
        has(&coordinator.pass(1, &[0, 1]), problem),
        "it says so once"
    );
}

#[test]
fn agent_that_leaves_before_the_start_is_waited_for_and_gets_the_plan_again() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.say(0, Up::Prepared(prepared(500)));
    coordinator.cut(1);
    coordinator.pass(9, &[0]);
    let back = coordinator.join(5, hello(1));
    assert!(
        sent(&back, 5)
            .iter()
            .any(|message| matches!(message, Down::Prepare(_))),
        "{back:?}"
    );
    coordinator.cut(5);
    let actions = coordinator.pass(10, &[0]);
    assert!(
        has(&actions, |event| *event
            == RunEvent::Done {
                outcome: RunOutcome::NotStarted
            }),
        "{actions:?}"
    );
}

#[test]
fn start_that_one_agent_misses_is_tried_again_and_no_lease_is_granted_before() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.say(0, Up::Prepared(prepared(500)));
    coordinator.say(1, Up::Prepared(prepared(500)));
    coordinator.say(0, armed(1));
    coordinator.now_ns += 850_000_000;
    let actions = coordinator.say(1, armed(1));
    let [
        RunEvent::Postponed { agents },
        RunEvent::Armed { start_in, .. },
    ] = &events(&actions)[..]
    else {
        panic!("{actions:?}")
    };
    assert!(
        agents.is_empty(),
        "all answered, one of them too late: {agents:?}"
    );
    assert_eq!(start_in.as_millis(), 2_002, "twice the first");
    assert!(
        matches!(sent(&actions, 0)[..], [Down::Start(start)] if start.attempt == 2),
        "{actions:?}"
    );
    assert_eq!(
        leases(&coordinator.say(0, Up::Beat(Beat::default())), 0),
        [0]
    );
    assert!(
        events(&coordinator.say(0, armed(1))).is_empty(),
        "an answer to the instant before"
    );
    coordinator.say(0, armed(2));
    let early = coordinator.say(0, Up::Beat(Beat::default()));
    assert_eq!(leases(&early, 0), [0], "the other one does not know yet");
    let actions = coordinator.say(1, armed(2));
    for at in [0, 1] {
        assert!(
            matches!(sent(&actions, at)[..], [Down::Go(go)] if go.attempt == 2),
            "{actions:?}"
        );
    }
}

/// Failed with: the agent is armed without Go, so its lease begins nothing, and the others fire
/// alone.
#[test]
fn agent_that_comes_back_once_the_others_may_ask_for_their_leases_may_too() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.say(0, Up::Prepared(prepared(500)));
    coordinator.say(1, Up::Prepared(prepared(500)));
    coordinator.say(0, armed(1));
    coordinator.say(1, armed(1));
    coordinator.say(0, Up::Beat(Beat::default()));
    coordinator.cut(1);
    coordinator.join(5, hello(1));
    coordinator.say(5, Up::Prepared(prepared(500)));
    let actions = coordinator.say(5, armed(1));
    assert!(
        matches!(sent(&actions, 5)[..], [Down::Go(go)] if go.attempt == 1),
        "{actions:?}"
    );
}

#[test]
fn agent_that_never_learns_of_the_start_ends_the_run_or_is_done_without() {
    for (lost, starts) in [(LostPolicy::Fail, false), (LostPolicy::Continue, true)] {
        let mut coordinator = Coordinator::with_agents(2);
        coordinator.on(FleetEvent::Run(bearing(2, lost, 1)));
        coordinator.say(0, Up::Prepared(prepared(500)));
        let mut actions = coordinator.say(1, Up::Prepared(prepared(500)));
        for attempt in 1..=4 {
            actions.extend(coordinator.say(0, armed(attempt)));
            actions.extend(coordinator.pass(1 << (attempt - 1), &[0, 1]));
        }
        let postponed = |event: &&RunEvent| match event {
            RunEvent::Postponed { agents } => agents[..] == [1],
            _ => false,
        };
        let told = events(&actions).into_iter().filter(postponed).count();
        assert_eq!(told, if starts { 3 } else { 2 }, "{lost:?}: {actions:?}");
        let why = "did not learn of the start within";
        let is_told = |event: &RunEvent| match event {
            RunEvent::Problem { agent: 1, problem } => !starts && problem.contains(why),
            RunEvent::Lost {
                agent: 1,
                why: told,
                ..
            } => starts && told.contains(why),
            _ => false,
        };
        assert!(has(&actions, is_told), "{lost:?}: {actions:?}");
        let goes = |message: &&Down| matches!(message, Down::Go(go) if go.attempt == 4);
        assert_eq!(sent(&actions, 0).iter().any(goes), starts, "{lost:?}");
        let not_started = |event: &RunEvent| {
            *event
                == RunEvent::Done {
                    outcome: RunOutcome::NotStarted,
                }
        };
        assert_eq!(has(&actions, not_started), !starts, "{lost:?}");
    }
}

#[test]
fn agent_that_asks_for_no_lease_keeps_the_others_from_theirs_three_times() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(bearing(2, LostPolicy::Continue, 1)));
    coordinator.start(2);
    for attempt in 2..=4 {
        let early = coordinator.say(0, Up::Beat(Beat::default()));
        assert!(leases(&early, 0).is_empty(), "the other one did not ask");
        coordinator.say(1, part(0)); // it is there
        coordinator.now_ns += 4 * SECOND * u64::from(attempt / 3 + 1);
        let mut late = coordinator.say(1, part(0));
        late.extend(coordinator.say(0, Up::Beat(Beat::default())));
        assert_eq!(leases(&late, 0), [0], "it is too late: {late:?}");
        let mut postponed =
            |event: &RunEvent| matches!(event, RunEvent::Postponed { agents } if agents[..] == [1]);
        assert!(events(&late).into_iter().any(&mut postponed), "{late:?}");
        let why = "did not ask for its lease within";
        let lost = losses(&late);
        assert_eq!(
            lost.iter()
                .any(|(agent, told)| *agent == 1 && told.contains(why)),
            attempt == 4,
            "{late:?}"
        );
        coordinator.say(0, armed(attempt));
        if attempt < 4 {
            coordinator.say(1, armed(attempt));
        }
    }
    let alone = coordinator.say(0, Up::Beat(Beat::default()));
    assert!(leases(&alone, 0)[0] > 0, "{alone:?}");
}

#[test]
fn agent_that_has_its_lease_and_does_not_begin_is_lost_for_another_reason() {
    let mut coordinator = Coordinator::with_agents(1);
    coordinator.on(FleetEvent::Run(request(1)));
    coordinator.start(1);
    coordinator.say(0, Up::Beat(Beat::default()));
    let actions = coordinator.pass(12, &[0]);
    assert!(
        matches!(losses(&actions)[..], [(0, why)] if why.contains("did not say that it began")),
        "{actions:?}"
    );
}

#[test]
fn start_that_this_side_slept_through_is_tried_again_since_no_agent_fires() {
    let mut coordinator = Coordinator::with_agents(2);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.start(2);
    for attempt in 2..=3 {
        // One asked in time, and the other one's beat is read too late.
        coordinator.say(0, Up::Beat(Beat::default()));
        coordinator.now_ns += 4 * SECOND;
        let mut actions = coordinator.say(0, Up::Beat(Beat::default()));
        actions.extend(coordinator.say(1, Up::Beat(Beat::default())));
        assert!(losses(&actions).is_empty(), "{actions:?}");
        let leases = [leases(&actions, 0), leases(&actions, 1)].concat();
        assert!(leases.iter().all(|lease| *lease == 0), "{actions:?}");
        let named =
            |message: &&Down| matches!(message, Down::Start(start) if start.attempt == attempt);
        assert!(sent(&actions, 1).iter().any(named), "{actions:?}");
        coordinator.say(0, armed(attempt));
        coordinator.say(1, armed(attempt));
    }
    coordinator.begin(2);
    assert!(losses(&coordinator.pass(3, &[0, 1])).is_empty());
}

#[test]
fn clock_known_too_badly_is_told_before_the_start_with_a_limit_that_would_do() {
    for (lost, starts) in [(LostPolicy::Fail, false), (LostPolicy::Continue, true)] {
        let mut coordinator = Coordinator::with_agents(3);
        let mut request = bearing(3, lost, 1);
        request.rules.max_skew = Duration::from_millis(50);
        coordinator.on(FleetEvent::Run(request));
        coordinator.say(0, Up::Prepared(prepared(20_000_000)));
        coordinator.say(1, Up::Prepared(prepared(60_000_000)));
        let actions = coordinator.say(2, Up::Prepared(prepared(30_000_000)));
        let why = "the clock of agent-1 is known to ± 60 ms, and fleet.max_skew is 50 ms: place \
                   the coordinator nearer, or write fleet.max_skew = \"100ms\"";
        let is_told = |event: &RunEvent| match event {
            RunEvent::Problem { agent: 1, problem } => !starts && problem == why,
            RunEvent::Lost {
                agent: 1,
                why: told,
                ..
            } => starts && told == why,
            _ => false,
        };
        assert!(has(&actions, is_told), "{lost:?}: {actions:?}");
        let is_armed = has(&actions, |event| matches!(event, RunEvent::Armed { .. }));
        assert_eq!(is_armed, starts, "20 and 30 ms are just in: {actions:?}");
    }
}

#[test]
fn agent_lost_before_the_start_is_done_without_where_the_run_bears_it() {
    let mut coordinator = Coordinator::with_agents(3);
    coordinator.on(FleetEvent::Run(bearing(3, LostPolicy::Redistribute, 1)));
    coordinator.say(0, Up::Prepared(prepared(500)));
    coordinator.say(1, Up::Prepared(prepared(500)));
    coordinator.cut(2);
    let actions = coordinator.pass(10, &[0, 1]);
    assert!(matches!(losses(&actions)[..], [(2, _)]), "{actions:?}");
    coordinator.say(0, armed(1));
    coordinator.say(1, armed(1));
    let actions = coordinator.begin(2);
    let receipt = receipt(&actions).expect("its share is dealt");
    let actions = coordinator.on(FleetEvent::Delivered(receipt));
    assert_eq!(
        (take_overs(&actions, 0).len(), take_overs(&actions, 1).len()),
        (1, 1)
    );
}

#[test]
fn no_agent_fires_before_the_start_instant_is_stored() {
    let mut coordinator = Coordinator::new();
    for agent in 0..2 {
        coordinator.join(agent, hello(agent as u8));
    }
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.say(0, Up::Prepared(prepared(1_000_000)));
    let last = FromAgent {
        message: Some(Up::Prepared(prepared(1_000_000))),
    };
    let named = coordinator.on_slow_disk(FleetEvent::Received(ConnectionId(1), last));
    let receipt = named.iter().find_map(start_receipt).unwrap();
    let is_go = |action: &FleetAction| format!("{action:?}").contains("Go(");
    let mut actions = coordinator.say(0, armed(1));
    actions.extend(coordinator.say(1, armed(1)));
    assert!(!actions.iter().any(is_go), "{actions:?}");
    // A disk that takes too long costs this attempt, and what it stores later starts nothing.
    coordinator.now_ns += 2 * SECOND;
    let late = coordinator.on_slow_disk(FleetEvent::Tick);
    let second = late.iter().find_map(start_receipt).unwrap();
    let stale = coordinator.on(FleetEvent::Delivered(receipt));
    assert!(!stale.iter().any(is_go), "{stale:?}");
    coordinator.say(0, armed(2));
    coordinator.say(1, armed(2));
    let started = coordinator.on(FleetEvent::Delivered(second));
    assert_eq!(started.iter().filter(|action| is_go(action)).count(), 2);
}
