//! A coordinator and its agents over a simulated network that delays and drops connections at
//! random, and reorders nothing within a stream. Every case is a seed; a failure names it.

mod machine;
mod network;
mod world;

use control::{EndCause, LEASE, RunEvent, RunOutcome};
use std::collections::BTreeMap;
use world::{Trouble, World};

const SECOND: u64 = 1_000_000_000;
const SEEDS: u64 = 200;

/// What was delivered of each agent: intervals in the order in which they came, and the totals.
fn delivered(events: &[RunEvent]) -> BTreeMap<u32, Vec<(u32, Vec<u8>)>> {
    let mut by_agent: BTreeMap<u32, Vec<(u32, Vec<u8>)>> = BTreeMap::new();
    for event in events {
        if let RunEvent::Interval {
            agent,
            interval,
            encoded,
        } = event
        {
            by_agent
                .entry(*agent)
                .or_default()
                .push((*interval, encoded.to_vec()));
        }
    }
    by_agent
}

fn outcome(events: &[RunEvent]) -> Option<RunOutcome> {
    match events.last() {
        Some(RunEvent::Done { outcome }) => Some(*outcome),
        _ => None,
    }
}

fn causes(events: &[RunEvent]) -> Vec<EndCause> {
    let cause = |event: &RunEvent| match event {
        RunEvent::Ended { cause, .. } => Some(cause.clone()),
        _ => None,
    };
    events.iter().filter_map(cause).collect()
}

#[test]
fn quiet_network_runs_the_plan_to_its_end_on_every_agent() {
    for seed in 0..20 {
        let mut world = World::new(seed, 3, Trouble::None);
        world.run_to_end(60);
        let events = &world.events;
        assert_eq!(
            outcome(events),
            Some(RunOutcome::Ran),
            "seed {seed}: {events:?}"
        );
        assert_eq!(causes(events), vec![EndCause::Plan; 3], "seed {seed}");
        assert!(
            delivered(events)
                .values()
                .all(|intervals| intervals.len() == world.plan_seconds()),
            "seed {seed}"
        );
    }
}

#[test]
fn agents_begin_within_the_bound_that_is_told() {
    for seed in 0..50 {
        let mut world = World::new(seed, 4, Trouble::None);
        world.run_to_end(60);
        let skew = world.events.iter().find_map(|event| match event {
            RunEvent::Started { skew } => Some(*skew),
            _ => None,
        });
        let (skew, truth) = (skew.unwrap(), world.true_skew_ns());
        assert!(
            skew.skew_ns.abs_diff(truth) <= skew.bound_ns,
            "seed {seed}: {skew:?}, in truth {truth}"
        );
    }
}

#[test]
fn each_interval_is_delivered_once_however_often_connections_drop() {
    let mut whole_after_drops = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed, 1 + (seed % 4) as usize, Trouble::Drops);
        world.run_to_end(600);
        let events = &world.events;
        assert!(
            outcome(events).is_some(),
            "seed {seed}: the run must end; last {:?}",
            events.last()
        );
        let came_back = events
            .iter()
            .any(|event| matches!(event, RunEvent::Back { .. }));
        whole_after_drops += usize::from(came_back && causes(events).contains(&EndCause::Plan));
        for (index, intervals) in delivered(events) {
            let expected: Vec<(u32, Vec<u8>)> = world.made_by(index);
            let lost = events
                .iter()
                .any(|event| matches!(event, RunEvent::Lost { agent, .. } if *agent == index));
            if lost {
                assert!(
                    expected.starts_with(&intervals),
                    "seed {seed}: what came of agent {index} is not what it made"
                );
            } else {
                assert_eq!(intervals, expected, "seed {seed}: agent {index}");
            }
        }
    }
    assert!(
        whole_after_drops > 20,
        "only {whole_after_drops} runs went on after a drop: this tests nothing"
    );
}

#[test]
fn every_agent_is_told_as_ended_or_lost_once_and_nothing_follows_the_end() {
    for seed in 0..SEEDS {
        let agents = 1 + (seed % 4) as usize;
        let mut world = World::new(seed, agents, Trouble::Drops);
        world.run_to_end(600);
        if outcome(&world.events) != Some(RunOutcome::Ran) {
            continue;
        }
        let is_end =
            |event: &&RunEvent| matches!(event, RunEvent::Ended { .. } | RunEvent::Lost { .. });
        assert_eq!(
            world.events.iter().filter(is_end).count(),
            agents,
            "seed {seed}: {:?}",
            world.events
        );
    }
}

#[test]
fn firing_ends_within_a_lease_of_the_coordinators_death() {
    let mut fired = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed, 3, Trouble::CoordinatorDies);
        world.run_to_end(60);
        // The run was over before.
        let Some(died_at) = world.died_at() else {
            continue;
        };
        fired += usize::from(
            world
                .last_fired_at()
                .iter()
                .any(|(_, fired_at)| *fired_at > died_at),
        );
        for (agent, fired_at) in world.last_fired_at() {
            let late = fired_at.saturating_sub(died_at);
            assert!(
                late <= LEASE.as_nanos() as u64 + SECOND,
                "seed {seed}: agent {agent} fired {late} ns after"
            );
        }
    }
    assert!(
        fired > 20,
        "in only {fired} cases was anything fired after the death: this tests nothing"
    );
}

