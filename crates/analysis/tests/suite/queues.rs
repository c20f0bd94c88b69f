//! Simulated queues, for which the truth is known: how often a load that was not carried is called
//! carried, and the reverse.

use crate::random::Random;
use crate::scene;
use analysis::{
    Backlog, LoadOutcome, LoadRecord, OfferedLoad, PlanRecord, Row, Series, StageRecord,
};
use std::sync::LazyLock;

/// How long the server takes for an answer, with mean 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    Constant,
    Exponential,
    /// One of ten takes long: a squared coefficient of variation of 4.
    Mixed,
}

/// The order in which a server works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Discipline {
    /// This many at the same time, first come, first served.
    Fifo(usize),
    /// All at the same time, each at an equal share of the server's speed.
    Shared,
}

/// An operation; times in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Played {
    pub due: f64,
    pub work: f64,
    pub end: f64,
}

/// A load on a server.
#[derive(Debug, Clone)]
struct Queue {
    is_even: bool,
    service: Service,
    discipline: Discipline,
    /// Operations per second that the server can carry.
    capacity: f64,
    /// Length in seconds, and the rate at start and end, in units of the capacity.
    stages: Vec<(f64, f64, f64)>,
}

impl Service {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Service::Constant => 1.0,
            Service::Exponential => random.exponential(),
            Service::Mixed => {
                // 0.1 · a + 0.9 · b = 1, and 2 (0.1 a² + 0.9 b²) − 1 = 4.
                let mean = if random.uniform() < 0.1 {
                    4.674
                } else {
                    0.5918
                };
                mean * random.exponential()
            }
        }
    }
}

impl Queue {
    fn length_s(&self) -> f64 {
        self.stages.iter().map(|stage| stage.0).sum()
    }

    /// Returns the number of operations that the stages ask for until `at`.
    fn due_until(&self, at: f64) -> f64 {
        let (mut begin, mut sum) = (0.0, 0.0);
        for &(length, from, to) in &self.stages {
            let passed = (at - begin).clamp(0.0, length);
            let reached = from + (to - from) * passed / length;
            sum += f64::midpoint(from, reached) * passed * self.capacity;
            begin += length;
        }
        sum
    }

