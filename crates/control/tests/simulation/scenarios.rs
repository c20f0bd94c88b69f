//! Cases whose outcome is known in advance.

use crate::agent::STEPS_PER_INTERVAL;
use crate::case::{BrokenRule, Case, Ending, Fault, SECOND};
use crate::network::Way;
use crate::world::World;
use control::{EndCause, LEASE, LostPolicy, Observer, RunEvent, RunOutcome, Stop};
use std::collections::BTreeSet;
use std::time::Duration;

/// Runs the case to its end.
fn over(case: Case) -> World {
    let seed = case.seed;
    let mut world = World::new(case, None, false);
    assert_eq!(world.run(), None, "seed {seed}");
    world
}

fn events(world: &World) -> impl Iterator<Item = &RunEvent> {
    world.told.iter().map(|(_, _, event)| event)
}

fn outcomes(world: &World) -> Vec<RunOutcome> {
    let outcome = |event: &RunEvent| match event {
        RunEvent::Done { outcome } => Some(*outcome),
        _ => None,
    };
    events(world).filter_map(outcome).collect()
}

fn causes(world: &World) -> Vec<EndCause> {
    let cause = |event: &RunEvent| match event {
        RunEvent::Ended { cause, .. } => Some(cause.clone()),
        _ => None,
    };
    events(world).filter_map(cause).collect()
}

/// When agents were given up, and why.
fn losses(world: &World) -> Vec<(u64, &str)> {
    let loss = |told: &'_ (u64, usize, RunEvent)| matches!(told.2, RunEvent::Lost { .. });
    let lost = world.told.iter().filter(|told| loss(told));
    lost.map(|(at, _, event)| match event {
        RunEvent::Lost { why, .. } => (*at, why.as_str()),
        _ => unreachable!("only losses are left"),
    })
    .collect()
}

fn cut_off(slot: usize, for_ns: u64) -> Fault {
    Fault::Partition {
        slots: vec![slot],
        ways: vec![Way::Up, Way::Down],
        for_ns,
    }
}

#[test]
fn quiet_network_runs_the_plan_to_its_end_on_every_agent() {
    for seed in 0..20 {
        let world = over(Case::quiet(seed, 3));
        assert_eq!(outcomes(&world), [RunOutcome::Ran], "seed {seed}");
        assert_eq!(causes(&world), vec![EndCause::Plan; 3], "seed {seed}");
        let is_interval = |event: &&RunEvent| matches!(event, RunEvent::Interval { .. });
        let is_second = |event: &&RunEvent| matches!(event, RunEvent::Observed { .. });
        let intervals = events(&world).filter(is_interval).count();
        let seconds = events(&world).filter(is_second).count();
        assert_eq!((intervals, seconds), (24, 24), "seed {seed}");
    }
}

#[test]
fn monitors_deliver_every_second_and_their_profile() {
    for seed in 0..20 {
        let mut case = Case::quiet(seed, 2);
        case.monitors = 2;
        let world = over(case);
        let is_second = |event: &&RunEvent| match event {
            RunEvent::Observed { by, .. } => matches!(by, Observer::Monitor(_)),
            _ => false,
        };
        let is_part = |event: &&RunEvent| matches!(event, RunEvent::ProfilePart { .. });
        let seconds = events(&world).filter(is_second).count();
        // The last one may end with the run.
        assert!((14..=16).contains(&seconds), "seed {seed}: {seconds}");
        assert_eq!(events(&world).filter(is_part).count(), 6, "seed {seed}");
    }
}

#[test]
fn agents_serve_the_next_run() {
    for seed in 0..50 {
        let mut case = Case::quiet(seed, 2);
        case.runs = 3;
        let world = over(case);
        assert_eq!(outcomes(&world), [RunOutcome::Ran; 3], "seed {seed}");
        assert_eq!(causes(&world), vec![EndCause::Plan; 6], "seed {seed}");
    }
}

#[test]
fn two_runs_at_once_each_run_their_plan_on_their_own_agents() {
    for seed in 0..50 {
        let mut case = Case::quiet(seed, 4);
        (case.at_once, case.runs) = (2, 2);
        let world = over(case);
        assert_eq!(outcomes(&world), [RunOutcome::Ran; 4], "seed {seed}");
        assert_eq!(causes(&world), vec![EndCause::Plan; 8], "seed {seed}");
    }
}

