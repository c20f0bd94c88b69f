//! A coordinator's fleet along timelines made by hand.

use control::{
    Audience, ConnectionId, CoordinatorId, Digest, EndCause, Fleet, FleetAction, FleetEvent,
    FleetTime, Receipt, RunEvent, RunFile, RunId, RunOutcome, RunRequest, Stop,
};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Began, Bytes, Clock, Ended, FromAgent, Hello, IntervalPart, PROTOCOL, Prepared};
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const RUN: RunId = RunId([3; 16]);

struct Coordinator {
    fleet: Fleet,
    now_ns: u64,
}

impl Coordinator {
    fn new() -> Coordinator {
        Coordinator {
            fleet: Fleet::new(CoordinatorId([9; 16]), "1".into()),
            now_ns: SECOND,
        }
    }

    /// With agents 0 to n − 1 on connections of the same numbers.
    fn with_agents(agents: u8) -> Coordinator {
        let mut coordinator = Coordinator::new();
        for agent in 0..agents {
            coordinator.join(u64::from(agent), hello(agent));
        }
        coordinator
    }

    /// With a run that has begun on all agents.
    fn going(agents: u8) -> Coordinator {
        let mut coordinator = Coordinator::with_agents(agents);
        coordinator.on(FleetEvent::Run(request(agents.into())));
        for agent in 0..agents {
            coordinator.say(u64::from(agent), Up::Prepared(prepared(500)));
        }
        coordinator
    }

    fn join(&mut self, at: u64, hello: Hello) -> Vec<FleetAction> {
        self.on(FleetEvent::Opened(ConnectionId(at)));
        self.say(at, Up::Hello(hello))
    }

    fn on(&mut self, event: FleetEvent) -> Vec<FleetAction> {
        self.fleet.on(FleetTime(self.now_ns), event)
    }

    fn say(&mut self, at: u64, message: Up) -> Vec<FleetAction> {
        self.on(FleetEvent::Received(
            ConnectionId(at),
            FromAgent {
                message: Some(message),
            },
        ))
    }

    fn cut(&mut self, at: u64) -> Vec<FleetAction> {
        self.on(FleetEvent::Closed(ConnectionId(at), "cut".into()))
    }

    /// So many seconds, with a beat a second from these.
    fn pass(&mut self, seconds: u64, beating: &[u64]) -> Vec<FleetAction> {
        let mut actions = Vec::new();
        for _ in 0..seconds {
            self.now_ns += SECOND;
            for at in beating {
                actions.extend(self.say(*at, Up::Beat(Beat::default())));
            }
            actions.extend(self.on(FleetEvent::Tick));
        }
        actions
    }

    fn end(&mut self, at: u64) -> Vec<FleetAction> {
        let cause = proto::EndCause::Plan.into();
        self.say(
            at,
            Up::Ended(Ended {
                run_id: RUN.to_wire(),
                cause,
                ..Ended::default()
            }),
        )
    }
}

fn hello(agent: u8) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: "1".into(),
        agent_id: Bytes::copy_from_slice(&[agent; 16]),
        name: format!("agent-{agent}"),
        ..Hello::default()
    }
}

fn request(agents: u32) -> RunRequest {
    RunRequest {
        run: RUN,
        name: "run".into(),
        plan: "plan".to_owned().into(),
        plan_digest: Digest([1; 32]),
        files: vec![],
        minted: Vec::new(),
        agents,
        firing: Some(Duration::from_secs(60)),
        drain: Duration::from_secs(5),
    }
}

fn prepared(bound_ns: u64) -> Prepared {
    let clock = Some(Clock {
        offset_ns: 0,
        bound_ns,
    });
    Prepared {
        run_id: RUN.to_wire(),
        plan_digest: Digest([1; 32]).to_wire(),
        clock,
        ..Prepared::default()
    }
}

fn part(interval: u32) -> Up {
    let (run_id, content) = (RUN.to_wire(), Bytes::from_static(b"x"));
    Up::Interval(IntervalPart {
        run_id,
        interval,
        part: 0,
        parts: 1,
        content,
        totals: false,
    })
}

fn events(actions: &[FleetAction]) -> Vec<&RunEvent> {
    let found = actions.iter().filter_map(|action| match action {
        FleetAction::Deliver(event, _) => Some(event),
        _ => None,
    });
    found.collect()
}

