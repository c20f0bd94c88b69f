//! What agents measured: stored, acknowledged, late, or missing.

use super::coordinator::{
    Coordinator, RUN, bearing, events, going_with, has, held, hello, holding, leases, losses, part,
    receipt, sent,
};
use control::{ConnectionId, EndCause, FleetAction, FleetEvent, LostPolicy, RunEvent};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Bytes, Hello, IntervalPart};

#[test]
fn interval_is_acknowledged_when_the_caller_has_it_and_delivered_once() {
    let mut coordinator = Coordinator::going(1);
    let first = coordinator.say(0, part(0));
    assert!(
        matches!(sent(&first, 0)[..], [Down::Received(_)])
            && has(&first, |event| matches!(
                event,
                RunEvent::Interval { interval: 0, .. }
            ))
    );
    assert!(
        events(&coordinator.say(0, part(0))).is_empty(),
        "on its way to the caller"
    );
    let taken = coordinator.on(FleetEvent::Delivered(receipt(&first).unwrap()));
    assert!(matches!(sent(&taken, 0)[..], [Down::Ack(_)]), "{taken:?}");
    let again = coordinator.say(0, part(0));
    assert!(
        events(&again).is_empty() && matches!(sent(&again, 0)[..], [Down::Ack(_)]),
        "{again:?}"
    );
}

#[test]
fn intervals_that_never_came_are_named_at_the_end() {
    let mut coordinator = Coordinator::going(1);
    coordinator.say(0, part(0));
    let (run_id, content) = (RUN.to_wire(), Bytes::new());
    coordinator.say(
        0,
        Up::Interval(IntervalPart {
            run_id,
            interval: 3,
            part: 0,
            parts: 1,
            content,
            totals: true,
        }),
    );
    let actions = coordinator.end(0);
    let named = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::Ended { cause: EndCause::Plan, missing, .. } if missing == &[1, 2]
        )
    };
    assert!(has(&actions, named), "{actions:?}");
}

#[test]
fn upload_that_makes_no_headway_over_many_streams_is_given_up() {
    let mut coordinator = Coordinator::going(2);
    let mut lost = Vec::new();
    for stream in 10..30 {
        coordinator.cut(if stream == 10 { 0 } else { stream - 1 });
        coordinator.pass(1, &[1]);
        let back = coordinator.join(
            stream,
            Hello {
                held_runs: held(),
                ..hello(0)
            },
        );
        lost.extend(
            losses(&back)
                .into_iter()
                .map(|(agent, why)| (agent, why.to_owned(), stream)),
        );
        coordinator.pass(9, &[1, stream]);
    }
    let [(0, why, stream)] = &lost[..] else {
        panic!("{lost:?}")
    };
    assert!(
        why.contains("nothing new") && (15..20).contains(stream),
        "{why} at stream {stream}"
    );
}

#[test]
fn stream_that_is_lost_often_is_borne_while_each_brings_something_new() {
    let mut coordinator = Coordinator::going(1);
    for stream in 10..60 {
        coordinator.cut(if stream == 10 { 0 } else { stream - 1 });
        let back = coordinator.join(
            stream,
            Hello {
                held_runs: held(),
                ..hello(0)
            },
        );
        assert!(losses(&back).is_empty(), "{back:?}");
        let (run_id, content) = (RUN.to_wire(), Bytes::from_static(b"x"));
        let part = IntervalPart {
            run_id,
            interval: 0,
            part: stream as u32 - 10,
            parts: 100,
            content,
            totals: true,
        };
        coordinator.say(stream, Up::Interval(part));
        coordinator.pass(1, &[stream]);
    }
}

#[test]
fn upload_goes_on_where_the_stream_before_ended() {
    let mut coordinator = Coordinator::going(1);
    for interval in 0..3 {
        let actions = coordinator.say(0, part(interval));
        if interval < 2 {
            coordinator.on(FleetEvent::Delivered(receipt(&actions).unwrap()));
        }
    }
    let (run_id, content) = (RUN.to_wire(), Bytes::from_static(b"x"));
    let of_totals = |part| IntervalPart {
        run_id: run_id.clone(),
        interval: 3,
        part,
        parts: 4,
        content: content.clone(),
        totals: true,
    };
    coordinator.say(0, Up::Interval(of_totals(0)));
    coordinator.say(0, Up::Interval(of_totals(1)));
    coordinator.cut(0);
    let back = coordinator.join(
        5,
        Hello {
            held_runs: held(),
            ..hello(0)
        },
    );
    let [Down::Welcome(welcome)] = sent(&back, 5)[..] else {
        panic!("{back:?}")
    };
    let resume = welcome.resumes.first().expect("it holds the run");
    assert_eq!(resume.run_id, RUN.to_wire());
    assert_eq!(
        resume.stored_below, 2,
        "the third is not taken by the caller yet"
    );
    assert_eq!((resume.interval, resume.totals, resume.parts), (3, true, 2));
    coordinator.say(5, part(2));
    coordinator.say(5, Up::Interval(of_totals(2)));
    let whole = coordinator.say(5, Up::Interval(of_totals(3)));
    assert!(
        has(
            &whole,
            |event| matches!(event, RunEvent::Totals { encoded, .. } if &encoded[..] == b"xxxx")
        ),
        "{whole:?}"
    );
}

