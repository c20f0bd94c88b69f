//! Each invariant is broken on purpose, and the simulation must notice it: this tests that the
//! check can fail.

use crate::case::{Case, Fault, SECOND};
use crate::network::Way;
use crate::sabotage::{Invariant, Sabotage};
use crate::violation_of;
use control::LostPolicy;
use std::time::Duration;

/// Seeds that are tried for each invariant.
const TRIES: u64 = 400;

/// Finds the first seed with which this sabotage breaks this invariant first.
fn noticed(sabotage: Sabotage, expected: Invariant, change: impl Fn(&mut Case)) {
    let mut others = Vec::new();
    for seed in 0..TRIES {
        let mut case = Case::drawn(seed);
        change(&mut case);
        let Some(violation) = violation_of(case.clone(), Some(sabotage)) else {
            continue;
        };
        if violation.invariant == expected {
            let honest = violation_of(case, None);
            assert_eq!(honest, None, "seed {seed} fails without sabotage");
            println!(
                "{sabotage:?}: seed {seed}: {expected:?}: {}",
                violation.what
            );
            return;
        }
        others.push((seed, violation.invariant));
    }
    panic!("{sabotage:?} never breaks {expected:?} in {TRIES} seeds; else {others:?}");
}

fn as_drawn(_: &mut Case) {}

fn redistributes(case: &mut Case) {
    case.rules.lost = LostPolicy::Redistribute;
    case.rules.tolerate = case.agents as u32;
    case.plan_seconds = 60;
    case.shape.steps = 240;
    let fault = Fault::AgentEnds {
        slot: 0,
        down_ns: 90 * SECOND,
    };
    case.faults = vec![(5 * SECOND, fault)];
}

/// Agents switch between two coordinators while they fire.
fn changes_coordinators(case: &mut Case) {
    case.rules.lease = Duration::from_secs(30);
    case.plan_seconds = 40;
    case.shape.steps = 160;
    let elsewhere = Fault::TakenUpElsewhere { back_ns: SECOND };
    case.faults = vec![(8 * SECOND, elsewhere)];
    for second in 10..40 {
        let slot = second as usize % case.agents;
        case.faults.push((second * SECOND, Fault::Cut { slot }));
    }
}

fn two_at_once(case: &mut Case) {
    *case = Case {
        at_once: 2,
        ..Case::quiet(case.seed, 4)
    };
}

macro_rules! noticed {
    ($($name:ident: $sabotage:ident breaks $invariant:ident, $change:expr;)*) => {
        $(#[test]
        fn $name() {
            noticed(Sabotage::$sabotage, Invariant::$invariant, $change);
        })*
    };
}

noticed! {
    acknowledging_before_the_sync_is_noticed:
        AcknowledgesBeforeTheSync breaks AcknowledgedIsStored, as_drawn;
    record_that_is_dropped_is_noticed: DropsARecord breaks AcknowledgedIsStored, as_drawn;
    interval_that_is_written_twice_is_noticed:
        WritesAnIntervalTwice breaks CountedOnce, as_drawn;
    second_that_is_written_twice_is_noticed: WritesASecondTwice breaks CountedOnce, as_drawn;
    second_that_is_dropped_is_noticed: DropsASecond breaks AcknowledgedIsStored, as_drawn;
    byte_that_changes_on_its_way_is_noticed: ChangesAByte breaks CountedOnce, as_drawn;
    interval_that_an_agent_forgets_is_noticed:
        ForgetsAnInterval breaks CompleteOrNamed, as_drawn;
    second_that_an_agent_forgets_is_noticed: ForgetsASecond breaks CompleteOrNamed, as_drawn;
    lease_that_no_coordinator_gives_is_noticed:
        AnswersForTheCoordinator breaks FireNeedsLease, as_drawn;
    interval_in_the_log_of_another_run_is_noticed:
        DeliversToTheOtherRun breaks AcknowledgedIsStored, two_at_once;
    agent_of_two_runs_is_noticed: ChoosesABusyAgent breaks AgentServesOneRun, two_at_once;
    fire_after_the_lease_is_noticed: FiresAfterExpiry breaks FireNeedsLease, as_drawn;
    lease_that_is_too_long_is_noticed:
        GrantsTooMuch breaks FireEndsWithItsCoordinator, |case| {
            case.plan_seconds = 120;
            case.shape.steps = 480;
            case.faults = vec![(5 * SECOND, Fault::CoordinatorGone)];
        };
    epoch_that_stays_is_noticed: KeepsTheEpoch breaks NewestCoordinatorAlone, changes_coordinators;
    share_that_is_forgotten_is_noticed: ForgetsAShare breaks NoShareForgotten, redistributes;
    share_that_is_dealt_twice_is_noticed: DealsAShareTwice breaks NoShareTwice, redistributes;
    agent_that_was_not_told_of_the_start_is_noticed:
        ForgesAnArmed breaks AllArmedOrNobodyFires, as_drawn;
    fleet_whose_time_stands_still_is_noticed: StopsTicking breaks NobodyHangs, as_drawn;
    agent_that_ignores_its_window_is_noticed:
        IgnoresTheWindow breaks BoundedBacklog, |case| {
            case.plan_seconds = 60;
            case.shape.steps = 240;
            case.faults = vec![(5 * SECOND, Fault::DiskFull { for_ns: 50 * SECOND })];
        };
    agent_that_is_given_up_while_it_may_fire_is_noticed:
        GrantsTooMuch breaks LostFiresNoMore, |case| {
            redistributes(case);
            let partition = Fault::Partition {
                slots: vec![0],
                ways: vec![Way::Up, Way::Down],
                for_ns: 60 * SECOND,
            };
            case.faults = vec![(5 * SECOND, partition)];
            case.rules.lost = LostPolicy::Continue;
        };
    clock_that_lies_is_noticed: LiesAboutTheClock breaks SkewIsTold, as_drawn;
    end_that_is_told_twice_is_noticed: TellsAnEndTwice breaks EventsMakeSense, as_drawn;
    end_that_a_model_misses_is_noticed: ModelMissesAnEnd breaks ModelIsTrue, as_drawn;
    beginning_that_only_the_log_has_is_noticed:
        ModelMissesABeginning breaks LogGivesTheModel, as_drawn;
}
