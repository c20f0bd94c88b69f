//! Agents that go away, come back, or are lost.

use super::coordinator::{
    Coordinator, RUN, bearing, events, going_with, has, held, hello, holding, leases, losses, part,
    request, sent,
};
use control::{
    ConnectionId, FleetAction, FleetEvent, FleetRules, LostPolicy, RunEvent, RunId, RunOutcome,
    RunRequest, Stop,
};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Bytes, Hello, IntervalPart};
use std::time::Duration;

#[test]
fn agent_that_comes_back_within_the_run_goes_on_and_hears_of_a_stop() {
    let mut coordinator = Coordinator::going(2);
    assert!(has(&coordinator.cut(1), |event| matches!(
        event,
        RunEvent::Gone { agent: 1, .. }
    )));
    coordinator.on(FleetEvent::Stop(RUN, Stop::Drain));
    let back = coordinator.join(
        5,
        Hello {
            held_runs: held(),
            ..hello(1)
        },
    );
    assert!(has(&back, |event| *event == RunEvent::Back { agent: 1 }));
    assert!(
        matches!(sent(&back, 5)[..], [Down::Welcome(_), Down::Stop(_)]),
        "{back:?}"
    );
}

#[test]
fn agent_that_comes_back_without_the_run_is_lost() {
    let mut coordinator = Coordinator::going(2);
    coordinator.cut(1);
    let back = coordinator.join(5, hello(1));
    assert!(
        has(&back, |event| matches!(
            event,
            RunEvent::Lost { agent: 1, .. }
        )),
        "{back:?}"
    );
}

#[test]
fn agent_keeps_a_run_that_is_unknown_here_and_is_released_from_one_that_ended() {
    let mut coordinator = Coordinator::new();
    let holding = Hello {
        held_runs: held(),
        ..hello(0)
    };
    let actions = coordinator.join(0, holding.clone());
    let [Down::Welcome(welcome)] = sent(&actions, 0)[..] else {
        panic!("{actions:?}")
    };
    assert!(welcome.resumes.is_empty(), "{welcome:?}");
    let mut coordinator = Coordinator::going(1);
    coordinator.end(0);
    coordinator.cut(0);
    let actions = coordinator.join(1, holding);
    assert!(
        matches!(sent(&actions, 1)[..], [Down::Welcome(_), Down::Release(_)]),
        "{actions:?}"
    );
}

#[test]
fn agent_is_released_from_a_run_that_ended_here_before_it_gets_the_plan_of_the_next() {
    let next = |agents| {
        FleetEvent::Run(RunRequest {
            run: RunId([4; 16]),
            ..request(agents)
        })
    };
    let kinds = |actions: &[FleetAction], to| -> String {
        let kind = |message: &&Down| match message {
            Down::Release(_) => 'r',
            Down::Prepare(_) => 'p',
            _ => '.',
        };
        sent(actions, to).iter().map(kind).collect()
    };
    // The run is over, and one of its agents has not heard of that.
    let mut coordinator = Coordinator::going(2);
    coordinator.cut(1);
    coordinator.end(0);
    assert_eq!(losses(&coordinator.pass(20, &[0])).len(), 1);
    coordinator.on(next(2));
    let back = coordinator.join(5, holding(1));
    assert_eq!(kinds(&back, 5), ".rp", "{back:?}");
    // It went away before it read that.
    coordinator.cut(5);
    let back = coordinator.join(6, holding(1));
    assert_eq!(kinds(&back, 6), ".rp", "{back:?}");
}

#[test]
fn lost_agent_leaves_a_visible_gap() {
    let mut coordinator = Coordinator::going(2);
    coordinator.say(1, part(0));
    coordinator.say(1, part(1));
    coordinator.cut(1);
    coordinator.end(0);
    let before = coordinator.pass(14, &[0]);
    assert!(
        !has(&before, |event| matches!(event, RunEvent::Lost { .. })),
        "{before:?}"
    );
    let after = coordinator.pass(1, &[0]);
    assert!(
        has(&after, |event| matches!(
            event,
            RunEvent::Lost {
                agent: 1,
                next_interval: 2,
                ..
            }
        )),
        "{after:?}"
    );
    assert!(has(&after, |event| *event
        == RunEvent::Done {
            outcome: RunOutcome::Ran
        }));
    assert!(coordinator.fleet.is_idle());
}

/// A part that no agent of this version sends.
fn out_of_place() -> Up {
    let (run_id, content) = (RUN.to_wire(), Bytes::new());
    Up::Interval(IntervalPart {
        run_id,
        interval: 0,
        part: 5,
        parts: 2,
        content,
        totals: false,
    })
}

