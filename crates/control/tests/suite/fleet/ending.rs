//! Runs that are stopped, or that take too long to end.

use super::coordinator::{Coordinator, RUN, has, holding, losses, sent};
use control::{FleetEvent, RunEvent, Stop};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Bytes, IntervalPart};

#[test]
fn run_that_goes_on_long_after_its_time_is_stopped() {
    let mut coordinator = Coordinator::going(1);
    let actions = coordinator.pass(60 + 5 + 12, &[0]);
    assert!(
        has(
            &actions,
            |event| matches!(event, RunEvent::Note { event, .. } if event == "overdue")
        ),
        "{actions:?}"
    );
    assert!(
        sent(&actions, 0)
            .iter()
            .any(|message| matches!(message, Down::Stop(stop) if stop.now))
    );
    let actions = coordinator.pass(30, &[0]);
    assert!(
        has(&actions, |event| matches!(
            event,
            RunEvent::Lost { agent: 0, .. }
        )),
        "{actions:?}"
    );
}

#[test]
fn drain_that_takes_too_long_is_cut() {
    let mut coordinator = Coordinator::going(1);
    coordinator.on(FleetEvent::Stop(RUN, Stop::Drain));
    let actions = coordinator.pass(16, &[0]);
    assert!(
        sent(&actions, 0)
            .iter()
            .any(|message| matches!(message, Down::Stop(stop) if stop.now)),
        "{actions:?}"
    );
}

#[test]
fn stop_at_once_ends_within_half_a_minute_whatever_streams_do() {
    let mut coordinator = Coordinator::going(1);
    coordinator.on(FleetEvent::Stop(RUN, Stop::Now));
    let of_totals = |part| {
        Up::Interval(IntervalPart {
            run_id: RUN.to_wire(),
            interval: 0,
            part,
            parts: 9,
            content: Bytes::new(),
            totals: true,
        })
    };
    let mut seconds = 0;
    let mut at = 0;
    while !coordinator.fleet.is_idle() {
        coordinator.cut(at);
        at = 10 + seconds;
        coordinator.join(at, holding(0));
        // The same three parts on every stream.
        (0..3).for_each(|part| {
            coordinator.say(at, of_totals(part));
        });
        coordinator.pass(1, &[at]);
        seconds += 1;
        assert!(seconds < 40, "it goes on and on");
    }
    assert!(seconds >= 29, "{seconds}");
}

#[test]
fn agent_that_was_away_has_as_long_to_stop_once_it_is_back() {
    let mut coordinator = Coordinator::going(1);
    coordinator.pass(7, &[]);
    coordinator.on(FleetEvent::Stop(RUN, Stop::Now));
    coordinator.pass(40, &[]);
    coordinator.join(5, holding(0));
    let waited = coordinator.pass(29, &[5]);
    assert_eq!(losses(&waited), [], "{waited:?}");
    let deaf = coordinator.pass(1, &[5]);
    assert_eq!(losses(&deaf), [(0, "it was told to stop and does not")]);
}
