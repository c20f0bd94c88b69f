//! Agents are lost one after the other, and each time their shares are dealt to the remaining ones:
//! everything after a loss belongs to exactly one agent.

use crate::support::parse;
use plan::{Instants, Load, Mix, Owner, Plan, Portion, Schedule, Seats, UserOperations};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

/// A share that an agent fires, and from when until when, in nanoseconds of the schedule.
struct Holding {
    agent: u32,
    lost_agent: u32,
    parts: Vec<(u32, u32)>,
    from: u64,
    until: u64,
}

impl Holding {
    /// The share as divided among the agent's workers.
    fn portions(&self, agents: u32) -> Vec<Portion> {
        // Neighbouring agents have different numbers of workers.
        let workers = 1 + self.agent % 3;
        let portion = Portion::from_parts(self.lost_agent, agents, &self.parts);
        let own = Owner {
            agent: self.agent,
            agents,
            ..Owner::ALONE
        };
        let portion = portion.unwrap_or_else(|| own.into());
        (0..workers)
            .map(|worker| portion.of_worker(worker, workers))
            .collect()
    }
}

/// The holdings in a fleet that loses agents at these instants; the last one is never lost.
fn holdings(agents: u32, losses: &[(u32, u64)]) -> Vec<Holding> {
    let mut left: Vec<u32> = (0..agents).collect();
    let own = |&agent: &u32| Holding {
        agent,
        lost_agent: agent,
        parts: Vec::new(),
        from: 0,
        until: u64::MAX,
    };
    let mut holdings: Vec<Holding> = left.iter().map(own).collect();
    let mut now = 0;
    for &(which, after) in losses.iter().take(agents as usize - 1) {
        now += after;
        let lost = left.remove(which as usize % left.len());
        let mut dealt = Vec::new();
        let his = holdings
            .iter_mut()
            .filter(|held| held.agent == lost && held.until == u64::MAX);
        for held in his {
            held.until = now;
            for (part, &agent) in left.iter().enumerate() {
                let next = (part as u32, left.len() as u32);
                dealt.push(Holding {
                    agent,
                    lost_agent: held.lost_agent,
                    parts: held.parts.iter().copied().chain([next]).collect(),
                    from: now,
                    until: u64::MAX,
                });
            }
        }
        holdings.append(&mut dealt);
    }
    holdings
}

/// The part of a schedule that is fired between two instants, as an engine finds it.
fn fired(schedule: &Schedule, seats: &Seats, from: u64, until: u64) -> Vec<(u64, u64)> {
    let all = |place: &Portion| schedule.instants(place.clone()).starting_at(from);
    let due = seats
        .place()
        .map(all)
        .into_iter()
        .flat_map(Instants::into_iter);
    due.take_while(|&(_, at_ns)| at_ns < until).collect()
}

fn open_load() -> impl Strategy<Value = String> {
    let end = prop_oneof![
        (1137u64..9_000).prop_map(|ms| format!("duration = \"{ms}ms\"")),
        (1u64..700).prop_map(|requests| format!("requests = {requests}")),
    ];
    let stages = prop_oneof![
        Just(""),
        Just(", stage = [{ over = \"1137ms\", to = \"3/s\" }, { over = \"0s\", to = \"70/s\" }]"),
    ];
    let arrivals = prop_oneof![Just("even"), Just("poisson")];
    (8u32..60, arrivals, 1u32..100, end, stages).prop_map(|(most, arrivals, rate, end, stages)| {
        format!(
            "rate = \"{rate}/s\", arrivals = \"{arrivals}\", max_connections = {most}, {end}, \
             warm_up = \"1s\"{stages}"
        )
    })
}

fn plan_of(load: &str) -> Result<Plan, String> {
    parse(&format!(
        "target.url = \"http://a.test/\"\nload = {{ {load} }}\n"
    ))
}

fn load_of(load: &str) -> Result<Load, String> {
    plan_of(load).map(|plan| plan.load().clone())
}

