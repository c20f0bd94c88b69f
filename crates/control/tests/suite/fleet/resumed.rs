//! Runs that another coordinator takes up.

use super::coordinator::{
    Coordinator, SECOND, bearing, began, events, going_with, has, hello, holding, leases, losses,
    model_of, part, past_actions, past_run, receipt, request, sent,
};
use super::shares::{ended_because, take_overs};
use control::{
    ConnectionId, FleetAction, FleetEvent, FleetTime, LostPolicy, RunEvent, RunOutcome, RunRequest,
};
use proto::Beat;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;

#[test]
fn another_coordinator_takes_the_run_up_where_its_record_ends() {
    let past = past_run(&mut Coordinator::new());
    let mut coordinator = Coordinator::new();
    coordinator.join(3, holding(1));
    let request = RunRequest {
        epoch: 2,
        ..request(2)
    };
    let actions = coordinator.on(FleetEvent::Resume(request, Box::new(past)));
    assert!(
        actions.contains(&FleetAction::Close(ConnectionId(3))),
        "its welcome did not say where it goes on: {actions:?}"
    );
    assert!(!has(&actions, |event| matches!(
        event,
        RunEvent::Assembled { .. }
    )));
    let back = coordinator.join(4, holding(0));
    let [Down::Welcome(welcome)] = sent(&back, 4)[..] else {
        panic!("{back:?}")
    };
    let resume = welcome.resumes.first().expect("the run is known");
    assert_eq!((resume.stored_below, resume.epoch), (2, 2));
    assert!(leases(&coordinator.say(4, Up::Beat(Beat::default())), 4)[0] > 0);
    let again = coordinator.say(4, part(1));
    assert!(
        events(&again).is_empty() && matches!(sent(&again, 4)[..], [Down::Ack(_)]),
        "it is stored: {again:?}"
    );
    assert_eq!(events(&coordinator.say(4, part(2))).len(), 1);
    let back = coordinator.join(5, hello(1));
    assert!(
        matches!(losses(&back)[..], [(1, why)] if why.contains("does not hold the run any more")),
        "{back:?}"
    );
    let end = coordinator.end(4);
    let outcome = RunOutcome::Ran;
    assert!(
        has(&end, |event| *event == RunEvent::Done { outcome }),
        "{end:?}"
    );
}

#[test]
fn agent_that_never_came_back_fired_until_its_last_coordinator_was_gone_and_a_lease() {
    let died_at = Coordinator::going(2).now_ns + 10 * SECOND;
    let fired_until = |left_at: Option<FleetTime>| {
        let mut past = past_run(&mut going_with(bearing(2, LostPolicy::Continue, 2)));
        left_at.into_iter().for_each(|at| past.leave(at));
        let mut coordinator = Coordinator::new();
        coordinator.now_ns = died_at + 60 * SECOND;
        coordinator.on(FleetEvent::Resume(
            bearing(2, LostPolicy::Continue, 2),
            Box::new(past),
        ));
        let actions = coordinator.pass(61, &[]);
        let until = events(&actions).into_iter().find_map(|event| match event {
            RunEvent::Lost { fired_until, .. } => *fired_until,
            _ => None,
        });
        until.map(|until| (until.0 - died_at) / SECOND)
    };
    assert_eq!(fired_until(None), Some(65), "until when is not known");
    assert_eq!(fired_until(Some(FleetTime(died_at))), Some(5));
}

#[test]
fn agent_of_a_resumed_run_has_time_to_say_that_it_began() {
    let mut told = past_actions(&mut Coordinator::new());
    // What came after the announcement was not stored.
    let is_start =
        |action: &FleetAction| matches!(action, FleetAction::Deliver(_, RunEvent::Armed { .. }, _));
    let start = told.iter().position(is_start).expect("it started");
    told.truncate(start + 1);
    let past = model_of(&told);
    let mut coordinator = Coordinator::new();
    coordinator.now_ns += 30 * SECOND;
    coordinator.on(FleetEvent::Resume(request(2), Box::new(past)));
    coordinator.join(4, holding(0));
    let before = coordinator.pass(9, &[4]);
    assert!(losses(&before).is_empty(), "{before:?}");
    coordinator.say(4, began(SECOND));
    assert!(losses(&coordinator.pass(2, &[4])).is_empty());
}