#[test]
fn agent_that_breaks_the_protocol_is_given_up_once_and_told_why() {
    let mut coordinator = Coordinator::going(2);
    coordinator.say(0, part(0));
    let actions = coordinator.say(0, out_of_place());
    let [(0, why)] = losses(&actions)[..] else {
        panic!("{actions:?}")
    };
    assert!(
        why.contains("part 5 of 2") && why.contains("same version"),
        "{why}"
    );
    let told = |message: &&Down| {
        matches!(
            message,
            Down::Notice(notice) if notice.text.contains("part 5 of 2")
        )
    };
    assert!(sent(&actions, 0).iter().any(told), "{actions:?}");
    assert!(
        sent(&actions, 0)
            .iter()
            .any(|message| matches!(message, Down::Release(_))),
        "{actions:?}"
    );
    assert!(
        !actions.contains(&FleetAction::Close(ConnectionId(0))),
        "nothing is gained by another stream: {actions:?}"
    );
    assert!(
        events(&coordinator.say(0, out_of_place())).is_empty(),
        "what was on its way counts for nothing"
    );
    assert!(
        leases(&coordinator.say(0, Up::Beat(Beat::default())), 0) == [0],
        "it may fire no more"
    );
    let actions = coordinator.end(1);
    assert!(
        has(&actions, |event| *event
            == RunEvent::Done {
                outcome: RunOutcome::Ran
            }),
        "the others go on to the end: {actions:?}"
    );
}

#[test]
fn agent_given_up_does_not_come_back_into_the_run_and_serves_the_next() {
    let mut coordinator = Coordinator::going(2);
    coordinator.say(0, out_of_place());
    coordinator.cut(0);
    let back = coordinator.join(
        5,
        Hello {
            held_runs: held(),
            ..hello(0)
        },
    );
    assert!(
        events(&back).is_empty()
            && sent(&back, 5)
                .iter()
                .any(|message| matches!(message, Down::Release(_))),
        "{back:?}"
    );
    coordinator.end(1);
    let next = coordinator.on(FleetEvent::Run(RunRequest {
        run: RunId([4; 16]),
        ..request(2)
    }));
    assert!(
        sent(&next, 5)
            .iter()
            .any(|message| matches!(message, Down::Prepare(_))),
        "{next:?}"
    );
}

#[test]
fn agent_that_is_away_is_waited_for_and_partly_when_no_other_is_going() {
    for (away_before, more) in [(0, 15), (2, 13), (7, 8), (40, 8)] {
        let mut coordinator = Coordinator::going(2);
        coordinator.cut(1);
        coordinator.pass(away_before, &[0]);
        coordinator.end(0);
        let before = coordinator.pass(more - 1, &[0]);
        assert!(losses(&before).is_empty(), "{away_before}: {before:?}");
        let after = coordinator.pass(1, &[0]);
        assert!(
            matches!(losses(&after)[..], [(1, _)]),
            "{away_before}: {after:?}"
        );
    }
}

#[test]
fn agent_that_is_away_is_waited_for_until_its_lease_is_over_and_longer() {
    for lease in [30, 60, 120] {
        let mut coordinator = going_with(RunRequest {
            firing: Some(Duration::from_secs(600)),
            rules: FleetRules {
                lease: Duration::from_secs(lease),
                ..FleetRules::default()
            },
            ..request(2)
        });
        coordinator.pass(1, &[0, 1]);
        // All streams are cut, and something in between reports that as their end.
        (0..2).for_each(|at| drop(coordinator.cut(at)));
        let before = coordinator.pass(lease + 9, &[]);
        assert!(losses(&before).is_empty(), "{lease}: {before:?}");
        assert_eq!(losses(&coordinator.pass(1, &[])).len(), 2, "{lease}");
    }
}

#[test]
fn lost_agent_of_a_run_that_bears_it_is_named_when_its_lease_is_over_and_may_deliver() {
    let mut coordinator = going_with(bearing(3, LostPolicy::Continue, 1));
    coordinator.cut(2);
    let before = coordinator.pass(4, &[0, 1]);
    assert!(losses(&before).is_empty(), "it may fire: {before:?}");
    let after = coordinator.pass(1, &[0, 1]);
    assert!(matches!(losses(&after)[..], [(2, _)]), "{after:?}");
    coordinator.join(5, holding(2));
    let is_late = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::Interval {
                agent: 2,
                interval: 0,
                ..
            }
        )
    };
    let late = coordinator.say(5, part(0));
    assert!(has(&late, is_late), "{late:?}");
}

#[test]
fn agent_that_comes_back_for_a_moment_begins_the_wait_for_the_others_anew() {
    let mut coordinator = Coordinator::going(2);
    coordinator.cut(0);
    coordinator.cut(1);
    coordinator.pass(7, &[]);
    coordinator.join(
        5,
        Hello {
            held_runs: held(),
            ..hello(0)
        },
    );
    coordinator.pass(5, &[5]);
    coordinator.cut(5);
    let before = coordinator.pass(7, &[]);
    assert!(losses(&before).is_empty(), "{before:?}");
    let after = coordinator.pass(1, &[]);
    assert!(matches!(losses(&after)[..], [(1, _)]), "{after:?}");
    let after = coordinator.pass(7, &[]);
    assert!(matches!(losses(&after)[..], [(0, _)]), "{after:?}");
}