#[test]
fn agent_that_only_uploads_is_not_taken_for_silent() {
    let mut coordinator = Coordinator::going(1);
    for second in 0..20 {
        coordinator.say(0, part(second));
        let actions = coordinator.pass(1, &[]);
        assert!(
            !actions.contains(&FleetAction::Close(ConnectionId(0))),
            "after {second} s: {actions:?}"
        );
    }
}

#[test]
fn late_data_of_an_agent_that_was_given_up_is_taken_until_the_run_is_done() {
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    coordinator.say(1, part(0));
    coordinator.cut(1);
    assert_eq!(losses(&coordinator.pass(6, &[0])).len(), 1);
    let back = coordinator.join(5, holding(1));
    assert!(
        has(&back, |event| *event == RunEvent::Back { agent: 1 }),
        "{back:?}"
    );
    let [Down::Welcome(welcome), Down::Stop(stop)] = sent(&back, 5)[..] else {
        panic!("{back:?}")
    };
    assert!(welcome.resumes.len() == 1 && stop.now, "{back:?}");
    assert_eq!(
        leases(&coordinator.say(5, Up::Beat(Beat::default())), 5),
        [0]
    );
    coordinator.end(0);
    let late = coordinator.say(5, part(1));
    assert!(
        has(&late, |event| matches!(
            event,
            RunEvent::Interval {
                agent: 1,
                interval: 1,
                ..
            }
        )),
        "{late:?}"
    );
    let actions = coordinator.end(5);
    let [RunEvent::Ended { agent: 1, .. }, RunEvent::Done { .. }] = events(&actions)[..] else {
        panic!("{actions:?}")
    };
}

#[test]
fn late_data_is_not_waited_for_longer_than_an_agent_that_is_away() {
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    coordinator.cut(1);
    coordinator.pass(6, &[0]);
    coordinator.end(0);
    let done = |event: &RunEvent| matches!(event, RunEvent::Done { .. });
    assert!(!has(&coordinator.pass(8, &[0]), done));
    assert!(
        has(&coordinator.pass(1, &[0]), done),
        "15 s after its stream ended"
    );
}

#[test]
fn agent_that_ignores_its_window_breaks_the_protocol() {
    let mut coordinator = Coordinator::going(1);
    for interval in 0..64 {
        assert!(
            losses(&coordinator.say(0, part(interval))).is_empty(),
            "{interval}"
        );
    }
    let actions = coordinator.say(0, part(64));
    assert!(
        matches!(losses(&actions)[..], [(0, why)] if why.contains("wait to be stored")),
        "{actions:?}"
    );
    // An agent that waits for acknowledgements never comes near the limit.
    let mut coordinator = Coordinator::going(1);
    for interval in 0..500 {
        let actions = coordinator.say(0, part(interval));
        assert!(losses(&actions).is_empty(), "{interval}");
        coordinator.on(FleetEvent::Delivered(receipt(&actions).unwrap()));
    }
}

fn is_done(event: &RunEvent) -> bool {
    matches!(event, RunEvent::Done { .. })
}

/// A run that bears losses: agent 1 has been silent for long, and agent 0 has ended.
fn with_a_silent_agent() -> Coordinator {
    let mut coordinator = going_with(bearing(2, LostPolicy::Continue, 1));
    assert_eq!(losses(&coordinator.pass(40, &[0])).len(), 1);
    assert!(!has(&coordinator.end(0), is_done));
    assert!(!has(&coordinator.pass(20, &[0]), is_done));
    coordinator
}

#[test]
fn agent_that_comes_back_after_the_others_has_time_to_deliver() {
    let mut coordinator = with_a_silent_agent();
    let back = coordinator.join(5, holding(1));
    assert!(!has(&back, is_done), "{back:?}");
    assert!(!has(&coordinator.pass(20, &[0, 5]), is_done));
    let late = coordinator.say(5, part(0));
    let is_interval = |event: &RunEvent| matches!(event, RunEvent::Interval { agent: 1, .. });
    assert!(has(&late, is_interval), "{late:?}");
    assert!(has(&coordinator.end(5), is_done));
}

#[test]
fn agent_that_comes_back_again_and_again_with_nothing_does_not_hold_up_the_end() {
    let mut coordinator = with_a_silent_agent();
    let mut at = 10;
    while !coordinator.fleet.is_idle() {
        coordinator.join(at, holding(1));
        coordinator.pass(10, &[0, at]);
        coordinator.cut(at);
        at += 1;
        assert!(at < 20, "it goes on and on");
    }
}
