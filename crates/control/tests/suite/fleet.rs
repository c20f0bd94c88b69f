//! A coordinator's fleet, along hand-made timelines.

use control::{
    AgentFacts, AgentId, Audience, ConnectionId, CoordinatorId, Digest, EndCause, Fleet,
    FleetAction, FleetEvent, FleetRules, FleetTime, FleetToken, LostPolicy, Observer, Receipt,
    RunEvent, RunFile, RunId, RunModel, RunOutcome, RunRequest, Stop, TokenReport, Versions,
};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    Ack, Armed, Beat, Began, Bytes, Clock, Ended, FromAgent, HeldRun, Hello, IntervalPart,
    Observed, PROTOCOL, Prepared, ProfilePart, SharePart, TakeOver, TookOver, Want,
};
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
            fleet: Fleet::new(CoordinatorId([9; 16]), versions()),
            now_ns: SECOND,
        }
    }

    /// A coordinator with agents 0 to n − 1, on connections of the same numbers.
    fn with_agents(agents: u8) -> Coordinator {
        let mut coordinator = Coordinator::new();
        for agent in 0..agents {
            coordinator.join(u64::from(agent), hello(agent));
        }
        coordinator
    }

    /// A coordinator with a run that has begun on all agents.
    fn going(agents: u8) -> Coordinator {
        let mut coordinator = Coordinator::with_agents(agents);
        coordinator.on(FleetEvent::Run(request(agents.into())));
        coordinator.start(agents);
        coordinator.begin(agents);
        coordinator
    }

    /// Makes all agents ready, and tells them of the start.
    fn start(&mut self, agents: u8) -> Vec<FleetAction> {
        let mut actions = Vec::new();
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), Up::Prepared(prepared(500))));
        }
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), armed(1)));
        }
        actions
    }

    /// Gives all agents their lease, and lets them begin.
    fn begin(&mut self, agents: u8) -> Vec<FleetAction> {
        let mut actions = Vec::new();
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), Up::Beat(Beat::default())));
        }
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), began(self.now_ns)));
        }
        actions
    }

    fn join(&mut self, at: u64, hello: Hello) -> Vec<FleetAction> {
        self.on(FleetEvent::Opened(ConnectionId(at)));
        self.say(at, Up::Hello(hello))
    }

    /// Handles an event, with a disk that stores start instants at once.
    fn on(&mut self, event: FleetEvent) -> Vec<FleetAction> {
        let mut actions = self.on_slow_disk(event);
        let named: Vec<Receipt> = actions.iter().filter_map(start_receipt).collect();
        for receipt in named {
            actions.extend(self.on_slow_disk(FleetEvent::Delivered(receipt)));
        }
        actions
    }

    fn on_slow_disk(&mut self, event: FleetEvent) -> Vec<FleetAction> {
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

    /// Lets `seconds` seconds pass, with one beat per second on the connections `beating`.
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

fn start_receipt(action: &FleetAction) -> Option<Receipt> {
    match action {
        FleetAction::Deliver(_, RunEvent::Armed { .. }, receipt) => *receipt,
        _ => None,
    }
}

fn versions() -> Versions {
    Versions {
        program: "1".into(),
        encoding: 2,
        language: 4,
    }
}

fn armed(attempt: u32) -> Up {
    Up::Armed(Armed {
        run_id: RUN.to_wire(),
        attempt,
    })
}

fn began(began_at_ns: u64) -> Up {
    Up::Began(Began {
        run_id: RUN.to_wire(),
        began_at_ns,
        bound_ns: 10,
    })
}

fn hello(agent: u8) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: "1".into(),
        agent_id: Bytes::copy_from_slice(&[agent; 16]),
        name: format!("agent-{agent}"),
        snapshot_encoding: 2,
        plan_language: 4,
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
        unsent_bytes: 0,
        minted: Vec::new(),
        agents,
        firing: Some(Duration::from_secs(60)),
        drain: Duration::from_secs(5),
        epoch: 1,
        rules: FleetRules::default(),
        force: false,
        tokens: Vec::new(),
    }
}

