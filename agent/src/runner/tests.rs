//! Orders in, reports out, with a real engine and a real server.

use super::{Resources, serve};
use crate::data_folders::DataFolders;
use crate::link::RunnerEnd;
use crate::sampling::tests::in_one_of_three_tries;
use control::{Assignment, Boot, Digest, EndCause, Mono, Order, Report, RunId, SharePath, Stop};
use engine::Policy;
use measure::{Period, Snapshot, Totals};
use plan::{NoFiles, Plan};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use target::{Config, RunningTarget};
use tokio::sync::mpsc;

/// Longer than anything takes here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const RUN: RunId = RunId([1; 16]);
const OTHER: RunId = RunId([2; 16]);

/// A load that runs until it is stopped.
const ENDLESS: &str = "load = { connections = 2, duration = \"1h\", think_time = \"5ms\" }";

/// A runner, and the link's ends of its channels.
struct Runner {
    orders: mpsc::Sender<Order>,
    reports: mpsc::Receiver<Report>,
    thread: JoinHandle<()>,
}

impl Runner {
    fn new(policy: Policy) -> Runner {
        let (orders, orders_out) = mpsc::channel(16);
        let (reports_in, reports) = mpsc::channel(16);
        let resources = Resources {
            cpus: vec![None],
            policy,
            key_log: None,
            calibration: None,
            data: DataFolders::default(),
            cache: None,
        };
        let thread = std::thread::spawn(|| {
            serve(
                RunnerEnd {
                    orders: orders_out,
                    reports: reports_in,
                },
                resources,
            )
        });
        Runner {
            orders,
            reports,
            thread,
        }
    }

    /// Creates a runner with a prepared run.
    fn prepared(server: &RunningTarget, more: &str) -> Runner {
        let mut runner = Runner::new(Policy::default());
        runner.order(Order::Prepare(assignment(RUN, &text(server, more))));
        assert!(matches!(runner.report(), Report::Prepared { run: RUN, .. }));
        runner
    }

    /// Creates a runner whose run fires, with a lease of this length.
    fn firing(server: &RunningTarget, lease: Duration) -> Runner {
        let mut runner = Runner::prepared(server, ENDLESS);
        runner.start(RUN, lease);
        assert!(matches!(runner.report(), Report::Began { run: RUN, .. }));
        runner
    }

    fn order(&self, order: Order) {
        self.orders.blocking_send(order).unwrap();
    }

    fn start(&self, run: RunId, lease: Duration) -> Mono {
        let at = Mono(clock(ClockId::Monotonic) + 50_000_000);
        self.order(Order::Start {
            run,
            at,
            lease_until: in_boot_time(lease),
        });
        at
    }

    /// The next report about the load.
    fn report(&mut self) -> Report {
        loop {
            match self.any_report() {
                Report::Observed { .. } => {}
                report => return report,
            }
        }
    }

    fn any_report(&mut self) -> Report {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let next =
            runtime.block_on(async { tokio::time::timeout(PATIENCE, self.reports.recv()).await });
        next.expect("a report in time").expect("a runner")
    }

