//! An agent's session along timelines made by hand.

use control::{
    AgentFacts, AgentId, Boot, Digest, Disconnection, EndCause, Finality, LEASE, Mono, News, Now,
    Order, Report, RunId, Session, SessionAction, SessionEvent, Stop,
};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Ack, Bytes, FromCoordinator, Grant, Prepare, Refused, Release, Start, Welcome};
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const RUN: RunId = RunId([3; 16]);

/// A session and the time; the coordinator's clock is the agent's.
struct Agent {
    session: Session,
    now_ns: u64,
    /// While the machine slept, only the boot-time clock went on.
    slept_ns: u64,
}

impl Agent {
    fn new() -> Agent {
        let facts = AgentFacts {
            id: AgentId([1; 16]),
            name: "machine".into(),
            version: "1".into(),
            labels: [].into(),
            workers: 2,
            host: Bytes::new(),
        };
        Agent {
            session: Session::new(facts, 5),
            now_ns: SECOND,
            slept_ns: 0,
        }
    }

    fn joined() -> Agent {
        let mut agent = Agent::new();
        agent.join();
        agent
    }

    /// Dials, is welcomed, and measures its clock.
    fn join(&mut self) -> Vec<SessionAction> {
        while !self.tick().contains(&SessionAction::Connect) {
            self.pass(100 * MS);
        }
        self.on(SessionEvent::Connected);
        let mut actions = self.hear(Down::Welcome(Welcome {
            coordinator_version: "1".into(),
            coordinator_id: Bytes::copy_from_slice(&[9; 16]),
            resume: None,
        }));
        actions.extend(self.answer_beats(&actions.clone(), None));
        actions
    }

    fn armed() -> (Agent, Vec<SessionAction>) {
        let mut agent = Agent::joined();
        agent.hear(Down::Prepare(prepare()));
        let report = Report::Prepared {
            run: RUN,
            plan_digest: Digest([0; 32]),
            addresses: vec![],
            workers: 1,
        };
        let actions = agent.on(SessionEvent::Reported(report));
        agent.answer_beats(&actions, None);
        let start_at_ns = agent.now_ns + 300 * MS;
        let actions = agent.hear(Down::Start(Start {
            run_id: RUN.to_wire(),
            start_at_ns,
        }));
        (agent, actions)
    }

    fn firing() -> Agent {
        let (mut agent, actions) = Agent::armed();
        let actions = agent.answer_beats(&actions, Some(RUN));
        assert!(
            actions
                .iter()
                .any(|action| matches!(action, SessionAction::Order(Order::Start { .. }))),
            "{actions:?}"
        );
        agent
    }

    fn clocks(&self) -> Now {
        Now {
            mono: Mono(self.now_ns),
            boot: Boot(self.now_ns + self.slept_ns),
        }
    }

    fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
    }

    fn on(&mut self, event: SessionEvent) -> Vec<SessionAction> {
        let clocks = self.clocks();
        self.session.on(clocks, event)
    }

    fn tick(&mut self) -> Vec<SessionAction> {
        self.on(SessionEvent::Tick)
    }

    fn hear(&mut self, message: Down) -> Vec<SessionAction> {
        self.on(SessionEvent::Received(FromCoordinator {
            message: Some(message),
        }))
    }

    /// Grants every beat among the actions, and every beat that follows, a millisecond later; what
    /// else comes of it.
    fn answer_beats(
        &mut self,
        actions: &[SessionAction],
        lease: Option<RunId>,
    ) -> Vec<SessionAction> {
        let mut others = Vec::new();
        let mut beats = sequences(actions);
        while let Some(sequence) = beats.pop() {
            self.pass(MS);
            let answers = self.hear(grant(sequence, self.now_ns, lease));
            beats.extend(sequences(&answers));
            others.extend(answers);
        }
        others
    }

    fn lose_stream(&mut self) -> Vec<SessionAction> {
        self.on(SessionEvent::Disconnected(Disconnection {
            why: "cut".into(),
            finality: Finality::Retry,
        }))
    }
}

fn grant(sequence: u64, now_ns: u64, lease: Option<RunId>) -> Down {
    Down::Grant(Grant {
        sequence,
        coordinator_at_ns: now_ns,
        lease_ns: lease.map_or(0, |_| LEASE.as_nanos() as u64),
        run_id: lease.map(RunId::to_wire).unwrap_or_default(),
    })
}