    /// Returns when each operation is due.
    fn arrivals(&self, random: &mut Random) -> Vec<f64> {
        let all = self.due_until(self.length_s());
        let mut due = if self.is_even {
            0.5
        } else {
            random.exponential()
        };
        let mut arrivals = Vec::new();
        while due < all {
            let (mut low, mut high) = (0.0, self.length_s());
            for _ in 0..40 {
                let middle = f64::midpoint(low, high);
                if self.due_until(middle) < due {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            arrivals.push(low);
            due += if self.is_even {
                1.0
            } else {
                random.exponential()
            };
        }
        arrivals
    }

    /// Plays every operation.
    fn play(&self, random: &mut Random) -> Vec<Played> {
        let arrivals = self.arrivals(random);
        let servers = match self.discipline {
            Discipline::Fifo(servers) => servers,
            Discipline::Shared => 1,
        };
        let mean_s = servers as f64 / self.capacity;
        let work: Vec<f64> = arrivals
            .iter()
            .map(|_| self.service.draw(random) * mean_s)
            .collect();
        let ends = match self.discipline {
            Discipline::Fifo(_) => fifo(&arrivals, &work, servers),
            Discipline::Shared => shared(&arrivals, &work),
        };
        let played = arrivals.into_iter().zip(work).zip(ends);
        let played = played.map(|((due, work), end)| Played { due, work, end });
        played.collect()
    }

    /// Returns the record of a plan with these stages.
    fn plan(&self) -> PlanRecord {
        static BASE: LazyLock<PlanRecord> =
            LazyLock::new(|| PlanRecord::new(&scene::plan(scene::OPEN, "", ""), String::new()));
        let rate = |ratio: f64| ratio * self.capacity;
        let mut begin = 0.0;
        let stages = self.stages.iter().map(|&(length, from, to)| {
            let from_ns = (begin * 1e9) as u64;
            begin += length;
            StageRecord {
                from_ns,
                to_ns: (begin * 1e9) as u64,
                from: rate(from),
                to: rate(to),
            }
        });
        let stages: Vec<StageRecord> = stages.collect();
        PlanRecord {
            load: LoadRecord::Open {
                arrivals_per_second: rate(self.stages[0].1),
                arrivals: if self.is_even { "even" } else { "poisson" }.to_owned(),
                max_connections: 9,
                users: None,
                stages: stages.len() as u32,
            },
            stages,
            ..BASE.clone()
        }
    }

    /// Returns the largest ratio, over the stages, of the work that actually arrived to what the
    /// server can do in the time, and whether that stage is long enough to judge.
    fn most_asked(&self, operations: &[Played]) -> (f64, bool) {
        let servers = match self.discipline {
            Discipline::Fifo(servers) => servers as f64,
            Discipline::Shared => 1.0,
        };
        let (mut begin, mut most) = (0.0, (0.0, false));
        for &(length, ..) in &self.stages {
            let own = operations.iter();
            let own: Vec<f64> = own
                .filter(|it| (begin..begin + length).contains(&it.due))
                .map(|it| it.work)
                .collect();
            let asked = own.iter().sum::<f64>() / (servers * length);
            if asked > most.0 {
                most = (asked, length >= 2.0 && own.len() >= 10);
            }
            begin += length;
        }
        most
    }

    fn judge(&self, operations: &[Played]) -> Backlog {
        let length = self.length_s();
        let half = length / 2.0;
        let count =
            |is: &dyn Fn(&Played) -> bool| operations.iter().filter(|it| is(it)).count() as u64;
        Backlog::judge(&OfferedLoad {
            plan: &self.plan(),
            series: &series(operations),
            from_ns: 0,
            length_ns: (length * 1e9) as u64,
            due_late: count(&|it| it.due >= half),
            ended_late: count(&|it| (half..=length).contains(&it.end)),
            at_end: count(&|it| it.end > length),
            operations_each: 1.0,
            not_sent: 0,
        })
    }
}

#[test]
fn part_within_one_second_is_judged_by_its_halves() {
    let row = Row {
        seconds: 1,
        ended: 600,
        response_time_count: 900,
        ..Row::default()
    };
    let series = Series {
        row_seconds: 1,
        rows: vec![row],
        end_ns: None,
    };
    let plan = PlanRecord::new(&scene::plan(scene::OPEN, "", ""), String::new());
    let outcome = |ended_late| {
        let load = OfferedLoad {
            plan: &plan,
            series: &series,
            from_ns: 500_000_000,
            length_ns: 400_000_000,
            due_late: 200,
            ended_late,
            at_end: 300,
            not_sent: 0,
            operations_each: 1.0,
        };
        Backlog::judge(&load).outcome()
    };
    assert_eq!(outcome(50), LoadOutcome::TooShort);
    assert_eq!(outcome(195), LoadOutcome::Carried);
}

fn fifo(arrivals: &[f64], work: &[f64], servers: usize) -> Vec<f64> {
    let mut free = vec![0.0; servers];
    let ends = arrivals.iter().zip(work).map(|(&at, &work)| {
        let next = (0..servers).min_by(|&a, &b| f64::total_cmp(&free[a], &free[b]));
        let next = next.unwrap();
        free[next] = f64::max(free[next], at) + work;
        free[next]
    });
    ends.collect()
}

fn shared(arrivals: &[f64], work: &[f64]) -> Vec<f64> {
    let mut ends = vec![0.0; arrivals.len()];
    // The remaining work of those under way.
    let mut under_way: Vec<(usize, f64)> = Vec::new();
    let (mut now, mut next) = (0.0, 0);
    while next < arrivals.len() || !under_way.is_empty() {
        let number = under_way.len() as f64;
        let first =
            (0..under_way.len()).min_by(|&a, &b| f64::total_cmp(&under_way[a].1, &under_way[b].1));
        let ends_at = first.map_or(f64::INFINITY, |first| now + under_way[first].1 * number);
        let arrives_at = arrivals.get(next).copied().unwrap_or(f64::INFINITY);
        let at = f64::min(ends_at, arrives_at);
        let worked = (at - now) / number.max(1.0);
        under_way.iter_mut().for_each(|it| it.1 -= worked);
        now = at;
        if arrives_at <= ends_at {
            under_way.push((next, work[next]));
            next += 1;
        } else if let Some(first) = first {
            ends[under_way.swap_remove(first).0] = now;
        }
    }
    ends
}

pub fn series(operations: &[Played]) -> Series {
    let last = operations.iter().map(|it| it.end).fold(0.0, f64::max) as u32;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); last as usize + 1];
    let mut ended = vec![0; last as usize + 1];
    for &Played { due, end, .. } in operations {
        times[due as usize].push(end - due);
        ended[end as usize] += 1;
    }
    let rows = times.into_iter().zip(ended).zip(0..);
    let rows = rows.map(|((mut times, ended), second)| {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (share * times.len() as f64).ceil() as usize;
            times
                .get(index.saturating_sub(1))
                .map_or(0, |s| (s * 1e9) as u64)
        };
        Row {
            second,
            seconds: 1,
            ended,
            response_time_count: times.len() as u64,
            response_time_mean_ns: times.iter().sum::<f64>() * 1e9 / times.len().max(1) as f64,
            response_time_p50_ns: at(0.5),
            response_time_p90_ns: at(0.9),
            response_time_p99_ns: at(0.99),
            ..Row::default()
        }
    });
    Series {
        row_seconds: 1,
        rows: rows.collect(),
        end_ns: None,
    }
}

