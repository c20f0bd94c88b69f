//! Journeys through the shop of `examples/shop.toml`, which is Python's: it tells what each session
//! asked for.

mod pooled;

use interop::{CoordinatorCommand, Finished, PythonServer, play_side_by_side};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;

const EXAMPLE: &str = include_str!("../../../../examples/shop.toml");

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
    let (finished, sessions, _) = run_with_logins(agents, load, change)?;
    Some((finished, sessions))
}

/// The same, with how often each user has logged in.
fn run_with_logins(
    agents: u32,
    load: &str,
    change: impl Fn(&str) -> String,
) -> Option<(Finished, Sessions, BTreeMap<String, u64>)> {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let server = PythonServer::shop(Ipv4Addr::LOCALHOST.into(), &seen)?;
    let plan = change(&shop(&server, load));
    let finished = CoordinatorCommand::local(agents, &plan).run();
    // The question for logins would be one of the sessions' requests.
    let sessions = sessions(&seen);
    Some((finished, sessions, logins(&server)))
}

/// The shop's plan, whose users log in once: three searches, or one.
fn once(plan: &str) -> String {
    let plan = plan.replace(
        "\"form\", \"login\",",
        "{ request = \"form\", once = \"user\" }, { request = \"login\", once = \"user\" },",
    );
    assert_eq!(plan.matches("once = \"user\"").count(), 4);
    plan
}

/// How often each user has logged in, by the shop's own count.
fn logins(server: &PythonServer) -> BTreeMap<String, u64> {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let request = "GET /logins HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
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
    let loads = [
        "connections = 8\njourneys = 120",
        "rate = \"60/s\"\njourneys = 120\nmax_connections = 200",
    ];
    let name = |load: &&str| load.replace('\n', ", ");
    play_side_by_side(loads, 2, name, |load| {
        assert_same_journeys(load);
        Ok(())
    });
}