fn prepare() -> Prepare {
    Prepare {
        run_id: RUN.to_wire(),
        run_name: "run".into(),
        plan: "plan".into(),
        plan_digest: Digest([0; 32]).to_wire(),
        agents: 1,
        ..Prepare::default()
    }
}

fn sent(actions: &[SessionAction]) -> Vec<&Up> {
    let found = actions.iter().filter_map(|action| match action {
        SessionAction::Send(message) => message.message.as_ref(),
        _ => None,
    });
    found.collect()
}

fn sequences(actions: &[SessionAction]) -> Vec<u64> {
    let found = sent(actions)
        .into_iter()
        .filter_map(|message| match message {
            Up::Beat(beat) => Some(beat.sequence),
            _ => None,
        });
    found.collect()
}

fn orders(actions: &[SessionAction]) -> Vec<&Order> {
    let found = actions.iter().filter_map(|action| match action {
        SessionAction::Order(order) => Some(order),
        _ => None,
    });
    found.collect()
}

fn says(actions: &[SessionAction], is_it: impl Fn(&News) -> bool) -> bool {
    actions
        .iter()
        .any(|action| matches!(action, SessionAction::Say(news) if is_it(news)))
}

#[test]
fn clock_is_measured_by_sixteen_beats_before_the_plan_is_answered() {
    let mut agent = Agent::joined();
    agent.hear(Down::Prepare(prepare()));
    let report = Report::Prepared {
        run: RUN,
        plan_digest: Digest([0; 32]),
        addresses: vec![],
        workers: 1,
    };
    let first = agent.on(SessionEvent::Reported(report));
    assert!(
        !sent(&first)
            .iter()
            .any(|message| matches!(message, Up::Prepared(_))),
        "not measured yet"
    );
    let later = agent.answer_beats(&first, None);
    assert_eq!(sequences(&first).len() + sequences(&later).len(), 16);
    let bound = sent(&later).into_iter().find_map(|message| match message {
        Up::Prepared(prepared) => prepared.clock.map(|clock| clock.bound_ns),
        _ => None,
    });
    assert!(
        bound.is_some_and(|bound| bound < 600_000),
        "half of a millisecond, and little drift: {bound:?}"
    );
}

#[test]
fn start_order_waits_for_a_lease_of_its_own_run() {
    let (mut agent, actions) = Agent::armed();
    assert!(
        orders(&actions).is_empty() && sequences(&actions).len() == 1,
        "{actions:?}"
    );
    let other = agent.answer_beats(&actions, Some(RunId([4; 16])));
    assert!(orders(&other).is_empty(), "{other:?}");
    agent.pass(MS);
    let none = agent.tick();
    assert!(orders(&none).is_empty());
}

#[test]
fn start_without_a_lease_is_missed_and_told() {
    let (mut agent, _) = Agent::armed();
    agent.pass(300 * MS);
    let actions = agent.tick();
    assert!(
        says(&actions, |news| matches!(
            news,
            News::Ended {
                cause: EndCause::Failed(_),
                ..
            }
        )),
        "{actions:?}"
    );
    assert!(
        !orders(&actions)
            .iter()
            .any(|order| matches!(order, Order::Start { .. }))
    );
    let ended = |message: &&Up| matches!(message, Up::Ended(ended) if ended.text.contains("lease"));
    assert!(sent(&actions).iter().any(ended), "{actions:?}");
}

#[test]
fn lease_that_ran_out_stops_the_run_and_no_grant_brings_it_back() {
    let mut agent = Agent::firing();
    agent.pass(LEASE.as_nanos() as u64);
    let actions = agent.tick();
    assert!(
        orders(&actions).contains(&&Order::Stop {
            run: RUN,
            how: Stop::Now
        }),
        "{actions:?}"
    );
    assert!(says(&actions, |news| matches!(
        news,
        News::LeaseExpired { .. }
    )));
    let actions = agent.answer_beats(&actions, Some(RUN));
    assert!(orders(&actions).is_empty(), "{actions:?}");
    let (totals, figures) = (Bytes::new(), Bytes::new());
    let ended = agent.on(SessionEvent::Reported(Report::Ended {
        run: RUN,
        cause: EndCause::Stopped,
        totals,
        figures,
    }));
    let cause = |news: &News| {
        matches!(
            news,
            News::Ended {
                cause: EndCause::LeaseExpired,
                ..
            }
        )
    };
    assert!(says(&ended, cause), "why it was stopped counts: {ended:?}");
}