/// The simulations, and how they were judged.
#[derive(Debug, Clone, Default)]
struct Tally {
    overloaded: u32,
    /// Called carried, although some stage got at least 1.1 times what the server can carry.
    false_carried: Vec<String>,
    with_room: u32,
    /// Called piled up, although no stage got more than 0.9 times that.
    false_piled_up: Vec<String>,
    told: u32,
}

impl Tally {
    fn count(&mut self, queue: &Queue, random: &mut Random) -> LoadOutcome {
        let operations = queue.play(random);
        let outcome = queue.judge(&operations).outcome();
        let (most, is_judged) = queue.most_asked(&operations);
        let what = || format!("{most:.2} of {queue:?}");
        if most >= 1.1 && is_judged {
            self.overloaded += 1;
            if outcome == LoadOutcome::Carried {
                self.false_carried.push(what());
            }
        }
        if most <= 0.9 {
            self.with_room += 1;
            if outcome == LoadOutcome::PiledUp {
                self.false_piled_up.push(what());
            }
        }
        self.told += u32::from(outcome != LoadOutcome::TooShort);
        outcome
    }

    /// Asserts that at most one in a thousand is wrong, in either direction.
    fn assert_right(&self) {
        println!(
            "{} overloaded, {} called carried; {} with room, {} said to pile up; {} told",
            self.overloaded,
            self.false_carried.len(),
            self.with_room,
            self.false_piled_up.len(),
            self.told
        );
        let is_rare = |wrong: &[String], of: u32| wrong.len() as u32 <= of / 1000;
        assert!(self.overloaded >= 500 && self.with_room >= 500);
        assert!(
            is_rare(&self.false_carried, self.overloaded),
            "{:#?}",
            self.false_carried
        );
        assert!(
            is_rare(&self.false_piled_up, self.with_room),
            "{:#?}",
            self.false_piled_up
        );
    }
}

/// Runs of each kind of load; the environment variable `RUNS` asks for more.
fn runs() -> u32 {
    std::env::var("RUNS").map_or(4, |it| it.parse().unwrap())
}

const SERVICES: [Service; 3] = [Service::Constant, Service::Exponential, Service::Mixed];
const DISCIPLINES: [Discipline; 3] = [Discipline::Fifo(1), Discipline::Fifo(8), Discipline::Shared];

fn each_server(mut play: impl FnMut(Service, Discipline, bool)) {
    for service in SERVICES {
        for discipline in DISCIPLINES {
            for is_even in [true, false] {
                play(service, discipline, is_even);
            }
        }
    }
}

/// From 10 to 10,000 answers at half to three times the capacity.
#[test]
fn level_loads_are_called_carried_or_piled_up_wrongly_once_in_a_thousand_at_most() {
    let (mut random, mut tally) = (Random(7), Tally::default());
    each_server(|service, discipline, is_even| {
        let sizes: &[f64] = match (discipline, service) {
            // The cost of sharing grows with the square of their number.
            (Discipline::Shared, _) => &[30.0, 100.0, 300.0],
            (_, Service::Exponential) => &[10.0, 30.0, 100.0, 300.0, 1000.0, 10_000.0],
            _ => &[10.0, 30.0, 100.0, 300.0, 1000.0],
        };
        for &answers in sizes {
            let runs = if answers > 1000.0 { runs() / 4 } else { runs() };
            for ratio in [0.5, 0.8, 0.9, 1.1, 1.3, 2.0, 3.0] {
                for nth in 0..runs {
                    let length = [3.0, 5.0, 10.0, 30.0][nth as usize % 4];
                    let queue = Queue {
                        is_even,
                        service,
                        discipline,
                        capacity: answers / length / ratio,
                        stages: vec![(length, ratio, ratio)],
                    };
                    tally.count(&queue, &mut random);
                }
            }
        }
    });
    tally.assert_right();
}