fn sent(actions: &[FleetAction], to: u64) -> Vec<&Down> {
    let found = actions.iter().filter_map(|action| match action {
        FleetAction::Send(at, message) if *at == ConnectionId(to) => message.message.as_ref(),
        _ => None,
    });
    found.collect()
}

fn receipt(actions: &[FleetAction]) -> Option<Receipt> {
    actions.iter().find_map(|action| match action {
        FleetAction::Deliver(_, receipt) => *receipt,
        _ => None,
    })
}

fn leases(actions: &[FleetAction], to: u64) -> Vec<u64> {
    let found = sent(actions, to)
        .into_iter()
        .filter_map(|message| match message {
            Down::Grant(grant) => Some(grant.lease_ns),
            _ => None,
        });
    found.collect()
}

fn has(actions: &[FleetAction], is_it: impl Fn(&RunEvent) -> bool) -> bool {
    events(actions).into_iter().any(is_it)
}

#[test]
fn agent_of_another_protocol_is_refused_with_the_cure_and_for_good() {
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
        refused.r#final
            && refused.reason.contains("9.9")
            && refused.reason.contains("same version"),
        "{refused:?}"
    );
    assert!(actions.contains(&FleetAction::Close(ConnectionId(0))));
}

#[test]
fn whoever_says_something_before_hello_is_refused() {
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
fn file_goes_only_to_its_audience() {
    let mut coordinator = Coordinator::with_agents(2);
    let file = |byte: u8, audience| RunFile {
        sha256: Digest([byte; 32]),
        content: Bytes::from(vec![byte]).into(),
        audience,
    };
    let files = vec![file(1, Audience::All), file(2, Audience::Only(vec![1]))];
    let actions = coordinator.on(FleetEvent::Run(RunRequest {
        files,
        ..request(2)
    }));
    let parts = |to: u64| {
        actions.iter().find_map(|action| match action {
            FleetAction::SendFiles(at, files) if *at == ConnectionId(to) => {
                Some(files.clone().count())
            }
            _ => None,
        })
    };
    assert_eq!((parts(0), parts(1)), (Some(1), Some(2)));
}

#[test]
fn start_instant_is_far_enough_ahead_for_the_slowest_path() {
    for (bound_ns, expected_ms) in [(100_000, 300), (50_000_000, 700), (5 * SECOND, 4_000)] {
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
fn lease_is_granted_from_the_start_order_to_the_end_and_to_nobody_else() {
    let mut coordinator = Coordinator::with_agents(2);
    let lease = |coordinator: &mut Coordinator, at| {
        leases(&coordinator.say(at, Up::Beat(Beat::default())), at)[0] > 0
    };
    coordinator.on(FleetEvent::Run(request(1)));
    assert!(!lease(&mut coordinator, 0), "preparing");
    coordinator.say(0, Up::Prepared(prepared(500)));
    assert!(lease(&mut coordinator, 0), "armed");
    assert!(!lease(&mut coordinator, 1), "not of this run");
    coordinator.on(FleetEvent::Stop(Stop::Drain));
    assert!(lease(&mut coordinator, 0), "draining");
    coordinator.on(FleetEvent::Stop(Stop::Now));
    assert!(!lease(&mut coordinator, 0), "stopped");
}

#[test]
fn skew_is_told_once_every_agent_has_begun() {
    let mut coordinator = Coordinator::going(2);
    let began = |began_at_ns| {
        Up::Began(Began {
            run_id: RUN.to_wire(),
            began_at_ns,
            bound_ns: 10,
        })
    };
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
fn interval_is_acknowledged_when_the_caller_has_it_and_delivered_once() {
    let mut coordinator = Coordinator::going(1);
    let first = coordinator.say(0, part(0));
    assert!(
        sent(&first, 0).is_empty()
            && has(&first, |event| matches!(
                event,
                RunEvent::Interval { interval: 0, .. }
            ))
    );
    assert!(
        coordinator.say(0, part(0)).is_empty(),
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
fn agent_that_comes_back_within_the_run_goes_on_and_hears_of_a_stop() {
    let mut coordinator = Coordinator::going(2);
    assert!(has(&coordinator.cut(1), |event| matches!(
        event,
        RunEvent::Gone { agent: 1, .. }
    )));
    coordinator.on(FleetEvent::Stop(Stop::Drain));
    let back = coordinator.join(
        5,
        Hello {
            held_run: RUN.to_wire(),
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
fn agent_that_holds_a_run_nobody_knows_is_released_from_it() {
    let mut coordinator = Coordinator::new();
    let actions = coordinator.join(
        0,
        Hello {
            held_run: RUN.to_wire(),
            ..hello(0)
        },
    );
    assert!(
        matches!(sent(&actions, 0)[..], [Down::Welcome(_), Down::Release(_)]),
        "{actions:?}"
    );
}

#[test]
fn lost_agent_leaves_a_visible_gap() {
    let mut coordinator = Coordinator::going(2);
    coordinator.say(1, part(0));
    coordinator.say(1, part(1));
    coordinator.cut(1);
    coordinator.end(0);
    let before = coordinator.pass(29, &[0]);
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
fn run_that_goes_on_long_after_its_time_is_stopped() {
    let mut coordinator = Coordinator::going(1);
    let actions = coordinator.pass(60 + 5 + 11, &[0]);
    assert!(
        has(
            &actions,
            |event| matches!(event, RunEvent::Note { event, .. } if event == "overdue")
        ),
        "{actions:?}"
    );
    assert!(
        sent(&actions, 0)
            .iter()
            .any(|message| matches!(message, Down::Stop(stop) if stop.now))
    );
    let actions = coordinator.pass(30, &[0]);
    assert!(
        has(&actions, |event| matches!(
            event,
            RunEvent::Lost { agent: 0, .. }
        )),
        "{actions:?}"
    );
}

#[test]
fn drain_that_takes_too_long_is_cut() {
    let mut coordinator = Coordinator::going(1);
    coordinator.on(FleetEvent::Stop(Stop::Drain));
    let actions = coordinator.pass(16, &[0]);
    assert!(
        sent(&actions, 0)
            .iter()
            .any(|message| matches!(message, Down::Stop(stop) if stop.now)),
        "{actions:?}"
    );
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

fn losses(actions: &[FleetAction]) -> Vec<(u32, &str)> {
    let found = events(actions).into_iter().filter_map(|event| match event {
        RunEvent::Lost { agent, why, .. } => Some((*agent, why.as_str())),
        _ => None,
    });
    found.collect()
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
            held_run: RUN.to_wire(),
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
fn upload_that_makes_no_headway_over_many_streams_is_given_up() {
    let mut coordinator = Coordinator::going(2);
    let mut lost = Vec::new();
    for stream in 10..30 {
        coordinator.cut(if stream == 10 { 0 } else { stream - 1 });
        coordinator.pass(1, &[1]);
        let back = coordinator.join(
            stream,
            Hello {
                held_run: RUN.to_wire(),
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
                held_run: RUN.to_wire(),
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
            held_run: RUN.to_wire(),
            ..hello(0)
        },
    );
    let [Down::Welcome(welcome)] = sent(&back, 5)[..] else {
        panic!("{back:?}")
    };
    let resume = welcome.resume.as_ref().expect("it holds the run");
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
fn agent_that_is_away_is_waited_for_from_when_nobody_else_is_going() {
    let mut coordinator = Coordinator::going(2);
    coordinator.cut(1);
    coordinator.pass(40, &[0]);
    coordinator.end(0);
    let before = coordinator.pass(29, &[0]);
    assert!(losses(&before).is_empty(), "{before:?}");
    let after = coordinator.pass(1, &[0]);
    assert!(matches!(losses(&after)[..], [(1, _)]), "{after:?}");
}

#[test]
fn agent_that_comes_back_for_a_moment_begins_the_wait_for_the_others_anew() {
    let mut coordinator = Coordinator::going(2);
    coordinator.cut(0);
    coordinator.cut(1);
    coordinator.pass(20, &[]);
    coordinator.join(
        5,
        Hello {
            held_run: RUN.to_wire(),
            ..hello(0)
        },
    );
    coordinator.pass(5, &[5]);
    coordinator.cut(5);
    let before = coordinator.pass(29, &[]);
    assert!(losses(&before).is_empty(), "{before:?}");
    assert_eq!(losses(&coordinator.pass(1, &[])).len(), 2);
}

#[test]
fn second_stream_of_an_agent_takes_the_place_of_the_first() {
    let mut coordinator = Coordinator::going(1);
    let actions = coordinator.join(
        5,
        Hello {
            held_run: RUN.to_wire(),
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
