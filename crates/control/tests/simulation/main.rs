//! Coordinators, agents, the run log and everything that goes wrong with them, on simulated
//! machines, disks and networks. One seed is one case. A case that fails prints its seed, and can
//! be replayed: `SIMULATION_SEED=123 cargo test -p control --test simulation`.

mod agent;
mod case;
mod clock;
mod coordinator;
mod crew;
mod disk;
mod judge;
mod network;
mod noticed;
mod processes;
mod random;
mod sabotage;
mod scenarios;
mod strikes;
mod transport;
mod truth;
mod wire;
mod world;

use case::Case;
use sabotage::{Invariant, Sabotage};
use std::panic::{AssertUnwindSafe, catch_unwind};
use truth::Violation;
use world::World;

/// Number of cases in an ordinary test.
const SEEDS: u64 = 1_000;

/// Number of cases in a test that may take longer.
const MORE_SEEDS: u64 = 10_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The cases that were asked for, or else the first `usual` ones.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    match (setting("SIMULATION_SEED"), setting("SIMULATION_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(seeds)) => 0..seeds,
        (None, None) => 0..usual,
    }
}

/// Runs a case. If it fails without sabotage, the product has a defect.
fn violation_of(case: Case, sabotage: Option<Sabotage>) -> Option<Violation> {
    let mut world = World::new(case, sabotage, false);
    let ran = catch_unwind(AssertUnwindSafe(|| world.run()));
    ran.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Some(Violation {
            invariant: Invariant::NothingPanics,
            what: text.unwrap_or_default(),
        })
    })
}

/// Describes everything that helps to find the cause; runs the case once more.
fn told(case: &Case, sabotage: Option<Sabotage>, violation: &Violation) -> String {
    let mut world = World::new(case.clone(), sabotage, true);
    let _ = catch_unwind(AssertUnwindSafe(|| world.run()));
    let happenings: Vec<&str> = world.last_happenings().map(String::as_str).collect();
    format!(
        "seed {}: {:?}: {}\n{case:#?}\nthe last happenings:\n{}\nreplay: SIMULATION_SEED={} cargo \
         test -p control --test simulation",
        case.seed,
        violation.invariant,
        violation.what,
        happenings.join("\n"),
        case.seed
    )
}

/// The first few seeds that fail, in order, and how.
fn failures(seeds: std::ops::Range<u64>) -> Vec<(u64, Violation)> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let next = std::sync::atomic::AtomicU64::new(seeds.start);
    let found = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= seeds.end || found.lock().expect("no case panics here").len() > 20 {
                        return;
                    }
                    if let Some(violation) = violation_of(Case::drawn(seed), None) {
                        found
                            .lock()
                            .expect("no case panics here")
                            .push((seed, violation));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no case panics here");
    found.sort_by_key(|(seed, _)| *seed);
    found
}

#[test]
fn every_invariant_holds_whatever_goes_wrong() {
    assert_hold(seeds(SEEDS));
}

#[test]
#[ignore = "takes most of a minute"]
fn every_invariant_holds_in_thousands_of_cases() {
    assert_hold(seeds(MORE_SEEDS));
}

/// Checks every invariant in these cases.
fn assert_hold(seeds: std::ops::Range<u64>) {
    let failures = failures(seeds);
    let Some((seed, violation)) = failures.first() else {
        return;
    };
    for (seed, violation) in &failures {
        eprintln!("seed {seed}: {:?}: {}", violation.invariant, violation.what);
    }
    panic!("{}", told(&Case::drawn(*seed), None, violation));
}
