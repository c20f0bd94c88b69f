//! An agent's session, along hand-made timelines.

use control::{
    AgentFacts, AgentId, Boot, Digest, Disconnection, EndCause, FileParts, Finality, KEEP, LEASE,
    Mono, News, Now, Order, Report, Role, RunId, Session, SessionAction, SessionEvent, Stay, Stop,
    StoredFiles,
};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    Ack, Bytes, FromCoordinator, Go, Grant, Observe, Prepare, Received, Refused, Release, Resume,
    Start, TakeOver, Welcome,
};
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const RUN: RunId = RunId([3; 16]);

/// A session and its time. The coordinator's clock is the agent's.
struct Agent {
    session: Session,
    now_ns: u64,
    /// How long the machine has slept, when only the boot-time clock ran.
    slept_ns: u64,
    /// How much time passed while it was dialling.
    since_end_ms: u64,
}

impl Agent {
    fn new() -> Agent {
        Agent::in_role(Role::Agent)
    }

    fn in_role(role: Role) -> Agent {
        let facts = AgentFacts {
            version: "1".into(),
            workers: 2,
            role,
            ..AgentFacts::new(AgentId([1; 16]), "machine")
        };
        Agent {
            session: Session::new(facts, 5),
            now_ns: SECOND,
            slept_ns: 0,
            since_end_ms: 0,
        }
    }

    fn joined() -> Agent {
        let mut agent = Agent::new();
        agent.join();
        agent
    }

    fn joined_with(disk: Disk) -> Agent {
        let mut agent = Agent::new();
        agent.session = agent.session.with_stored_files(Box::new(disk));
        agent.join();
        agent
    }

    /// Joins the coordinator with which every test begins.
    fn join(&mut self) -> Vec<SessionAction> {
        let resumes = resume(1);
        self.join_to(welcome(9, 9, resumes))
    }

    /// An agent that has the plan and has answered it.
    fn ready() -> Agent {
        let mut agent = Agent::joined();
        agent.prepare(prepare());
        agent
    }

    fn prepare(&mut self, prepare: Prepare) {
        let run = RunId::from_wire(&prepare.run_id).expect("sixteen bytes");
        self.hear(Down::Prepare(prepare));
        let actions = self.on(SessionEvent::Reported(prepared(run)));
        self.answer_beats(&actions, None);
    }

    /// Dials until it gets through.
    fn connect(&mut self) -> Vec<SessionAction> {
        while !self.tick().contains(&SessionAction::Connect) {
            self.pass(100 * MS);
            self.since_end_ms += 100;
        }
        self.on(SessionEvent::Connected)
    }

    /// Dials, is welcomed, and measures its clock.
    fn join_to(&mut self, welcome: Down) -> Vec<SessionAction> {
        self.connect();
        let actions = self.hear(welcome);
        let later = self.answer_beats(&actions, None);
        [actions, later].concat()
    }

    fn answer_next_beat(&mut self, lease: Option<RunId>) -> Vec<SessionAction> {
        let beat = self.next_beat();
        self.hear(grant(beat, self.now_ns, lease))
    }

    /// Sequence number of the beat that is due within a second.
    fn next_beat(&mut self) -> u64 {
        (0..=11)
            .find_map(|_| {
                let beat = sequences(&self.tick()).pop();
                self.pass(100 * MS);
                beat
            })
            .expect("one beat a second")
    }

