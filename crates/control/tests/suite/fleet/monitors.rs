//! Monitors: what they observe and the CPU profiles that they take.

use super::coordinator::{
    Coordinator, RUN, SECOND, events, has, hello, is_acknowledged, leases, losses, model_of,
    monitor, observed, past_actions, receipt, request, sent,
};
use control::{FleetAction, FleetEvent, Observer, RunEvent, RunRequest};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Bytes, Hello, ProfilePart};

/// The observed seconds, as the events report them.
fn observations(actions: &[FleetAction]) -> Vec<(Observer, u32)> {
    let told = events(actions).into_iter();
    told.filter_map(|event| match event {
        RunEvent::Observed { by, second, .. } => Some((*by, *second)),
        _ => None,
    })
    .collect()
}

#[test]
fn monitor_watches_from_the_start_to_the_end_and_no_run_waits_for_it() {
    let mut coordinator = Coordinator::new();
    coordinator.join(0, hello(0));
    coordinator.join(7, monitor(7));
    let actions = coordinator.on(FleetEvent::Run(request(2)));
    assert!(
        has(&actions, |event| *event
            == RunEvent::Waiting { have: 1, want: 2 }),
        "{actions:?}"
    );
    coordinator.join(1, hello(1));
    coordinator.start(2);
    let actions = coordinator.begin(2);
    let [Down::Observe(observe)] = sent(&actions, 7)[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(observe.run_id, RUN.to_wire());
    assert!(has(&actions, |event| matches!(
        event,
        RunEvent::Watching { .. }
    )));
    assert_eq!(
        leases(&coordinator.say(7, Up::Beat(Beat::default())), 7),
        [0]
    );

    let actions = coordinator.say(7, observed(0));
    assert_eq!(observations(&actions), [(Observer::Monitor(0), 0)]);
    let receipt = receipt(&actions).expect("it waits to be stored");
    let again = coordinator.say(7, observed(0));
    assert!(observations(&again).is_empty(), "it came twice: {again:?}");
    let far = coordinator.say(7, observed(100));
    assert!(observations(&far).is_empty(), "it is not over yet: {far:?}");
    let stored = coordinator.on(FleetEvent::Delivered(receipt));
    assert!(is_acknowledged(&stored, 7, Stored::Second(0)), "{stored:?}");

    // A monitor that is lost costs the run nothing, and is recognised when it comes back.
    let is_said = |actions: &[FleetAction], what: &str| {
        has(actions, |event| match event {
            RunEvent::Note { agent, text, .. } => agent.is_none() && text.ends_with(what),
            _ => false,
        })
    };
    let cut = coordinator.cut(7);
    assert!(is_said(&cut, " is away"), "{cut:?}");
    assert!(losses(&coordinator.pass(4, &[0, 1])).is_empty());
    let back = coordinator.join(8, monitor(7));
    assert!(is_said(&back, " is back"), "{back:?}");
    assert!(
        matches!(sent(&back, 8)[..], [Down::Welcome(_), Down::Observe(_)]),
        "{back:?}"
    );
    let actions = coordinator.say(8, observed(1));
    assert_eq!(observations(&actions), [(Observer::Monitor(0), 1)]);

    coordinator.end(0);
    let actions = coordinator.end(1);
    assert!(coordinator.fleet.is_idle(), "{actions:?}");
    assert!(
        matches!(sent(&actions, 8)[..], [Down::Release(_)]),
        "{actions:?}"
    );
    let cut = coordinator.cut(8);
    assert!(events(&cut).is_empty(), "no run is there: {cut:?}");
}

#[test]
fn monitor_of_other_language_watches_and_no_run_complains() {
    let mut coordinator = Coordinator::new();
    coordinator.join(0, hello(0));
    let other = Hello {
        plan_language: 3,
        snapshot_encoding: 1,
        ..monitor(7)
    };
    coordinator.join(7, other);
    let actions = coordinator.on(FleetEvent::Run(request(1)));
    let is_note = |event: &RunEvent| matches!(event, RunEvent::Note { .. });
    assert!(!has(&actions, is_note), "{actions:?}");
    coordinator.start(1);
    let actions = coordinator.begin(1);
    assert!(matches!(sent(&actions, 7)[..], [Down::Observe(_)]));
}

#[test]
fn monitors_that_are_started_again_and_again_do_not_make_a_run_endless() {
    let mut coordinator = Coordinator::going(1);
    let mut watching = 0;
    for number in 0..1_010_u64 {
        let mut id = [7; 16];
        id[..8].copy_from_slice(&number.to_le_bytes());
        let hello = Hello {
            agent_id: Bytes::copy_from_slice(&id),
            ..monitor(1)
        };
        let at = 100 + number;
        let actions = coordinator.join(at, hello);
        let is_watching = |event: &RunEvent| matches!(event, RunEvent::Watching { .. });
        watching += u32::from(has(&actions, is_watching));
        coordinator.cut(at);
    }
    assert_eq!(watching, 1_000);
}

#[test]
fn agents_observe_their_own_machines() {
    let mut coordinator = Coordinator::going(2);
    let actions = coordinator.say(1, observed(0));
    assert_eq!(observations(&actions), [(Observer::Agent(1), 0)]);
    let stored = coordinator.on(FleetEvent::Delivered(receipt(&actions).unwrap()));
    assert!(is_acknowledged(&stored, 1, Stored::Second(0)), "{stored:?}");
}

#[test]
fn monitors_keep_their_numbers_where_a_run_is_taken_up() {
    let mut coordinator = Coordinator::new();
    coordinator.join(7, monitor(7));
    let mut told = past_actions(&mut coordinator);
    told.extend(coordinator.say(7, observed(0)));
    let mut next = Coordinator::new();
    let request = RunRequest {
        epoch: 2,
        ..request(2)
    };
    let past = Box::new(model_of(&told));
    next.on(FleetEvent::Resume(request, past));
    let actions = next.join(3, monitor(7));
    assert!(
        !has(&actions, |event| matches!(event, RunEvent::Watching { .. })),
        "it is known: {actions:?}"
    );
    let again = next.say(3, observed(0));
    assert!(observations(&again).is_empty(), "it is stored: {again:?}");
}

fn profile_part(part: u32, parts: u32) -> Up {
    Up::Profile(ProfilePart {
        run_id: RUN.to_wire(),
        part,
        parts,
        content: Bytes::from_static(b"stacks"),
    })
}

/// Parts of profiles, as the events report them: the monitor, the part, and the number of parts.
fn profile_parts(actions: &[FleetAction]) -> Vec<(u32, u32, u32)> {
    let told = events(actions).into_iter();
    told.filter_map(|event| match event {
        RunEvent::ProfilePart {
            monitor,
            part,
            parts,
            ..
        } => Some((*monitor, *part, *parts)),
        _ => None,
    })
    .collect()
}

/// A run of two agents that a monitor watches.
fn watched() -> Coordinator {
    let mut coordinator = Coordinator::new();
    coordinator.join(7, monitor(7));
    past_actions(&mut coordinator);
    coordinator
}

#[test]
fn what_is_stored_is_acknowledged_again_where_a_cut_lost_it() {
    let mut coordinator = watched();
    let observation = receipt(&coordinator.say(7, observed(0))).unwrap();
    let part = receipt(&coordinator.say(7, profile_part(0, 2))).unwrap();
    coordinator.cut(7);
    coordinator.on(FleetEvent::Delivered(observation));
    coordinator.on(FleetEvent::Delivered(part));
    coordinator.join(8, monitor(7));
    let again = coordinator.say(8, observed(0));
    assert!(is_acknowledged(&again, 8, Stored::Second(0)), "{again:?}");
    let again = coordinator.say(8, profile_part(0, 2));
    assert!(
        is_acknowledged(&again, 8, Stored::ProfilePart(0)),
        "{again:?}"
    );
    assert!(events(&again).is_empty(), "{again:?}");
    let next = coordinator.say(8, profile_part(1, 2));
    assert_eq!(profile_parts(&next), [(0, 1, 2)]);
}

#[test]
fn profile_goes_on_where_a_run_is_taken_up() {
    let mut coordinator = Coordinator::new();
    coordinator.join(7, monitor(7));
    let mut told = past_actions(&mut coordinator);
    told.extend(coordinator.say(7, profile_part(0, 2)));
    let mut next = Coordinator::new();
    let request = RunRequest {
        epoch: 2,
        ..request(2)
    };
    next.on(FleetEvent::Resume(request, Box::new(model_of(&told))));
    next.join(3, monitor(7));
    let again = next.say(3, profile_part(0, 2));
    assert!(
        is_acknowledged(&again, 3, Stored::ProfilePart(0)),
        "{again:?}"
    );
    assert_eq!(profile_parts(&next.say(3, profile_part(1, 2))), [(0, 1, 2)]);
}

fn is_done(actions: &[FleetAction]) -> bool {
    has(actions, |event| matches!(event, RunEvent::Done { .. }))
}

fn is_of_a_missing_profile(event: &RunEvent) -> bool {
    match event {
        RunEvent::Note { text, .. } => text.contains("no CPU profile: it had not arrived"),
        _ => false,
    }
}

#[test]
fn end_waits_a_moment_for_a_profile_that_is_under_way_and_no_longer() {
    let is_released = |actions: &[FleetAction]| matches!(sent(actions, 7)[..], [Down::Release(_)]);
    for delivers in [true, false] {
        let mut coordinator = watched();
        coordinator.say(7, profile_part(0, 0));
        coordinator.end(0);
        let ended = coordinator.end(1);
        assert!(!is_done(&ended), "{ended:?}");
        assert!(is_released(&ended), "it ends its profile: {ended:?}");
        if delivers {
            let part = coordinator.say(7, profile_part(0, 1));
            let stored = coordinator.on(FleetEvent::Delivered(receipt(&part).unwrap()));
            assert!(
                is_acknowledged(&stored, 7, Stored::ProfilePart(0)),
                "{stored:?}"
            );
            let done = coordinator.pass(1, &[7]);
            assert!(
                is_done(&done) && !has(&done, is_of_a_missing_profile),
                "{done:?}"
            );
        } else {
            assert!(!is_done(&coordinator.pass(4, &[7])));
            let late = coordinator.pass(2, &[7]);
            assert!(is_done(&late) && !is_released(&late), "{late:?}");
            assert!(has(&late, is_of_a_missing_profile), "{late:?}");
        }
        assert!(coordinator.fleet.is_idle());
    }
}

#[test]
fn end_waits_for_no_monitor_that_is_away() {
    let mut coordinator = watched();
    coordinator.say(7, profile_part(0, 0));
    coordinator.cut(7);
    coordinator.end(0);
    let ended = coordinator.end(1);
    assert!(coordinator.fleet.is_idle(), "{ended:?}");
    assert!(has(&ended, is_of_a_missing_profile), "{ended:?}");
}

/// The next coordinator of a run whose agents have ended, and whose monitor was taking a profile.
fn taken_up_after_the_end() -> Coordinator {
    let mut coordinator = Coordinator::new();
    coordinator.join(7, monitor(7));
    let mut told = past_actions(&mut coordinator);
    told.extend(coordinator.say(7, profile_part(0, 0)));
    (0..2).for_each(|agent| told.extend(coordinator.end(agent)));
    assert!(!is_done(&told), "{told:?}");
    let mut next = Coordinator::new();
    let request = RunRequest {
        epoch: 2,
        ..request(2)
    };
    let taken_up = next.on(FleetEvent::Resume(request, Box::new(model_of(&told))));
    assert!(!is_done(&taken_up), "{taken_up:?}");
    next
}

#[test]
fn run_that_is_taken_up_after_its_end_waits_for_its_monitors() {
    let mut next = taken_up_after_the_end();
    next.pass(4, &[]);
    next.join(3, monitor(7));
    assert!(!is_done(&next.pass(1, &[3])), "it has said nothing yet");
    next.say(3, profile_part(0, 0));
    assert!(!is_done(&next.pass(4, &[3])));
    let part = next.say(3, profile_part(0, 1));
    next.on(FleetEvent::Delivered(receipt(&part).unwrap()));
    let done = next.pass(1, &[3]);
    assert!(is_done(&done), "{done:?}");
}

#[test]
fn run_that_is_taken_up_after_its_end_does_not_wait_long_for_monitors() {
    let mut next = taken_up_after_the_end();
    assert!(!is_done(&next.pass(7, &[])));
    assert!(is_done(&next.pass(1, &[])));
}

#[test]
fn message_before_the_first_tick_after_a_standstill_does_not_end_the_wait_for_a_profile() {
    let mut coordinator = watched();
    coordinator.say(7, profile_part(0, 0));
    (0..2).for_each(|agent| drop(coordinator.end(agent)));
    coordinator.pass(1, &[0, 7]);
    coordinator.now_ns += 6 * SECOND;
    let late = coordinator.say(0, observed(1));
    assert!(!is_done(&late), "{late:?}");
    assert!(!is_done(&coordinator.pass(4, &[7])));
    assert!(is_done(&coordinator.pass(2, &[7])));
}