fn held() -> Vec<HeldRun> {
    vec![HeldRun {
        run_id: RUN.to_wire(),
        epoch: 1,
    }]
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
        FleetAction::Deliver(_, event, _) => Some(event),
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
        FleetAction::Deliver(_, _, receipt) => *receipt,
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
fn lease_is_granted_from_when_all_know_the_start_to_the_end_and_to_nobody_else() {
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
fn agent_keeps_a_run_nobody_knows_and_is_released_from_one_that_ended_here() {
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
fn run_that_goes_on_long_after_its_time_is_stopped() {
    let mut coordinator = Coordinator::going(1);
    let actions = coordinator.pass(60 + 5 + 12, &[0]);
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
    coordinator.on(FleetEvent::Stop(RUN, Stop::Drain));
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
fn agent_that_is_away_is_waited_for_and_partly_when_nobody_else_is_going() {
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

/// A request for a run that tolerates losses.
fn bearing(agents: u32, lost: LostPolicy, tolerate: u32) -> RunRequest {
    RunRequest {
        rules: FleetRules {
            lost,
            tolerate,
            ..FleetRules::default()
        },
        ..request(agents)
    }
}

fn holding(agent: u8) -> Hello {
    Hello {
        held_runs: held(),
        ..hello(agent)
    }
}

/// Starts a run whose request sets the number of agents and the losses it tolerates.
fn going_with(request: RunRequest) -> Coordinator {
    let agents = request.agents as u8;
    let mut coordinator = Coordinator::with_agents(agents);
    coordinator.on(FleetEvent::Run(request));
    coordinator.start(agents);
    coordinator.begin(agents);
    coordinator
}

fn take_overs(actions: &[FleetAction], to: u64) -> Vec<TakeOver> {
    let found = sent(actions, to).into_iter();
    let orders = found.filter_map(|message| match message {
        Down::TakeOver(order) => Some(order.clone()),
        _ => None,
    });
    orders.collect()
}

fn ended_because(cause: proto::EndCause) -> Up {
    Up::Ended(Ended {
        run_id: RUN.to_wire(),
        cause: cause.into(),
        ..Ended::default()
    })
}

#[test]
fn start_that_one_agent_misses_is_tried_again_and_nobody_gets_a_lease_before() {
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
fn start_that_this_side_slept_through_is_tried_again_since_nobody_fires() {
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
fn share_of_a_lost_agent_is_dealt_once_its_lease_is_over_and_it_is_written_down() {
    let mut coordinator = going_with(bearing(3, LostPolicy::Redistribute, 2));
    let leased_at = coordinator.now_ns;
    coordinator.cut(2);
    let before = coordinator.pass(4, &[0, 1]);
    assert!(losses(&before).is_empty(), "its lease holds: {before:?}");
    let actions = coordinator.pass(1, &[0, 1]);
    let fired_until = |event: &RunEvent| {
        matches!(event, RunEvent::Lost { agent: 2, fired_until: Some(until), .. }
            if until.0 == leased_at + 5 * SECOND)
    };
    assert!(has(&actions, fired_until), "{actions:?}");
    let dealt = |event: &RunEvent| {
        matches!(event, RunEvent::Redistributed { agent: 2, to, from }
            if to[..] == [0, 1] && from.0 > coordinator.now_ns + SECOND)
    };
    assert!(has(&actions, dealt), "{actions:?}");
    assert!(
        take_overs(&actions, 0).is_empty(),
        "it is not written down yet"
    );
    let receipt = receipt(&actions).expect("somebody waits for it");
    let written = coordinator.on(FleetEvent::Delivered(receipt));
    let [order] = &take_overs(&written, 1)[..] else {
        panic!("{written:?}")
    };
    assert_eq!(
        (order.agent_index, order.run_id.clone()),
        (2, RUN.to_wire())
    );
    assert_eq!(order.parts, [SharePart { part: 1, parts: 2 }]);
    // It is sent again on a new stream until it is answered.
    coordinator.cut(1);
    let back = coordinator.join(5, holding(1));
    assert_eq!(take_overs(&back, 5), std::slice::from_ref(order));
    let answer = |problem: &str| {
        Up::TookOver(TookOver {
            run_id: RUN.to_wire(),
            number: order.number,
            problem: problem.into(),
            from_ns: 0,
        })
    };
    let said = coordinator.say(5, answer("no room"));
    let note = |event: &RunEvent| match event {
        RunEvent::Note { agent, text, .. } => *agent == Some(1) && text.contains("no room"),
        _ => false,
    };
    assert!(has(&said, note), "{said:?}");
    let refused = RunEvent::TakenOver {
        agent: 2,
        by: 1,
        from: None,
    };
    assert!(has(&said, |event| *event == refused), "{said:?}");
    let other = coordinator.say(
        0,
        Up::TookOver(TookOver {
            run_id: RUN.to_wire(),
            number: 1,
            problem: String::new(),
            from_ns: 20 * SECOND,
        }),
    );
    let from_20_s = |event: &RunEvent| match event {
        RunEvent::TakenOver { agent, by, from } => {
            (*agent, *by) == (2, 0) && from.is_some_and(|from| from.0 > 20 * SECOND)
        }
        _ => false,
    };
    assert!(has(&other, from_20_s), "{other:?}");
    coordinator.cut(5);
    assert!(take_overs(&coordinator.join(6, holding(1)), 6).is_empty());
}

#[test]
fn share_whose_heir_ends_before_it_hears_of_it_is_said_to_be_undone() {
    let undone = |event: &RunEvent| match event {
        RunEvent::Note { agent, text, .. } => *agent == Some(0) && text.contains("agent 1 left"),
        _ => false,
    };
    // The disk is full, and no agent is told of the share before it is stored.
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let dealt = coordinator.say(1, ended_because(proto::EndCause::Failed));
    assert!(receipt(&dealt).is_some() && take_overs(&dealt, 0).is_empty());
    let ended = coordinator.end(0);
    assert!(has(&ended, undone), "{ended:?}");
    // Once it is taken over, there is nothing to report.
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let dealt = coordinator.say(1, ended_because(proto::EndCause::Failed));
    let receipt = receipt(&dealt).expect("its share is dealt");
    let written = coordinator.on(FleetEvent::Delivered(receipt));
    let [order] = &take_overs(&written, 0)[..] else {
        panic!("{written:?}")
    };
    coordinator.say(
        0,
        Up::TookOver(TookOver {
            run_id: RUN.to_wire(),
            number: order.number,
            problem: String::new(),
            from_ns: order.from_ns,
        }),
    );
    let ended = coordinator.end(0);
    assert!(!has(&ended, undone), "{ended:?}");
}

#[test]
fn more_losses_than_are_borne_or_a_plan_that_is_over_deal_nothing() {
    let dealt = |event: &RunEvent| matches!(event, RunEvent::Redistributed { .. });
    let mut coordinator = going_with(bearing(4, LostPolicy::Redistribute, 1));
    coordinator.cut(2);
    coordinator.cut(3);
    let actions = coordinator.pass(6, &[0, 1]);
    assert!(!has(&actions, dealt), "two are lost at once: {actions:?}");
    let mut coordinator = going_with(bearing(3, LostPolicy::Redistribute, 1));
    coordinator.pass(57, &[0, 1, 2]);
    coordinator.cut(2);
    let actions = coordinator.pass(8, &[0, 1]);
    assert!(
        !losses(&actions).is_empty() && !has(&actions, dealt),
        "{actions:?}"
    );
}

#[test]
fn agent_whose_lease_ran_out_leaves_its_share_too() {
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let actions = coordinator.say(1, ended_because(proto::EndCause::LeaseExpired));
    assert!(
        has(&actions, |event| matches!(
            event,
            RunEvent::Redistributed { agent: 1, .. }
        )),
        "{actions:?}"
    );
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let actions = coordinator.say(1, ended_because(proto::EndCause::Plan));
    assert!(receipt(&actions).is_none(), "{actions:?}");
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
fn stop_at_once_ends_within_half_a_minute_whatever_streams_do() {
    let mut coordinator = Coordinator::going(1);
    coordinator.on(FleetEvent::Stop(RUN, Stop::Now));
    let of_totals = |part| {
        Up::Interval(IntervalPart {
            run_id: RUN.to_wire(),
            interval: 0,
            part,
            parts: 9,
            content: Bytes::new(),
            totals: true,
        })
    };
    let mut seconds = 0;
    let mut at = 0;
    while !coordinator.fleet.is_idle() {
        coordinator.cut(at);
        at = 10 + seconds;
        coordinator.join(at, holding(0));
        // The same three parts on every stream.
        (0..3).for_each(|part| {
            coordinator.say(at, of_totals(part));
        });
        coordinator.pass(1, &[at]);
        seconds += 1;
        assert!(seconds < 40, "it goes on and on");
    }
    assert!(seconds >= 29, "{seconds}");
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

/// The run as what was reported tells it.
fn model_of(told: &[FleetAction]) -> RunModel {
    let mut model = RunModel::default();
    for event in events(told) {
        model.take(event, FleetTime(0));
    }
    model
}

/// A run of two agents: both began, and intervals 0 and 1 of agent 0 are stored.
fn past_run(coordinator: &mut Coordinator) -> RunModel {
    model_of(&past_actions(coordinator))
}

fn past_actions(coordinator: &mut Coordinator) -> Vec<FleetAction> {
    let mut told = Vec::new();
    for agent in 0..2 {
        told.extend(coordinator.join(agent.into(), hello(agent)));
    }
    told.extend(coordinator.on(FleetEvent::Run(request(2))));
    told.extend(coordinator.start(2));
    told.extend(coordinator.begin(2));
    told.extend(coordinator.say(0, part(0)));
    told.extend(coordinator.say(0, part(1)));
    told
}

#[test]
fn another_coordinator_takes_the_run_up_where_its_record_ends() {
    let past = past_run(&mut Coordinator::new());
    let mut coordinator = Coordinator::new();
    coordinator.join(3, holding(1));
    let request = RunRequest {
        epoch: 2,
        ..request(2)
    };
    let actions = coordinator.on(FleetEvent::Resume(request, Box::new(past)));
    assert!(
        actions.contains(&FleetAction::Close(ConnectionId(3))),
        "its welcome did not say where it goes on: {actions:?}"
    );
    assert!(!has(&actions, |event| matches!(
        event,
        RunEvent::Assembled { .. }
    )));
    let back = coordinator.join(4, holding(0));
    let [Down::Welcome(welcome)] = sent(&back, 4)[..] else {
        panic!("{back:?}")
    };
    let resume = welcome.resumes.first().expect("the run is known");
    assert_eq!((resume.stored_below, resume.epoch), (2, 2));
    assert!(leases(&coordinator.say(4, Up::Beat(Beat::default())), 4)[0] > 0);
    let again = coordinator.say(4, part(1));
    assert!(
        events(&again).is_empty() && matches!(sent(&again, 4)[..], [Down::Ack(_)]),
        "it is stored: {again:?}"
    );
    assert_eq!(events(&coordinator.say(4, part(2))).len(), 1);
    let back = coordinator.join(5, hello(1));
    assert!(
        matches!(losses(&back)[..], [(1, why)] if why.contains("does not hold the run any more")),
        "{back:?}"
    );
    let end = coordinator.end(4);
    let outcome = RunOutcome::Ran;
    assert!(
        has(&end, |event| *event == RunEvent::Done { outcome }),
        "{end:?}"
    );
}

#[test]
fn agent_that_never_came_back_fired_until_its_last_coordinator_was_gone_and_a_lease() {
    let died_at = Coordinator::going(2).now_ns + 10 * SECOND;
    let fired_until = |left_at: Option<FleetTime>| {
        let mut past = past_run(&mut going_with(bearing(2, LostPolicy::Continue, 2)));
        left_at.into_iter().for_each(|at| past.leave(at));
        let mut coordinator = Coordinator::new();
        coordinator.now_ns = died_at + 60 * SECOND;
        coordinator.on(FleetEvent::Resume(
            bearing(2, LostPolicy::Continue, 2),
            Box::new(past),
        ));
        let actions = coordinator.pass(61, &[]);
        let until = events(&actions).into_iter().find_map(|event| match event {
            RunEvent::Lost { fired_until, .. } => *fired_until,
            _ => None,
        });
        until.map(|until| (until.0 - died_at) / SECOND)
    };
    assert_eq!(fired_until(None), Some(65), "until when is not known");
    assert_eq!(fired_until(Some(FleetTime(died_at))), Some(5));
}

#[test]
fn agent_of_a_resumed_run_has_time_to_say_that_it_began() {
    let mut told = past_actions(&mut Coordinator::new());
    // What came after the announcement was not stored.
    let is_start =
        |action: &FleetAction| matches!(action, FleetAction::Deliver(_, RunEvent::Armed { .. }, _));
    let start = told.iter().position(is_start).expect("it started");
    told.truncate(start + 1);
    let past = model_of(&told);
    let mut coordinator = Coordinator::new();
    coordinator.now_ns += 30 * SECOND;
    coordinator.on(FleetEvent::Resume(request(2), Box::new(past)));
    coordinator.join(4, holding(0));
    let before = coordinator.pass(9, &[4]);
    assert!(losses(&before).is_empty(), "{before:?}");
    coordinator.say(4, began(SECOND));
    assert!(losses(&coordinator.pass(2, &[4])).is_empty());
}

#[test]
fn run_that_is_taken_up_after_its_end_says_nothing_false_of_agents_that_were_away() {
    let past = past_run(&mut Coordinator::new());
    let mut coordinator = Coordinator::new();
    coordinator.now_ns += 1_800 * SECOND;
    coordinator.on(FleetEvent::Resume(request(2), Box::new(past)));
    coordinator.pass(12, &[]);
    coordinator.join(4, holding(0));
    let is_overdue =
        |event: &RunEvent| matches!(event, RunEvent::Note { event, .. } if event == "overdue");
    let actions = coordinator.pass(9, &[4]);
    assert!(
        !has(&actions, is_overdue),
        "it has just come back: {actions:?}"
    );
    let actions = coordinator.pass(2, &[4]);
    assert!(has(&actions, is_overdue), "{actions:?}");
    // Agent 0 is deaf; agent 1 cannot have heard that it should stop.
    let actions = coordinator.pass(90, &[4]);
    let reasons: Vec<(u32, bool)> = losses(&actions)
        .into_iter()
        .map(|(agent, why)| (agent, why.contains("told to stop")))
        .collect();
    assert_eq!(reasons, [(0, true), (1, false)], "{actions:?}");
}

#[test]
fn record_without_a_start_is_a_new_run_and_ended_agents_stay_ended() {
    let mut coordinator = Coordinator::with_agents(2);
    let resume = FleetEvent::Resume(request(2), Box::default());
    let actions = coordinator.on(resume);
    assert!(
        has(&actions, |event| matches!(
            event,
            RunEvent::Assembled { .. }
        )),
        "{actions:?}"
    );
    let mut past = Coordinator::new();
    let mut told = past_actions(&mut past);
    told.extend([0, 1].into_iter().flat_map(|at| past.end(at)));
    let mut coordinator = Coordinator::new();
    let past = Box::new(model_of(&told));
    let actions = coordinator.on(FleetEvent::Resume(request(2), past));
    let outcome = RunOutcome::Ran;
    assert_eq!(events(&actions), [&RunEvent::Done { outcome }]);
}

#[test]
fn resumed_run_knows_who_fires_what() {
    let mut past = Coordinator::with_agents(3);
    let request = bearing(3, LostPolicy::Redistribute, 2);
    let mut told = past.on(FleetEvent::Run(request));
    told.extend(past.start(3));
    told.extend(past.begin(3));
    past.cut(2);
    let lost = past.pass(5, &[0, 1]);
    let written = past.on(FleetEvent::Delivered(receipt(&lost).unwrap()));
    told.extend(lost);
    let past = model_of(&told);
    let order = take_overs(&written, 1);
    let mut coordinator = Coordinator::new();
    let request = bearing(3, LostPolicy::Redistribute, 2);
    coordinator.on(FleetEvent::Resume(request, Box::new(past)));
    let back = coordinator.join(7, holding(1));
    assert_eq!(
        take_overs(&back, 7),
        order,
        "the same, since it did not answer"
    );
    let lost = coordinator.join(8, holding(2));
    assert!(
        has(&lost, |event| *event == RunEvent::Back { agent: 2 }),
        "it may still deliver: {lost:?}"
    );
}

#[test]
fn resumed_run_deals_what_nobody_was_given_and_counts_every_loss_once() {
    for (ends, tolerate, is_dealt) in [
        (proto::EndCause::LeaseExpired, 1, true),
        (proto::EndCause::Failed, 1, true),
        (proto::EndCause::Plan, 1, false),
        // One more than the run tolerates.
        (proto::EndCause::LeaseExpired, 0, false),
    ] {
        let mut past = Coordinator::with_agents(3);
        let request = bearing(3, LostPolicy::Redistribute, tolerate);
        let mut told = past.on(FleetEvent::Run(request.clone()));
        told.extend(past.start(3));
        told.extend(past.begin(3));
        // The coordinator dies before it is stored which agents fire the rest.
        told.extend(past.say(2, ended_because(ends)));
        told.retain(|action| {
            !matches!(
                action,
                FleetAction::Deliver(_, RunEvent::Redistributed { .. }, _)
            )
        });
        let mut coordinator = Coordinator::new();
        let resume = FleetEvent::Resume(request, Box::new(model_of(&told)));
        let mut actions = coordinator.on(resume);
        actions.extend(coordinator.join(7, holding(0)));
        let dealt = |event: &RunEvent| match event {
            RunEvent::Redistributed { agent, to, .. } => *agent == 2 && to[..] == [0],
            _ => false,
        };
        assert_eq!(has(&actions, dealt), is_dealt, "{ends:?}: {actions:?}");
    }
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

#[test]
fn nobody_may_fire_before_the_start_instant_is_stored() {
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

fn monitor(number: u8) -> Hello {
    Hello {
        role: proto::Role::Monitor.into(),
        ..hello(number)
    }
}

fn observed(second: u32) -> Up {
    Up::Observed(Observed {
        run_id: RUN.to_wire(),
        second,
        content: Bytes::from_static(b"busy"),
    })
}

/// The observed seconds, as the events report them.
fn observations(actions: &[FleetAction]) -> Vec<(Observer, u32)> {
    let told = events(actions).into_iter();
    told.filter_map(|event| match event {
        RunEvent::Observed { by, second, .. } => Some((*by, *second)),
        _ => None,
    })
    .collect()
}

#[test]
fn monitor_watches_from_the_start_to_the_end_and_no_run_waits_for_it() {
    let mut coordinator = Coordinator::new();
    coordinator.join(0, hello(0));
    coordinator.join(7, monitor(7));
    let actions = coordinator.on(FleetEvent::Run(request(2)));
    assert!(
        has(&actions, |event| *event
            == RunEvent::Waiting { have: 1, want: 2 }),
        "{actions:?}"
    );
    coordinator.join(1, hello(1));
    coordinator.start(2);
    let actions = coordinator.begin(2);
    let [Down::Observe(observe)] = sent(&actions, 7)[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(observe.run_id, RUN.to_wire());
    assert!(has(&actions, |event| matches!(
        event,
        RunEvent::Watching { .. }
    )));
    assert_eq!(
        leases(&coordinator.say(7, Up::Beat(Beat::default())), 7),
        [0]
    );

    let actions = coordinator.say(7, observed(0));
    assert_eq!(observations(&actions), [(Observer::Monitor(0), 0)]);
    let receipt = receipt(&actions).expect("it waits to be stored");
    let again = coordinator.say(7, observed(0));
    assert!(observations(&again).is_empty(), "it came twice: {again:?}");
    let far = coordinator.say(7, observed(100));
    assert!(observations(&far).is_empty(), "it is not over yet: {far:?}");
    let stored = coordinator.on(FleetEvent::Delivered(receipt));
    assert!(is_acknowledged(&stored, 7, Stored::Second(0)), "{stored:?}");

    // A monitor that is lost costs the run nothing, and is recognised when it comes back.
    let is_said = |actions: &[FleetAction], what: &str| {
        has(actions, |event| match event {
            RunEvent::Note { agent, text, .. } => agent.is_none() && text.ends_with(what),
            _ => false,
        })
    };
    let cut = coordinator.cut(7);
    assert!(is_said(&cut, " is away"), "{cut:?}");
    assert!(losses(&coordinator.pass(4, &[0, 1])).is_empty());
    let back = coordinator.join(8, monitor(7));
    assert!(is_said(&back, " is back"), "{back:?}");
    assert!(
        matches!(sent(&back, 8)[..], [Down::Welcome(_), Down::Observe(_)]),
        "{back:?}"
    );
    let actions = coordinator.say(8, observed(1));
    assert_eq!(observations(&actions), [(Observer::Monitor(0), 1)]);

    coordinator.end(0);
    let actions = coordinator.end(1);
    assert!(coordinator.fleet.is_idle(), "{actions:?}");
    assert!(
        matches!(sent(&actions, 8)[..], [Down::Release(_)]),
        "{actions:?}"
    );
    let cut = coordinator.cut(8);
    assert!(events(&cut).is_empty(), "no run is there: {cut:?}");
}

#[test]
fn monitor_of_other_language_watches_and_no_run_complains() {
    let mut coordinator = Coordinator::new();
    coordinator.join(0, hello(0));
    let other = Hello {
        plan_language: 3,
        snapshot_encoding: 1,
        ..monitor(7)
    };
    coordinator.join(7, other);
    let actions = coordinator.on(FleetEvent::Run(request(1)));
    let is_note = |event: &RunEvent| matches!(event, RunEvent::Note { .. });
    assert!(!has(&actions, is_note), "{actions:?}");
    coordinator.start(1);
    let actions = coordinator.begin(1);
    assert!(matches!(sent(&actions, 7)[..], [Down::Observe(_)]));
}

#[test]
fn monitors_that_are_started_again_and_again_do_not_make_a_run_endless() {
    let mut coordinator = Coordinator::going(1);
    let mut watching = 0;
    for number in 0..1_010_u64 {
        let mut id = [7; 16];
        id[..8].copy_from_slice(&number.to_le_bytes());
        let hello = Hello {
            agent_id: Bytes::copy_from_slice(&id),
            ..monitor(1)
        };
        let at = 100 + number;
        let actions = coordinator.join(at, hello);
        let is_watching = |event: &RunEvent| matches!(event, RunEvent::Watching { .. });
        watching += u32::from(has(&actions, is_watching));
        coordinator.cut(at);
    }
    assert_eq!(watching, 1_000);
}

#[test]
fn agents_observe_their_own_machines() {
    let mut coordinator = Coordinator::going(2);
    let actions = coordinator.say(1, observed(0));
    assert_eq!(observations(&actions), [(Observer::Agent(1), 0)]);
    let stored = coordinator.on(FleetEvent::Delivered(receipt(&actions).unwrap()));
    assert!(is_acknowledged(&stored, 1, Stored::Second(0)), "{stored:?}");
}

#[test]
fn monitors_keep_their_numbers_where_a_run_is_taken_up() {
    let mut coordinator = Coordinator::new();
    coordinator.join(7, monitor(7));
    let mut told = past_actions(&mut coordinator);
    told.extend(coordinator.say(7, observed(0)));
    let mut next = Coordinator::new();
    let request = RunRequest {
        epoch: 2,
        ..request(2)
    };
    let past = Box::new(model_of(&told));
    next.on(FleetEvent::Resume(request, past));
    let actions = next.join(3, monitor(7));
    assert!(
        !has(&actions, |event| matches!(event, RunEvent::Watching { .. })),
        "it is known: {actions:?}"
    );
    let again = next.say(3, observed(0));
    assert!(observations(&again).is_empty(), "it is stored: {again:?}");
}

fn profile_part(part: u32, parts: u32) -> Up {
    Up::Profile(ProfilePart {
        run_id: RUN.to_wire(),
        part,
        parts,
        content: Bytes::from_static(b"stacks"),
    })
}

/// Parts of profiles, as the events report them: the monitor, the part, and the number of parts.
fn profile_parts(actions: &[FleetAction]) -> Vec<(u32, u32, u32)> {
    let told = events(actions).into_iter();
    told.filter_map(|event| match event {
        RunEvent::ProfilePart {
            monitor,
            part,
            parts,
            ..
        } => Some((*monitor, *part, *parts)),
        _ => None,
    })
    .collect()
}

fn is_acknowledged(actions: &[FleetAction], at: u64, stored: Stored) -> bool {
    let ack = Down::Ack(Ack {
        run_id: RUN.to_wire(),
        stored: Some(stored),
    });
    sent(actions, at).contains(&&ack)
}

/// A run of two agents that a monitor watches.
fn watched() -> Coordinator {
    let mut coordinator = Coordinator::new();
    coordinator.join(7, monitor(7));
    past_actions(&mut coordinator);
    coordinator
}

#[test]
fn what_is_stored_is_acknowledged_again_where_a_cut_lost_it() {
    let mut coordinator = watched();
    let observation = receipt(&coordinator.say(7, observed(0))).unwrap();
    let part = receipt(&coordinator.say(7, profile_part(0, 2))).unwrap();
    coordinator.cut(7);
    coordinator.on(FleetEvent::Delivered(observation));
    coordinator.on(FleetEvent::Delivered(part));
    coordinator.join(8, monitor(7));
    let again = coordinator.say(8, observed(0));
    assert!(is_acknowledged(&again, 8, Stored::Second(0)), "{again:?}");
    let again = coordinator.say(8, profile_part(0, 2));
    assert!(
        is_acknowledged(&again, 8, Stored::ProfilePart(0)),
        "{again:?}"
    );
    assert!(events(&again).is_empty(), "{again:?}");
    let next = coordinator.say(8, profile_part(1, 2));
    assert_eq!(profile_parts(&next), [(0, 1, 2)]);
}

#[test]
fn profile_goes_on_where_a_run_is_taken_up() {
    let mut coordinator = Coordinator::new();
    coordinator.join(7, monitor(7));
    let mut told = past_actions(&mut coordinator);
    told.extend(coordinator.say(7, profile_part(0, 2)));
    let mut next = Coordinator::new();
    let request = RunRequest {
        epoch: 2,
        ..request(2)
    };
    next.on(FleetEvent::Resume(request, Box::new(model_of(&told))));
    next.join(3, monitor(7));
    let again = next.say(3, profile_part(0, 2));
    assert!(
        is_acknowledged(&again, 3, Stored::ProfilePart(0)),
        "{again:?}"
    );
    assert_eq!(profile_parts(&next.say(3, profile_part(1, 2))), [(0, 1, 2)]);
}

fn is_of_a_missing_profile(event: &RunEvent) -> bool {
    match event {
        RunEvent::Note { text, .. } => text.contains("no CPU profile: it had not arrived"),
        _ => false,
    }
}

#[test]
fn end_waits_a_moment_for_a_profile_that_is_under_way_and_no_longer() {
    let is_done =
        |actions: &[FleetAction]| has(actions, |event| matches!(event, RunEvent::Done { .. }));
    let is_released = |actions: &[FleetAction]| matches!(sent(actions, 7)[..], [Down::Release(_)]);
    for delivers in [true, false] {
        let mut coordinator = watched();
        coordinator.say(7, profile_part(0, 0));
        coordinator.end(0);
        let ended = coordinator.end(1);
        assert!(!is_done(&ended), "{ended:?}");
        assert!(is_released(&ended), "it ends its profile: {ended:?}");
        if delivers {
            let part = coordinator.say(7, profile_part(0, 1));
            let stored = coordinator.on(FleetEvent::Delivered(receipt(&part).unwrap()));
            assert!(
                is_acknowledged(&stored, 7, Stored::ProfilePart(0)),
                "{stored:?}"
            );
            let done = coordinator.pass(1, &[7]);
            assert!(
                is_done(&done) && !has(&done, is_of_a_missing_profile),
                "{done:?}"
            );
        } else {
            assert!(!is_done(&coordinator.pass(4, &[7])));
            let late = coordinator.pass(2, &[7]);
            assert!(is_done(&late) && !is_released(&late), "{late:?}");
            assert!(has(&late, is_of_a_missing_profile), "{late:?}");
        }
        assert!(coordinator.fleet.is_idle());
    }
}

#[test]
fn end_waits_for_no_monitor_that_is_away() {
    let mut coordinator = watched();
    coordinator.say(7, profile_part(0, 0));
    coordinator.cut(7);
    coordinator.end(0);
    let ended = coordinator.end(1);
    assert!(coordinator.fleet.is_idle(), "{ended:?}");
    assert!(has(&ended, is_of_a_missing_profile), "{ended:?}");
}

const OTHER: RunId = RunId([4; 16]);

/// Which agents each run begins on.
fn chosen(actions: &[FleetAction]) -> Vec<(RunId, Vec<&str>)> {
    let found = actions.iter().filter_map(|action| match action {
        FleetAction::Deliver(run, RunEvent::Assembled { agents }, _) => {
            let names = agents.iter().map(|agent| agent.name.as_str());
            Some((*run, names.collect()))
        }
        _ => None,
    });
    found.collect()
}

fn other(agents: u32) -> RunRequest {
    RunRequest {
        run: OTHER,
        ..request(agents)
    }
}

#[test]
fn two_runs_choose_disjoint_agents_in_the_order_in_which_they_were_requested() {
    let mut coordinator = Coordinator::with_agents(1);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.on(FleetEvent::Run(other(1)));
    let first = coordinator.join(1, hello(1));
    assert_eq!(chosen(&first), [(RUN, vec!["agent-0", "agent-1"])]);
    let second = coordinator.join(2, hello(2));
    assert_eq!(chosen(&second), [(OTHER, vec!["agent-2"])]);
    let third = coordinator.join(3, hello(3));
    assert!(
        matches!(sent(&third, 3)[..], [Down::Welcome(_), Down::Notice(_)]),
        "{third:?}"
    );
}

#[test]
fn run_that_waits_gets_the_agents_of_one_that_is_over() {
    let mut coordinator = Coordinator::going(2);
    let waiting = coordinator.on(FleetEvent::Run(other(2)));
    assert_eq!(events(&waiting), [&RunEvent::Waiting { have: 0, want: 2 }]);
    coordinator.on(FleetEvent::Stop(OTHER, Stop::Drain));
    assert!(coordinator.fleet.serves(RUN) && !coordinator.fleet.serves(OTHER));
    coordinator.on(FleetEvent::Run(other(2)));
    coordinator.end(0);
    let over = coordinator.end(1);
    assert_eq!(chosen(&over), [(OTHER, vec!["agent-0", "agent-1"])]);
    assert!(!coordinator.fleet.serves(RUN));
}

#[test]
fn agents_that_a_run_had_chosen_go_to_the_next_one_when_it_is_given_up() {
    let mut coordinator = Coordinator::with_agents(1);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.on(FleetEvent::Run(other(1)));
    let given_up = coordinator.on(FleetEvent::Stop(RUN, Stop::Drain));
    assert_eq!(chosen(&given_up), [(OTHER, vec!["agent-0"])]);
}

#[test]
fn run_that_gets_its_agents_as_its_wait_ends_begins() {
    let mut coordinator = Coordinator::with_agents(1);
    let wait = Some(Duration::from_secs(10));
    for mut request in [request(2), other(1)] {
        request.rules.join_timeout = wait;
        coordinator.on(FleetEvent::Run(request));
    }
    let too_late = coordinator.pass(10, &[0]);
    assert_eq!(chosen(&too_late), [(OTHER, vec!["agent-0"])]);
    assert!(coordinator.fleet.serves(OTHER) && !coordinator.fleet.serves(RUN));
}

#[test]
fn run_is_not_taken_up_while_its_agent_serves_another() {
    let going = Coordinator::going(1);
    let mut past = RunModel::default();
    let agents = vec![AgentFacts::new(AgentId([0; 16]), "agent-0")];
    past.take(&RunEvent::Assembled { agents }, FleetTime(0));
    assert!(!going.fleet.can_resume(OTHER, &past));
    assert!(!going.fleet.can_resume(RUN, &RunModel::default()));
    assert!(going.fleet.can_resume(OTHER, &RunModel::default()));
    assert!(Coordinator::with_agents(1).fleet.can_resume(OTHER, &past));
}

#[test]
fn monitor_watches_the_run_that_began_first_and_then_the_next() {
    let mut coordinator = Coordinator::with_agents(1);
    let monitor = Hello {
        role: proto::Role::Monitor.into(),
        ..hello(9)
    };
    coordinator.on(FleetEvent::Run(request(1)));
    coordinator.join(9, monitor);
    coordinator.join(1, hello(1));
    coordinator.on(FleetEvent::Run(other(1)));
    let mut actions = coordinator.start(1);
    actions.extend(coordinator.begin(1));
    let watched = |actions: &[FleetAction]| -> Vec<Bytes> {
        let observe = |down: &Down| match down {
            Down::Observe(observe) => Some(observe.run_id.clone()),
            _ => None,
        };
        sent(actions, 9).into_iter().filter_map(observe).collect()
    };
    assert_eq!(watched(&actions), [RUN.to_wire()]);
    let run_id = OTHER.to_wire();
    let ready = Prepared {
        run_id: run_id.clone(),
        ..prepared(500)
    };
    let mut started = coordinator.say(1, Up::Prepared(ready));
    started.extend(coordinator.say(1, Up::Armed(Armed { run_id, attempt: 1 })));
    started.extend(coordinator.say(1, Up::Beat(Beat::default())));
    assert_eq!(leases(&started, 1).len(), 1, "{started:?}");
    assert_eq!(watched(&started), [] as [Bytes; 0]);
    assert_eq!(watched(&coordinator.end(0)), [OTHER.to_wire()]);
}

fn tokens_of(actions: &[FleetAction], to: u64) -> Vec<(String, Option<u64>)> {
    let found = sent(actions, to).into_iter();
    let tokens = found.filter_map(|message| match message {
        Down::Token(token) => {
            assert_eq!((&token.run_id, token.place), (&RUN.to_wire(), 3));
            Some((token.text.clone(), token.ends.then_some(token.left_ns)))
        }
        _ => None,
    });
    tokens.collect()
}

fn token(text: &str, expires_at: Option<u64>) -> FleetToken {
    FleetToken {
        place: 3,
        text: text.to_owned().into(),
        expires_at: expires_at.map(FleetTime),
    }
}

#[test]
fn agents_have_the_latest_token_once_they_are_ready_and_when_they_come_back() {
    let mut coordinator = Coordinator::with_agents(1);
    let mut wanted = request(2);
    wanted.tokens = vec![token("first", None)];
    let asked = |actions: &[FleetAction]| -> Vec<bool> {
        let came = events(actions).into_iter();
        let came = came.filter_map(|event| match event {
            RunEvent::TokenAsked { place: 3, came } => Some(*came),
            _ => None,
        });
        came.collect()
    };
    let renew = |text: &str, at| FleetEvent::Token(RUN, TokenReport::Came(token(text, at)));
    assert_eq!(asked(&coordinator.on(FleetEvent::Run(wanted))), [true]);
    // The run still waits for an agent.
    assert_eq!(asked(&coordinator.on(renew("second", None))), [true]);
    coordinator.join(1, hello(1));
    let actions = coordinator.say(0, Up::Prepared(prepared(500)));
    assert_eq!(tokens_of(&actions, 0), [("second".to_owned(), None)]);
    let expires_at = coordinator.now_ns + 7 * SECOND;
    let actions = coordinator.on(renew("third", Some(expires_at)));
    let third = ("third".to_owned(), Some(7 * SECOND));
    assert_eq!(tokens_of(&actions, 0), std::slice::from_ref(&third));
    assert!(tokens_of(&actions, 1).is_empty(), "it is not ready");
    let actions = coordinator.say(1, Up::Prepared(prepared(500)));
    assert_eq!(tokens_of(&actions, 1), [third]);
    (0..2).for_each(|agent| drop(coordinator.say(agent, armed(1))));
    coordinator.begin(2);
    let told = Some("no more".to_owned());
    let missed = TokenReport::Missed { place: 3, told };
    let actions = coordinator.on(FleetEvent::Token(RUN, missed));
    assert_eq!(asked(&actions), [false]);
    let is_note =
        |event: &&RunEvent| matches!(event, RunEvent::Note { text, .. } if text == "no more");
    assert_eq!(
        events(&actions)
            .iter()
            .filter(|event| is_note(event))
            .count(),
        1
    );
    let left = (0..2).flat_map(|agent| tokens_of(&actions, agent)).count();
    assert_eq!(left, 0);
    let back = Hello {
        held_runs: held(),
        ..hello(1)
    };
    // It expired while the agent was away.
    coordinator.now_ns = expires_at + 1;
    let actions = coordinator.join(9, back);
    assert_eq!(tokens_of(&actions, 9), [("third".to_owned(), Some(0))]);
}
