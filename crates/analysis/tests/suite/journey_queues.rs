//! Simulated journeys in front of a server of known capacity: whether their load was carried.

use crate::queues::{Played, series};
use crate::random::Random;
use crate::scene;
use analysis::{Backlog, LoadOutcome, LoadRecord, OfferedLoad, PlanRecord};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Operations per second that the server can carry, and how many it serves at once.
const CAPACITY: f64 = 200.0;
const SERVERS: usize = 4;

/// Even arrivals of journeys.
#[derive(Debug, Clone, Copy)]
struct Journeys {
    /// The load in units of the capacity.
    ratio: f64,
    steps: u32,
    /// Mean pause between two steps, seconds.
    pause_s: f64,
    length_s: f64,
}

impl Journeys {
    fn per_second(&self) -> f64 {
        self.ratio * CAPACITY / f64::from(self.steps)
    }

    fn number(&self) -> u64 {
        (self.per_second() * self.length_s) as u64
    }

    /// Plays all operations that are due before the end. The server takes the first that is due.
    fn play(&self, random: &mut Random) -> Vec<Played> {
        let mut free = [0.0_f64; SERVERS];
        let due_ns = |s: f64| Reverse((s * 1e9) as u64);
        let starts = (0..self.number()).map(|nth| nth as f64 / self.per_second());
        let mut due: BinaryHeap<_> = starts.map(|at| (due_ns(at), self.steps)).collect();
        let mut played = Vec::new();
        while let Some((Reverse(at), steps)) = due.pop() {
            let at = at as f64 / 1e9;
            let work = random.exponential() * SERVERS as f64 / CAPACITY;
            let server = free.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
            *server = f64::max(*server, at) + work;
            let end = *server;
            played.push(Played { due: at, work, end });
            let next = end + 2.0 * self.pause_s * random.uniform();
            if steps > 1 && next < self.length_s {
                due.push((due_ns(next), steps - 1));
            }
        }
        played
    }

    fn judge(&self, operations: &[Played], is_seen_in_journeys: bool) -> LoadOutcome {
        let plan = PlanRecord {
            load: LoadRecord::Open {
                arrivals_per_second: self.per_second(),
                arrivals: "even".to_owned(),
                max_connections: 9,
                users: None,
                stages: 0,
            },
            ..PlanRecord::new(&scene::plan(scene::OPEN, "", ""), String::new())
        };
        let half = self.length_s / 2.0;
        let count =
            |is: &dyn Fn(&Played) -> bool| operations.iter().filter(|it| is(it)).count() as u64;
        let each = operations.len() as f64 / self.number() as f64;
        let load = OfferedLoad {
            plan: &plan,
            series: &series(operations),
            from_ns: 0,
            length_ns: (self.length_s * 1e9) as u64,
            due_late: count(&|it| it.due >= half),
            ended_late: count(&|it| (half..=self.length_s).contains(&it.end)),
            at_end: count(&|it| it.end > self.length_s),
            not_sent: 0,
            operations_each: if is_seen_in_journeys { each } else { 1.0 },
        };
        Backlog::judge(&load).outcome()
    }
}

const CASES: [(u32, f64); 6] = [
    (1, 0.0),
    (5, 0.0),
    (5, 0.3),
    (20, 0.0),
    (20, 0.05),
    (20, 0.2),
];

fn outcomes(ratios: &[f64], cases: &[(u32, f64)], is_seen_in_journeys: bool) -> Vec<String> {
    let mut outcomes = Vec::new();
    for (&ratio, &(steps, pause_s)) in ratios
        .iter()
        .flat_map(|ratio| cases.iter().map(move |case| (ratio, case)))
    {
        for seed in 0..10 {
            let journeys = Journeys {
                ratio,
                steps,
                pause_s,
                length_s: 30.0,
            };
            let operations = journeys.play(&mut Random(seed));
            let outcome = journeys.judge(&operations, is_seen_in_journeys);
            outcomes.push(format!("{outcome:?}: {journeys:?}, seed {seed}"));
        }
    }
    outcomes
}

fn number(outcomes: &[String], outcome: LoadOutcome) -> usize {
    let begin = format!("{outcome:?}:");
    outcomes.iter().filter(|it| it.starts_with(&begin)).count()
}

#[test]
fn overload_of_a_tenth_is_seen_however_many_steps_share_it() {
    let overloaded = outcomes(&[1.15, 1.3, 2.0], &CASES, true);
    let carried = number(&overloaded, LoadOutcome::Carried);
    let piled_up = number(&overloaded, LoadOutcome::PiledUp);
    println!("{piled_up} of {} pile up", overloaded.len());
    assert_eq!(carried, 0, "{overloaded:#?}");
    assert!(piled_up * 10 >= overloaded.len() * 9, "{overloaded:#?}");
    // By single operations a journey of twenty steps would hide it.
    let hidden = outcomes(&[1.15], &CASES[3..], false);
    assert!(number(&hidden, LoadOutcome::Carried) > 0, "{hidden:#?}");
}

#[test]
fn load_with_room_does_not_pile_up_even_while_long_journeys_fill_the_run() {
    let long = [(5, 3.0), (20, 2.0), (20, 10.0)];
    let cases: Vec<(u32, f64)> = CASES.into_iter().chain(long).collect();
    let with_room = outcomes(&[0.1, 0.5, 0.8], &cases, true);
    let carried = number(&with_room, LoadOutcome::Carried);
    println!("{carried} of {} are carried", with_room.len());
    assert_eq!(
        number(&with_room, LoadOutcome::PiledUp),
        0,
        "{with_room:#?}"
    );
    assert!(carried * 10 >= with_room.len() * 9, "{with_room:#?}");
}