#[test]
fn run_that_is_taken_up_after_its_end_says_nothing_false_of_agents_that_were_away() {
    let past = past_run(&mut Coordinator::new());
    let mut coordinator = Coordinator::new();
    coordinator.now_ns += 1_800 * SECOND;
    coordinator.on(FleetEvent::Resume(request(2), Box::new(past)));
    coordinator.pass(12, &[]);
    coordinator.join(4, holding(0));
    let is_overdue =
        |event: &RunEvent| matches!(event, RunEvent::Note { event, .. } if event == "overdue");
    let actions = coordinator.pass(9, &[4]);
    assert!(
        !has(&actions, is_overdue),
        "it has just come back: {actions:?}"
    );
    let actions = coordinator.pass(2, &[4]);
    assert!(has(&actions, is_overdue), "{actions:?}");
    // Agent 0 is deaf; agent 1 cannot have heard that it should stop.
    let actions = coordinator.pass(90, &[4]);
    let reasons: Vec<(u32, bool)> = losses(&actions)
        .into_iter()
        .map(|(agent, why)| (agent, why.contains("told to stop")))
        .collect();
    assert_eq!(reasons, [(0, true), (1, false)], "{actions:?}");
}

#[test]
fn record_without_a_start_is_a_new_run_and_ended_agents_stay_ended() {
    let mut coordinator = Coordinator::with_agents(2);
    let resume = FleetEvent::Resume(request(2), Box::default());
    let actions = coordinator.on(resume);
    assert!(
        has(&actions, |event| matches!(
            event,
            RunEvent::Assembled { .. }
        )),
        "{actions:?}"
    );
    let mut past = Coordinator::new();
    let mut told = past_actions(&mut past);
    told.extend([0, 1].into_iter().flat_map(|at| past.end(at)));
    let mut coordinator = Coordinator::new();
    let past = Box::new(model_of(&told));
    let actions = coordinator.on(FleetEvent::Resume(request(2), past));
    let outcome = RunOutcome::Ran;
    assert_eq!(events(&actions), [&RunEvent::Done { outcome }]);
}

#[test]
fn resumed_run_knows_who_fires_what() {
    let mut past = Coordinator::with_agents(3);
    let request = bearing(3, LostPolicy::Redistribute, 2);
    let mut told = past.on(FleetEvent::Run(request));
    told.extend(past.start(3));
    told.extend(past.begin(3));
    past.cut(2);
    let lost = past.pass(5, &[0, 1]);
    let written = past.on(FleetEvent::Delivered(receipt(&lost).unwrap()));
    told.extend(lost);
    let past = model_of(&told);
    let order = take_overs(&written, 1);
    let mut coordinator = Coordinator::new();
    let request = bearing(3, LostPolicy::Redistribute, 2);
    coordinator.on(FleetEvent::Resume(request, Box::new(past)));
    let back = coordinator.join(7, holding(1));
    assert_eq!(
        take_overs(&back, 7),
        order,
        "the same, since it did not answer"
    );
    let lost = coordinator.join(8, holding(2));
    assert!(
        has(&lost, |event| *event == RunEvent::Back { agent: 2 }),
        "it may still deliver: {lost:?}"
    );
}

#[test]
fn resumed_run_deals_shares_that_no_agent_was_given_and_counts_every_loss_once() {
    for (ends, tolerate, is_dealt) in [
        (proto::EndCause::LeaseExpired, 1, true),
        (proto::EndCause::Failed, 1, true),
        (proto::EndCause::Plan, 1, false),
        // One more than the run tolerates.
        (proto::EndCause::LeaseExpired, 0, false),
    ] {
        let mut past = Coordinator::with_agents(3);
        let request = bearing(3, LostPolicy::Redistribute, tolerate);
        let mut told = past.on(FleetEvent::Run(request.clone()));
        told.extend(past.start(3));
        told.extend(past.begin(3));
        // The coordinator dies before it is stored which agents fire the rest.
        told.extend(past.say(2, ended_because(ends)));
        told.retain(|action| {
            !matches!(
                action,
                FleetAction::Deliver(_, RunEvent::Redistributed { .. }, _)
            )
        });
        let mut coordinator = Coordinator::new();
        let resume = FleetEvent::Resume(request, Box::new(model_of(&told)));
        let mut actions = coordinator.on(resume);
        actions.extend(coordinator.join(7, holding(0)));
        let dealt = |event: &RunEvent| match event {
            RunEvent::Redistributed { agent, to, .. } => *agent == 2 && to[..] == [0],
            _ => false,
        };
        assert_eq!(has(&actions, dealt), is_dealt, "{ends:?}: {actions:?}");
    }
}
