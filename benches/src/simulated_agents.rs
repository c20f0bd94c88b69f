//! Agents that fire nothing: real sessions over the real wire, with a runner that delivers seconds
//! prepared in advance. Many agents share one thread.

use agent::link::{AgentIdentity, Keeping, LinkConfig, News, RunnerEnd, pair, run};
use control::{Assignment, Digest, EndCause, Order, Report, RunId, Stay, Token};
use host::{InterfaceSecond, Observation, ProcessSecond};
use measure::{CellId, HandshakeKind, Operation, OperationEnd, Period, Recorder, Snapshot, Totals};
use proto::Bytes;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

const SECOND: u64 = 1_000_000_000;

/// Pairs of a request and an address in the plan; each pair has ten histograms.
const PAIRS: u64 = 4;

/// Operations of one agent per second.
const OPERATIONS: u64 = 200;

/// Agents differ by their number modulo this.
const KINDS: u32 = 8;

/// What agents of one kind record: each second encoded, and the sum of all.
#[derive(Debug, Clone)]
pub struct RecordedSeconds {
    seconds: Vec<Bytes>,
    totals: Bytes,
}

impl RecordedSeconds {
    /// The recordings of each kind of agent, `seconds` seconds long.
    #[must_use]
    pub fn kinds(seconds: u32) -> Vec<RecordedSeconds> {
        let kind = |kind| RecordedSeconds::new(seconds, u64::from(kind) + 1);
        (0..KINDS).map(kind).collect()
    }

    fn new(seconds: u32, seed: u64) -> RecordedSeconds {
        let mut random = Random(seed);
        let mut recorder = Recorder::new(2);
        for last in 1..=2 {
            recorder.address(([10, 0, 0, last], 443).into());
        }
        let mut totals = Totals::default();
        let mut encoded = Vec::new();
        for second in 0..u64::from(seconds) {
            for nth in 0..OPERATIONS {
                let operation = operation(second * SECOND, nth, &mut random);
                recorder.count_start(operation.key);
                recorder.end(&operation);
            }
            let (snapshot, _): (Snapshot, _) =
                recorder.cut((second + 1) * SECOND, None).into_snapshot();
            totals.add(&snapshot);
            encoded.push(Bytes::from(snapshot.encode()));
        }
        RecordedSeconds {
            seconds: encoded,
            totals: Bytes::from(totals.encode()),
        }
    }

    /// Mean number of bytes per second.
    #[must_use]
    pub fn bytes_of_second(&self) -> usize {
        self.seconds.iter().map(Bytes::len).sum::<usize>() / self.seconds.len().max(1)
    }
}

/// Every operation opens its connection, so that each of its phases has a time.
fn operation(second_at: u64, nth: u64, random: &mut Random) -> Operation {
    let intended_at = second_at + nth * (SECOND / 2 / OPERATIONS);
    let begun_at = intended_at + random.around(40_000);
    let (dns, connect, handshake) = (
        random.around(300_000),
        random.around(2_000_000),
        random.around(5_000_000),
    );
    let ready_at = begun_at + dns + connect + handshake;
    let written_at = ready_at + random.around(5_000);
    let first_byte_at = written_at + random.around(20_000_000);
    let pair = nth % PAIRS;
    Operation {
        key: CellId {
            period: Period::Measured,
            request: (pair / 2) as u16,
            address: 1 + (pair % 2) as u16,
        },
        intended_at,
        noticed_at: Some(intended_at + 10_000),
        begun_at,
        tried_at: begun_at,
        ready_at: Some(ready_at),
        sent_at: Some(ready_at),
        written_at: Some(written_at),
        first_byte_at: Some(first_byte_at),
        done_at: first_byte_at + random.around(60_000),
        dns: Some(dns),
        connect: Some(connect),
        handshake: Some((HandshakeKind::Full, handshake)),
        end: OperationEnd::Ok,
        status: Some(200),
        payload_bytes: 356,
    }
}

/// What the agents have done, in their own words. All of them share one thread.
#[derive(Debug, Default)]
pub struct AgentsLog {
    /// When each one joined.
    pub joined: Vec<Instant>,
    /// For each second, when the last agent handed it to its session.
    pub handed_over: Vec<Instant>,
    /// Number of agents that were released after all of their data was delivered.
    pub released: usize,
    /// Why agents lost their stream before the end, with one entry per loss.
    pub away: Vec<String>,
    /// What went wrong.
    pub problems: Vec<String>,
}

/// The log that all agents share.
pub type SharedAgentsLog = Rc<RefCell<AgentsLog>>;

/// Runs one agent until its coordinator refuses it. Spawn it on a `LocalSet`. It delivers each
/// second `late` after the second is over.
pub async fn simulate(
    number: u32,
    coordinator: SocketAddr,
    token: Token,
    seconds: RecordedSeconds,
    delay: Duration,
    log: SharedAgentsLog,
) {
    let identity = AgentIdentity {
        name: format!("agent-{number}"),
        labels: [("city".to_owned(), format!("city-{}", number % 10))].into(),
        workers: 1,
        host: host::Sampler::new()
            .facts()
            .map_or_else(|_| Bytes::new(), |facts| Bytes::from(facts.encode())),
        encoding: measure::ENCODING,
        language: plan::LANGUAGE,
        role: control::Role::Agent,
        calibration: Bytes::new(),
    };
    let config = LinkConfig {
        coordinator: coordinator.to_string().parse().expect("an address"),
        token,
        identity,
        keeping: Keeping::default(),
        stay: Stay::default(),
    };
    let (link_end, runner_end) = pair();
    let (_quit, asked) = mpsc::channel(1);
    let told = Rc::clone(&log);
    let link = run(config, link_end, move |news| learn(&told, news), asked);
    let mut runner = SimulatedRunner {
        seconds,
        delay,
        log: Rc::clone(&log),
        firing: None,
    };
    let (ended, ()) = tokio::join!(link, runner.serve(runner_end));
    if let Err(error) = ended {
        log.borrow_mut().problems.push(error.to_string());
    }
}