/// Spikes, bursts, ramps and steps.
#[test]
fn staged_loads_are_called_carried_or_piled_up_wrongly_once_in_a_thousand_at_most() {
    let (mut random, mut tally) = (Random(11), Tally::default());
    let loads: [&[(f64, f64, f64)]; 10] = [
        &[(6.0, 0.25, 0.25), (3.0, 3.0, 3.0)],
        &[(3.0, 3.0, 3.0), (6.0, 0.25, 0.25)],
        &[(4.0, 0.3, 0.3), (2.0, 2.0, 2.0), (8.0, 0.3, 0.3)],
        &[
            (3.0, 0.2, 0.2),
            (2.0, 1.5, 1.5),
            (3.0, 0.2, 0.2),
            (2.0, 1.5, 1.5),
            (3.0, 0.2, 0.2),
        ],
        &[(10.0, 0.1, 2.0)],
        &[(10.0, 2.0, 0.1)],
        &[(5.0, 0.1, 1.6), (5.0, 1.6, 0.1)],
        &[(8.0, 0.2, 0.8)],
        &[(4.0, 0.3, 0.3), (4.0, 0.6, 0.6), (4.0, 0.8, 0.8)],
        &[(3.0, 0.2, 0.2), (2.0, 0.8, 0.8), (3.0, 0.2, 0.2)],
    ];
    each_server(|service, discipline, is_even| {
        for stages in loads {
            for capacity in [3.0, 20.0, 90.0] {
                for _ in 0..runs() {
                    let queue = Queue {
                        is_even,
                        service,
                        discipline,
                        capacity,
                        stages: stages.to_vec(),
                    };
                    tally.count(&queue, &mut random);
                }
            }
        }
    });
    tally.assert_right();
}

/// A single server that takes the same time for each answer, under even arrivals.
fn of_one_server(capacity: f64, stages: &[(f64, f64)]) -> Backlog {
    let stages = stages.iter();
    let queue = Queue {
        is_even: true,
        service: Service::Constant,
        discipline: Discipline::Fifo(1),
        capacity,
        stages: stages
            .map(|&(length, rate)| (length, rate / capacity, rate / capacity))
            .collect(),
    };
    queue.judge(&queue.play(&mut Random(1)))
}

/// Each of these was once called carried: by a bound that the overload itself had raised, by a look
/// at the second half alone, and by a scatter that even arrivals do not have.
#[test]
fn overloads_that_were_once_called_carried_are_not() {
    for (capacity, stages, when) in [
        (400.0, vec![(6.0, 100.0), (3.0, 1200.0)], (6, 9)),
        (400.0, vec![(3.0, 1200.0), (6.0, 100.0)], (0, 3)),
        // Even the last answers of the run waited.
        (250.0, vec![(2.0, 1000.0), (6.0, 40.0)], (0, 2)),
        (300.0, vec![(3.0, 40.0), (2.0, 600.0), (5.0, 40.0)], (3, 5)),
        (10.0, vec![(5.0, 20.0)], (0, 5)),
        (1.0, vec![(12.0, 2.0)], (0, 12)),
        (2.0, vec![(10.0, 3.0)], (0, 10)),
        (200.0, vec![(4.0, 400.0)], (0, 4)),
        (200.0, vec![(1.1, 400.0)], (0, 1)),
    ] {
        let backlog = of_one_server(capacity, &stages);
        let part = *backlog.decisive().unwrap();
        let second = |ns: u64| ns / 1_000_000_000;
        assert_eq!(
            (
                backlog.outcome(),
                (second(part.from_ns), second(part.to_ns))
            ),
            (LoadOutcome::PiledUp, when),
            "{capacity}/s and {stages:?}: {backlog:#?}"
        );
    }
}

#[test]
fn loads_that_any_server_has_time_for_are_carried_however_few_they_are() {
    for (capacity, stages) in [
        (100.0, vec![(10.0, 1.0)]),
        (400.0, vec![(6.0, 100.0), (3.0, 300.0)]),
        (1000.0, vec![(1.1, 200.0)]),
        (50.0, vec![(2.0, 10.0)]),
    ] {
        let backlog = of_one_server(capacity, &stages);
        assert_eq!(backlog.outcome(), LoadOutcome::Carried, "{backlog:#?}");
    }
}