#[test]
fn machine_that_slept_wakes_without_a_lease() {
    let mut agent = Agent::firing();
    agent.slept_ns = LEASE.as_nanos() as u64;
    let actions = agent.tick();
    assert!(
        says(&actions, |news| matches!(news, News::LeaseExpired { .. })),
        "{actions:?}"
    );
}

#[test]
fn each_grant_extends_the_lease_from_when_its_beat_was_sent() {
    let mut agent = Agent::firing();
    agent.pass(SECOND);
    let beat = agent.tick();
    let sent_at = agent.clocks().boot;
    agent.pass(400 * MS);
    let actions = agent.hear(grant(sequences(&beat)[0], agent.now_ns, Some(RUN)));
    assert_eq!(
        orders(&actions),
        [&Order::ExtendLease {
            run: RUN,
            until: sent_at.after(LEASE)
        }]
    );
}

#[test]
fn run_that_has_not_begun_is_forgotten_with_its_stream() {
    let (mut agent, _) = Agent::armed();
    let actions = agent.lose_stream();
    assert_eq!(orders(&actions), [&Order::Forget { run: RUN }]);
}

#[test]
fn everything_not_acknowledged_goes_again_on_the_next_stream_and_the_end_after_it() {
    let mut agent = Agent::firing();
    for interval in 0..3 {
        let encoded = Bytes::from_static(b"figures");
        agent.on(SessionEvent::Reported(Report::Interval {
            run: RUN,
            interval,
            encoded,
        }));
    }
    let parts = |agent: &mut Agent| -> Vec<(u32, bool)> {
        std::iter::from_fn(|| agent.session.next_part())
            .map(|part| (part.interval, part.totals))
            .collect()
    };
    let ack = |interval, totals| {
        Down::Ack(Ack {
            run_id: RUN.to_wire(),
            interval,
            totals,
        })
    };
    assert_eq!(parts(&mut agent), [(0, false), (1, false), (2, false)]);
    agent.hear(ack(1, false));
    agent.lose_stream();
    let (totals, figures) = (Bytes::new(), Bytes::new());
    agent.on(SessionEvent::Reported(Report::Ended {
        run: RUN,
        cause: EndCause::Plan,
        totals,
        figures,
    }));
    assert_eq!(parts(&mut agent), [], "nothing without a stream");
    agent.join();
    assert_eq!(parts(&mut agent), [(0, false), (2, false), (3, true)]);
    agent.hear(ack(0, false));
    agent.hear(ack(2, false));
    let last = agent.hear(ack(3, true));
    assert!(matches!(sent(&last)[..], [Up::Ended(_)]), "{last:?}");
    let released = agent.hear(Down::Release(Release {
        run_id: RUN.to_wire(),
    }));
    assert!(
        says(&released, |news| matches!(
            news,
            News::Released {
                dropped_intervals: 0,
                ..
            }
        )),
        "{released:?}"
    );
}

#[test]
fn hello_after_a_cut_names_the_run_that_is_held() {
    let mut agent = Agent::firing();
    agent.lose_stream();
    while !agent.tick().contains(&SessionAction::Connect) {
        agent.pass(100 * MS);
    }
    let actions = agent.on(SessionEvent::Connected);
    assert!(
        matches!(sent(&actions)[..], [Up::Hello(hello)] if hello.held_run == RUN.to_wire()),
        "{actions:?}"
    );
}

#[test]
fn final_refusal_ends_a_newcomer_and_not_a_member_of_before() {
    let refused = || Disconnection {
        why: "wrong token".into(),
        finality: Finality::Final,
    };
    let quits = |actions: &[SessionAction]| {
        actions
            .iter()
            .any(|action| matches!(action, SessionAction::Quit(Some(_))))
    };
    assert!(quits(
        &Agent::new().on(SessionEvent::Disconnected(refused()))
    ));
    let mut agent = Agent::joined();
    assert!(!quits(&agent.on(SessionEvent::Disconnected(refused()))));
    let refused = Down::Refused(Refused {
        reason: "another protocol".into(),
        r#final: true,
    });
    let mut newcomer = Agent::new();
    newcomer.tick();
    newcomer.on(SessionEvent::Connected);
    assert!(quits(&newcomer.hear(refused)));
}