#[test]
fn stop_of_one_run_leaves_the_other_alone() {
    for seed in 0..50 {
        let mut case = Case::quiet(seed, 4).with(6 * SECOND, Fault::Stops(Stop::Now));
        case.at_once = 2;
        let world = over(case);
        assert_eq!(outcomes(&world), [RunOutcome::Ran; 2], "seed {seed}");
        let causes = causes(&world);
        let (by_plan, stopped): (Vec<_>, Vec<_>) =
            causes.iter().partition(|cause| **cause == EndCause::Plan);
        assert_eq!((by_plan.len(), stopped.len()), (2, 2), "seed {seed}");
    }
}

#[test]
fn both_runs_go_on_after_their_coordinator_is_restarted() {
    for seed in 0..50 {
        let ends = Fault::CoordinatorEnds {
            how: [Ending::Killed, Ending::PowerFails][(seed % 2) as usize],
            down_ns: SECOND,
        };
        let mut case = Case::quiet(seed, 4).with(5 * SECOND, ends);
        case.at_once = 2;
        let world = over(case);
        assert_eq!(outcomes(&world), [RunOutcome::Ran; 2], "seed {seed}");
        assert_eq!(losses(&world), [], "seed {seed}");
    }
}

#[test]
fn run_goes_on_over_streams_that_break() {
    let mut went_on = 0;
    for seed in 0..100 {
        let cut = |slot| Fault::Cut { slot };
        let case = Case::quiet(seed, 2).with(4 * SECOND, cut(0));
        let world = over(case.with(6 * SECOND + seed * 7, cut(1)));
        let came_back = events(&world).any(|event| matches!(event, RunEvent::Back { .. }));
        went_on += u64::from(came_back && causes(&world) == vec![EndCause::Plan; 2]);
    }
    assert!(went_on > 20, "{went_on} runs went on: this tests nothing");
}

#[test]
fn coordinator_that_stands_still_about_the_start_loses_nobody() {
    let mut postponed = 0;
    for seed in 0..200 {
        let at = SECOND + seed * SECOND / 100;
        let stall = Fault::CoordinatorStalls { for_ns: 3 * SECOND };
        let world = over(Case::quiet(seed, 3).with(at, stall));
        let is_postponed = |event: &RunEvent| matches!(event, RunEvent::Postponed { .. });
        postponed += u64::from(events(&world).any(is_postponed));
        assert_eq!(losses(&world), [], "seed {seed}");
    }
    assert!(
        postponed > 10,
        "in {postponed} cases the start was postponed"
    );
}

#[test]
fn firing_goes_on_after_the_coordinators_death_and_ends_with_the_lease() {
    let mut fired = 0;
    for seed in 0..100 {
        let at = 3 * SECOND + seed * SECOND / 20;
        let world = over(Case::quiet(seed, 3).with(at, Fault::CoordinatorGone));
        let last = world
            .truth
            .runs
            .values()
            .flat_map(|run| run.agents.values());
        let last = last.map(|agent| agent.last_fired_at).max().unwrap_or(0);
        fired += u64::from(last > at);
        let until = at + LEASE.as_nanos() as u64 + SECOND;
        assert!(last <= until, "seed {seed}: fired at {last}");
    }
    assert!(
        fired > 20,
        "in {fired} cases something was fired after the death"
    );
}

#[test]
fn stop_ends_the_run_whenever_it_comes() {
    for seed in 0..100 {
        let how = [Stop::Drain, Stop::Now][(seed % 2) as usize];
        let case = Case::quiet(seed, 3).with(seed * SECOND / 10, Fault::Stops(how));
        let world = over(case);
        let stopped = [RunOutcome::StoppedBeforeStart(how)];
        let outcomes = outcomes(&world);
        assert!(
            outcomes == [RunOutcome::Ran] || outcomes == stopped,
            "seed {seed}: {outcomes:?}"
        );
    }
}

