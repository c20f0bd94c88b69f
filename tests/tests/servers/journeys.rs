//! Journeys through the shop of `examples/shop.toml`, which is Python's: it tells what each session
//! asked for.

use interop::{CoordinatorCommand, Finished, PythonServer};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

const EXAMPLE: &str = include_str!("../../../examples/shop.toml");

/// What each session asked for, in its order: method, path and status.
type Sessions = BTreeMap<String, Vec<String>>;

fn sessions(file: &Path) -> Sessions {
    let mut sessions = Sessions::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let (session, asked) = line.split_once(' ').unwrap();
        let asked = asked.to_owned();
        sessions.entry(session.to_owned()).or_default().push(asked);
    }
    sessions
}

/// The example with this load, and `more` sections.
fn shop(server: &PythonServer, load: &str) -> String {
    let (plan, _) = EXAMPLE.split_once("[load]").unwrap();
    let plan = plan.replace("http://127.0.0.1:8090/", &server.url());
    assert!(plan.contains(&server.url()));
    format!("{plan}\n[load]\n{load}\n")
}

/// Runs the shop's plan with as many agents. Returns what the server saw of it.
fn run(agents: u32, load: &str, change: impl Fn(&str) -> String) -> Option<(Finished, Sessions)> {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let server = PythonServer::shop(Ipv4Addr::LOCALHOST.into(), &seen)?;
    let plan = change(&shop(&server, load));
    let finished = CoordinatorCommand::local(agents, &plan).run();
    Some((finished, sessions(&seen)))
}

/// Operations that ended ok by the result, and requests by the server.
fn assert_counts(finished: &Finished, sessions: &Sessions) {
    let requests: usize = sessions.values().map(Vec::len).sum();
    let operations = finished.document().measured.operations;
    assert_eq!(
        operations.ok + operations.failed,
        requests as u64,
        "{finished}"
    );
}

/// Whether a session went on in the order of its journey's steps.
fn is_in_order(asked: &[String]) -> bool {
    const FORM: &str = "GET /login 200";
    const LOGIN: &str = "POST /login 303";
    const SEARCH: &str = "GET /items?q=shoes 200";
    let rest = match asked {
        [form, login, rest @ ..] if form == FORM && login == LOGIN => rest,
        [form] => return form == FORM,
        _ => return false,
    };
    let searches = rest.iter().take_while(|asked| *asked == SEARCH).count();
    match &rest[searches..] {
        [] => searches <= 3,
        [order] => {
            searches == 3 && order.starts_with("POST /orders/shoes%2F") && order.ends_with("201")
        }
        _ => false,
    }
}

#[test]
fn a_fleet_of_any_size_makes_the_same_journeys() {
    for load in [
        "connections = 8\njourneys = 120",
        "rate = \"60/s\"\njourneys = 120\nmax_connections = 200",
    ] {
        let mut made: Option<Vec<Vec<String>>> = None;
        for agents in [1, 2, 4] {
            let Some((finished, sessions)) = run(agents, load, str::to_owned) else {
                return;
            };
            let finished = finished.expect(0);
            assert_counts(&finished, &sessions);
            let mut all: Vec<Vec<String>> = sessions.into_values().collect();
            assert!(all.iter().all(|asked| is_in_order(asked)), "{all:?}");
            all.sort();
            let number = |has: fn(&[String]) -> bool| all.iter().filter(|all| has(all)).count();
            // Three of four search three times, and seven of ten of these order.
            assert_eq!((all.len(), number(|asked| asked.len() >= 5)), (120, 90));
            let orders = number(|asked| asked.len() == 6);
            assert!((50..=76).contains(&orders), "{orders} orders");
            match &made {
                None => made = Some(all),
                Some(made) => assert_eq!(made, &all, "{agents} agents, {load}"),
            }
        }
    }
}

#[test]
fn a_journey_ends_with_the_step_that_fails() {
    // An item that was not found is refused.
    let change = |plan: &str| plan.replace("{ item = \"{item}\" }", "{ item = \"none\" }");
    let Some((finished, sessions)) = run(2, "connections = 4\njourneys = 60", change) else {
        return;
    };
    assert_counts(&finished, &sessions);
    let refused = |asked: &&Vec<String>| asked.last().unwrap().ends_with("403");
    let refused = sessions.values().filter(refused).count();
    let operations = finished.document().measured.operations;
    assert!(refused > 15, "{finished}");
    assert_eq!(
        (operations.failed, sessions.len()),
        (refused as u64, 60),
        "{finished}"
    );
}

#[test]
fn what_a_journey_has_captured_and_keeps_is_its_own() {
    // Without cookies the shop knows no session; with a wrong field it refuses.
    for (old, new, refusal) in [
        (
            "name = \"buyer\"",
            "name = \"buyer\"\ncookies = false",
            "POST /login 403",
        ),
        (
            "value=\"([^\"]+)\"'",
            "type=\"([^\"]+)\"', missing = \"skip\"",
            "POST /login 403",
        ),
    ] {
        let change = |plan: &str| {
            assert!(plan.contains(old));
            plan.replace(old, new)
        };
        let Some((finished, sessions)) = run(1, "connections = 2\njourneys = 20", change) else {
            return;
        };
        let refused = sessions
            .values()
            .flatten()
            .filter(|asked| *asked == refusal)
            .count();
        let operations = finished.document().measured.operations;
        assert_eq!(operations.failed, refused as u64, "{finished}");
        assert!(refused >= 15, "{new}: {sessions:?}");
    }
}

#[test]
fn journeys_are_abandoned_at_the_end_of_the_load() {
    let change = |plan: &str| {
        plan.replace(
            "mean = \"100ms\", most = \"1s\"",
            "min = \"10s\", max = \"10s\"",
        )
    };
    let load = "rate = \"40/s\"\nduration = \"1s\"\nmax_connections = 100";
    let Some((finished, sessions)) = run(1, load, change) else {
        return;
    };
    let finished = finished.expect(0);
    assert_counts(&finished, &sessions);
    assert_eq!(sessions.len(), 40);
    let cut = sessions.values().filter(|asked| asked.len() == 2).count();
    assert!(cut >= 30, "{sessions:?}");
}
