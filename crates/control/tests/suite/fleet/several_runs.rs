//! Several runs at a time, on disjoint agents.

use super::coordinator::{Coordinator, RUN, events, hello, leases, prepared, request, sent};
use control::{
    AgentFacts, AgentId, FleetAction, FleetEvent, FleetTime, RunEvent, RunId, RunModel, RunRequest,
    Stop,
};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Armed, Beat, Bytes, Hello, Prepared};
use std::time::Duration;

const OTHER: RunId = RunId([4; 16]);

/// Which agents each run begins on.
fn chosen(actions: &[FleetAction]) -> Vec<(RunId, Vec<&str>)> {
    let found = actions.iter().filter_map(|action| match action {
        FleetAction::Deliver(run, RunEvent::Assembled { agents }, _) => {
            let names = agents.iter().map(|agent| agent.name.as_str());
            Some((*run, names.collect()))
        }
        _ => None,
    });
    found.collect()
}

fn other(agents: u32) -> RunRequest {
    RunRequest {
        run: OTHER,
        ..request(agents)
    }
}

#[test]
fn two_runs_choose_disjoint_agents_in_the_order_in_which_they_were_requested() {
    let mut coordinator = Coordinator::with_agents(1);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.on(FleetEvent::Run(other(1)));
    let first = coordinator.join(1, hello(1));
    assert_eq!(chosen(&first), [(RUN, vec!["agent-0", "agent-1"])]);
    let second = coordinator.join(2, hello(2));
    assert_eq!(chosen(&second), [(OTHER, vec!["agent-2"])]);
    let third = coordinator.join(3, hello(3));
    assert!(
        matches!(sent(&third, 3)[..], [Down::Welcome(_), Down::Notice(_)]),
        "{third:?}"
    );
}

#[test]
fn run_that_waits_gets_the_agents_of_one_that_is_over() {
    let mut coordinator = Coordinator::going(2);
    let waiting = coordinator.on(FleetEvent::Run(other(2)));
    assert_eq!(events(&waiting), [&RunEvent::Waiting { have: 0, want: 2 }]);
    coordinator.on(FleetEvent::Stop(OTHER, Stop::Drain));
    assert!(coordinator.fleet.serves(RUN) && !coordinator.fleet.serves(OTHER));
    coordinator.on(FleetEvent::Run(other(2)));
    coordinator.end(0);
    let over = coordinator.end(1);
    assert_eq!(chosen(&over), [(OTHER, vec!["agent-0", "agent-1"])]);
    assert!(!coordinator.fleet.serves(RUN));
}

#[test]
fn agents_that_a_run_had_chosen_go_to_the_next_one_when_it_is_given_up() {
    let mut coordinator = Coordinator::with_agents(1);
    coordinator.on(FleetEvent::Run(request(2)));
    coordinator.on(FleetEvent::Run(other(1)));
    let given_up = coordinator.on(FleetEvent::Stop(RUN, Stop::Drain));
    assert_eq!(chosen(&given_up), [(OTHER, vec!["agent-0"])]);
}

#[test]
fn run_that_gets_its_agents_as_its_wait_ends_begins() {
    let mut coordinator = Coordinator::with_agents(1);
    let wait = Some(Duration::from_secs(10));
    for mut request in [request(2), other(1)] {
        request.rules.join_timeout = wait;
        coordinator.on(FleetEvent::Run(request));
    }
    let too_late = coordinator.pass(10, &[0]);
    assert_eq!(chosen(&too_late), [(OTHER, vec!["agent-0"])]);
    assert!(coordinator.fleet.serves(OTHER) && !coordinator.fleet.serves(RUN));
}

#[test]
fn run_is_not_taken_up_while_its_agent_serves_another() {
    let going = Coordinator::going(1);
    let mut past = RunModel::default();
    let agents = vec![AgentFacts::new(AgentId([0; 16]), "agent-0")];
    past.take(&RunEvent::Assembled { agents }, FleetTime(0));
    assert!(!going.fleet.can_resume(OTHER, &past));
    assert!(!going.fleet.can_resume(RUN, &RunModel::default()));
    assert!(going.fleet.can_resume(OTHER, &RunModel::default()));
    assert!(Coordinator::with_agents(1).fleet.can_resume(OTHER, &past));
}

#[test]
fn monitor_watches_the_run_that_began_first_and_then_the_next() {
    let mut coordinator = Coordinator::with_agents(1);
    let monitor = Hello {
        role: proto::Role::Monitor.into(),
        ..hello(9)
    };
    coordinator.on(FleetEvent::Run(request(1)));
    coordinator.join(9, monitor);
    coordinator.join(1, hello(1));
    coordinator.on(FleetEvent::Run(other(1)));
    let mut actions = coordinator.start(1);
    actions.extend(coordinator.begin(1));
    let watched = |actions: &[FleetAction]| -> Vec<Bytes> {
        let observe = |down: &Down| match down {
            Down::Observe(observe) => Some(observe.run_id.clone()),
            _ => None,
        };
        sent(actions, 9).into_iter().filter_map(observe).collect()
    };
    assert_eq!(watched(&actions), [RUN.to_wire()]);
    let run_id = OTHER.to_wire();
    let ready = Prepared {
        run_id: run_id.clone(),
        ..prepared(500)
    };
    let mut started = coordinator.say(1, Up::Prepared(ready));
    started.extend(coordinator.say(1, Up::Armed(Armed { run_id, attempt: 1 })));
    started.extend(coordinator.say(1, Up::Beat(Beat::default())));
    assert_eq!(leases(&started, 1).len(), 1, "{started:?}");
    assert_eq!(watched(&started), [] as [Bytes; 0]);
    assert_eq!(watched(&coordinator.end(0)), [OTHER.to_wire()]);
}