#[test]
fn agent_that_breaks_the_protocol_is_lost_and_serves_the_next_run() {
    for seed in 0..50 {
        let violation = Fault::Violation {
            slot: 0,
            how: BrokenRule::CountsTooFar,
        };
        let mut case = Case::quiet(seed, 3).with(3 * SECOND, violation);
        case.runs = 2;
        let world = over(case);
        assert_eq!(outcomes(&world), [RunOutcome::Ran; 2], "seed {seed}");
        let losses = losses(&world);
        assert!(
            matches!(losses[..], [(_, why)] if why.contains("broke the protocol")),
            "seed {seed}: {losses:?}"
        );
        assert_eq!(causes(&world), vec![EndCause::Plan; 5], "seed {seed}");
    }
}

#[test]
fn agent_that_is_away_is_waited_for_and_not_for_ever() {
    for seed in 0..60 {
        let at = 4 * SECOND;
        for (away, comes_back) in [(9 * SECOND, true), (120 * SECOND, false)] {
            let world = over(Case::quiet(seed, 3).with(at, cut_off(0, away)));
            let losses = losses(&world);
            assert_eq!(losses.is_empty(), comes_back, "seed {seed}: {losses:?}");
            let late = losses
                .iter()
                .any(|(lost_at, _)| *lost_at > at + 70 * SECOND);
            assert!(!late, "seed {seed}: {losses:?}");
        }
    }
}

#[test]
fn cut_of_all_agents_that_the_lease_outlives_costs_nothing() {
    for seed in 0..60 {
        for (lease, cut) in [(15, 13), (30, 28), (60, 45), (120, 100)] {
            let partition = Fault::Partition {
                slots: vec![0, 1, 2],
                ways: vec![Way::Up, Way::Down],
                for_ns: cut * SECOND,
            };
            let mut case = Case::quiet(seed, 3).with(4 * SECOND, partition);
            case.rules.lease = Duration::from_secs(lease);
            case.plan_seconds = 20;
            case.shape.steps = 20 * STEPS_PER_INTERVAL;
            let world = over(case);
            assert_eq!(losses(&world), [], "seed {seed}, lease {lease} s");
            let fired_on = causes(&world) == vec![EndCause::Plan; 3];
            assert!(
                fired_on,
                "seed {seed}, lease {lease} s: {:?}",
                causes(&world)
            );
        }
    }
}

#[test]
fn coordinator_that_is_away_for_most_of_a_lease_finds_every_agent_firing() {
    for seed in 0..50 {
        let mut case = Case::quiet(seed, 12).with(
            4 * SECOND,
            Fault::CoordinatorEnds {
                how: Ending::Killed,
                down_ns: 3 * SECOND,
            },
        );
        case.plan_seconds = 20;
        case.shape.steps = 20 * STEPS_PER_INTERVAL;
        let world = over(case);
        let causes = causes(&world);
        assert_eq!(causes, vec![EndCause::Plan; 12], "seed {seed}");
    }
}

#[test]
fn upload_over_a_link_that_is_cut_again_and_again_comes_to_its_end() {
    for bytes_per_second in [1 << 20, 100 << 10] {
        for seed in 0..5 {
            let slow = Fault::Slow {
                slot: 0,
                bytes_per_second,
                for_ns: 300 * SECOND,
            };
            let mut case = Case::quiet(seed, 1).with(SECOND, slow);
            case.shape.totals_bytes = 8 << 20;
            for nth in 5..60 {
                case = case.with(nth * 3 * SECOND, Fault::Cut { slot: 0 });
            }
            let world = over(case);
            let whole = |event: &RunEvent| match event {
                RunEvent::Totals { encoded, .. } => encoded.len() == 8 << 20,
                _ => false,
            };
            assert!(
                events(&world).any(whole),
                "seed {seed}: {:?}",
                losses(&world)
            );
        }
    }
}

/// Drawn cases that once found a defect, in the product or in the simulator.
#[test]
fn cases_that_failed_once_do_not_fail_again() {
    for (seed, _why) in [
        (
            9_448,
            "an agent that quits forgets its run before a coordinator that lost it",
        ),
        (44_573, "the same"),
        (
            11_657,
            "an agent that began early by a bad clock left a gap in what it took over",
        ),
        (
            45_270,
            "an old coordinator stayed, since the new one was down when it was to end",
        ),
        (52_185, "the same"),
    ] {
        over(Case::drawn(seed));
    }
}