proptest! {
    #[test]
    fn every_arrival_after_losses_is_dealt_once_and_to_its_instant(
        text in open_load(),
        agents in 2u32..8,
        losses in proptest::collection::vec((any::<u32>(), 0u64..2_000_000_000), 1..6),
    ) {
        let load = load_of(&text).map_err(TestCaseError::fail)?;
        let schedules = [Schedule::after_warm_up(&load), Schedule::warm_up(&load)];
        for schedule in schedules.into_iter().flatten() {
            let mut dealt = Vec::new();
            for held in holdings(agents, &losses) {
                for portion in held.portions(agents) {
                    let seats = Seats::new(&load, portion);
                    dealt.extend(fired(&schedule, &seats, held.from, held.until));
                }
            }
            dealt.sort_unstable();
            let whole: Vec<(u64, u64)> = schedule.instants(Owner::ALONE).collect();
            prop_assert_eq!(dealt, whole, "{}", text);
        }
    }

    #[test]
    fn every_user_after_losses_is_one_agents_and_operations_keep_their_numbers_apart(
        users in 8u32..5000,
        agents in 2u32..8,
        losses in proptest::collection::vec((any::<u32>(), 1u64..5), 1..6),
    ) {
        let load = load_of(&format!("connections = {users}, duration = \"9s\""))
            .map_err(TestCaseError::fail)?;
        let (mut held_now, mut operations) = (Vec::new(), BTreeSet::new());
        let mut begun = 0;
        for held in holdings(agents, &losses) {
            for portion in held.portions(agents) {
                let all = UserOperations::after_warm_up(&load, &portion);
                let own: Vec<u64> = all.take(40).collect();
                let seats = Seats::new(&load, portion);
                if held.until == u64::MAX {
                    held_now.extend(seats.iter());
                }
                begun += own.len();
                operations.extend(own);
            }
        }
        held_now.sort_unstable();
        prop_assert_eq!(held_now, (0..users).collect::<Vec<_>>());
        prop_assert_eq!(operations.len(), begun, "two operations share a number");
    }

    #[test]
    fn shares_after_losses_sum_to_the_plan(
        text in open_load(),
        agents in 2u32..8,
        losses in proptest::collection::vec((any::<u32>(), 1u64..5), 1..6),
    ) {
        let plan = plan_of(&text).map_err(TestCaseError::fail)?;
        let load = plan.load();
        let (mut connections, mut rate) = (0, 0.0);
        for held in holdings(agents, &losses) {
            for portion in held.portions(agents) {
                let seats = Seats::new(load, portion.clone());
                if held.until == u64::MAX && seats.place().is_some() {
                    let share = plan.share_of(&portion);
                    connections += share.max_connections.unwrap_or(0);
                    rate += share.peak_rate.map_or(0.0, plan::Rate::as_per_second);
                }
            }
        }
        let peak = load.peak_rate().map_or(0.0, plan::Rate::as_per_second);
        prop_assert_eq!(connections, Seats::new(load, Owner::ALONE).number());
        prop_assert!((rate - peak).abs() <= peak * 1e-9, "{} of {}", rate, peak);
    }
}

#[test]
fn mix_stays_exact_when_a_share_is_taken_over() {
    let load = load_of("rate = \"100/s\", duration = \"20s\"").unwrap();
    let schedule = Schedule::after_warm_up(&load).unwrap();
    let mix = Mix::new(&[3, 1], load.seed);
    let mut sent = [0_u32; 2];
    for held in holdings(3, &[(1, 1_137_000_000)]) {
        for portion in held.portions(3) {
            let seats = Seats::new(&load, portion);
            for (seq, _) in fired(&schedule, &seats, held.from, held.until) {
                sent[usize::from(mix.at(seq))] += 1;
            }
        }
    }
    assert_eq!(sent, [1500, 500]);
}

#[test]
fn taking_over_late_in_a_long_run_counts_no_earlier_arrival() {
    let load = load_of("rate = \"1000000/s\", duration = \"24h\"").unwrap();
    let schedule = Schedule::after_warm_up(&load).unwrap();
    let from = Duration::from_secs(86_000).as_nanos() as u64 + 1;
    let half = Portion::from_parts(1, 3, &[(1, 2)]).unwrap();
    let first: Vec<(u64, u64)> = schedule.instants(half).starting_at(from).take(2).collect();
    // A sixth of the arrivals, which are a microsecond apart: agent 1 has 3k + 1, the second half
    // 6k + 4.
    assert_eq!(
        first,
        [
            (86_000_000_002, 86_000_000_002_000),
            (86_000_000_008, 86_000_000_008_000)
        ]
    );
}
