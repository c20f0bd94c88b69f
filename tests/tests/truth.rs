//! The engine, and the code that makes a result of its intervals, against servers whose answers are
//! known in advance: what is reported is what happened. Runs alone, because it measures;
//! `--nocapture` shows every figure of every try, and docs/MEASURING.md explains the stall.
//!
//! The goal is 1 % or 100 µs, and every figure that misses it is printed. No figure may ever be
//! further below the truth. Above the truth the rest of the machine has an influence too: each
//! figure must stay within a looser bound in one of a few tries, and only tries count in which
//! other programs left the CPUs alone ([`Pressure`]).
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

use analysis::{AgentSetup, CollectorSetup, Document, ResultCollector, RunState, TimeFigure};
use engine::{Event, FiringLease, Placement, Policy, allowed_cpus, monotonic_ns};
use interop::Pressure;
use measure::{Distribution, Metric, Outcome, Period};
use plan::{Files, Owner, Plan, Schedule};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use target::{Config, Pace, RunningTarget, ServerTls, TargetAnswer, Timetable};

/// Time from set-up to the first arrival, longer than the set-up takes.
const START_IN: Duration = Duration::from_millis(300);

/// Tries to stay within the bounds, for each scene.
const TRIES: usize = 3;

/// After this time no scene is tried again, so that the whole file takes less than a minute.
const NO_TRY_AFTER: Duration = Duration::from_secs(30);

/// The goal: 1 % or 100 µs.
const GOAL: Bound = Bound {
    share: 0.01,
    absolute: Duration::from_micros(100),
};

/// The bound for most operations on an idle machine.
const BODY: Bound = Bound {
    share: 0.05,
    absolute: Duration::from_millis(2),
};

/// The bound for the slowest of a thousand there: they include one slice of the CPU for another
/// program, or for other guests of the hypervisor.
const TAIL: Bound = Bound {
    share: 0.05,
    absolute: Duration::from_millis(50),
};

/// The bound for a backlog: at the end of a stall a thousand answers are due at the same instant,
/// and each takes the machine some time.
const BACKLOG: Bound = Bound {
    share: 0.15,
    absolute: Duration::from_millis(2),
};

/// Figures of a constant load.
const STEADY: [(f64, Bound); 4] = [(50.0, BODY), (90.0, BODY), (99.0, TAIL), (99.9, TAIL)];

/// Figures of a load with stalls, whose slowest operations all end at the end of a stall.
const STALLED: [(f64, Bound); 5] = [
    (50.0, BODY),
    (90.0, BACKLOG),
    (99.0, BODY),
    (99.9, BODY),
    (100.0, BODY),
];

/// The server of the example in docs/MEASURING.md: it answers nothing for half a second in every
/// two and a half.
const STALLS: Pace = Pace::Stall {
    every: Duration::from_millis(2500),
    lasts: Duration::from_millis(500),
    first: Duration::from_millis(2000),
};

/// The example's open loop. The warm-up opens connections, so that times do not include handshakes.
const OPEN: &str =
    "rate = \"2000/s\", max_connections = 50, warm_up = \"300ms\", duration = \"6s\"";