/// Runs one, two and four agents with this load.
fn assert_same_journeys(load: &str) {
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

/// The shop's plan, whose journeys have loads of their own: 20 and, from the second second on, 6
/// each second.
fn loads(plan: &str) -> String {
    let (buyers, visitors) = (
        "load.rate = \"20/s\"\nsteps",
        "load = { rate = \"0/s\", stage = [{ over = \"1s\" }, { to = \"6/s\" }] }\nsteps",
    );
    let changed = plan.replace("weight = 3\nsteps", buyers).replace(
        "name = \"visitor\"\nsteps",
        &format!("name = \"visitor\"\n{visitors}"),
    );
    assert_eq!(changed.matches("/s\"").count(), 3, "{changed}");
    changed
}

#[test]
fn journeys_with_loads_of_their_own_arrive_as_often_as_those_say() {
    // Before 3 s, 60 buyers and 12 visitors are due; those of the next instant end the load.
    for (agents, load) in [
        (1, "journeys = 72\nmax_connections = 100"),
        (2, "journeys = 72\nmax_connections = 100"),
        (
            4,
            "duration = \"3s\"\nmax_connections = 100\nwarm_up = \"500ms\"",
        ),
    ] {
        let Some((finished, sessions)) = run(agents, load, loads) else {
            return;
        };
        let document = finished.whole_document(agents as usize);
        let funnel = &document.journeys;
        let begun: Vec<(&str, u64)> = funnel
            .iter()
            .map(|journey| (journey.name.as_str(), journey.begun + journey.not_sent))
            .collect();
        assert_eq!(
            begun,
            [("buyer", 60), ("visitor", 12)],
            "{agents} agents: {load}"
        );
        if load.contains("warm_up") {
            continue; // which has buyers too, and the end cuts some off
        }
        // A buyer searches three times, a visitor once.
        let searched = |times: usize| {
            let searches = |asked: &&Vec<String>| {
                let searches = asked.iter().filter(|asked| asked.contains("/items"));
                searches.count() == times
            };
            sessions.values().filter(searches).count()
        };
        assert_eq!((searched(3), searched(1), sessions.len()), (60, 12, 72));
        assert_counts(&finished, &sessions);
    }
}

#[test]
fn random_arrivals_of_journeys_are_the_same_over_fleets() {
    let load = "journeys = 72\narrivals = \"poisson\"\nmax_connections = 100";
    let mut made = Vec::new();
    for agents in [1, 2] {
        let Some((finished, sessions)) = run(agents, load, loads) else {
            return;
        };
        assert_counts(&finished, &sessions);
        let document = finished.document();
        let begun = document.journeys.iter().map(|journey| journey.begun);
        made.push(begun.collect::<Vec<u64>>());
    }
    // By their rates 60 and 12, give or take four standard deviations.
    assert!((46..=71).contains(&made[0][0]), "{made:?}");
    assert_eq!(made[0].iter().sum::<u64>(), 72);
    assert_eq!(made[0], made[1]);
}

/// The shop's plan, whose journeys have users of their own: two, and after a second three.
fn users(plan: &str) -> String {
    let changed = plan
        .replace("weight = 3\nsteps", "load.connections = 2\nsteps")
        .replace(
            "name = \"visitor\"\nsteps",
            "name = \"visitor\"\nload = { connections = 0, stage = [{ over = \"1s\" }, { to = 3 \
             }] }\nsteps",
        );
    assert_eq!(changed.matches("connections = ").count(), 2, "{changed}");
    changed
}

#[test]
fn journeys_with_users_of_their_own_are_made_by_those() {
    for (agents, rest) in [
        (1, "duration = \"6s\""),
        (2, "duration = \"6s\"\nwarm_up = \"500ms\""),
        (
            4,
            "journeys = 80\nthink_time = \"50ms\"\nconnect_ramp = \"100ms\"",
        ),
    ] {
        let Some((finished, sessions, logins)) = run_with_logins(agents, rest, users) else {
            return;
        };
        let document = finished.document();
        let of_users = |range: std::ops::Range<u32>| {
            let of_user = |user: u32| logins.get(&format!("user{user}")).copied().unwrap_or(0);
            range.map(of_user).collect::<Vec<u64>>()
        };
        // Users 0 and 1 buy, 2 to 4 visit, and there is no other.
        assert!(
            of_users(0..5).iter().all(|&number| number > 0),
            "{logins:?}"
        );
        assert_eq!(logins.len(), 5, "{logins:?}");
        // Four agents make 16 journeys for each user, whichever is quicker.
        let made = |place: usize| document.journeys[place].begun;
        assert!(agents < 4 || (made(0), made(1)) == (32, 48), "{finished}");
        if rest.contains("warm_up") {
            continue; // whose journeys the shop counts too
        }
        assert_counts(&finished, &sessions);
        for (place, users) in [(0, 0..2), (1, 2..5)] {
            let login = &document.journeys[place].steps[1];
            let all: u64 = of_users(users).iter().sum();
            assert_eq!(
                (login.request.as_str(), login.ok),
                ("login", all),
                "{finished}"
            );
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
            "attribute = \"value\"",
            "attribute = \"type\", missing = \"skip\"",
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
    // The last one is due at 0.975 s, and has begun to buy long before the end.
    let load = "rate = \"40/s\"\nstage = [{ over = \"990ms\" }, { to = \"0/s\" }]\n\
                duration = \"4s\"\nmax_connections = 100";
    let Some((finished, sessions)) = run(1, load, change) else {
        return;
    };
    assert_counts(&finished, &sessions);
    assert_eq!(sessions.len(), 40);
    let cut = sessions.values().filter(|asked| asked.len() == 2).count();
    assert!(cut >= 30, "{sessions:?}");
}

/// How often each step was made and skipped, over all journeys, by the name of its request.
fn steps(finished: &Finished) -> BTreeMap<String, (u64, u64)> {
    let mut sums = BTreeMap::new();
    for step in finished.document().journeys.iter().flat_map(|it| &it.steps) {
        let sum: &mut (u64, u64) = sums.entry(step.request.clone()).or_default();
        *sum = (sum.0 + step.begun, sum.1 + step.skipped);
    }
    sums
}

#[test]
fn users_log_in_once_and_stay_logged_in() {
    let mut made: Option<u64> = None;
    for (agents, load) in [
        (1, "connections = 8\njourneys = 120"),
        (2, "connections = 8\njourneys = 120"),
        (4, "connections = 8\njourneys = 120"),
        (2, "rate = \"60/s\"\njourneys = 120\nmax_connections = 200"),
        // Most journeys wait for a connection, longer than they pause before their first request.
        (2, "rate = \"200/s\"\njourneys = 120\nmax_connections = 3"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        let Some(server) = PythonServer::shop(Ipv4Addr::LOCALHOST.into(), &seen) else {
            return;
        };
        let plan = once(&shop(&server, load));
        let plan = plan.replace(
            "mean = \"100ms\", most = \"1s\"",
            "mean = \"10ms\", most = \"1s\"",
        );
        let finished = CoordinatorCommand::local(agents, &plan).run();
        let sessions = sessions(&seen);
        assert_counts(&finished, &sessions);
        // Each session is one of a user, who was given it in the first journey.
        let logins = logins(&server);
        assert!(logins.values().all(|&number| number == 1), "{logins:?}");
        let number = logins.len() as u64;
        assert_eq!(sessions.len() as u64, number, "{sessions:?}");
        if load.starts_with("connections") {
            assert_eq!(number, 8);
        } else {
            assert!((1..120).contains(&number), "{number} connections");
        }
        let steps = steps(&finished);
        assert_eq!(steps["form"], (number, 120 - number), "{finished}");
        assert_eq!(steps["login"], steps["form"], "{finished}");
        let of_server = |path: &str| {
            let asked = sessions.values().flatten();
            asked.filter(|asked| asked.contains(path)).count() as u64
        };
        assert_eq!(steps["search"], (of_server("/items"), 0), "{finished}");
        assert_eq!(steps["order"], (of_server("/orders"), 0), "{finished}");
        assert_eq!(steps["search"].0, 90 * 3 + 30, "{finished}");
        // Which way a journey takes does not depend on who makes it.
        let orders = steps["order"].0;
        assert_eq!(
            *made.get_or_insert(orders),
            orders,
            "{agents} agents, {load}"
        );
    }
}

#[test]
fn a_step_made_once_is_made_again_if_it_failed() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let Some(server) = PythonServer::shop(Ipv4Addr::LOCALHOST.into(), &seen) else {
        return;
    };
    let plan = once(&shop(&server, "connections = 5\njourneys = 60"));
    let plan = plan.replace("user = \"user{user}\"", "user = \"late{user}\"");
    let finished = CoordinatorCommand::local(2, &plan).run();
    let sessions = sessions(&seen);
    assert_counts(&finished, &sessions);
    // The form was given: it is asked for once. The first login of each user is refused.
    let logins = logins(&server);
    assert_eq!(
        (logins.len(), logins.values().sum()),
        (5, 5_u64),
        "{logins:?}"
    );
    let document = finished.document();
    assert_eq!(document.measured.operations.failed, 5, "{finished}");
    let completed = document.journeys.iter().map(|it| it.completed);
    assert_eq!(completed.sum::<u64>(), 55, "{finished}");
    let steps = steps(&finished);
    assert_eq!(
        (steps["form"], steps["login"]),
        ((5, 55), (10, 50)),
        "{finished}"
    );
    assert_eq!(sessions.len(), 5);
}

#[test]
fn attributes_are_those_that_another_parser_finds() {
    const PAGES: usize = 500;
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let Some(server) = PythonServer::paging(Ipv4Addr::LOCALHOST.into(), &seen) else {
        return;
    };
    let plan = format!(
        "target.url = \"{}\"
         [[request]]
         name = \"page\"
         path = \"/page?n={{seq}}\"
         [request.capture.csrf]
         html = \"input[name=csrf]\"
         attribute = \"value\"
         missing = \"skip\"
         [[request]]
         name = \"check\"
         path = \"/check?n={{seq}}&got={{csrf}}\"
         [journey]
         steps = [\"page\", \"check\"]
         [load]
         connections = 4
         journeys = {PAGES}",
        server.url()
    );
    let finished = CoordinatorCommand::local(1, &plan).run().expect(0);
    let seen = std::fs::read_to_string(&seen).unwrap();
    let wrong: Vec<&str> = seen.lines().filter(|line| *line != "same").collect();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong[0]);
    assert_eq!(seen.lines().count(), PAGES, "{finished}");
}

#[test]
fn groups_are_begun_and_completed_as_often_as_the_shop_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let Some(server) = PythonServer::shop(Ipv4Addr::LOCALHOST.into(), &seen) else {
        return;
    };
    // Orders of an item that was not found are refused: their group is not completed.
    let plan = shop(&server, "connections = 4\njourneys = 80")
        .replace("{ item = \"{item}\" }", "{ item = \"none\" }")
        .replace(
            "\"form\", \"login\",",
            "{ group = \"log in\", steps = [\"form\", { pause = \"20ms\" }, \"login\"] },",
        )
        .replace(
            "steps = [\"order\"]",
            "steps = [{ group = \"buy\", steps = [\"order\"] }]",
        );
    let finished = CoordinatorCommand::local(2, &plan).run();
    let sessions = sessions(&seen);
    assert_counts(&finished, &sessions);
    let asked = |path: &str| {
        let asked = sessions.values().flatten();
        asked.filter(|asked| asked.starts_with(path)).count() as u64
    };
    let document = finished.document();
    let groups = |name: &str| {
        let groups = document.journeys.iter().flat_map(|it| &it.groups);
        let groups = groups.filter(|group| group.name == name);
        groups.fold((0, 0), |sum, it| (sum.0 + it.begun, sum.1 + it.completed))
    };
    assert_eq!(
        groups("log in"),
        (asked("GET /login"), asked("POST /login"))
    );
    assert_eq!(groups("log in"), (80, 80));
    assert_eq!(groups("buy"), (asked("POST /orders"), 0));
    let mut groups = document.journeys.iter().flat_map(|it| &it.groups);
    let log_in = groups.find(|group| group.name == "log in").unwrap();
    let (time, wait) = (log_in.time.as_ref().unwrap(), log_in.wait.as_ref().unwrap());
    assert!(time.min_ns >= 20_000_000, "{time:?}");
    assert!(
        (time.mean_ns - wait.mean_ns - 20e6).abs() < 1.0,
        "{finished}"
    );
}
