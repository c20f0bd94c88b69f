//! The agent's link against a hand-made coordinator: what it dials, sends, sends again, and
//! reports.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod calibration;
mod coordinator;
mod monitor;
mod narrow;
mod service;
mod terminal;

use agent::link::{
    AgentIdentity, Keeping, LinkConfig, LinkError, News, Quit, RunnerEnd, pair, run,
};
use control::{Digest, EndCause, INTERVAL_PART_BYTES, Order, Report, RunId, Stay, Token};
use coordinator::{Attached, Coordinator, PATIENCE};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Ack, Bytes, Go, IntervalPart, Prepare, Received, Refused, Release, Resume, Start};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const RUN: RunId = RunId([3; 16]);

/// A link, the news it gives, and the test's end in place of a runner.
struct Agent {
    link: JoinHandle<Result<(), LinkError>>,
    runner: RunnerEnd,
    news: mpsc::UnboundedReceiver<News>,
    quit: mpsc::Sender<Quit>,
}

impl Agent {
    fn start(address: SocketAddr, token: &Token) -> Agent {
        let labels = [("city".to_owned(), "bern".to_owned())].into();
        let identity = AgentIdentity {
            name: "machine".into(),
            labels,
            workers: 3,
            host: Bytes::from_static(b"facts"),
            encoding: 5,
            language: 6,
            role: control::Role::Agent,
            calibration: Bytes::new(),
        };
        let config = LinkConfig {
            coordinator: address.to_string().parse().unwrap(),
            token: token.clone(),
            identity,
            keeping: Keeping::default(),
            stay: Stay::default(),
        };
        let (link_end, runner) = pair();
        let (say, news) = mpsc::unbounded_channel();
        let (quit, asked) = mpsc::channel(2);
        let link = tokio::spawn(run(
            config,
            link_end,
            move |news| drop(say.send(news)),
            asked,
        ));
        Agent {
            link,
            runner,
            news,
            quit,
        }
    }

    async fn order(&mut self) -> Order {
        timeout(PATIENCE, self.runner.orders.recv())
            .await
            .expect("an order in time")
            .expect("a link")
    }

    async fn report(&self, report: Report) {
        self.runner.reports.send(report).await.unwrap();
    }

    async fn news(&mut self) -> News {
        timeout(PATIENCE, self.news.recv())
            .await
            .expect("news in time")
            .expect("a link")
    }

    /// Why it is away, which must be the first news.
    async fn away(&mut self) -> String {
        match self.news().await {
            News::Away { why } => why,
            other => panic!("{other:?}"),
        }
    }

    async fn ended(self) -> Result<(), LinkError> {
        timeout(PATIENCE, self.link)
            .await
            .expect("an end in time")
            .unwrap()
    }