fn learn(log: &SharedAgentsLog, news: News) {
    let mut log = log.borrow_mut();
    match news {
        News::Joined { .. } => log.joined.push(Instant::now()),
        News::Released {
            dropped_intervals: 0,
            ..
        } => log.released += 1,
        // The coordinator ends after it has released its agents.
        News::Away { why } if log.released == 0 => log.away.push(why),
        News::Released { .. } | News::CannotRun { .. } | News::LeaseExpired { .. } => {
            log.problems.push(format!("{news:?}"));
        }
        _ => {}
    }
}

/// Answers orders as a runner does, and delivers what was prepared.
struct SimulatedRunner {
    seconds: RecordedSeconds,
    delay: Duration,
    log: SharedAgentsLog,
    firing: Option<SimulatedFire>,
}

struct SimulatedFire {
    run: RunId,
    start: Instant,
    next: usize,
}

impl SimulatedRunner {
    async fn serve(&mut self, mut end: RunnerEnd) {
        loop {
            let reports = tokio::select! {
                order = end.orders.recv() => match order {
                    Some(order) => self.obey(order),
                    None => return,
                },
                () = due(self.due_at()) => self.step(),
            };
            for report in reports {
                if end.reports.send(report).await.is_err() {
                    return;
                }
            }
        }
    }

    fn due_at(&self) -> Option<Instant> {
        let fire = self.firing.as_ref()?;
        let second = u32::try_from(fire.next).unwrap_or(u32::MAX);
        Some(fire.start + Duration::from_secs(1) * (second + 1) + self.delay)
    }

    fn obey(&mut self, order: Order) -> Vec<Report> {
        match order {
            Order::Prepare(assignment) => vec![prepared(&assignment)],
            Order::Start { run, at, .. } => {
                let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
                let now_ns = now.tv_sec as u64 * SECOND + now.tv_nsec as u64;
                let wait = Duration::from_nanos(at.0.saturating_sub(now_ns));
                self.firing = Some(SimulatedFire {
                    run,
                    start: Instant::now() + wait,
                    next: 0,
                });
                vec![Report::Began { run, at }]
            }
            Order::Stop { run, .. } => {
                self.firing = None;
                vec![self.ended(run, EndCause::Stopped)]
            }
            Order::Observe { .. } => vec![],
            Order::Forget { .. } => {
                self.firing = None;
                vec![]
            }
            Order::ExtendLease { .. } | Order::TakeOver { .. } | Order::Token { .. } => vec![],
        }
    }

    fn step(&mut self) -> Vec<Report> {
        let Some(fire) = &mut self.firing else {
            return vec![];
        };
        let (run, number) = (fire.run, fire.next);
        fire.next += 1;
        let mut log = self.log.borrow_mut();
        let handed_over = &mut log.handed_over;
        handed_over.resize(handed_over.len().max(number + 1), fire.start);
        handed_over[number] = handed_over[number].max(Instant::now());
        drop(log);
        let mut reports = vec![
            Report::Interval {
                run,
                interval: number as u32,
                encoded: self.seconds.seconds[number].clone(),
            },
            Report::Observed {
                run,
                second: number as u32,
                encoded: Bytes::from(observation().encode()),
            },
        ];
        if number + 1 == self.seconds.seconds.len() {
            self.firing = None;
            reports.push(self.ended(run, EndCause::Plan));
        }
        reports
    }

    fn ended(&self, run: RunId, cause: EndCause) -> Report {
        Report::Ended {
            run,
            cause,
            totals: self.seconds.totals.clone(),
            figures: Bytes::from(host::RunFigures::default().encode()),
        }
    }
}

/// An agent's observation of its machine: two network interfaces, and its own process.
fn observation() -> Observation {
    let interface = |name: &str| InterfaceSecond {
        name: name.to_owned(),
        received_bytes: 400_000,
        sent_bytes: 90_000,
        ..InterfaceSecond::default()
    };
    Observation {
        elapsed_ns: SECOND,
        cpu_busy: 0.3,
        busiest_cpu: 0.5,
        memory_available_bytes: 1 << 34,
        interfaces: vec![interface("eth0"), interface("lo")],
        processes: vec![ProcessSecond {
            name: "agent".to_owned(),
            cpus: 0.4,
            busiest_thread: "worker-0".to_owned(),
            busiest_thread_share: 0.4,
            threads: 6,
            ..ProcessSecond::default()
        }],
        ..Observation::default()
    }
}

fn prepared(assignment: &Assignment) -> Report {
    Report::Prepared {
        run: assignment.run,
        plan_digest: Digest::from_content(assignment.plan.reveal().as_bytes()),
        addresses: vec!["10.0.0.1:443".to_owned(), "10.0.0.2:443".to_owned()],
        workers: 1,
        findings: Vec::new(),
    }
}

async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    /// Most values are near `center`; one in twenty is up to ten times as large.
    fn around(&mut self, center: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let near = center / 2 + self.0 % center;
        if (self.0 >> 32).is_multiple_of(20) {
            near + (self.0 >> 40) % (9 * center)
        } else {
            near
        }
    }
}
