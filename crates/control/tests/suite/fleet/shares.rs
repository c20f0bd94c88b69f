//! Shares of lost agents, and the agents that take them over.

use super::coordinator::{RUN, SECOND, bearing, going_with, has, holding, losses, receipt, sent};
use control::{FleetAction, FleetEvent, LostPolicy, RunEvent};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Ended, SharePart, TakeOver, TookOver};

pub fn take_overs(actions: &[FleetAction], to: u64) -> Vec<TakeOver> {
    let found = sent(actions, to).into_iter();
    let orders = found.filter_map(|message| match message {
        Down::TakeOver(order) => Some(order.clone()),
        _ => None,
    });
    orders.collect()
}

pub fn ended_because(cause: proto::EndCause) -> Up {
    Up::Ended(Ended {
        run_id: RUN.to_wire(),
        cause: cause.into(),
        ..Ended::default()
    })
}

#[test]
fn share_of_a_lost_agent_is_dealt_once_its_lease_is_over_and_it_is_written_down() {
    let mut coordinator = going_with(bearing(3, LostPolicy::Redistribute, 2));
    let leased_at = coordinator.now_ns;
    coordinator.cut(2);
    let before = coordinator.pass(4, &[0, 1]);
    assert!(losses(&before).is_empty(), "its lease holds: {before:?}");
    let actions = coordinator.pass(1, &[0, 1]);
    let fired_until = |event: &RunEvent| {
        matches!(event, RunEvent::Lost { agent: 2, fired_until: Some(until), .. }
            if until.0 == leased_at + 5 * SECOND)
    };
    assert!(has(&actions, fired_until), "{actions:?}");
    let dealt = |event: &RunEvent| {
        matches!(event, RunEvent::Redistributed { agent: 2, to, from }
            if to[..] == [0, 1] && from.0 > coordinator.now_ns + SECOND)
    };
    assert!(has(&actions, dealt), "{actions:?}");
    assert!(
        take_overs(&actions, 0).is_empty(),
        "it is not written down yet"
    );
    let receipt = receipt(&actions).expect("somebody waits for it");
    let written = coordinator.on(FleetEvent::Delivered(receipt));
    let [order] = &take_overs(&written, 1)[..] else {
        panic!("{written:?}")
    };
    assert_eq!(
        (order.agent_index, order.run_id.clone()),
        (2, RUN.to_wire())
    );
    assert_eq!(order.parts, [SharePart { part: 1, parts: 2 }]);
    // It is sent again on a new stream until it is answered.
    coordinator.cut(1);
    let back = coordinator.join(5, holding(1));
    assert_eq!(take_overs(&back, 5), std::slice::from_ref(order));
    let answer = |problem: &str| {
        Up::TookOver(TookOver {
            run_id: RUN.to_wire(),
            number: order.number,
            problem: problem.into(),
            from_ns: 0,
        })
    };
    let said = coordinator.say(5, answer("no room"));
    let note = |event: &RunEvent| match event {
        RunEvent::Note { agent, text, .. } => *agent == Some(1) && text.contains("no room"),
        _ => false,
    };
    assert!(has(&said, note), "{said:?}");
    let refused = RunEvent::TakenOver {
        agent: 2,
        by: 1,
        from: None,
    };
    assert!(has(&said, |event| *event == refused), "{said:?}");
    let other = coordinator.say(
        0,
        Up::TookOver(TookOver {
            run_id: RUN.to_wire(),
            number: 1,
            problem: String::new(),
            from_ns: 20 * SECOND,
        }),
    );
    let from_20_s = |event: &RunEvent| match event {
        RunEvent::TakenOver { agent, by, from } => {
            (*agent, *by) == (2, 0) && from.is_some_and(|from| from.0 > 20 * SECOND)
        }
        _ => false,
    };
    assert!(has(&other, from_20_s), "{other:?}");
    coordinator.cut(5);
    assert!(take_overs(&coordinator.join(6, holding(1)), 6).is_empty());
}

#[test]
fn share_whose_heir_ends_before_it_hears_of_it_is_said_to_be_undone() {
    let undone = |event: &RunEvent| match event {
        RunEvent::Note { agent, text, .. } => *agent == Some(0) && text.contains("agent 1 left"),
        _ => false,
    };
    // The disk is full, and no agent is told of the share before it is stored.
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let dealt = coordinator.say(1, ended_because(proto::EndCause::Failed));
    assert!(receipt(&dealt).is_some() && take_overs(&dealt, 0).is_empty());
    let ended = coordinator.end(0);
    assert!(has(&ended, undone), "{ended:?}");
    // Once it is taken over, there is nothing to report.
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let dealt = coordinator.say(1, ended_because(proto::EndCause::Failed));
    let receipt = receipt(&dealt).expect("its share is dealt");
    let written = coordinator.on(FleetEvent::Delivered(receipt));
    let [order] = &take_overs(&written, 0)[..] else {
        panic!("{written:?}")
    };
    coordinator.say(
        0,
        Up::TookOver(TookOver {
            run_id: RUN.to_wire(),
            number: order.number,
            problem: String::new(),
            from_ns: order.from_ns,
        }),
    );
    let ended = coordinator.end(0);
    assert!(!has(&ended, undone), "{ended:?}");
}

#[test]
fn more_losses_than_are_borne_or_a_plan_that_is_over_deal_nothing() {
    let dealt = |event: &RunEvent| matches!(event, RunEvent::Redistributed { .. });
    let mut coordinator = going_with(bearing(4, LostPolicy::Redistribute, 1));
    coordinator.cut(2);
    coordinator.cut(3);
    let actions = coordinator.pass(6, &[0, 1]);
    assert!(!has(&actions, dealt), "two are lost at once: {actions:?}");
    let mut coordinator = going_with(bearing(3, LostPolicy::Redistribute, 1));
    coordinator.pass(57, &[0, 1, 2]);
    coordinator.cut(2);
    let actions = coordinator.pass(8, &[0, 1]);
    assert!(
        !losses(&actions).is_empty() && !has(&actions, dealt),
        "{actions:?}"
    );
}

#[test]
fn agent_whose_lease_ran_out_leaves_its_share_too() {
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let actions = coordinator.say(1, ended_because(proto::EndCause::LeaseExpired));
    assert!(
        has(&actions, |event| matches!(
            event,
            RunEvent::Redistributed { agent: 1, .. }
        )),
        "{actions:?}"
    );
    let mut coordinator = going_with(bearing(2, LostPolicy::Redistribute, 1));
    let actions = coordinator.say(1, ended_because(proto::EndCause::Plan));
    assert!(receipt(&actions).is_none(), "{actions:?}");
}
