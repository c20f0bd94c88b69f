//! Journeys with loads of their own: how they are read, and that a fleet makes the same.

use crate::support::{again, parse};
use plan::{End, MergedArrivals, Owner, Plan, Schedule, Seats, Shape, VirtualUsers};
use std::time::Duration;

const HEAD: &str = r#"
target.url = "http://127.0.0.1/"
request = [{ name = "a", path = "/a" }, { name = "b", path = "/b" }]
"#;

fn read(journeys: &str, load: &str) -> Result<Plan, String> {
    parse(&format!("{HEAD}{journeys}\nload = {{ {load} }}\n"))
}

/// Two journeys with these further fields.
fn journeys(first: &str, second: &str) -> String {
    format!(
        "journey = [{{ name = \"browse\", steps = [\"a\"], {first} }}, {{ name = \"buy\", steps = \
         [\"b\"], {second} }}]"
    )
}

fn both() -> String {
    journeys(
        "load = { rate = \"10/s\", stage = [{ over = \"2s\", to = \"30/s\" }] }",
        "load = { rate = \"0/s\", stage = [{ over = \"1s\" }, { to = \"5/s\" }] }",
    )
}

#[test]
fn loads_of_journeys_are_one_load_together() {
    let plan = read(
        &both(),
        "duration = \"4s\", warm_up = \"1s\", max_connections = 9",
    )
    .unwrap();
    let load = plan.load();
    assert_eq!(load.journeys.len(), 2);
    let Shape::Open { rate, .. } = load.shape else {
        panic!("a closed loop");
    };
    assert_eq!(rate.as_per_second(), 10.0);
    let stages: Vec<(u128, f64)> = load
        .stages
        .iter()
        .map(|stage| (stage.over.as_millis(), stage.to))
        .collect();
    assert_eq!(stages, [(1000, 20.0), (0, 25.0), (1000, 35.0)]);
    // 40 and then 60 of browse; 15 of buy.
    let arrivals = MergedArrivals::after_warm_up(load).expect("loads of journeys");
    assert_eq!(arrivals.counts_before(4_000_000_000), [100, 15]);
    assert_eq!(Schedule::after_warm_up(load).unwrap().total(), 115);
    let weights: Vec<u32> = plan
        .journeys()
        .iter()
        .map(|journey| journey.weight)
        .collect();
    assert_eq!(weights, [8696, 1304]);
    let read_again = again(&plan).expect("the canonical text is a plan");
    assert_eq!(read_again.load(), load);
    assert_eq!(read_again.journeys(), plan.journeys());
    assert_eq!(read_again.digest(), plan.digest());
}

#[test]
fn users_of_journeys_are_one_load_together() {
    let journeys = journeys(
        "load = { connections = 10, stage = [{ over = \"2s\", to = 30 }, { to = 5 }] }",
        "load = { connections = 0, stage = [{ over = \"1s\" }, { to = 4 }, { over = \"1s\" }] }",
    );
    let plan = read(&journeys, "duration = \"4s\", think_time = \"1s\"").unwrap();
    let load = plan.load();
    let Shape::Closed { connections, .. } = load.shape else {
        panic!("an open loop");
    };
    assert_eq!(connections, 10);
    assert_eq!(load.peak_users(), Some(34));
    let stages: Vec<(u128, f64)> = load
        .stages
        .iter()
        .map(|stage| (stage.over.as_millis(), stage.to))
        .collect();
    assert_eq!(stages, [(1000, 20.0), (0, 24.0), (1000, 34.0), (0, 9.0)]);
    assert_eq!(Schedule::after_warm_up(load), None);
    assert_eq!(MergedArrivals::after_warm_up(load), None);
    // 40 and 10 seconds of users, and 12.
    let weights = plan.journeys().iter().map(|journey| journey.weight);
    assert_eq!(weights.collect::<Vec<u32>>(), [8065, 1935]);
    let read_again = again(&plan).expect("the canonical text is a plan");
    assert_eq!(read_again.load(), load);
    assert_eq!(read_again.digest(), plan.digest());
}

#[test]
fn agents_have_equal_parts_of_the_users_of_each_journey() {
    let journeys = journeys("load.connections = 6", "load.connections = 4");
    let plan = read(&journeys, "duration = \"4s\"").unwrap();
    let users = VirtualUsers::new(plan.load());
    for agents in [1, 2] {
        for agent in 0..agents {
            let owner = Owner {
                agent,
                agents,
                worker: 0,
                workers: 1,
            };
            let seats = Seats::new(plan.load(), owner);
            let made: Vec<Option<u16>> = seats
                .iter()
                .map(|user| users.journey_of(u64::from(user)))
                .collect();
            let first = made.iter().filter(|journey| **journey == Some(0)).count();
            assert_eq!(
                (made.len(), first),
                (10 / agents as usize, 6 / agents as usize)
            );
        }
    }
}