#[test]
fn reason_for_being_away_is_said_once_until_it_changes() {
    let mut agent = Agent::new();
    let mut away = |why: &str| {
        let why = why.to_owned();
        let actions = agent.on(SessionEvent::Disconnected(Disconnection {
            why,
            finality: Finality::Retry,
        }));
        says(&actions, |news| matches!(news, News::Away { .. }))
    };
    assert_eq!(
        [away("a"), away("a"), away("b"), away("b"), away("a")],
        [true, false, true, false, true]
    );
}

#[test]
fn coordinator_that_falls_silent_is_dialled_again() {
    let mut agent = Agent::joined();
    agent.pass(9 * SECOND);
    assert!(!agent.tick().contains(&SessionAction::Disconnect));
    agent.pass(2 * SECOND);
    let actions = agent.tick();
    assert!(actions.contains(&SessionAction::Disconnect), "{actions:?}");
    assert!(
        agent
            .session
            .wake_at(agent.clocks())
            .since(Mono(agent.now_ns))
            <= Duration::from_millis(250)
    );
}

#[test]
fn agent_that_holds_too_much_takes_no_reports_until_some_is_acknowledged() {
    let mut agent = Agent::firing();
    let encoded = Bytes::from(vec![0; 64 << 20]);
    for interval in 0..4 {
        assert!(agent.session.takes_reports());
        agent.on(SessionEvent::Reported(Report::Interval {
            run: RUN,
            interval,
            encoded: encoded.clone(),
        }));
    }
    assert!(!agent.session.takes_reports());
    while agent.session.next_part().is_some() {}
    agent.hear(Down::Ack(Ack {
        run_id: RUN.to_wire(),
        interval: 0,
        totals: false,
    }));
    assert!(agent.session.takes_reports());
}

#[test]
fn interval_or_sum_too_large_to_travel_ends_the_run_with_the_reason() {
    let too_large = || Bytes::from(vec![0; control::INTERVAL_MAX_BYTES + 1]);
    let ended = |totals| Report::Ended {
        run: RUN,
        cause: EndCause::Stopped,
        totals,
        figures: Bytes::new(),
    };
    let why = |actions: &[SessionAction], part: &str| {
        says(actions, |news| {
            matches!(
                news,
                News::Ended { cause: EndCause::Failed(why), .. } if why.contains(part)
            )
        })
    };
    let mut agent = Agent::firing();
    let actions = agent.on(SessionEvent::Reported(Report::Interval {
        run: RUN,
        interval: 0,
        encoded: too_large(),
    }));
    assert_eq!(
        orders(&actions),
        [&Order::Stop {
            run: RUN,
            how: Stop::Now
        }]
    );
    let actions = agent.on(SessionEvent::Reported(ended(Bytes::new())));
    assert!(
        why(&actions, "second 0 of the run takes 65 MiB"),
        "{actions:?}"
    );
    let part = agent.session.next_part().expect("the totals");
    assert_eq!(
        (part.totals, part.interval),
        (true, 1),
        "the second that is not sent is seen to be missing"
    );

    let mut agent = Agent::firing();
    let actions = agent.on(SessionEvent::Reported(ended(too_large())));
    assert!(
        why(&actions, "the sum of the run takes 65 MiB"),
        "{actions:?}"
    );
    assert!(
        agent.session.next_part().is_none()
            && sent(&actions)
                .iter()
                .any(|message| matches!(message, Up::Ended(_)))
    );
}

#[test]
fn messages_of_other_runs_and_of_newer_versions_change_nothing() {
    let mut agent = Agent::firing();
    let other = RunId([8; 16]).to_wire();
    for message in [
        Some(Down::Stop(proto::Stop {
            run_id: other.clone(),
            now: true,
        })),
        Some(Down::Release(Release {
            run_id: other.clone(),
        })),
        Some(Down::Start(Start {
            run_id: other.clone(),
            start_at_ns: 1,
        })),
        Some(Down::Ack(Ack {
            run_id: other,
            interval: 0,
            totals: true,
        })),
        None,
    ] {
        let actions = agent.on(SessionEvent::Received(FromCoordinator {
            message: message.clone(),
        }));
        assert!(orders(&actions).is_empty(), "{message:?}: {actions:?}");
    }
}
