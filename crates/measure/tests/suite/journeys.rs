//! Funnels, worked out by hand.

use crate::scene::{MS, SECOND, operation, recorder};
use measure::{
    Funnel, JourneyCell, JourneyCounts, JourneyEnd, JourneyTimes, Period, Recorder, StepCounts,
    Window,
};

const BUYER: JourneyCell = JourneyCell {
    period: Period::Measured,
    journey: 1,
};

fn step(recorder: &mut Recorder, step: u16, is_first: bool, is_ok: bool) {
    recorder.begin_step(BUYER, step, is_first);
    recorder.end_step(BUYER, step, is_ok);
}

fn end(recorder: &mut Recorder, end: JourneyEnd, done_at: u64, [time_ms, paused_ms]: [u64; 2]) {
    let times = JourneyTimes {
        done_at,
        time_ns: time_ms * MS,
        paused_ns: paused_ms * MS,
    };
    recorder.end_journey(BUYER, end, times);
}

/// Log in, search three times, order. One journey is completed within the measured part and one
/// after it, one fails at its second search, one is abandoned before it orders, one is under way,
/// and one could not be begun.
fn funnel() -> Funnel {
    let mut recorder = recorder(3).measuring(Window::new(0, SECOND));
    for (done_at, times) in [(SECOND, [700, 400]), (SECOND + 1, [900, 400])] {
        recorder.begin_journey(BUYER);
        for (place, is_first) in [(0, true), (1, true), (1, false), (1, false), (2, true)] {
            step(&mut recorder, place, is_first, true);
        }
        end(&mut recorder, JourneyEnd::Completed, done_at, times);
    }
    recorder.begin_journey(BUYER);
    step(&mut recorder, 0, true, true);
    step(&mut recorder, 1, true, true);
    step(&mut recorder, 1, false, false);
    end(&mut recorder, JourneyEnd::Failed, SECOND, [100, 50]);
    recorder.begin_journey(BUYER);
    step(&mut recorder, 0, true, true);
    (0..3).for_each(|nth| step(&mut recorder, 1, nth == 0, true));
    end(&mut recorder, JourneyEnd::Abandoned, SECOND, [200, 50]);
    recorder.begin_journey(BUYER);
    recorder.begin_step(BUYER, 0, true);
    recorder.count_journey_not_sent(BUYER);
    let (snapshot, spare) = recorder.cut(SECOND, None).into_snapshot();
    let next = recorder.cut(2 * SECOND, Some(spare)).into_snapshot().0;
    assert!(next.is_empty(), "{next:?}");
    assert_eq!(snapshot.journeys.keys().collect::<Vec<_>>(), [&BUYER]);
    snapshot.journeys.into_values().next().unwrap()
}

#[test]
fn funnel_counts_each_journey_and_each_step() {
    let funnel = funnel();
    let counts = JourneyCounts {
        begun: 5,
        not_sent: 1,
        completed: 2,
        failed: 1,
        abandoned: 1,
        completed_within: 1,
    };
    assert_eq!(funnel.counts, counts);
    assert_eq!(counts.begun - counts.count_ended(), 1, "one is under way");
    let step = |reached, begun, ok, failed| StepCounts {
        reached,
        begun,
        ok,
        failed,
    };
    let steps = [step(5, 5, 4, 0), step(4, 11, 10, 1), step(2, 2, 2, 0)];
    assert_eq!(funnel.steps, steps);
}

#[test]
fn times_are_those_of_completed_journeys_with_and_without_pauses() {
    let funnel = funnel();
    for (times, low, high) in [(funnel.time, 700, 900), (funnel.wait, 300, 500)] {
        assert_eq!((times.count, times.min), (2, low * MS));
        assert_eq!(
            (times.max, times.mean()),
            (high * MS, Some((low + 100) as f64 * 1e6))
        );
    }
}

#[test]
fn skipped_steps_are_reached_and_groups_have_times_of_their_own() {
    let mut recorder = recorder(3).measuring(Window::new(0, SECOND));
    for is_first in [true, false] {
        recorder.skip_step(BUYER, 1, is_first);
    }
    step(&mut recorder, 1, true, true);
    for number in 0..3 {
        recorder.begin_group(BUYER, 1);
        if number > 0 {
            recorder.complete_group((BUYER, 1), 10 * MS, 4 * MS);
        }
    }
    let (snapshot, spare) = recorder.cut(SECOND, None).into_snapshot();
    let funnel = &snapshot.journeys[&BUYER];
    assert_eq!((funnel.count_skipped(1), funnel.count_skipped(7)), (2, 0));
    assert_eq!((funnel.steps[1].reached, funnel.steps[1].begun), (2, 1));
    let group = &funnel.groups[1];
    assert_eq!((group.begun, group.completed), (3, 2));
    assert_eq!((group.time.max, group.wait.max), (10 * MS, 6 * MS));
    recorder.skip_step(BUYER, 1, true);
    let next = recorder.cut(2 * SECOND, Some(spare)).into_snapshot().0;
    let funnel = &next.journeys[&BUYER];
    assert_eq!((funnel.count_skipped(1), funnel.groups.len()), (1, 0));
}

#[test]
fn plan_without_journeys_has_none_in_its_snapshots() {
    let mut recorder = recorder(1);
    let operation = operation(0);
    recorder.count_start(operation.key);
    recorder.end(&operation);
    let snapshot = recorder.cut(SECOND, None).into_snapshot().0;
    assert!(!snapshot.is_empty() && snapshot.journeys.is_empty());
}