/// Answers that take long are not a queue. Until the first ones have come, nothing shows which it
/// is.
#[test]
fn slow_answers_are_carried_once_the_run_is_longer_than_they_are() {
    let slow = |length: f64| {
        let queue = Queue {
            is_even: true,
            service: Service::Constant,
            discipline: Discipline::Fifo(10_000),
            capacity: 5000.0,
            stages: vec![(length, 0.02, 0.02)],
        };
        queue.judge(&queue.play(&mut Random(1)))
    };
    // 100/s, each answered after 2 s.
    let short = slow(3.0);
    assert_eq!(short.outcome(), LoadOutcome::TooShort, "{short:#?}");
    let needed_s = short.decisive().unwrap().needed_ns.unwrap() as f64 / 1e9;
    assert!((6.0..=30.0).contains(&needed_s), "{needed_s}");
    let long = slow(needed_s);
    assert_eq!(long.outcome(), LoadOutcome::Carried, "{long:#?}");
}

/// A burst of one second has no trend of its own. Answers that take a fiftieth of it leave no room
/// for a queue.
#[test]
fn bursts_of_a_second_are_carried_if_their_answers_are_fast() {
    let burst = |servers: usize, capacity: f64| {
        let ratio = |rate: f64| rate / capacity;
        let queue = Queue {
            is_even: true,
            service: Service::Constant,
            discipline: Discipline::Fifo(servers),
            capacity,
            stages: [30.0, 260.0, 30.0, 260.0, 30.0]
                .map(|rate| (1.0, ratio(rate), ratio(rate)))
                .to_vec(),
        };
        queue.judge(&queue.play(&mut Random(1))).outcome()
    };
    // Answers of 20 ms; of 100 ms; and a server of 200/s.
    assert_eq!(burst(8, 400.0), LoadOutcome::Carried);
    assert_eq!(burst(40, 400.0), LoadOutcome::TooShort);
    assert_ne!(burst(1, 200.0), LoadOutcome::Carried);
}

/// 300/s for 4 s on a server of 80/s, with 50 connections. Arrivals without a connection are given
/// up at the end, sooner the later they were due, so response times fall.
#[test]
fn arrivals_that_are_given_up_pile_up_though_their_times_become_shorter() {
    let rows = (0..4).map(|second| Row {
        second,
        seconds: 1,
        ended: 80,
        response_time_count: 300,
        response_time_mean_ns: f64::from(3 - second) * 0.8e9 + 0.6e9,
        response_time_p50_ns: 600_000_000,
        response_time_p90_ns: 3_000_000_000,
        response_time_p99_ns: 3_500_000_000,
        ..Row::default()
    });
    let series = Series {
        row_seconds: 1,
        rows: rows.collect(),
        end_ns: None,
    };
    let plan = PlanRecord::new(&scene::plan(scene::OPEN, "", ""), String::new());
    let outcome = |not_sent| {
        let load = OfferedLoad {
            plan: &plan,
            series: &series,
            from_ns: 0,
            length_ns: 4_000_000_000,
            due_late: 600,
            ended_late: 160,
            at_end: 880,
            not_sent,
            operations_each: 1.0,
        };
        Backlog::judge(&load).outcome()
    };
    assert_eq!(outcome(830), LoadOutcome::PiledUp);
    assert_eq!(outcome(0), LoadOutcome::TooShort);
}

/// 500/s for 5 s, answered at once, except for half a second in which the server stands still.
#[test]
fn moment_in_which_the_server_stood_still_is_no_backlog_once_it_is_worked_off() {
    let stalled = |from: f64, rate: f64| {
        let until = from + 0.5;
        let queue = Queue {
            is_even: true,
            service: Service::Constant,
            discipline: Discipline::Fifo(1),
            capacity: 100.0 * rate,
            stages: vec![(5.0, 0.01, 0.01)],
        };
        let mut operations = queue.play(&mut Random(1));
        for operation in &mut operations {
            if (from..until).contains(&operation.due) {
                operation.end = until;
            }
        }
        queue.judge(&operations).outcome()
    };
    assert_eq!(stalled(2.2, 500.0), LoadOutcome::Carried);
    assert_eq!(stalled(1.7, 2000.0), LoadOutcome::Carried);
    // At the end nothing shows that it would have been worked off, and few answers show little.
    assert_eq!(stalled(4.6, 500.0), LoadOutcome::TooShort);
    assert_eq!(stalled(2.2, 50.0), LoadOutcome::TooShort);
}