/// The example's closed loop, which has about the same load while the server answers.
const CLOSED: &str =
    "connections = 20, think_time = \"10ms\", warm_up = \"300ms\", duration = \"6s\"";

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn fixed_delay_is_what_is_reported() {
    let _alone = alone();
    // Not a multiple of the 2 ms between arrivals: the worker would have to read an answer whenever
    // it has to send a request.
    let answer = TargetAnswer {
        delay: Duration::from_millis(41),
        ..TargetAnswer::default()
    };
    let load = "rate = \"500/s\", max_connections = 100, warm_up = \"300ms\", duration = \"2s\"";
    let scene = Scene {
        config: Config {
            answer,
            tls: Some(ServerTls::default()),
            ..Config::default()
        },
        load,
    };
    scene.must_be_true(&STEADY);
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn stall_is_what_is_reported_to_its_longest_wait() {
    let _alone = alone();
    let [every, lasts, first] = [1000, 200, 500].map(Duration::from_millis);
    let load = "rate = \"200/s\", max_connections = 50, warm_up = \"300ms\", duration = \"3s\"";
    Scene::plain(
        Pace::Stall {
            every,
            lasts,
            first,
        },
        load,
    )
    .must_be_true(&STALLED);
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn servers_below_their_capacity_make_poisson_arrivals_wait_as_computed() {
    let _alone = alone();
    let load = "rate = \"600/s\", arrivals = \"poisson\", max_connections = 200, warm_up = \
                \"300ms\", duration = \"3s\"";
    Scene::plain(servers(16, Duration::from_millis(20)), load).must_be_true(&STEADY);
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn servers_give_their_capacity_and_no_more() {
    let _alone = alone();
    // 8 servers of 5 ms: 1,600/s, so 32 users are served in 32 / 1,600 s = 20 ms each.
    let load = "connections = 32, warm_up = \"300ms\", duration = \"2s\"";
    let run = Scene::plain(servers(8, Duration::from_millis(5)), load).run();
    let operations = run.document.measured.operations.ended;
    let p50 = Duration::from_nanos(value_ns(&run.times(Metric::ResponseTime), 50.0));
    println!(
        "of 3200 operations {operations}, half of them within {p50:?}; {:?}",
        run.pressure
    );
    assert!(
        operations <= 3200 + 32,
        "{operations} are more than can be served"
    );
    if run.pressure.is_quiet() {
        assert!(
            operations >= 3200 - 32,
            "{operations} are fewer than are served"
        );
    }
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn stall_is_one_slow_operation_for_each_who_waits_and_a_thousand_for_a_world_that_does_not() {
    let _alone = alone();
    let open = Scene::plain(STALLS, OPEN);
    // By hand: 1,000 arrivals in each of two stalls, which wait 500 ms, 499.5 ms, …, 0.5 ms; 12,000
    // arrivals in total.
    let target = RunningTarget::new(Config::plain()).unwrap();
    let truth = open.truth(&open.plan(&target));
    assert_eq!(
        STALLED.map(|(percentile, _)| at(&truth, percentile)),
        [0, 200, 470, 497, 500].map(|ms| ms * 1_000_000)
    );
    let measured = open.must_be_true(&STALLED);
    show("open loop, response time", &measured, Metric::ResponseTime);
    show("open loop, service time", &measured, Metric::ServiceTime);
    let run = Scene::plain(STALLS, CLOSED).run();
    show("closed loop, service time", &run, Metric::ServiceTime);
    let closed = &run.response_times;
    assert_eq!(
        run.times(Metric::ResponseTime),
        run.times(Metric::ServiceTime),
        "in a closed loop the two are one"
    );
    let slow: u64 = closed
        .histogram
        .iter()
        .filter(|bucket| bucket.highest_ns > 400_000_000)
        .map(|bucket| bucket.count)
        .sum();
    assert!(
        slow * 100 < closed.count,
        "of {} operations {slow} waited: more than one in a hundred",
        closed.count
    );
    assert!(
        slow == 40 || !run.pressure.is_quiet(),
        "20 users wait once each in each of two stalls, and not {slow} times"
    );
}

fn servers(count: u32, service_time: Duration) -> Pace {
    Pace::Servers {
        count: NonZeroU32::new(count).unwrap(),
        service_time,
    }
}

/// A row of the example's table.
fn show(what: &str, run: &Run, metric: Metric) {
    let times = run.times(metric);
    let row =
        [50.0, 90.0, 99.0, 99.9, 100.0].map(|percentile| value_ns(&times, percentile) as f64 / 1e6);
    println!("| {what} | {} | {row:.1?} ms |", times.count);
}

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    began();
    alone
}

/// The CA of a target, if it has one; no plan here names another file.
struct Ca(Option<String>);

impl Files for Ca {
    fn read(&mut self, _: &str) -> Result<Arc<[u8]>, String> {
        self.0
            .clone()
            .map(|pem| pem.into_bytes().into())
            .ok_or_else(|| "plain HTTP has no CA".to_owned())
    }
}

/// A load on a server that follows a timetable.
struct Scene {
    config: Config,
    load: &'static str,
}

impl Scene {
    fn plain(pace: Pace, load: &'static str) -> Scene {
        Scene {
            config: Config {
                answer: TargetAnswer {
                    pace,
                    ..TargetAnswer::default()
                },
                ..Config::plain()
            },
            load,
        }
    }

    /// Runs once, with the server on the first CPU and the load on the last.
    fn run(&self) -> Run {
        let cpus = cpus();
        keep_to(cpus[0]);
        let (begin, start_at) = (
            Instant::now() + START_IN,
            monotonic_ns() + START_IN.as_nanos() as u64,
        );
        let target = RunningTarget::new(Config {
            paced_from: Some(begin),
            ..self.config.clone()
        })
        .unwrap();
        let plan = self.plan(&target);
        let placement = Placement {
            agent: 0,
            agents: 1,
            cpus: vec![cpus.last().copied()],
        };
        let prepared =
            engine::prepare(Arc::new(plan.clone()), placement, Policy::default()).unwrap();
        let (send, events) = channel();
        let watch = Pressure::watch();
        let running = prepared
            .start(start_at, FiringLease::unlimited(), move |event| {
                send.send(event).unwrap()
            })
            .unwrap();
        let mut collector = collector(&plan);
        for event in events {
            match event {
                Event::Interval { number, snapshot } => _ = collector.add(0, number, &snapshot),
                Event::Ended { .. } => break,
                Event::Began { .. } | Event::Draining | Event::KeysWritten(_) => {}
            }
        }
        running.join();
        let (pressure, counts) = (watch.end(), target.stop());
        let document = collector.document(RunState::Complete);
        let of = |figures: &analysis::Figures| (figures.operations.ok, figures.operations.ended);
        let (measured, warm_up) = (
            of(&document.measured),
            document.warm_up.as_ref().map_or((0, 0), of),
        );
        let all = (measured.0 + warm_up.0, measured.1 + warm_up.1);
        assert_eq!(
            all,
            (counts.responses, counts.requests),
            "all ended ok, and the server has seen them"
        );
        let response_times =
            collector.merge_times(Period::Measured, Outcome::Ok, Metric::ResponseTime);
        Run {
            plan,
            document,
            response_times,
            pressure,
        }
    }

    fn plan(&self, target: &RunningTarget) -> Plan {
        let ca = target.ca_pem().map_or("", |_| "tls.ca = \"ca.pem\"\n");
        let text = format!(
            "target.url = {:?}\n{ca}load = {{ {} }}\n",
            target.url("/"),
            self.load
        );
        Plan::parse(&text, &mut Ca(target.ca_pem().map(str::to_owned)))
            .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    }

    /// What the response times would be, in ascending order, if client and network took no time:
    /// the same schedule applied to the timetable.
    fn truth(&self, plan: &Plan) -> Vec<u64> {
        let TargetAnswer { pace, delay, .. } = self.config.answer;
        let mut timetable = Timetable::new(pace, delay).unwrap().with_stalls_from(0);
        let warm_up_ns = plan.load().warm_up.as_nanos() as u64;
        for (_, at) in Schedule::warm_up(plan.load())
            .into_iter()
            .flat_map(|schedule| schedule.instants(Owner::ALONE))
        {
            timetable.answer_at(at);
        }
        let measured = Schedule::after_warm_up(plan.load())
            .unwrap()
            .instants(Owner::ALONE)
            .map(|(_, at)| at + warm_up_ns);
        let mut times: Vec<u64> = measured.map(|at| timetable.answer_at(at) - at).collect();
        times.sort_unstable();
        times
    }

    /// Runs until each figure has stayed within its bound once, and returns the last measurement.
    fn must_be_true(&self, figures: &[(f64, Bound)]) -> Run {
        let round_trip = round_trip();
        let (mut missing, mut quiet) = (figures.to_vec(), 0);
        for number in 1.. {
            let run = self.run();
            let readings = readings(
                figures,
                &self.truth(&run.plan),
                &run.times(Metric::ResponseTime),
            );
            println!(
                "try {number}: {:?}, round trip {round_trip:?}",
                run.pressure
            );
            readings
                .iter()
                .for_each(|reading| println!("  {}", reading.line(round_trip)));
            let below: Vec<String> = readings
                .iter()
                .filter(|r| r.is_below())
                .map(|r| r.line(round_trip))
                .collect();
            assert!(
                below.is_empty(),
                "nobody can have been answered before the server answered:\n{}",
                below.join("\n")
            );
            quiet += usize::from(run.pressure.is_quiet());
            missing.retain(|&(percentile, bound)| !keeps(&readings, percentile, bound, round_trip));
            if missing.is_empty() || number == TRIES || began().elapsed() > NO_TRY_AFTER {
                assert!(
                    missing.is_empty() || quiet == 0,
                    "not kept on a quiet machine, --nocapture shows more: {missing:?}"
                );
                return run;
            }
        }
        unreachable!("the last try returns")
    }
}

fn keeps(readings: &[Reading], percentile: f64, bound: Bound, round_trip: Duration) -> bool {
    readings
        .iter()
        .any(|reading| reading.percentile == percentile && reading.is_within(bound, round_trip))
}

/// A run, as its result describes it.
struct Run {
    plan: Plan,
    document: Document,
    /// Times of successful operations, which are all of them.
    response_times: Distribution,
    pressure: Pressure,
}

impl Run {
    fn times(&self, metric: Metric) -> TimeFigure {
        self.document.measured.times[metric.name()].clone()
    }
}

/// A percentile of a figure; 100 means the largest value.
fn value_ns(times: &TimeFigure, percentile: f64) -> u64 {
    if percentile == 100.0 {
        times.max_ns
    } else {
        times
            .percentile(percentile)
            .expect("a figure has it")
            .value_ns
    }
}

fn collector(plan: &Plan) -> ResultCollector {
    let agent = AgentSetup {
        name: "alone".to_owned(),
        workers: 1,
        ..AgentSetup::default()
    };
    let setup = CollectorSetup {
        agents: vec![agent],
        ..CollectorSetup::default()
    };
    ResultCollector::new(setup, plan)
}

/// When the first test began.
fn began() -> Instant {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    *BEGAN.get_or_init(Instant::now)
}

/// The time of a request with an immediate answer on this machine: the median of a minimal client.
/// It shares no code with the engine, and answers cannot be seen any sooner.
fn round_trip() -> Duration {
    static ROUND_TRIP: OnceLock<Duration> = OnceLock::new();
    *ROUND_TRIP.get_or_init(|| {
        let cpus = cpus();
        keep_to(cpus[0]);
        let target = RunningTarget::new(Config::plain()).unwrap();
        let client = || {
            keep_to(cpus[cpus.len() - 1]);
            let mut client = TcpStream::connect(target.address()).unwrap();
            client.set_nodelay(true).unwrap();
            let mut took: Vec<Duration> = std::iter::repeat_with(|| round_trip_of(&mut client))
                .take(200)
                .collect();
            took.sort_unstable();
            took[100]
        };
        std::thread::scope(|scope| scope.spawn(client).join().unwrap())
    })
}

fn round_trip_of(client: &mut TcpStream) -> Duration {
    // As rarely as the scenes send requests: a CPU that has slept answers later.
    std::thread::sleep(Duration::from_millis(2));
    let sent_at = Instant::now();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    assert_ne!(
        client.read(&mut [0; 1024]).unwrap(),
        0,
        "the server has closed"
    );
    sent_at.elapsed()
}

/// The CPUs of the process, before any thread is pinned.
fn cpus() -> &'static [u32] {
    static CPUS: OnceLock<Vec<u32>> = OnceLock::new();
    CPUS.get_or_init(allowed_cpus)
}

/// Pins this thread and those it starts from now on.
fn keep_to(cpu: u32) {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    // If this fails, client and server disturb each other a little more.
    let _ = sched_setaffinity(None, &set);
}

/// The larger of a share of the truth and an absolute time.
#[derive(Debug, Clone, Copy)]
struct Bound {
    share: f64,
    absolute: Duration,
}

impl Bound {
    fn of(self, truth_ns: u64) -> u64 {
        (truth_ns as f64 * self.share).max(self.absolute.as_nanos() as f64) as u64
    }
}

/// A figure's expected and actual value.
struct Reading {
    /// 100 means the largest value.
    percentile: f64,
    truth_ns: u64,
    reported_ns: u64,
}

impl Reading {
    fn is_below(&self) -> bool {
        self.reported_ns + GOAL.of(self.truth_ns) < self.truth_ns
    }

    fn is_within(&self, bound: Bound, round_trip: Duration) -> bool {
        let latest_ns = self.truth_ns + round_trip.as_nanos() as u64 + bound.of(self.truth_ns);
        !self.is_below() && self.reported_ns <= latest_ns
    }

    fn line(&self, round_trip: Duration) -> String {
        let Reading {
            percentile,
            truth_ns,
            reported_ns,
        } = self;
        let [truth, reported, off] = [
            *truth_ns as f64,
            *reported_ns as f64,
            *reported_ns as f64 - *truth_ns as f64,
        ]
        .map(|ns| ns / 1e6);
        let missed = if self.is_within(GOAL, round_trip) {
            ""
        } else {
            ", beyond the goal"
        };
        format!(
            "p{percentile}: truth {truth:.3} ms, reported {reported:.3} ms, {off:+.3} ms{missed}"
        )
    }
}

fn readings(figures: &[(f64, Bound)], truth: &[u64], reported: &TimeFigure) -> Vec<Reading> {
    assert_eq!(
        reported.count,
        truth.len() as u64,
        "every arrival is measured"
    );
    let reading = |&(percentile, _): &(f64, Bound)| Reading {
        percentile,
        truth_ns: at(truth, percentile),
        reported_ns: value_ns(reported, percentile),
    };
    figures.iter().map(reading).collect()
}

/// The smallest value that at least this percentage of the values do not exceed.
fn at(ascending: &[u64], percentile: f64) -> u64 {
    // In whole tenths of a percent: with floats, 99.9 % of 1,000 values would be more than 999 of
    // them.
    let rank = (ascending.len() * (percentile * 10.0).round() as usize).div_ceil(1000);
    ascending[rank.clamp(1, ascending.len()) - 1]
}
