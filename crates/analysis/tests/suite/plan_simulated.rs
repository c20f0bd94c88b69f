//! Simulated servers behind a plan's connections: idle ones, queues, and those that share a CPU.

use crate::limits::{answers, idle, with_monitor};
use crate::plan_bound::open;
use crate::random::Random;
use analysis::{Verdict, VerdictRecord};

/// How a server handles operations of a given amount of work.
#[derive(Debug, Clone, Copy)]
enum Server {
    /// Any number at the same time: as many as there are connections.
    Idle,
    /// This many at the same time, in order of arrival.
    Workers(usize),
    /// All at the same time, sharing one CPU.
    Shared,
}

/// The work of an operation, in seconds, with a mean of one.
type Work = fn(&mut Random) -> f64;

const WORKS: [(&str, Work); 6] = [
    ("constant", |_| 1.0),
    ("nearly constant", |random| 0.98 + 0.04 * random.uniform()),
    ("uniform", |random| 0.2 + 1.6 * random.uniform()),
    ("exponential", Random::exponential),
    ("skewed", |random| 0.1 + 0.9 * random.exponential()),
    ("bell", |random| {
        (0..6).map(|_| random.uniform()).sum::<f64>() / 3.0
    }),
];

/// Returns how long each operation was under way, in the order in which operations were begun or
/// ended, for arrivals at this even rate until that second.
fn simulate(
    server: Server,
    connections: usize,
    [rate, until]: [f64; 2],
    work: impl FnMut() -> f64,
) -> Vec<f64> {
    let arrivals = (0_u32..).map(|nth| f64::from(nth) / rate);
    let arrivals = arrivals.take_while(|due| *due < until);
    match server {
        Server::Idle => in_turn(arrivals, connections, connections, until, work),
        Server::Workers(workers) => in_turn(arrivals, connections, workers, until, work),
        Server::Shared => shared(arrivals, connections, until, work),
    }
}

/// Each operation waits for a connection, then for a worker.
fn in_turn(
    arrivals: impl Iterator<Item = f64>,
    connections: usize,
    workers: usize,
    until: f64,
    mut work: impl FnMut() -> f64,
) -> Vec<f64> {
    let least = |times: &[f64]| {
        let places = 0..times.len();
        places
            .min_by(|&a, &b| times[a].total_cmp(&times[b]))
            .unwrap()
    };
    // When each becomes free.
    let mut connections: Vec<f64> = vec![0.0; connections];
    let mut workers: Vec<f64> = vec![0.0; workers];
    let times = arrivals.map_while(|due| {
        let (connection, worker) = (least(&connections), least(&workers));
        let begun = connections[connection].max(due);
        let end = workers[worker].max(begun) + work();
        (connections[connection], workers[worker]) = (end, end);
        (begun <= until).then_some(end - begun)
    });
    times.collect()
}

/// All operations under way have an equal share of one CPU.
fn shared(
    arrivals: impl Iterator<Item = f64>,
    connections: usize,
    until: f64,
    mut work: impl FnMut() -> f64,
) -> Vec<f64> {
    let mut times = Vec::new();
    // The remaining work of each, and when it was begun.
    let mut under_way: Vec<(f64, f64)> = Vec::new();
    let mut now = 0.0_f64;
    for due in arrivals {
        while !under_way.is_empty() && (now < due || under_way.len() == connections) {
            let number = under_way.len() as f64;
            let least = under_way
                .iter()
                .map(|(left, _)| *left)
                .fold(f64::MAX, f64::min);
            let step = if under_way.len() == connections {
                least * number
            } else {
                (least * number).min(due - now)
            };
            now += step;
            for (left, _) in &mut under_way {
                *left -= step / number;
            }
            let done = under_way.iter().filter(|(left, _)| *left < 1e-9);
            times.extend(done.map(|(_, begun)| now - begun));
            under_way.retain(|(left, _)| *left >= 1e-9);
        }
        now = now.max(due);
        if now > until {
            break;
        }
        under_way.push((work(), now));
    }
    times
}

/// Six seconds at `beyond` times what a server, or its connections, can carry.
#[derive(Debug, Clone, Copy)]
struct Case {
    server: Server,
    connections: u32,
    beyond: f64,
    seed: u64,
    is_watched: bool,
}

impl Case {
    fn verdict(self, work: Work) -> Verdict {
        const UNTIL_S: f64 = 6.0;
        let connections = f64::from(self.connections);
        let (work_s, per_second) = match self.server {
            Server::Idle => (0.04, connections / 0.04),
            Server::Workers(workers) => (0.004 * workers as f64, 250.0),
            Server::Shared => (0.004, 250.0),
        };
        let rate = self.beyond * per_second;
        let mut random = Random(self.seed);
        let of = || work_s * work(&mut random).max(0.001);
        let times = simulate(self.server, self.connections as usize, [rate, UNTIL_S], of);
        let times: Vec<u64> = times.iter().map(|time| (time * 1e9) as u64 + 1).collect();
        let mut document = open(self.connections, |_| 20_000_000);
        let rates = &mut document.measured.rates;
        rates.due_per_second = rate;
        rates.operations_per_second = times.len() as f64 / UNTIL_S;
        for name in ["service_time", "first_byte"] {
            answers(&mut document, name, times.clone());
        }
        if self.is_watched {
            document = with_monitor(document, &idle());
        }
        VerdictRecord::new(&document).verdict
    }

    /// Cases of this server with different connections, loads and seeds.
    fn all(server: Server, is_watched: bool) -> impl Iterator<Item = Case> {
        let numbers = [10, 20, 50].into_iter();
        let loads = numbers.flat_map(|number| [1.3, 2.0, 2.9].map(|beyond| (number, beyond)));
        loads.flat_map(move |(connections, beyond)| {
            (1..=2).map(move |seed| Case {
                server,
                connections,
                beyond,
                seed,
                is_watched,
            })
        })
    }
}

#[test]
fn simulated_servers_are_never_taken_for_others() {
    // The least shares of runs, of an idle server and of queues, that have to be recognised.
    const IDLE_SHARE: f64 = 0.8;
    const QUEUE_SHARE: f64 = 0.5;
    let queues = [1, 2, 4, 6, 7, 8].map(|workers| (Server::Workers(workers), true));
    // A monitor would see the CPU that answers share.
    let unwatched = [1, 4, 8].map(|workers| (Server::Workers(workers), false));
    let shared = [(Server::Shared, false)];
    let queues = queues.into_iter().chain(unwatched).chain(shared);
    let queues = queues.map(|(server, is_watched)| (server, is_watched, Verdict::ServerBound));
    let idle = [true, false].map(|is_watched| (Server::Idle, is_watched, Verdict::PlanBound));
    let mut told = [(0, 0), (0, 0)];
    for (server, is_watched, right) in queues.chain(idle) {
        for (name, work) in WORKS {
            for case in Case::all(server, is_watched) {
                let given = case.verdict(work);
                let is_right = given == right;
                assert!(
                    is_right || given == Verdict::Undetermined,
                    "{name} {case:?}: {given:?}"
                );
                // Without a monitor, scattered answers may share a CPU.
                let is_counted = is_watched || right == Verdict::ServerBound;
                let (all, rightly) = &mut told[usize::from(right == Verdict::PlanBound)];
                *all += u32::from(is_counted);
                *rightly += u32::from(is_counted && is_right);
            }
        }
    }
    for ((all, rightly), share) in told.into_iter().zip([QUEUE_SHARE, IDLE_SHARE]) {
        assert!(
            f64::from(rightly) >= share * f64::from(all),
            "{rightly} of {all}"
        );
    }
}