    /// Everything up to the end: the intervals, why the run ended, and its totals.
    fn until_ended(&mut self) -> (Vec<Snapshot>, EndCause, Totals) {
        let mut intervals = Vec::new();
        loop {
            match self.report() {
                Report::Interval {
                    run: RUN,
                    interval,
                    encoded,
                } => {
                    assert_eq!(
                        interval as usize,
                        intervals.len(),
                        "in order, without a gap"
                    );
                    intervals.push(Snapshot::decode(&encoded).unwrap());
                }
                Report::Ended {
                    run: RUN,
                    cause,
                    totals,
                    figures,
                } => {
                    host::RunFigures::decode(&figures).unwrap();
                    return (intervals, cause, Totals::decode(&totals).unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn clock(id: ClockId) -> u64 {
    let now = clock_gettime(id);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn in_boot_time(after: Duration) -> Boot {
    Boot(clock(ClockId::Boottime) + after.as_nanos() as u64)
}

fn server() -> RunningTarget {
    RunningTarget::new(Config::plain()).unwrap()
}

fn text(server: &RunningTarget, more: &str) -> String {
    format!("target.url = {:?}\n{more}\n", server.url("/"))
}

fn assignment(run: RunId, text: &str) -> Assignment {
    let plan =
        Plan::parse(text, &mut NoFiles).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    Assignment {
        run,
        run_name: "test".to_owned(),
        plan: plan.canonical_text().into(),
        plan_digest: Digest(plan.digest().0),
        agent_index: 0,
        agents: 1,
        files: Vec::new(),
        stored: Vec::new(),
        storable: Vec::new(),
        minted: None,
        force: false,
    }
}

fn sum(intervals: &[Snapshot]) -> Totals {
    let mut totals = Totals::default();
    intervals.iter().for_each(|interval| totals.add(interval));
    totals
}

fn ok(snapshot: &Snapshot) -> u64 {
    let measured = snapshot
        .cells
        .iter()
        .filter(|(key, _)| key.period == Period::Measured);
    measured.map(|(_, cell)| cell.counters.ok).sum()
}

/// Waits until the server gets no more requests.
fn wait_for_quiet(server: &RunningTarget) {
    let begun = std::time::Instant::now();
    loop {
        let before = server.counts().requests;
        std::thread::sleep(Duration::from_millis(300));
        if server.counts().requests == before {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the load does not end");
    }
}

#[test]
fn plan_is_prepared_started_and_reported_to_its_end() {
    let server = server();
    let assignment = assignment(
        RUN,
        &text(&server, "load = { connections = 2, requests = 30 }"),
    );
    let mut runner = Runner::new(Policy::default());
    runner.order(Order::Prepare(assignment.clone()));
    let expected = Report::Prepared {
        run: RUN,
        plan_digest: assignment.plan_digest,
        addresses: vec![server.address().to_string()],
        workers: 1,
        findings: Vec::new(),
    };
    assert_eq!(runner.report(), expected);
    let at = runner.start(RUN, PATIENCE);
    let Report::Began {
        run: RUN,
        at: began,
    } = runner.report()
    else {
        panic!("it did not begin")
    };
    assert!(began >= at, "{began:?} is before {at:?}");
    let (intervals, cause, totals) = runner.until_ended();
    assert_eq!((cause, totals), (EndCause::Plan, sum(&intervals)));
    assert_eq!(
        intervals.iter().map(ok).sum::<u64>(),
        30,
        "{} intervals",
        intervals.len()
    );
    assert_eq!(server.counts().requests, 30);
}

#[test]
fn machine_is_observed_in_each_second_of_a_run() {
    in_one_of_three_tries(observe_each_second_of_a_run);
}

fn observe_each_second_of_a_run() {
    let server = server();
    let mut runner = Runner::prepared(
        &server,
        "load = { connections = 2, duration = \"2500ms\", think_time = \"5ms\" }",
    );
    runner.start(RUN, PATIENCE);
    let mut observed = Vec::new();
    loop {
        match runner.any_report() {
            Report::Observed {
                run: RUN,
                second,
                encoded,
            } => observed.push((second, host::Observation::decode(&encoded).unwrap())),
            Report::Ended { .. } => break,
            _ => {}
        }
    }
    let seconds: Vec<u32> = observed.iter().map(|(second, _)| *second).collect();
    assert!(
        seconds.starts_with(&[0, 1, 2]),
        "the last is half a second: {seconds:?}"
    );
    // In a test all threads belong to one process, so its busiest worker may be another test's, and
    // may have ended when its name is looked up.
    let is_named = |(_, observed): &(_, host::Observation)| {
        engine::is_worker_thread(&observed.processes[0].busiest_thread)
    };
    assert!(observed.iter().any(is_named), "{observed:?}");
    for (_, observation) in &observed[..2] {
        let process = &observation.processes[0];
        assert_eq!(process.pid, std::process::id());
        assert!(
            process.cpus > 0.0 && observation.ports.is_some(),
            "{observation:?}"
        );
    }
}

#[test]
fn plan_that_cannot_be_run_here_is_answered_with_the_reason() {
    let server = server();
    let fine = assignment(RUN, &text(&server, ENDLESS));
    let elsewhere = assignment(
        RUN,
        "target.url = \"http://203.0.113.9/\"\nload = { connections = 1, requests = 1 }\n",
    );
    let broken = Assignment {
        plan: "load = 5\n".to_owned().into(),
        ..fine.clone()
    };
    let no_identities = control::PlanFile {
        sha256: Digest([7; 32]),
        content: Arc::<[u8]>::from(&b"nonsense"[..]).into(),
    };
    let unreadable = Assignment {
        files: vec![no_identities],
        minted: Some(Digest([7; 32])),
        ..fine.clone()
    };
    let mut slow = Policy::default();
    slow.max_rate = "100/s".parse().ok();
    for (policy, assignment, part) in [
        (Policy::default(), elsewhere, "--allow 203.0.113.9"),
        (Policy::default(), broken, "load"),
        (Policy::default(), unreadable, "minted client certificates"),
        (slow, fine, "--max-rate 100/s"),
    ] {
        let mut runner = Runner::new(policy);
        runner.order(Order::Prepare(assignment));
        let Report::NotPrepared { run: RUN, problem } = runner.report() else {
            panic!("{part}: it was prepared")
        };
        assert!(problem.contains(part), "{part}: {problem}");
        runner.start(RUN, PATIENCE);
        let (_, cause, totals) = runner.until_ended();
        assert!(
            matches!(cause, EndCause::Failed(_)) && totals == Totals::default(),
            "{part}: {cause:?}"
        );
    }
}

#[test]
fn run_that_is_stopped_before_its_start_ends_with_nothing_done() {
    let server = server();
    for how in [Stop::Drain, Stop::Now] {
        let mut runner = Runner::prepared(&server, ENDLESS);
        runner.order(Order::Stop { run: OTHER, how });
        runner.order(Order::Stop { run: RUN, how });
        let (intervals, cause, totals) = runner.until_ended();
        assert_eq!(
            (intervals.len(), cause, totals),
            (0, EndCause::Stopped, Totals::default()),
            "{how:?}"
        );
    }
    assert_eq!(server.counts().requests, 0);
}

#[test]
fn only_the_run_that_was_prepared_is_started() {
    let server = server();
    let mut runner = Runner::prepared(&server, ENDLESS);
    runner.start(OTHER, PATIENCE);
    let Report::Ended {
        run: OTHER,
        cause: EndCause::Failed(why),
        ..
    } = runner.report()
    else {
        panic!("it fires")
    };
    assert!(why.contains("another run"), "{why}");
    assert_eq!(server.counts().requests, 0);
}

#[test]
fn stop_ends_a_run_that_fires_and_what_it_measured_is_reported() {
    let server = server();
    for how in [Stop::Drain, Stop::Now] {
        let mut runner = Runner::firing(&server, PATIENCE);
        let Report::Interval {
            interval: 0,
            encoded,
            ..
        } = runner.report()
        else {
            panic!("no first second")
        };
        let mut intervals = vec![Snapshot::decode(&encoded).unwrap()];
        runner.order(Order::Stop { run: OTHER, how });
        runner.order(Order::Stop { run: RUN, how });
        let (cause, totals) = loop {
            match runner.report() {
                Report::Ended { cause, totals, .. } => {
                    break (cause, Totals::decode(&totals).unwrap());
                }
                Report::Interval { encoded, .. } => {
                    intervals.push(Snapshot::decode(&encoded).unwrap())
                }
                _ => {}
            }
        };
        assert_eq!(cause, EndCause::Stopped, "{how:?}");
        assert!(
            ok(&intervals[0]) > 0 && totals == sum(&intervals),
            "{how:?}: {intervals:?}"
        );
    }
}

#[test]
fn lease_ends_the_run() {
    const LEASE: Duration = Duration::from_secs(4);
    let server = server();
    let mut runner = Runner::firing(&server, LEASE);
    let (intervals, cause, _) = runner.until_ended();
    assert_eq!(cause, EndCause::LeaseExpired);
    assert!(intervals.len() <= 8, "{} seconds", intervals.len());
}

#[test]
fn lease_that_is_extended_ends_no_run() {
    let server = server();
    let mut runner = Runner::firing(&server, Duration::from_secs(3));
    runner.order(Order::ExtendLease {
        run: OTHER,
        until: in_boot_time(PATIENCE),
    });
    runner.order(Order::ExtendLease {
        run: RUN,
        until: in_boot_time(PATIENCE),
    });
    let mut seconds = 0;
    while seconds < 5 {
        match runner.report() {
            Report::Interval { .. } => seconds += 1,
            other => panic!("after {seconds} s: {other:?}"),
        }
    }
}

#[test]
fn forgotten_run_fires_no_more_and_the_next_is_prepared() {
    let server = server();
    let mut runner = Runner::firing(&server, PATIENCE);
    runner.order(Order::Forget { run: OTHER });
    assert!(
        matches!(runner.report(), Report::Interval { run: RUN, .. }),
        "another run is another run"
    );
    runner.order(Order::Forget { run: RUN });
    runner.order(Order::Prepare(assignment(OTHER, &text(&server, ENDLESS))));
    // What was under way belongs to a run that the link has forgotten, and is dropped there.
    while !matches!(runner.report(), Report::Prepared { run: OTHER, .. }) {}
    wait_for_quiet(&server);
}

#[test]
fn end_of_the_link_ends_the_run_and_the_thread() {
    let server = server();
    let runner = Runner::firing(&server, PATIENCE);
    let Runner {
        orders,
        reports,
        thread,
    } = runner;
    drop((orders, reports));
    thread.join().unwrap();
    wait_for_quiet(&server);
}

/// An order to take over the other agent's whole share, from now on.
fn take_over(run: RunId, number: u32) -> Order {
    Order::TakeOver {
        run,
        number,
        share: SharePath {
            agent_index: 1,
            parts: vec![(0, 1)],
        },
        from: Mono(clock(ClockId::Monotonic)),
    }
}

/// The answer to an order to take over; intervals that come before it are kept.
fn answer(runner: &mut Runner, intervals: &mut Vec<Snapshot>) -> (u32, Option<String>) {
    loop {
        match runner.report() {
            Report::TookOver { number, answer, .. } => return (number, answer.err()),
            Report::Interval { encoded, .. } => intervals.push(Snapshot::decode(&encoded).unwrap()),
            Report::Prepared { .. } | Report::Began { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn share_of_a_lost_agent_is_fired_too_and_stands_in_the_same_intervals() {
    let server = server();
    let load = "load = { rate = \"200/s\", requests = 1500, max_connections = 8 }";
    let of_two = Assignment {
        agents: 2,
        ..assignment(RUN, &text(&server, load))
    };
    let mut runner = Runner::new(Policy::default());
    runner.order(Order::Prepare(of_two));
    runner.start(RUN, PATIENCE);
    let mut intervals = Vec::new();
    // In the middle of the second second; sent twice, as after a cut.
    while intervals.is_empty() {
        if let Report::Interval { encoded, .. } = runner.report() {
            intervals.push(Snapshot::decode(&encoded).unwrap());
        }
    }
    for number in 0..2 {
        runner.order(take_over(RUN, number));
        assert_eq!(answer(&mut runner, &mut intervals), (number, None));
    }
    let (cause, totals) = loop {
        match runner.report() {
            Report::Ended { cause, totals, .. } => {
                break (cause, Totals::decode(&totals).unwrap());
            }
            Report::Interval { encoded, .. } => intervals.push(Snapshot::decode(&encoded).unwrap()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((cause, totals), (EndCause::Plan, sum(&intervals)));
    let fired = intervals.iter().map(ok).sum::<u64>();
    // 750 of its own, and 100 for each second that was left of the lost agent's share.
    assert!((751..=1400).contains(&fired), "{fired}");
    assert_eq!(server.counts().requests, fired);
}

#[test]
fn share_that_comes_before_the_start_or_after_the_end_is_answered_with_the_reason() {
    let server = server();
    let load = "load = { connections = 4, duration = \"50ms\" }";
    let of_two = Assignment {
        agents: 2,
        ..assignment(RUN, &text(&server, load))
    };
    let mut runner = Runner::new(Policy::default());
    let mut intervals = Vec::new();
    let mut asked = |runner: &mut Runner, run: RunId, number: u32, part: &str| {
        runner.order(take_over(run, number));
        let (answered, problem) = answer(runner, &mut intervals);
        let fits = problem
            .as_ref()
            .is_some_and(|problem| problem.contains(part));
        assert!(answered == number && fits, "{part}: {problem:?}");
    };
    asked(&mut runner, RUN, 0, "does not fire that run");
    runner.order(Order::Prepare(of_two));
    asked(&mut runner, RUN, 1, "when the run starts");
    asked(&mut runner, OTHER, 2, "does not fire that run");
    runner.start(RUN, PATIENCE);
    while !matches!(runner.report(), Report::Ended { .. }) {}
    asked(&mut runner, RUN, 3, "load has ended");
    runner.order(Order::Forget { run: RUN });
    asked(&mut runner, RUN, 4, "does not fire that run");
}

#[test]
fn what_cannot_work_here_is_refused_unless_it_is_forced() {
    let server = server();
    let text = "load = { connections = 99999, duration = \"1s\" }\n";
    let assignment = assignment(RUN, &self::text(&server, text));
    let mut runner = Runner::new(Policy::default());
    runner.order(Order::Prepare(assignment.clone()));
    let Report::NotPrepared { problem, .. } = runner.report() else {
        panic!("it is to be refused")
    };
    // There are at most 65,536 ports, whatever else this machine has.
    for part in ["local ports", "--force goes on"] {
        assert!(problem.contains(part), "{part}: {problem}");
    }
    let forced = Assignment {
        force: true,
        ..assignment
    };
    runner.order(Order::Prepare(forced));
    let Report::Prepared { findings, .. } = runner.report() else {
        panic!("it is forced")
    };
    let mut forced = findings.iter().filter(|finding| finding.is_forced);
    assert!(forced.any(|finding| finding.text.contains("local ports")));
}

#[test]
fn token_of_the_fleet_is_needed_for_the_start_and_its_requests_are_counted() {
    let server = server();
    let more = "request.auth = \"a\"\nload = { connections = 1, requests = 10 }\n\
                auth.a.oauth2 = { token_url = \"http://127.0.0.1:1/\", client = \"c\", \
                secret = \"s\", per = \"fleet\" }";
    let mut runner = Runner::prepared(&server, more);
    runner.start(RUN, PATIENCE);
    let (_, cause, _) = runner.until_ended();
    let why = "asked to start without the token of auth.a";
    assert_eq!(cause, EndCause::Failed(why.to_owned()));
    for (expires_at, expired) in [(None, 0), (Some(Mono(1)), 10)] {
        let mut runner = Runner::prepared(&server, more);
        for (run, text) in [(RUN, "t"), (OTHER, "of another run")] {
            runner.order(Order::Token {
                run,
                place: 0,
                text: text.to_owned().into(),
                expires_at,
            });
        }
        runner.start(RUN, PATIENCE);
        assert!(matches!(runner.report(), Report::Began { run: RUN, .. }));
        let (intervals, cause, totals) = runner.until_ended();
        assert_eq!((cause, sum(&intervals)), (EndCause::Plan, totals));
        let mut whole = Snapshot::default();
        intervals.iter().for_each(|interval| whole.merge(interval));
        let tally = whole.tokens.of(0);
        assert_eq!(
            (tally.requests.measured, tally.expired.measured),
            (10, expired)
        );
        assert_eq!((tally.ran_out, tally.fetched), (expired / 10, 0));
    }
}