    /// Prepares, starts and begins the run on this stream.
    async fn begin(&mut self, stream: &mut Attached) {
        stream.say(Down::Prepare(prepare())).await;
        assert!(matches!(self.order().await, Order::Prepare(_)));
        self.report(Report::Prepared {
            run: RUN,
            plan_digest: Digest([0; 32]),
            addresses: vec![],
            workers: 1,
            findings: Vec::new(),
        })
        .await;
        let Some(Up::Prepared(prepared)) = stream.next().await else {
            panic!("no answer to the plan")
        };
        let clock = prepared.clock.expect("it is measured by then");
        stream.lease = Some(RUN);
        // Both clocks are this machine's, so they are the same.
        let start_at_ns = monotonic_ns() + 2_000_000_000;
        assert!(
            clock.offset_ns.unsigned_abs() <= clock.bound_ns,
            "{clock:?}"
        );
        stream
            .say(Down::Start(Start {
                run_id: RUN.to_wire(),
                start_at_ns,
                attempt: 1,
            }))
            .await;
        let Some(Up::Armed(armed)) = stream.next().await else {
            panic!("it does not say that it knows the start")
        };
        assert_eq!((armed.run_id, armed.attempt), (RUN.to_wire(), 1));
        let run_id = RUN.to_wire();
        stream.say(Down::Go(Go { run_id, attempt: 1 })).await;
        // Its beat asks for the lease. The stream answers that while it waits for another message.
        let began = async {
            let Order::Start { run: RUN, at, .. } = self.order().await else {
                panic!("no start")
            };
            assert!(
                at.0.abs_diff(start_at_ns) <= clock.bound_ns * 2,
                "{at:?} for {start_at_ns}"
            );
            self.report(Report::Began { run: RUN, at }).await;
        };
        let ((), message) = tokio::join!(began, stream.next());
        assert!(matches!(message, Some(Up::Began(_))), "{message:?}");
    }
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn prepare() -> Prepare {
    let plan_digest = Digest([0; 32]).to_wire();
    Prepare {
        run_id: RUN.to_wire(),
        run_name: "run".into(),
        plan: "plan".into(),
        plan_digest,
        agents: 1,
        ..Prepare::default()
    }
}

async fn part(stream: &mut Attached) -> IntervalPart {
    match stream.next().await {
        Some(Up::Interval(part)) => part,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn hello_says_who_joins_and_the_plan_goes_to_the_runner_and_its_answer_back() {
    let mut coordinator = Coordinator::start().await;
    let mut agent = Agent::start(coordinator.address, &coordinator.token);
    let (mut stream, hello) = coordinator.welcome(None).await;
    assert_eq!(
        (&hello.name[..], hello.workers, &hello.host[..]),
        ("machine", 3, &b"facts"[..])
    );
    assert!(
        hello.labels["city"] == "bern"
            && hello.held_runs.is_empty()
            && hello.protocol == proto::PROTOCOL
            && (hello.snapshot_encoding, hello.plan_language) == (5, 6),
        "{hello:?}"
    );
    assert_eq!(
        agent.news().await,
        News::Joined {
            coordinator_version: "1".into()
        }
    );

    stream.say(Down::Prepare(prepare())).await;
    let Order::Prepare(assignment) = agent.order().await else {
        panic!("no plan")
    };
    assert_eq!(
        (
            assignment.run,
            &assignment.plan.reveal()[..],
            assignment.agents
        ),
        (RUN, "plan", 1)
    );
    agent
        .report(Report::NotPrepared {
            run: RUN,
            problem: "too much".into(),
        })
        .await;
    let Some(Up::Prepared(answer)) = stream.next().await else {
        panic!("no answer")
    };
    assert_eq!(
        (answer.run_id, &answer.problem[..]),
        (RUN.to_wire(), "too much")
    );
    assert_eq!(agent.order().await, Order::Forget { run: RUN });
    agent.quit.send(Quit::Asked).await.unwrap();
    agent.ended().await.unwrap();
    assert_eq!(
        stream.next().await,
        None,
        "a link that ended ends its stream"
    );
}

#[tokio::test]
async fn hangup_ends_an_agent_only_while_it_holds_no_run() {
    let mut coordinator = Coordinator::start().await;
    let mut agent = Agent::start(coordinator.address, &coordinator.token);
    let (stream, _) = coordinator.welcome(None).await;
    stream.say(Down::Prepare(prepare())).await;
    assert!(matches!(agent.order().await, Order::Prepare(_)));
    agent.quit.send(Quit::Hangup).await.unwrap();
    // The coordinator goes away before the run begins, so the run is forgotten without any news.
    drop(stream);
    assert_eq!(agent.order().await, Order::Forget { run: RUN });
    let (_stream, hello) = coordinator.welcome(None).await;
    assert!(hello.held_runs.is_empty());
    agent.quit.send(Quit::Hangup).await.unwrap();
    agent.ended().await.unwrap();
}

#[tokio::test]
async fn upload_goes_on_over_the_next_stream_with_the_part_that_is_missing() {
    let mut coordinator = Coordinator::start().await;
    let mut agent = Agent::start(coordinator.address, &coordinator.token);
    let (mut stream, _) = coordinator.welcome(None).await;
    agent.begin(&mut stream).await;
    for (interval, size) in [(0, 10), (1, INTERVAL_PART_BYTES * 3)] {
        agent
            .report(Report::Interval {
                run: RUN,
                interval,
                encoded: vec![interval as u8; size].into(),
            })
            .await;
    }
    let first = part(&mut stream).await;
    assert_eq!(
        (first.interval, first.parts, first.content.len()),
        (0, 1, 10)
    );
    let second = part(&mut stream).await;
    assert_eq!((second.interval, second.part, second.parts), (1, 0, 3));
    drop(stream);

    let resume = Resume {
        run_id: RUN.to_wire(),
        stored_below: 1,
        interval: 1,
        totals: false,
        parts: 1,
        epoch: 1,
    };
    let (mut stream, hello) = coordinator.welcome(Some(resume)).await;
    assert_eq!(hello.held_runs[0].run_id, RUN.to_wire());
    // The beginning is reported on each stream.
    assert!(matches!(stream.next().await, Some(Up::Began(_))));
    for expected in [1, 2] {
        let part = part(&mut stream).await;
        assert_eq!(
            (part.interval, part.part, part.parts, part.content.len()),
            (1, expected, 3, INTERVAL_PART_BYTES)
        );
    }
    stream
        .say(Down::Ack(Ack {
            run_id: RUN.to_wire(),
            stored: Some(Stored::Interval(1)),
        }))
        .await;
    let (totals, figures) = (Bytes::from_static(b"sum"), Bytes::from_static(b"figures"));
    agent
        .report(Report::Ended {
            run: RUN,
            cause: EndCause::Plan,
            totals,
            figures,
        })
        .await;
    let sum = part(&mut stream).await;
    assert_eq!(
        (sum.totals, sum.interval, &sum.content[..]),
        (true, 2, &b"sum"[..])
    );
    stream
        .say(Down::Ack(Ack {
            run_id: RUN.to_wire(),
            stored: Some(Stored::Totals(2)),
        }))
        .await;
    let Some(Up::Ended(ended)) = stream.next().await else {
        panic!("no end")
    };
    assert_eq!(
        (ended.cause(), &ended.figures[..]),
        (proto::EndCause::Plan, &b"figures"[..])
    );
    stream
        .say(Down::Release(Release {
            run_id: RUN.to_wire(),
        }))
        .await;
    loop {
        match agent.order().await {
            Order::ExtendLease { .. } => {}
            order => break assert_eq!(order, Order::Forget { run: RUN }),
        }
    }
}

#[tokio::test]
async fn beats_come_in_time_while_a_narrow_link_is_full_of_an_upload() {
    let mut seen = Vec::new();
    // All tasks share a thread; if a busy machine lets it stand still, so do the beats.
    for _ in 0..3 {
        let (longest, took) = beats_over_a_full_link().await;
        // One per second, and behind one or two parts for at most half a second each.
        if longest.as_millis() < 2_500 && took.as_secs() < 20 {
            return;
        }
        seen.push((longest, took));
    }
    panic!("between two beats, and in all: {seen:?}");
}

/// The longest time between two beats, and how long the upload took.
async fn beats_over_a_full_link() -> (Duration, Duration) {
    const BYTES_PER_SECOND: u32 = 16_000;
    const SIZE: usize = 110_000;
    let mut coordinator = Coordinator::start().await;
    let narrow = narrow::relay(coordinator.address, BYTES_PER_SECOND).await;
    let mut agent = Agent::start(narrow, &coordinator.token);
    let (mut stream, _) = coordinator.welcome(None).await;
    agent.begin(&mut stream).await;
    stream.beats.clear();
    agent
        .report(Report::Interval {
            run: RUN,
            interval: 0,
            encoded: vec![1; SIZE].into(),
        })
        .await;
    let began = std::time::Instant::now();
    let mut came = 0;
    while came < SIZE {
        let part = part(&mut stream).await;
        came += part.content.len();
        stream
            .say(Down::Received(Received {
                run_id: part.run_id,
                interval: part.interval,
                totals: part.totals,
                parts: part.part + 1,
            }))
            .await;
    }
    let took = began.elapsed();
    let gaps = stream.beats.windows(2).map(|beats| beats[1] - beats[0]);
    let longest = gaps.max().expect("beats during the upload");
    assert!(
        took.as_secs() >= 5,
        "an upload that is over at once shows nothing: {took:?}"
    );
    (longest, took)
}

#[tokio::test]
async fn release_in_the_middle_of_an_upload_ends_it_and_the_next_plan_is_taken() {
    let mut coordinator = Coordinator::start().await;
    let mut agent = Agent::start(coordinator.address, &coordinator.token);
    let (mut stream, _) = coordinator.welcome(None).await;
    agent.begin(&mut stream).await;
    agent
        .report(Report::Interval {
            run: RUN,
            interval: 0,
            encoded: vec![0; INTERVAL_PART_BYTES * 300].into(),
        })
        .await;
    part(&mut stream).await;
    stream
        .say(Down::Release(Release {
            run_id: RUN.to_wire(),
        }))
        .await;
    stream
        .say(Down::Prepare(Prepare {
            run_id: RunId([4; 16]).to_wire(),
            ..prepare()
        }))
        .await;
    loop {
        match agent.order().await {
            Order::ExtendLease { .. } | Order::Forget { run: RUN } => {}
            Order::Prepare(assignment) => break assert_eq!(assignment.run, RunId([4; 16])),
            other => panic!("{other:?}"),
        }
    }
    // Parts that were under way may follow, and what the runner reports no longer matters.
    agent
        .report(Report::Interval {
            run: RUN,
            interval: 1,
            encoded: Bytes::from_static(b"late"),
        })
        .await;
    agent
        .report(Report::NotPrepared {
            run: RunId([4; 16]),
            problem: "no".into(),
        })
        .await;
    let mut parts = 0;
    loop {
        match stream.next().await {
            Some(Up::Interval(part)) => {
                assert_eq!(part.interval, 0, "a report of a forgotten run is dropped");
                parts += 1;
            }
            Some(Up::Prepared(prepared)) => break assert_eq!(prepared.problem, "no"),
            other => panic!("{other:?}"),
        }
    }
    assert!(parts < 300, "the upload went on to its end");
}

#[tokio::test]
async fn stream_that_ends_is_opened_again_and_said_once() {
    let mut coordinator = Coordinator::start().await;
    let mut agent = Agent::start(coordinator.address, &coordinator.token);
    let (stream, first) = coordinator.welcome(None).await;
    assert!(matches!(agent.news().await, News::Joined { .. }));
    drop(stream);
    let why = agent.away().await;
    assert!(why.contains("stream"), "{why}");
    drop(coordinator.stream().await);
    let (_stream, again) = coordinator.welcome(None).await;
    assert_eq!(again.agent_id, first.agent_id);
    loop {
        match agent.news().await {
            News::Joined { .. } => break,
            News::Away { why: other } => assert_ne!(other, why, "said again"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn final_refusal_of_a_newcomer_ends_the_link_with_the_reason() {
    let mut coordinator = Coordinator::start().await;
    let agent = Agent::start(coordinator.address, &coordinator.token);
    let mut stream = coordinator.stream().await;
    assert!(matches!(stream.next().await, Some(Up::Hello(_))));
    stream
        .say(Down::Refused(Refused {
            reason: "install version 9".into(),
            r#final: true,
        }))
        .await;
    let error = agent.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "install version 9");
}

#[tokio::test]
async fn runner_that_is_gone_ends_the_link() {
    let mut coordinator = Coordinator::start().await;
    let agent = Agent::start(coordinator.address, &coordinator.token);
    let (_stream, _) = coordinator.welcome(None).await;
    drop(agent.runner);
    let ended = timeout(PATIENCE, agent.link)
        .await
        .expect("an end in time")
        .unwrap();
    assert!(matches!(ended, Err(LinkError::RunnerGone)), "{ended:?}");
}

#[tokio::test]
async fn what_listens_there_and_is_no_coordinator_is_told() {
    let answers: [(&[u8], &str); 3] = [
        (b"", "encrypt"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "does not speak as a coordinator does",
        ),
        (
            b"\x15\x03\x03\x00\x02\x02\x28",
            "does not speak as a coordinator does",
        ),
    ];
    for (answer, part) in answers {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            while let Ok((mut tcp, _)) = listener.accept().await {
                // The whole ClientHello must be read. Otherwise closing resets the connection
                // before the answer is read.
                let mut hello = vec![0; 4096];
                let _ = tokio::io::AsyncReadExt::read(&mut tcp, &mut hello).await;
                let _ = tcp.write_all(answer).await;
                let _ = tcp.shutdown().await;
            }
        });
        let token = Token::new([1; 32], control::JoinSecret::new([1; 32]));
        let mut agent = Agent::start(address, &token);
        let why = agent.away().await;
        assert!(
            why.contains(part) && why.contains(&address.to_string()),
            "{answer:?}: {why}"
        );
        server.abort();
    }
}

#[tokio::test]
async fn certificate_of_another_authority_ends_the_link_with_the_cure() {
    let coordinator = Coordinator::start().await;
    let token = Token::new([1; 32], coordinator.token.secret().clone());
    let error = Agent::start(coordinator.address, &token)
        .ended()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("another authority")
            && error.to_string().contains("`start` prints"),
        "{error}"
    );
}

#[tokio::test]
async fn hundreds_of_seconds_without_a_coordinator_are_delivered_whole_and_memory_is_bounded() {
    const INTERVALS: u32 = 200;
    const SIZE: usize = 600_000;
    let content = |interval: u32| Bytes::from(vec![interval as u8; SIZE]);
    let mut coordinator = Coordinator::start().await;
    let mut agent = Agent::start(coordinator.address, &coordinator.token);
    let (mut stream, _) = coordinator.welcome(None).await;
    agent.begin(&mut stream).await;
    drop(stream);
    let before = resident_bytes();
    for interval in 0..INTERVALS {
        let encoded = content(interval);
        agent
            .report(Report::Interval {
                run: RUN,
                interval,
                encoded,
            })
            .await;
    }
    let (totals, figures) = (Bytes::from_static(b"sum"), Bytes::new());
    agent
        .report(Report::Ended {
            run: RUN,
            cause: EndCause::Plan,
            totals,
            figures,
        })
        .await;
    while !matches!(agent.news().await, News::Ended { .. }) {}
    let grown = resident_bytes().saturating_sub(before);
    assert!(
        grown < control::HELD_MAX_BYTES + (24 << 20),
        "{grown} bytes in memory for {} kept",
        INTERVALS as usize * SIZE
    );

    let resume = Resume {
        run_id: RUN.to_wire(),
        epoch: 1,
        ..Resume::default()
    };
    let (mut stream, _) = coordinator.welcome(Some(resume)).await;
    assert!(matches!(stream.next().await, Some(Up::Began(_))));
    for interval in 0..=INTERVALS {
        let mut came = Vec::new();
        loop {
            let part = part(&mut stream).await;
            assert_eq!(part.interval, interval);
            came.extend_from_slice(&part.content);
            let is_last = part.part + 1 == part.parts;
            let received = Received {
                run_id: part.run_id.clone(),
                interval,
                totals: part.totals,
                parts: part.part + 1,
            };
            stream.say(Down::Received(received)).await;
            if is_last {
                let ack = Ack {
                    run_id: part.run_id,
                    stored: Some(if part.totals {
                        Stored::Totals(interval)
                    } else {
                        Stored::Interval(interval)
                    }),
                };
                break stream.say(Down::Ack(ack)).await;
            }
        }
        let is_sum = interval == INTERVALS && came == b"sum";
        assert!(is_sum || came == content(interval), "{interval}");
    }
    assert!(matches!(stream.next().await, Some(Up::Ended(_))));
}

/// Memory of this process. Other tests that run meanwhile need little.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let resident = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = resident.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() << 10
}