#[test]
fn case_is_the_same_whenever_it_runs() {
    for seed in 0..20 {
        let told = |_| {
            let mut world = World::new(Case::drawn(seed), None, false);
            world.run();
            world.told
        };
        let both: Vec<_> = (0..2).map(told).collect();
        assert!(both[0] == both[1], "seed {seed}");
    }
}

/// The name of an event's variant.
fn variant(event: &RunEvent) -> String {
    /// Refuses what follows the name: an event can hold megabytes, whose text takes seconds.
    struct Name(String);

    impl std::fmt::Write for Name {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let name = text.split([' ', '{', '(']).next().unwrap_or_default();
            self.0.push_str(name);
            if name.len() == text.len() {
                Ok(())
            } else {
                Err(std::fmt::Error)
            }
        }
    }

    let mut name = Name(String::new());
    // An error is the end of the name.
    let _ = std::fmt::Write::write_fmt(&mut name, format_args!("{event:?}"));
    name.0
}

/// Which events drawn cases have: a kind that never occurs is not tested.
#[test]
fn drawn_cases_bring_every_kind_of_event() {
    let mut kinds = BTreeSet::new();
    let mut complete = 0;
    for seed in 0..300 {
        let mut world = World::new(Case::drawn(seed), None, false);
        world.run();
        kinds.extend(events(&world).map(variant));
        kinds.extend(
            outcomes(&world)
                .iter()
                .map(|outcome| format!("{outcome:?}")),
        );
        kinds.extend(causes(&world).iter().map(|cause| format!("{cause:?}")));
        let plan = causes(&world).iter().all(|cause| *cause == EndCause::Plan);
        complete += u64::from(plan && losses(&world).is_empty());
        let steps = world.case.shape.steps;
        assert!(steps > STEPS_PER_INTERVAL, "seed {seed}");
    }
    println!("{complete} of 300 are complete; {kinds:?}");
    let wanted = [
        "Back",
        "Began",
        "Done",
        "Ended",
        "Gone",
        "Joined",
        "LeaseExpired",
        "Lost",
        "Note",
        "NotStarted",
        "Observed",
        "Plan",
        "Postponed",
        "Problem",
        "ProfilePart",
        "Ran",
        "Ready",
        "Redistributed",
        "Started",
        "Stopped",
        "Totals",
        "Waiting",
        "Watching",
    ];
    for kind in wanted {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
    assert!(complete > 30, "{complete} of 300 are complete");
}

#[test]
fn heir_that_stands_still_begins_late_or_refuses_and_the_log_says_which() {
    for is_closed in [true, false] {
        let (mut late, mut refused) = (0, 0);
        for seed in 0..20 {
            let ends = Fault::AgentEnds {
                slot: 0,
                down_ns: 90 * SECOND,
            };
            let stalls = Fault::AgentStalls {
                slot: 1,
                for_ns: 4 * SECOND,
            };
            let mut case = Case::quiet(seed, 3)
                .with(4 * SECOND, ends)
                .with(8 * SECOND + seed * SECOND / 20, stalls);
            case.plan_seconds = 30;
            case.shape.steps = 30 * STEPS_PER_INTERVAL;
            case.shape.is_closed = is_closed;
            case.rules.lost = LostPolicy::Redistribute;
            case.rules.tolerate = 2;
            let world = over(case);
            let dealt = |event: &RunEvent| match event {
                RunEvent::Redistributed { from, .. } => Some(*from),
                _ => None,
            };
            let dealt = events(&world).find_map(dealt);
            for event in events(&world) {
                match event {
                    RunEvent::TakenOver { from: None, .. } => refused += 1,
                    RunEvent::TakenOver { from, .. } => late += u64::from(*from > dealt),
                    _ => {}
                }
            }
        }
        // Users begin when they can, but arrivals that are long overdue are not fired at once.
        assert_eq!(
            (late > 5, refused > 5),
            (is_closed, !is_closed),
            "{late}, {refused}"
        );
    }
}
