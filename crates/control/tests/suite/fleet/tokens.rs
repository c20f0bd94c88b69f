//! Tokens that agents are given and that are renewed.

use super::coordinator::{
    Coordinator, RUN, SECOND, armed, events, held, hello, prepared, request, sent,
};
use control::{FleetAction, FleetEvent, FleetTime, FleetToken, RunEvent, TokenReport};
use proto::Hello;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;

fn tokens_of(actions: &[FleetAction], to: u64) -> Vec<(String, Option<u64>)> {
    let found = sent(actions, to).into_iter();
    let tokens = found.filter_map(|message| match message {
        Down::Token(token) => {
            assert_eq!((&token.run_id, token.place), (&RUN.to_wire(), 3));
            Some((token.text.clone(), token.ends.then_some(token.left_ns)))
        }
        _ => None,
    });
    tokens.collect()
}

fn token(text: &str, expires_at: Option<u64>) -> FleetToken {
    FleetToken {
        place: 3,
        text: text.to_owned().into(),
        expires_at: expires_at.map(FleetTime),
    }
}

#[test]
fn agents_have_the_latest_token_once_they_are_ready_and_when_they_come_back() {
    let mut coordinator = Coordinator::with_agents(1);
    let mut wanted = request(2);
    wanted.tokens = vec![token("first", None)];
    let asked = |actions: &[FleetAction]| -> Vec<bool> {
        let came = events(actions).into_iter();
        let came = came.filter_map(|event| match event {
            RunEvent::TokenAsked { place: 3, came } => Some(*came),
            _ => None,
        });
        came.collect()
    };
    let renew = |text: &str, at| FleetEvent::Token(RUN, TokenReport::Came(token(text, at)));
    assert_eq!(asked(&coordinator.on(FleetEvent::Run(wanted))), [true]);
    // The run still waits for an agent.
    assert_eq!(asked(&coordinator.on(renew("second", None))), [true]);
    coordinator.join(1, hello(1));
    let actions = coordinator.say(0, Up::Prepared(prepared(500)));
    assert_eq!(tokens_of(&actions, 0), [("second".to_owned(), None)]);
    let expires_at = coordinator.now_ns + 7 * SECOND;
    let actions = coordinator.on(renew("third", Some(expires_at)));
    let third = ("third".to_owned(), Some(7 * SECOND));
    assert_eq!(tokens_of(&actions, 0), std::slice::from_ref(&third));
    assert!(tokens_of(&actions, 1).is_empty(), "it is not ready");
    let actions = coordinator.say(1, Up::Prepared(prepared(500)));
    assert_eq!(tokens_of(&actions, 1), [third]);
    (0..2).for_each(|agent| drop(coordinator.say(agent, armed(1))));
    coordinator.begin(2);
    let told = Some("no more".to_owned());
    let missed = TokenReport::Missed { place: 3, told };
    let actions = coordinator.on(FleetEvent::Token(RUN, missed));
    assert_eq!(asked(&actions), [false]);
    let is_note =
        |event: &&RunEvent| matches!(event, RunEvent::Note { text, .. } if text == "no more");
    assert_eq!(
        events(&actions)
            .iter()
            .filter(|event| is_note(event))
            .count(),
        1
    );
    let left = (0..2).flat_map(|agent| tokens_of(&actions, agent)).count();
    assert_eq!(left, 0);
    let back = Hello {
        held_runs: held(),
        ..hello(1)
    };
    coordinator.now_ns = expires_at - 1;
    let actions = coordinator.join(8, back.clone());
    assert_eq!(tokens_of(&actions, 8), [("third".to_owned(), Some(1))]);
    // It expires while the agent is away, which counts that by itself.
    coordinator.now_ns = expires_at;
    let actions = coordinator.join(9, back);
    assert!(tokens_of(&actions, 9).is_empty());
}