#[test]
fn agents_serve_the_next_run() {
    for seed in 0..100 {
        let mut world = World::new(seed, 2, Trouble::None);
        for _ in 0..3 {
            world.run_to_end(60);
            assert_eq!(outcome(&world.events), Some(RunOutcome::Ran), "seed {seed}");
            assert_eq!(
                causes(&world.events),
                vec![EndCause::Plan; 2],
                "seed {seed}"
            );
            world.begin_next_run();
        }
    }
}

#[test]
fn stop_ends_the_run_whenever_it_comes() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed, 3, Trouble::Stop);
        world.run_to_end(300);
        let outcome = outcome(&world.events);
        assert!(
            matches!(
                outcome,
                Some(RunOutcome::Ran | RunOutcome::StoppedBeforeStart(_))
            ),
            "seed {seed}: {outcome:?}"
        );
    }
}

/// Agents that were given up, when, and why.
fn losses(world: &World) -> Vec<(u32, u64, &str)> {
    let lost = |(event, at)| match event {
        &RunEvent::Lost { agent, ref why, .. } => Some((agent, at, why.as_str())),
        _ => None,
    };
    world
        .events
        .iter()
        .zip(world.times.iter().copied())
        .filter_map(lost)
        .collect()
}

#[test]
fn agent_that_breaks_the_protocol_is_lost_once_and_serves_the_next_run() {
    for seed in 0..50 {
        let mut world = World::new(seed, 3, Trouble::Violation);
        world.run_to_end(60);
        assert_eq!(outcome(&world.events), Some(RunOutcome::Ran), "seed {seed}");
        assert_eq!(
            causes(&world.events),
            vec![EndCause::Plan; 2],
            "seed {seed}: the others go on"
        );
        assert!(
            matches!(losses(&world)[..], [(_, _, why)] if why.contains("broke the protocol")),
            "seed {seed}"
        );
        assert_eq!(world.streams, 3, "seed {seed}: no stream is opened again");
        world.begin_next_run();
        world.run_to_end(60);
        assert_eq!(
            causes(&world.events),
            vec![EndCause::Plan; 3],
            "seed {seed}"
        );
    }
}

#[test]
fn agent_that_is_away_is_lost_half_a_minute_after_the_others_ended_and_not_before() {
    const AWAY_MAX: u64 = 30 * SECOND;
    let (mut lost, mut came_back) = (0, 0);
    for seed in 0..SEEDS {
        let mut world = World::new(seed, 3, Trouble::Away);
        world.run_to_end(300);
        // Nobody is known to be going any more when the others have ended and this one is known to
        // be gone.
        let leaves = |event: &RunEvent| {
            matches!(
                event,
                RunEvent::Ended {
                    cause: EndCause::Plan,
                    ..
                } | RunEvent::Gone { .. }
            )
        };
        let left = world
            .events
            .iter()
            .zip(&world.times)
            .filter(|(event, _)| leaves(event));
        let (Some(RunOutcome::Ran), Some(ended_at)) =
            (outcome(&world.events), left.map(|(_, at)| *at).max())
        else {
            continue;
        };
        match losses(&world)[..] {
            [] => came_back += usize::from(world.away_until > ended_at + 10 * SECOND),
            [(_, at, _)] => {
                let waited = at - ended_at;
                assert!(
                    (AWAY_MAX..AWAY_MAX + SECOND).contains(&waited),
                    "seed {seed}: given up after {waited} ns"
                );
                assert!(
                    world.away_until + 10 * SECOND > at,
                    "seed {seed}: it was back in time"
                );
                lost += 1;
            }
            ref more => panic!("seed {seed}: {more:?}"),
        }
    }
    assert!(
        lost > 20 && came_back > 10,
        "{lost} lost and {came_back} back: this tests nothing"
    );
}

#[test]
fn upload_over_a_link_that_is_cut_again_and_again_comes_to_its_end_or_is_given_up() {
    for (bytes_per_second, comes) in [(1 << 20, true), (100 << 10, true), (10 << 10, false)] {
        for seed in 0..10 {
            let mut world = World::new(seed, 1, Trouble::Narrow { bytes_per_second });
            world.run_to_end(300);
            assert_eq!(
                outcome(&world.events),
                Some(RunOutcome::Ran),
                "seed {seed}: last {:?}",
                world.events.last()
            );
            let whole = |event: &RunEvent| {
                matches!(
                    event,
                    RunEvent::Totals { encoded, .. } if encoded.len() == 8 << 20
                )
            };
            assert_eq!(
                world.events.iter().any(whole),
                comes,
                "seed {seed}, {bytes_per_second} B/s: {:?}",
                losses(&world)
            );
            assert_eq!(losses(&world).len(), usize::from(!comes), "seed {seed}");
            assert!(world.streams < 60, "seed {seed}: {} streams", world.streams);
        }
    }
}