    fn armed() -> (Agent, Vec<SessionAction>) {
        let mut agent = Agent::ready();
        let start_at_ns = agent.now_ns + 300 * MS;
        let actions = agent.hear(start(start_at_ns, 1));
        assert!(
            matches!(sent(&actions)[..], [Up::Armed(armed)] if armed.attempt == 1),
            "{actions:?}"
        );
        let actions = agent.hear(go(1));
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

    fn takes_reports(&self) -> bool {
        self.session.takes_reports(self.clocks())
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

    /// Grants every beat among the actions, and every beat that follows, a millisecond later.
    /// Returns the other actions that come of it.
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

    fn interval(&mut self, interval: u32, encoded: Bytes) -> Vec<SessionAction> {
        self.on(SessionEvent::Reported(Report::Interval {
            run: RUN,
            interval,
            encoded,
        }))
    }

    fn ended(&mut self) -> Vec<SessionAction> {
        let (totals, figures) = (Bytes::new(), Bytes::new());
        self.on(SessionEvent::Reported(Report::Ended {
            run: RUN,
            cause: EndCause::Plan,
            totals,
            figures,
        }))
    }

    /// Sends everything that may be sent, and confirms each part.
    fn upload_all(&mut self) -> Vec<(u32, bool)> {
        let mut whole = Vec::new();
        while let Some(part) = self.session.next_part() {
            let (interval, totals, parts) = (part.interval, part.totals, part.part + 1);
            if parts == part.parts {
                whole.push((interval, totals));
            }
            self.hear(Down::Received(Received {
                run_id: part.run_id,
                interval,
                totals,
                parts,
            }));
        }
        whole
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

fn start(start_at_ns: u64, attempt: u32) -> Down {
    Down::Start(Start {
        run_id: RUN.to_wire(),
        start_at_ns,
        attempt,
    })
}

fn go(attempt: u32) -> Down {
    let run_id = RUN.to_wire();
    Down::Go(Go { run_id, attempt })
}

fn release() -> Down {
    Down::Release(Release {
        run_id: RUN.to_wire(),
    })
}

fn ack(stored: Stored) -> Down {
    Down::Ack(Ack {
        run_id: RUN.to_wire(),
        stored: Some(stored),
    })
}

/// The runner's answer to a plan.
fn prepared(run: RunId) -> Report {
    Report::Prepared {
        run,
        plan_digest: Digest([0; 32]),
        addresses: vec![],
        workers: 1,
        findings: Vec::new(),
    }
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
fn agent_dials_twice_a_second_while_its_lease_runs_and_less_often_after_it() {
    let mut agent = Agent::firing();
    let refused = || {
        SessionEvent::Disconnected(Disconnection {
            why: "refused".into(),
            finality: Finality::Nobody,
        })
    };
    agent.on(refused());
    let (from, mut dialled) = (agent.now_ns, Vec::new());
    while agent.now_ns < from + 60 * SECOND {
        if agent.tick().contains(&SessionAction::Connect) {
            dialled.push(agent.now_ns - from);
            agent.on(refused());
        }
        agent.pass(10 * MS);
    }
    let pauses = dialled.windows(2).map(|two| (two[0], two[1] - two[0]));
    let (leased, after): (Vec<_>, Vec<_>) = pauses.partition(|(at, _)| *at < 4 * SECOND);
    assert!(leased.len() >= 7, "{dialled:?}");
    let longest = |pauses: &[(u64, u64)]| pauses.iter().map(|(_, pause)| *pause).max();
    assert!(longest(&leased) <= Some(510 * MS), "{leased:?}");
    assert!(
        after.len() <= 25 && longest(&after) > Some(3 * SECOND),
        "{after:?}"
    );
}

#[test]
fn clock_is_measured_by_sixteen_beats_before_the_plan_is_answered() {
    let mut agent = Agent::joined();
    agent.hear(Down::Prepare(prepare()));
    let first = agent.on(SessionEvent::Reported(prepared(RUN)));
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

/// Failed with: the plan was answered without a clock, which ended the run before its start.
#[test]
fn plan_is_answered_once_a_coordinator_that_stood_still_has_answered_a_beat() {
    let mut agent = Agent::new();
    agent.connect();
    agent.hear(welcome(9, 9, resume(1)));
    agent.hear(Down::Prepare(prepare()));
    agent.on(SessionEvent::Reported(prepared(RUN)));
    let is_answer = |message: &&Up| matches!(message, Up::Prepared(_));
    for _ in 0..30 {
        agent.pass(100 * MS);
        let actions = agent.tick();
        assert_eq!(sent(&actions).into_iter().find(is_answer), None);
    }
    let actions = agent.answer_next_beat(None);
    let answer = sent(&actions).into_iter().find(is_answer);
    assert!(
        matches!(answer, Some(Up::Prepared(prepared)) if prepared.clock.is_some()),
        "{actions:?}"
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
fn lease_is_not_believed_before_every_agent_knows_the_start() {
    let mut agent = Agent::ready();
    let actions = agent.hear(start(agent.now_ns + 900 * MS, 1));
    let actions = [actions, agent.hear(go(2))].concat();
    assert!(sequences(&actions).is_empty(), "nothing to hurry for");
    agent.pass(SECOND / 2);
    let beat = agent.next_beat();
    let early = agent.hear(grant(beat, agent.now_ns, Some(RUN)));
    assert!(orders(&early).is_empty(), "{early:?}");
    let actions = agent.hear(start(agent.now_ns + 900 * MS, 2));
    let actions = [actions, agent.hear(go(1))].concat();
    assert!(sequences(&actions).is_empty(), "of the instant before");
    let actions = agent.hear(go(2));
    let actions = agent.answer_beats(&actions, Some(RUN));
    assert!(
        matches!(orders(&actions)[..], [Order::Start { .. }]),
        "{actions:?}"
    );
}

#[test]
fn start_without_a_lease_is_missed_said_once_and_another_instant_is_taken() {
    let (mut agent, _) = Agent::armed();
    let missed =
        |actions: &[SessionAction]| says(actions, |news| matches!(news, News::MissedStart { .. }));
    agent.pass(300 * MS);
    let actions = agent.tick();
    assert!(
        missed(&actions) && orders(&actions).is_empty(),
        "{actions:?}"
    );
    let actions = agent.answer_beats(&actions, Some(RUN));
    assert!(orders(&actions).is_empty(), "a lease that is too late");
    let again = agent.hear(start(agent.now_ns + SECOND, 1));
    assert!(sent(&again).is_empty(), "the same instant again: {again:?}");
    let late = agent.hear(start(agent.now_ns, 2));
    assert!(sent(&late).is_empty(), "one that went by: {late:?}");
    let actions = agent.hear(start(agent.now_ns + 300 * MS, 3));
    assert!(matches!(sent(&actions)[..], [Up::Armed(armed)] if armed.attempt == 3));
    agent.pass(300 * MS);
    assert!(!missed(&agent.tick()), "said once");
    agent.hear(start(agent.now_ns + 300 * MS, 4));
    let actions = agent.hear(go(4));
    let actions = agent.answer_beats(&actions, Some(RUN));
    assert!(
        matches!(orders(&actions)[..], [Order::Start { .. }]),
        "{actions:?}"
    );
    let actions = agent.hear(start(agent.now_ns + 300 * MS, 5));
    assert!(sent(&actions).is_empty(), "it fires: {actions:?}");
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
fn answer_about_a_preparation_that_was_forgotten_is_none_to_the_next_one() {
    let mut agent = Agent::joined();
    agent.hear(Down::Prepare(prepare()));
    agent.lose_stream();
    agent.join();
    agent.hear(Down::Prepare(prepare()));
    let mut answers = || {
        let actions = agent.on(SessionEvent::Reported(prepared(RUN)));
        let later = agent.answer_beats(&actions, None);
        let is_answer = |message: &&Up| matches!(message, Up::Prepared(_));
        let all = [actions, later].concat();
        sent(&all).into_iter().filter(is_answer).count()
    };
    assert_eq!(
        answers(),
        0,
        "the first preparation ended when its stream did"
    );
    assert_eq!(answers(), 1);
}

#[test]
fn everything_not_acknowledged_goes_again_on_the_next_stream_and_the_end_after_it() {
    let mut agent = Agent::firing();
    for interval in 0..3 {
        agent.interval(interval, Bytes::from_static(b"figures"));
    }
    assert_eq!(agent.upload_all(), [(0, false), (1, false), (2, false)]);
    agent.hear(ack(Stored::Interval(1)));
    agent.lose_stream();
    agent.ended();
    assert_eq!(agent.upload_all(), [], "nothing without a stream");
    agent.join();
    assert_eq!(agent.upload_all(), [(0, false), (2, false), (3, true)]);
    agent.hear(ack(Stored::Interval(0)));
    agent.hear(ack(Stored::Interval(2)));
    let last = agent.hear(ack(Stored::Totals(3)));
    assert!(matches!(sent(&last)[..], [Up::Ended(_)]), "{last:?}");
    let released = agent.hear(release());
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
        matches!(sent(&actions)[..], [Up::Hello(hello)]
            if hello.held_runs[0].run_id == RUN.to_wire()),
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

/// The news about a coordinator that goes, and then about none listening.
fn said_of_going(mut agent: Agent) -> Vec<News> {
    let mut gone = |why: &str, finality| {
        let why = why.to_owned();
        let gone = Disconnection { why, finality };
        agent.on(SessionEvent::Disconnected(gone))
    };
    let mut actions = gone("it ended", Finality::Ended);
    actions.extend(gone("nobody", Finality::Nobody));
    let news = |action| match action {
        SessionAction::Say(news) => Some(news),
        _ => None,
    };
    actions.into_iter().filter_map(news).collect()
}

#[test]
fn coordinator_that_goes_after_a_run_is_no_trouble_and_before_one_it_is() {
    let away = |why: &str| News::Away { why: why.into() };
    let trouble = [away("it ended"), away("nobody")];
    assert_eq!(said_of_going(Agent::joined()), trouble, "no run came");
    assert_eq!(said_of_going(Agent::firing()), trouble, "its run is held");
    let mut agent = Agent::firing();
    agent.ended();
    agent.hear(release());
    assert_eq!(said_of_going(agent), [News::RunOver]);
}

/// How the agent quits when its coordinator goes: `Some(None)` with nothing to report.
fn quits_as_it_goes(mut agent: Agent, finality: Finality) -> Option<Option<String>> {
    let why = "it ended".to_owned();
    let actions = agent.on(SessionEvent::Disconnected(Disconnection { why, finality }));
    let told = |news: &News| matches!(news, News::RunOver);
    assert!(!says(&actions, told), "nothing is waited for");
    actions.into_iter().find_map(|action| match action {
        SessionAction::Quit(why) => Some(why),
        _ => None,
    })
}

#[test]
fn agent_of_one_coordinator_goes_with_it_and_says_how_its_part_went() {
    let once = |mut agent: Agent| {
        agent.session = agent.session.with_stay(Stay {
            is_for_one_coordinator: true,
            absence_max: None,
        });
        agent
    };
    let served = || {
        let mut agent = once(Agent::firing());
        agent.ended();
        agent.hear(release());
        agent
    };
    assert_eq!(quits_as_it_goes(served(), Finality::Ended), Some(None));
    // The coordinator was killed after the run.
    assert_eq!(quits_as_it_goes(served(), Finality::Nobody), Some(None));
    assert_eq!(quits_as_it_goes(served(), Finality::Retry), None, "a cut");
    let unserved = quits_as_it_goes(once(Agent::joined()), Finality::Ended).flatten();
    assert!(unserved.is_some_and(|why| why.contains("began no run")));
    assert_eq!(
        quits_as_it_goes(once(Agent::new()), Finality::Nobody),
        None,
        "it is not there yet"
    );
    assert_eq!(
        quits_as_it_goes(once(Agent::firing()), Finality::Ended),
        None,
        "what is held is for it"
    );
    let mut failing = once(Agent::firing());
    failing.on(SessionEvent::Reported(Report::Ended {
        run: RUN,
        cause: EndCause::Failed("no more files".into()),
        totals: Bytes::new(),
        figures: Bytes::new(),
    }));
    failing.hear(release());
    let failed = quits_as_it_goes(failing, Finality::Ended).flatten();
    assert!(failed.is_some_and(|why| why.contains("no more files")));
}

#[test]
fn agent_gives_up_where_no_coordinator_comes_for_as_long_as_it_waits() {
    let mut agent = Agent::new();
    agent.session = agent.session.with_stay(Stay {
        is_for_one_coordinator: false,
        absence_max: Some(Duration::from_secs(60)),
    });
    let quits = |actions: Vec<SessionAction>| {
        let quit = |action: SessionAction| match action {
            SessionAction::Quit(why) => Some(why.unwrap_or_default()),
            _ => None,
        };
        actions.into_iter().find_map(quit)
    };
    agent.tick();
    agent.pass(59 * SECOND);
    agent.on(SessionEvent::Connected);
    agent.hear(welcome(9, 9, resume(1)));
    // A new wait begins when the coordinator goes.
    agent.on(SessionEvent::Disconnected(Disconnection {
        why: "nobody listens".into(),
        finality: Finality::Nobody,
    }));
    agent.pass(59 * SECOND);
    assert_eq!(quits(agent.tick()), None);
    agent.pass(SECOND);
    let why = quits(agent.tick()).unwrap();
    assert!(
        why.contains("60 s") && why.contains("nobody listens"),
        "{why}"
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
    let encoded = Bytes::from(vec![0; control::HELD_MAX_BYTES / 4]);
    for interval in 0..5 {
        assert!(agent.takes_reports());
        let actions = agent.interval(interval, encoded.clone());
        let told = says(&actions, |news| matches!(news, News::CannotSpool { .. }));
        assert_eq!(told, interval == 4, "there is no store");
    }
    assert!(!agent.takes_reports());
    for interval in 0..2 {
        agent.upload_all();
        agent.hear(ack(Stored::Interval(interval)));
    }
    assert!(agent.takes_reports());
}

#[test]
fn agent_that_holds_too_much_takes_what_is_left_of_a_run_whose_lease_has_ended() {
    let mut agent = Agent::firing();
    let encoded = Bytes::from(vec![0; control::HELD_MAX_BYTES / 4]);
    for interval in 0..5 {
        agent.interval(interval, encoded.clone());
    }
    assert!(!agent.takes_reports());
    agent.pass(LEASE.as_nanos() as u64);
    agent.tick();
    assert!(agent.takes_reports());
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

/// The welcome of this coordinator, which names these runs.
fn welcome(coordinator: u8, clock: u8, resumes: Vec<Resume>) -> Down {
    Down::Welcome(Welcome {
        coordinator_version: "1".into(),
        coordinator_id: Bytes::copy_from_slice(&[coordinator; 16]),
        clock_id: Bytes::copy_from_slice(&[clock; 16]),
        resumes,
    })
}

fn resume(epoch: u64) -> Vec<Resume> {
    vec![Resume {
        run_id: RUN.to_wire(),
        epoch,
        ..Resume::default()
    }]
}

/// An agent that has fired for one second and was cut off.
fn cut_off_while_firing() -> Agent {
    let mut agent = Agent::firing();
    agent.interval(0, Bytes::from_static(b"figures"));
    agent.lose_stream();
    agent
}

fn is_outranked(actions: &[SessionAction]) -> bool {
    says(actions, |news| matches!(news, News::Outranked { .. }))
}

#[test]
fn later_coordinator_takes_the_run_up_and_the_earlier_one_has_no_say_any_more() {
    let mut agent = cut_off_while_firing();
    let actions = agent.join_to(welcome(2, 9, resume(2)));
    assert!(!is_outranked(&actions));
    let extended = agent.answer_next_beat(Some(RUN));
    assert!(matches!(orders(&extended)[..], [Order::ExtendLease { .. }]));
    assert_eq!(agent.upload_all(), [(0, false)]);
    agent.lose_stream();

    let actions = agent.join_to(welcome(9, 9, resume(1)));
    assert!(is_outranked(&actions), "{actions:?}");
    let ignored = [
        agent.answer_next_beat(Some(RUN)),
        agent.hear(ack(Stored::Interval(0))),
        agent.hear(release()),
        agent.hear(Down::Stop(proto::Stop {
            run_id: RUN.to_wire(),
            now: true,
        })),
    ];
    assert!(orders(&ignored.concat()).is_empty(), "{ignored:?}");
    assert_eq!(agent.upload_all(), [], "nothing goes to it");
    agent.lose_stream();
    let actions = agent.join_to(welcome(9, 9, resume(1)));
    assert!(!is_outranked(&actions), "said once");
    agent.lose_stream();

    let actions = agent.connect();
    let epochs: Vec<u64> = sent(&actions)
        .into_iter()
        .filter_map(|message| match message {
            Up::Hello(hello) => Some(hello.held_runs[0].epoch),
            _ => None,
        })
        .collect();
    assert_eq!(epochs, [2], "the hello names the epoch that is obeyed");
    agent.hear(welcome(2, 9, resume(2)));
    assert_eq!(agent.upload_all(), [(0, false)], "it was not acknowledged");
}

#[test]
fn another_coordinator_of_the_same_epoch_has_no_say() {
    let mut agent = cut_off_while_firing();
    assert!(is_outranked(&agent.join_to(welcome(2, 9, resume(1)))));
    assert!(orders(&agent.hear(release())).is_empty());
    assert_eq!(agent.upload_all(), []);
}

#[test]
fn clock_is_kept_for_a_coordinator_that_was_started_again_on_its_machine() {
    let mut agent = Agent::joined();
    agent.lose_stream();
    let knows = |actions: &[SessionAction]| {
        let clock = sent(actions).into_iter().find_map(|message| match message {
            Up::Beat(beat) => Some(beat.clock.is_some()),
            _ => None,
        });
        clock.expect("a beat")
    };
    agent.connect();
    assert!(!knows(&agent.hear(welcome(9, 5, vec![]))), "another clock");
    agent.answer_next_beat(None);
    agent.lose_stream();
    agent.connect();
    assert!(knows(&agent.hear(welcome(2, 5, vec![]))), "the same clock");
}

#[test]
fn first_instant_is_told_anew_by_the_clock_of_a_coordinator_on_another_machine() {
    let told = |actions: &[SessionAction]| -> Vec<(u64, u64)> {
        let began = |message: &Up| match message {
            Up::Began(began) => Some((began.began_at_ns, began.bound_ns)),
            _ => None,
        };
        sent(actions).into_iter().filter_map(began).collect()
    };
    let mut agent = Agent::firing();
    let at = Mono(agent.now_ns);
    let first = told(&agent.on(SessionEvent::Reported(Report::Began { run: RUN, at })));
    assert_eq!(first.len(), 1);
    agent.lose_stream();
    let same = agent.join_to(welcome(2, 9, resume(2)));
    assert_eq!(told(&same), first, "its clock is the same");
    agent.lose_stream();
    agent.ended();
    agent.pass(20 * SECOND);

    agent.connect();
    let mut actions = agent.hear(welcome(3, 5, resume(3)));
    assert_eq!(told(&actions), [], "its clock is not measured yet");
    let ahead = 500 * SECOND;
    let mut beats = sequences(&actions);
    while let Some(sequence) = beats.pop() {
        agent.pass(MS);
        let answers = agent.hear(grant(sequence, agent.now_ns + ahead, None));
        beats.extend(sequences(&answers));
        actions.extend(answers);
    }
    let [(began_at, bound_ns)] = told(&actions)[..] else {
        panic!("{actions:?}")
    };
    assert!(began_at.abs_diff(at.0 + ahead) <= bound_ns, "{began_at}");
    // The clocks may have drifted apart by 100 ppm since.
    assert!(bound_ns >= 20 * SECOND / 10_000, "± {bound_ns} ns");
    let place = |is_it: fn(&Up) -> bool| sent(&actions).into_iter().position(is_it);
    assert!(place(|message| matches!(message, Up::Ended(_))).is_none());
    agent.upload_all();
    let last = agent.hear(ack(Stored::Totals(0)));
    assert!(matches!(sent(&last)[..], [Up::Ended(_)]), "{last:?}");
}

#[test]
fn lease_of_a_run_is_as_long_as_its_plan_says_and_so_is_the_silence_that_is_borne() {
    let long = 30 * SECOND;
    let mut agent = Agent::joined();
    agent.prepare(Prepare {
        lease_ns: long,
        ..prepare()
    });
    agent.hear(start(agent.now_ns + 900 * MS, 1));
    let actions = agent.hear(go(1));
    let actions = agent.hear(Down::Grant(Grant {
        sequence: sequences(&actions)[0],
        coordinator_at_ns: agent.now_ns,
        lease_ns: long,
        run_id: RUN.to_wire(),
    }));
    let [Order::Start { lease_until, .. }] = orders(&actions)[..] else {
        panic!("{actions:?}")
    };
    assert!(lease_until.since(agent.clocks().boot) > Duration::from_secs(29));
    for _ in 0..12 {
        agent.pass(SECOND);
        let actions = agent.tick();
        assert!(!actions.contains(&SessionAction::Disconnect));
    }
    agent.pass(18 * SECOND);
    let actions = agent.tick();
    assert!(says(&actions, |news| matches!(
        news,
        News::LeaseExpired { .. }
    )));
}

fn holding(actions: &[SessionAction]) -> Option<(usize, Duration)> {
    actions.iter().find_map(|action| match action {
        SessionAction::Say(News::Holding {
            intervals, left, ..
        }) => Some((*intervals, *left)),
        _ => None,
    })
}

fn notes(actions: &[SessionAction]) -> Vec<&proto::Note> {
    fn note(message: &Up) -> Option<&proto::Note> {
        match message {
            Up::Note(note) => Some(note),
            _ => None,
        }
    }
    sent(actions).into_iter().filter_map(note).collect()
}

#[test]
fn run_of_another_coordinator_is_kept_and_said_while_the_next_one_is_served() {
    let mut agent = cut_off_while_firing();
    agent.ended();
    let actions = agent.join_to(welcome(2, 9, vec![]));
    assert_eq!(
        holding(&actions),
        Some((1, KEEP - Duration::from_millis(agent.since_end_ms)))
    );
    let told = notes(&actions);
    assert!(
        matches!(told[..], [note] if note.run_id.is_empty()
            && note.event == "held"
            && note.text.contains("1 seconds of run run")),
        "{told:?}"
    );
    assert!(orders(&agent.hear(release())).is_empty(), "not its run");
    let other = RunId([4; 16]);
    agent.prepare(Prepare {
        run_id: other.to_wire(),
        ..prepare()
    });
    agent.hear(Down::Start(Start {
        run_id: other.to_wire(),
        start_at_ns: agent.now_ns + 900 * MS,
        attempt: 1,
    }));
    let actions = agent.hear(Down::Go(Go {
        run_id: other.to_wire(),
        attempt: 1,
    }));
    let actions = agent.answer_beats(&actions, Some(other));
    assert!(matches!(
        orders(&actions)[..],
        [Order::Start { run, .. }] if *run == other
    ));
    agent.on(SessionEvent::Reported(Report::Interval {
        run: other,
        interval: 0,
        encoded: Bytes::from_static(b"other"),
    }));
    let parts: Vec<_> = std::iter::from_fn(|| agent.session.next_part()).collect();
    assert!(
        parts.len() == 1 && parts[0].run_id == other.to_wire(),
        "{parts:?}"
    );
    agent.lose_stream();

    let actions = agent.connect();
    let held = sent(&actions)
        .into_iter()
        .find_map(|message| match message {
            Up::Hello(hello) => Some(hello.held_runs.clone()),
            _ => None,
        });
    let held: Vec<Bytes> = held.unwrap().into_iter().map(|held| held.run_id).collect();
    assert_eq!(held, [other.to_wire(), RUN.to_wire()]);
    agent.hear(welcome(9, 9, resume(1)));
    assert_eq!(agent.upload_all(), [(0, false), (1, true)]);
    let released = agent.hear(release());
    assert_eq!(orders(&released), [&Order::Forget { run: RUN }]);
}

/// An agent that fires the run of a coordinator that is gone, and has the plan of another one.
fn busy_with_another_run() -> Agent {
    let mut agent = cut_off_while_firing();
    agent.join_to(welcome(2, 9, vec![]));
    let actions = agent.hear(Down::Prepare(Prepare {
        run_id: RunId([4; 16]).to_wire(),
        ..prepare()
    }));
    assert!(
        matches!(sent(&actions)[..], [Up::Note(note)]
            if note.text.contains("still fires the run run of another coordinator")
                && note.run_id == RunId([4; 16]).to_wire()),
        "{actions:?}"
    );
    assert!(!actions.contains(&SessionAction::Disconnect));
    assert!(orders(&actions).is_empty(), "{actions:?}");
    agent
}

#[test]
fn plan_of_another_coordinator_waits_until_the_run_that_fires_is_over() {
    let prepares = |actions: &[SessionAction]| {
        let of_next = |order: &&Order| match order {
            Order::Prepare(assignment) => assignment.run == RunId([4; 16]),
            _ => false,
        };
        orders(actions).into_iter().any(|order| of_next(&order))
    };
    let mut agent = busy_with_another_run();
    let actions = agent.ended();
    assert!(prepares(&actions), "{actions:?}");
    // It was released from the other run meanwhile, or the stream is another one.
    let mut agent = busy_with_another_run();
    agent.hear(Down::Release(Release {
        run_id: RunId([4; 16]).to_wire(),
    }));
    assert!(!prepares(&agent.ended()));
    let mut agent = busy_with_another_run();
    agent.on(SessionEvent::Disconnected(Disconnection {
        why: "cut".into(),
        finality: Finality::Retry,
    }));
    assert!(!prepares(&agent.ended()));
}

#[test]
fn what_was_kept_for_long_enough_is_dropped_with_its_numbers() {
    let mut agent = cut_off_while_firing();
    agent.ended();
    agent.pass(KEEP.as_nanos() as u64 - SECOND);
    let early = agent.tick();
    let dropped = |actions: &[SessionAction]| {
        says(
            actions,
            |news| matches!(news, News::Dropped { intervals: 1, kept, .. } if *kept == KEEP),
        )
    };
    assert!(!dropped(&early));
    let wake_at = agent.session.wake_at(agent.clocks());
    assert!(wake_at.0 <= agent.now_ns + SECOND, "it must be woken");
    agent.pass(SECOND);
    let actions = agent.tick();
    assert!(dropped(&actions), "{actions:?}");
    assert!(!dropped(&agent.tick()));
}

#[test]
fn agent_that_is_told_to_quit_waits_for_its_coordinator_and_says_what_is_lost() {
    let quits = |actions: &[SessionAction]| actions.contains(&SessionAction::Quit(None));
    let mut agent = cut_off_while_firing();
    agent.ended();
    let actions = agent.on(SessionEvent::ShutDown);
    assert!(!quits(&actions), "{actions:?}");
    agent.pass(10 * SECOND);
    let actions = agent.tick();
    assert!(quits(&actions));
    assert!(says(&actions, |news| matches!(
        news,
        News::Dropped { intervals: 1, .. }
    )));

    let mut agent = cut_off_while_firing();
    agent.ended();
    agent.join_to(welcome(2, 9, vec![]));
    assert!(
        quits(&agent.on(SessionEvent::ShutDown)),
        "another coordinator takes nothing of it"
    );
}

#[test]
fn files_that_are_kept_from_a_run_before_are_not_asked_for() {
    let contents = [Bytes::from_static(b"body"), Bytes::from_static(b"key")];
    let [body, key] = [0, 1].map(|nth: usize| Digest::from_content(&contents[nth]).to_wire());
    let plan = |run: u8, minted: &Bytes| Prepare {
        run_id: RunId([run; 16]).to_wire(),
        files: 2,
        files_bytes: 7,
        needs: vec![body.clone(), key.clone(), body.clone()],
        minted: minted.clone(),
        ..prepare()
    };
    let wanted = |actions: &[SessionAction]| {
        let want = sent(actions).into_iter().find_map(|message| match message {
            Up::Want(want) => Some(want.sha256.clone()),
            _ => None,
        });
        let mut want = want.expect("an answer");
        want.sort();
        want
    };
    let mut agent = Agent::joined();
    let actions = agent.hear(Down::Prepare(plan(4, &key)));
    let mut both = vec![body.clone(), key.clone()];
    both.sort();
    assert_eq!(wanted(&actions), both);
    assert!(orders(&actions).is_empty());
    let files = contents.map(|content| (Digest::from_content(&content), content));
    for part in FileParts::new(RunId([4; 16]), files.to_vec()) {
        agent.hear(Down::File(part));
    }
    let actions = agent.hear(Down::Prepare(plan(5, &Bytes::new())));
    assert_eq!(
        wanted(&actions),
        std::slice::from_ref(&key),
        "what was minted for the run before is not kept"
    );
    let missing = FileParts::new(RunId([5; 16]), vec![files[1].clone()]);
    let given: Vec<SessionAction> = missing
        .flat_map(|part| agent.hear(Down::File(part)))
        .collect();
    let [Order::Prepare(assignment)] = orders(&given)[..] else {
        panic!("{given:?}")
    };
    assert_eq!(assignment.files.len(), 2);
    let actions = agent.hear(Down::Prepare(plan(6, &Bytes::new())));
    assert!(wanted(&actions).is_empty());
    let prepares = |order: &&Order| matches!(order, Order::Prepare(with) if with.files.len() == 2);
    assert!(orders(&actions).iter().any(prepares), "{actions:?}");
    agent.lose_stream();
    agent.join_to(welcome(2, 9, vec![]));
    let actions = agent.hear(Down::Prepare(plan(7, &Bytes::new())));
    assert_eq!(wanted(&actions), both, "of another coordinator");
    agent.lose_stream();
    let nonsense = Prepare {
        needs: vec![Bytes::from_static(b"short")],
        ..plan(8, &Bytes::new())
    };
    agent.join_to(welcome(2, 9, vec![]));
    let actions = agent.hear(Down::Prepare(nonsense));
    assert!(actions.contains(&SessionAction::Disconnect), "{actions:?}");
}

/// Has one file on its disk.
#[derive(Debug)]
struct Disk(Digest);

impl StoredFiles for Disk {
    fn has(&self, sha256: Digest) -> bool {
        sha256 == self.0
    }
}

#[test]
fn file_on_the_disk_is_not_asked_for_if_it_may_be_there() {
    let content = Bytes::from_static(b"rows");
    let file = Digest::from_content(&content);
    let plan = |run: u8, storable: Vec<Bytes>| Prepare {
        run_id: RunId([run; 16]).to_wire(),
        files: 1,
        files_bytes: 4,
        needs: vec![file.to_wire()],
        storable,
        ..prepare()
    };
    let mut agent = Agent::joined_with(Disk(file));
    let actions = agent.hear(Down::Prepare(plan(4, vec![])));
    let asks = |message: &&Up| matches!(message, Up::Want(want) if want.sha256.len() == 1);
    assert!(
        sent(&actions).iter().any(asks),
        "it is not said to be no secret"
    );
    let actions = agent.hear(Down::Prepare(plan(5, vec![file.to_wire()])));
    assert!(!sent(&actions).iter().any(asks), "{actions:?}");
    let [.., Order::Prepare(assignment)] = orders(&actions)[..] else {
        panic!("{actions:?}")
    };
    assert!(assignment.files.is_empty());
    assert_eq!(
        (&assignment.stored, &assignment.storable),
        (&vec![file], &vec![file])
    );
}

#[test]
fn part_of_a_lost_agents_share_is_taken_over_once_and_answered_each_time() {
    let (mut agent, actions) = Agent::armed();
    let actions = agent.answer_beats(&actions, Some(RUN));
    let start_at = |order: &&Order| match order {
        Order::Start { at, .. } => Some(at.0),
        _ => None,
    };
    let start_at = orders(&actions).iter().find_map(start_at).unwrap();
    let message = |number, from_ns| {
        Down::TakeOver(TakeOver {
            run_id: RUN.to_wire(),
            number,
            agent_index: 3,
            parts: vec![proto::SharePart { part: 1, parts: 4 }],
            from_ns,
        })
    };
    let from_ns = 7 * SECOND;
    let actions = agent.hear(message(1, from_ns));
    let [
        Order::TakeOver {
            number,
            share,
            from,
            ..
        },
    ] = orders(&actions)[..]
    else {
        panic!("{actions:?}")
    };
    assert_eq!(
        from.0,
        start_at + from_ns,
        "it is of this agent's run clock"
    );
    assert_eq!(
        (*number, share.agent_index, &share.parts[..]),
        (1, 3, &[(1, 4)][..])
    );
    let again = agent.hear(message(1, from_ns));
    assert!(
        orders(&again).is_empty() && sent(&again).is_empty(),
        "{again:?}"
    );
    let answered = |actions: &[SessionAction]| -> Vec<(u32, String)> {
        let answer = |message: &Up| match message {
            Up::TookOver(answer) => {
                let is_ok = answer.problem.is_empty();
                assert_eq!(answer.from_ns, if is_ok { from_ns + MS } else { 0 });
                Some((answer.number, answer.problem.clone()))
            }
            _ => None,
        };
        sent(actions).into_iter().filter_map(answer).collect()
    };
    let actions = agent.on(SessionEvent::Reported(Report::TookOver {
        run: RUN,
        number: 1,
        answer: Ok(Mono(start_at + from_ns + MS)),
    }));
    assert_eq!(answered(&actions), [(1, String::new())]);
    let again = agent.hear(message(1, from_ns));
    assert!(orders(&again).is_empty());
    assert_eq!(answered(&again), [(1, String::new())], "it may be lost");

    let most = (2..2_000).find_map(|number| answered(&agent.hear(message(number, from_ns))).pop());
    let (number, problem) = most.expect("there is a limit");
    assert!(
        number == 1_025 && problem.contains("1024 parts"),
        "{number}: {problem}"
    );

    let mut idle = Agent::ready();
    let actions = idle.hear(message(1, from_ns));
    assert_eq!(answered(&actions), [(1, "it does not fire".to_owned())]);
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
            attempt: 1,
        })),
        Some(Down::Ack(Ack {
            run_id: other,
            stored: Some(Stored::Totals(0)),
        })),
        None,
    ] {
        let actions = agent.on(SessionEvent::Received(FromCoordinator {
            message: message.clone(),
        }));
        assert!(orders(&actions).is_empty(), "{message:?}: {actions:?}");
    }
}

fn observed_seconds(actions: &[SessionAction]) -> Vec<u32> {
    let sent = sent(actions).into_iter();
    sent.filter_map(|message| match message {
        Up::Observed(observed) => Some(observed.second),
        _ => None,
    })
    .collect()
}

impl Agent {
    fn observes(&mut self, second: u32) -> Vec<u32> {
        let actions = self.on(SessionEvent::Reported(Report::Observed {
            run: RUN,
            second,
            encoded: Bytes::new(),
        }));
        observed_seconds(&actions)
    }

    fn observed_is_stored(&mut self, second: u32) -> Vec<u32> {
        let actions = self.hear(ack(Stored::Second(second)));
        observed_seconds(&actions)
    }
}

fn observe(start_at_ns: u64) -> Down {
    Down::Observe(Observe {
        run_id: RUN.to_wire(),
        run_name: "run".into(),
        start_at_ns,
        firing_ns: 0,
    })
}

#[test]
fn monitor_watches_when_its_clock_is_measured_and_delivers_one_second_at_a_time() {
    let mut monitor = Agent::in_role(Role::Monitor);
    monitor.connect();
    let welcomed = monitor.hear(welcome(9, 9, vec![]));
    let start_at = monitor.now_ns + 300 * MS;
    let is_order = |action: &SessionAction| matches!(action, SessionAction::Order(_));
    let actions = monitor.hear(observe(start_at));
    assert!(!actions.iter().any(is_order), "by which clock? {actions:?}");
    let actions = monitor.answer_beats(&welcomed, None);
    let orders: Vec<_> = actions.into_iter().filter(is_order).collect();
    let [
        SessionAction::Order(Order::Observe {
            run: RUN,
            at,
            firing: None,
        }),
    ] = orders[..]
    else {
        panic!("{orders:?}")
    };
    assert!(at.0.abs_diff(start_at) <= MS, "{at:?}");

    assert!(monitor.session.is_needed() && !monitor.session.holds_run());
    assert_eq!(monitor.observes(0), [0]);
    assert_eq!(monitor.observes(1), []);
    assert_eq!(monitor.observed_is_stored(0), [1]);
    monitor.lose_stream();
    assert!(!monitor.session.is_needed(), "its coordinator may be gone");
    assert_eq!(monitor.observes(2), []);
    let actions = monitor.join();
    assert_eq!(observed_seconds(&actions), [1], "it may be lost");
    let actions = monitor.hear(observe(start_at));
    assert!(!actions.iter().any(is_order), "it watches: {actions:?}");
    assert_eq!(monitor.observed_is_stored(1), [2]);

    let actions = monitor.hear(release());
    let forget = SessionAction::Order(Order::Forget { run: RUN });
    assert!(actions.contains(&forget), "{actions:?}");
    assert!(!monitor.session.is_needed());
    assert_eq!(monitor.observes(3), []);
}

#[test]
fn agent_says_what_its_machine_did_until_it_is_released() {
    let mut agent = Agent::firing();
    assert_eq!(agent.observes(0), [0]);
    assert_eq!(agent.observed_is_stored(0), []);
    agent.ended();
    assert_eq!(agent.observes(1), [1]);
    agent.hear(release());
    assert_eq!(agent.observes(2), []);
}

fn parts_of_profile(actions: &[SessionAction]) -> Vec<(u32, u32)> {
    let sent = sent(actions).into_iter();
    sent.filter_map(|message| match message {
        Up::Profile(part) => Some((part.part, part.parts)),
        _ => None,
    })
    .collect()
}

#[test]
fn monitor_delivers_its_profile_over_a_cut_and_after_its_release() {
    let mut monitor = Agent::in_role(Role::Monitor);
    monitor.connect();
    let welcomed = monitor.hear(welcome(9, 9, vec![]));
    monitor.hear(observe(monitor.now_ns + 300 * MS));
    monitor.answer_beats(&welcomed, None);
    let report = |report| SessionEvent::Reported(report);
    let stored = |part| ack(Stored::ProfilePart(part));
    let actions = monitor.on(report(Report::Profiling { run: RUN }));
    assert_eq!(parts_of_profile(&actions), [(0, 0)], "it is announced");
    monitor.lose_stream();
    let actions = monitor.join();
    assert_eq!(parts_of_profile(&actions), [(0, 0)], "to each coordinator");
    monitor.hear(release());
    let encoded = Bytes::from(vec![0; 40 << 10]);
    let actions = monitor.on(report(Report::Profiled { run: RUN, encoded }));
    assert_eq!(parts_of_profile(&actions), [(0, 2)]);
    monitor.lose_stream();
    let actions = monitor.join();
    assert_eq!(parts_of_profile(&actions), [(0, 2)], "it may be lost");
    assert_eq!(parts_of_profile(&monitor.hear(stored(0))), [(1, 2)]);
    assert_eq!(parts_of_profile(&monitor.hear(stored(1))), []);
}