#[test]
fn load_ends_with_the_last_stage_of_any_journey_or_with_a_number() {
    let plan = read(&both(), "max_connections = 9").unwrap();
    assert_eq!(plan.load().end, End::Duration(Duration::from_secs(2)));
    let plan = read(&both(), "journeys = 77").unwrap();
    assert_eq!(plan.load().end, End::Requests(77));
    assert_eq!(Schedule::after_warm_up(plan.load()).unwrap().total(), 77);
}

#[test]
fn fleet_of_any_size_makes_the_same_arrivals() {
    let plan = read(&both(), "duration = \"4s\"").unwrap();
    assert_eq!(Schedule::after_warm_up(plan.load()).unwrap().total(), 115);
    for arrivals in ["even", "poisson"] {
        let load = format!("duration = \"4s\", arrivals = \"{arrivals}\"");
        is_the_same_over_fleets(&read(&both(), &load).unwrap());
    }
}

fn is_the_same_over_fleets(plan: &Plan) {
    let schedule = Schedule::after_warm_up(plan.load()).expect("an open loop");
    let alone: Vec<(u64, u64)> = schedule.instants(Owner::ALONE).collect();
    assert!(alone.is_sorted_by(|one, next| one.0 + 1 == next.0 && one.1 <= next.1));
    for agents in [2, 3, 7] {
        for workers in [1, 2] {
            let mut all = Vec::new();
            for (agent, worker) in
                (0..agents).flat_map(|agent| (0..workers).map(move |worker| (agent, worker)))
            {
                let owner = Owner {
                    agent,
                    agents,
                    worker,
                    workers,
                };
                let own: Vec<(u64, u64)> = schedule.instants(owner).collect();
                let half = schedule
                    .bookmark()
                    .instants(owner)
                    .starting_at(1_500_000_000);
                let late = own.iter().filter(|(_, at_ns)| *at_ns >= 1_500_000_000);
                assert!(half.eq(late.copied()));
                all.extend(own);
            }
            all.sort_unstable();
            assert_eq!(all, alone, "{agents} agents, {workers} workers");
        }
    }
}

#[test]
fn wrong_loads_say_what_to_write() {
    let own = "load.rate = \"5/s\"";
    let end = "duration = \"2s\"";
    for (journeys, load, why) in [
        (
            journeys(own, "weight = 2"),
            end,
            "journey[1]: has no load, and other journeys have; write one such as load.rate",
        ),
        (
            journeys(own, "load.rate = \"5/s\", weight = 2"),
            end,
            "journey[1].weight: is a share of one load",
        ),
        (
            journeys(own, "load = { connections = 5 }"),
            end,
            "journey[1].load: has connections, and journey[0].load has rate; write one of the two",
        ),
        (
            journeys(own, "load = { rate = \"5/s\", connections = 5 }"),
            end,
            "journey[1].load.connections: is given beside rate",
        ),
        (
            journeys("load.connections = 2", "load.connections = 0"),
            end,
            "journey[1].load: comes to no virtual user",
        ),
        (
            journeys("load.connections = 2", "load.connections = 3"),
            "duration = \"2s\", max_connections = 5",
            "load.max_connections: belongs to an open loop",
        ),
        (
            journeys("load.connections = 9000000", "load.connections = 2000000"),
            end,
            "load: has more virtual users than 10000000, all journeys together",
        ),
        (
            journeys(own, "load = { rate = \"5/s\", duration = \"5s\" }"),
            end,
            "journey[1].load.duration: is the same for all journeys; write it in [load]",
        ),
        (
            journeys(own, "load = { stage = [{ over = \"5s\", to = \"5/s\" }] }"),
            end,
            "journey[1].load: has no amount; write rate = \"5/s\" (arrivals) or connections = 20",
        ),
        (
            journeys(own, "load.rate = \"0/s\""),
            end,
            "journey[1].load: comes to no arrival",
        ),
        (
            journeys(own, "load.rat = \"1/s\""),
            end,
            "journey[1].load.rat: unknown key; write rate",
        ),
        (
            journeys(own, own),
            "rate = \"5/s\", duration = \"2s\"",
            "load.rate: is given beside the loads that journeys have",
        ),
        (
            journeys(own, own),
            "connections = 5, duration = \"2s\"",
            "load.connections: is given beside the loads that journeys have",
        ),
        (journeys(own, own), "seed = 1", "load: says no end"),
        (
            journeys(
                "load.connections = 3",
                "load = { connections = 2, stage = [{ over = \"1s\", to = 0 }] }",
            ),
            "journeys = 100",
            "load.journeys: needs all virtual users to the end",
        ),
        (
            both(),
            "duration = \"1s\"",
            "load.duration: ends before the stages do; write at least \"2s\"",
        ),
        (
            both(),
            "duration = \"5s\"\n}\nsearch = { rate = { from = \"1/s\", to = \"9/s\" }",
            "search: looks for the amount of one load",
        ),
    ] {
        let text = format!("{HEAD}{journeys}\nload = {{ {load} }}\n");
        let said = match load.contains("search") {
            true => crate::support::campaign(&text).expect_err(why),
            false => parse(&text).expect_err(why),
        };
        assert!(said.contains(why), "{said}\n{why}");
        assert!(said.lines().count() <= 2, "{said}");
    }
}
