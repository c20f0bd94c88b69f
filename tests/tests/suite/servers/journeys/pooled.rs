//! Journeys that share connections: what they ask for is the same, over fewer connections.

use super::{Sessions, assert_counts, once, run, run_with_logins, steps};
use interop::{CoordinatorCommand, Finished, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::collections::BTreeMap;

/// The shop's plan, whose journeys share connections.
fn shared(plan: &str) -> String {
    let names = ["name = \"buyer\"", "name = \"visitor\""];
    names.iter().fold(plan.to_owned(), |plan, name| {
        assert!(plan.contains(name), "{plan}");
        plan.replace(name, &format!("{name}\nconnection = \"shared\""))
    })
}

/// What all sessions asked for, without their names.
fn made(sessions: Sessions) -> Vec<Vec<String>> {
    let mut made: Vec<Vec<String>> = sessions.into_values().collect();
    made.sort();
    made
}

/// What the shop counts if each of its users has logged in once.
fn one_login_each(users: usize) -> BTreeMap<String, u64> {
    (0..users).map(|user| (format!("user{user}"), 1)).collect()
}

fn connections(finished: &Finished) -> u64 {
    finished.document().measured.connections.opened
}

#[test]
fn journeys_that_share_connections_ask_for_the_same_as_others() {
    let load = "rate = \"60/s\"\njourneys = 120\nmax_connections = ";
    let Some((own, seen)) = run(1, &format!("{load}200"), str::to_owned) else {
        return;
    };
    let (own, expected) = (own.expect(0), made(seen));
    for (agents, most) in [(1, 4), (2, 4), (4, 4), (1, 1)] {
        let load = format!("{load}{most}\nusers = 100");
        let (finished, seen) = run(agents, &load, shared).expect("it ran before");
        assert_counts(&finished, &seen);
        assert_eq!(made(seen), expected, "{agents} agents");
        let finished = finished.expect(0);
        let opened = connections(&finished);
        assert!(opened <= most && opened < connections(&own), "{finished}");
    }
}

#[test]
fn virtual_users_who_share_connections_ask_for_the_same_as_others() {
    let load = "journeys = 120\nthink_time = \"20ms\"\n";
    let Some((own, seen)) = run(1, &format!("{load}connections = 40"), str::to_owned) else {
        return;
    };
    let (own, expected) = (own.expect(0), made(seen));
    assert_eq!(connections(&own), 40);
    for (agents, most) in [(1, 4), (2, 4), (4, 4), (1, 1)] {
        let load = format!("{load}users = 40\nmax_connections = {most}");
        let (finished, seen) = run(agents, &load, shared).expect("it ran before");
        assert_counts(&finished, &seen);
        assert_eq!(made(seen), expected, "{agents} agents");
        let finished = finished.expect(0);
        assert!((1..=most).contains(&connections(&finished)), "{finished}");
    }
}

#[test]
fn virtual_users_who_share_connections_log_in_once_each() {
    for (agents, rest) in [
        (1, "journeys = 120"),
        (2, "duration = \"5s\"\nthink_time = \"100ms\""),
        (
            2,
            "stage = [{ over = \"4s\" }, { to = 10 }, { over = \"1s\" }]",
        ),
    ] {
        let load = format!("users = 30\nmax_connections = 4\n{rest}");
        let change = |plan: &str| shared(&once(plan));
        let Some((finished, sessions, logins)) = run_with_logins(agents, &load, change) else {
            return;
        };
        let finished = finished.expect(0);
        assert_counts(&finished, &sessions);
        assert_eq!(logins, one_login_each(30), "{finished}");
        assert!(connections(&finished) <= 4, "{finished}");
    }
}

#[test]
fn users_who_share_connections_take_turns_and_stay_logged_in() {
    for (agents, users) in [(1, 40), (2, 40), (4, 30)] {
        let load = format!("rate = \"60/s\"\njourneys = 120\nmax_connections = 4\nusers = {users}");
        let change = |plan: &str| shared(&once(plan));
        let Some((finished, sessions, logins)) = run_with_logins(agents, &load, change) else {
            return;
        };
        let finished = finished.expect(0);
        assert_counts(&finished, &sessions);
        // Each user is numbered, has a session of its own, and makes three or four journeys.
        assert_eq!(logins, one_login_each(users), "{finished}");
        assert_eq!(sessions.len(), users, "{sessions:?}");
        let steps = steps(&finished);
        assert_eq!(
            steps["login"],
            (users as u64, 120 - users as u64),
            "{finished}"
        );
        assert_eq!(steps["search"].0, 90 * 3 + 30, "{finished}");
        assert!(connections(&finished) <= 4, "{finished}");
    }
}

#[test]
fn journeys_wait_for_a_user_and_are_not_sent_if_none_becomes_free() {
    // Each takes at least half a second, so a user makes four in two seconds at most.
    let slow = |plan: &str| {
        let plan = plan.replace("{ pause = \"50ms\" }", "{ pause = \"500ms\" }");
        let plan = plan.replace("{ mean = \"100ms\", most = \"1s\" }", "\"200ms\"");
        shared(&plan)
    };
    let load = "rate = \"20/s\"\nduration = \"2s\"\nmax_connections = 4\nusers = 3";
    let Some((finished, sessions)) = run(1, load, slow) else {
        return;
    };
    let asked: usize = sessions.values().map(Vec::len).sum();
    let document = finished.document();
    let counts = document.journeys.iter().map(|it| (it.begun, it.not_sent));
    let (begun, not_sent) = counts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    assert_eq!(
        (begun, begun + not_sent),
        (sessions.len() as u64, 40),
        "{finished}"
    );
    assert!((3..=12).contains(&begun), "{finished}");
    let operations = document.measured.operations;
    assert_eq!(
        operations.ok + operations.failed - operations.not_sent,
        asked as u64,
        "{finished}"
    );
}

#[test]
fn streams_of_shared_connections_carry_steps_of_any_journey() {
    let pki = Pki::new();
    // The first server lets connections go after seven requests, and allows three streams.
    let limits = NginxOptions {
        keepalive_requests: 7,
        http2_streams: 3,
        ..NginxOptions::default()
    };
    for (server, options) in [
        (NginxServer::Http2Limited, limits),
        (NginxServer::Http2, NginxOptions::default()),
        (NginxServer::Http2Plain, NginxOptions::default()),
    ] {
        let Some(nginx) = Nginx::start(&pki, &options) else {
            return;
        };
        let sections = "connection = { http = \"2\", streams = 20 }
            request = [{ name = \"a\", path = \"/?a{seq}.{user}\" },
                       { name = \"b\", path = \"/?b{seq}.{user}\" }]
            journey = { connection = \"shared\",
                        steps = [\"a\", { pause = \"50ms\" }, \"b\", \"a\"] }
            load = { rate = \"200/s\", journeys = 300, users = 90, max_connections = 2 }";
        let plan = plan(&nginx.url(server, "/"), &pki, sections);
        let finished = CoordinatorCommand::local(2, &plan).run().expect(0);
        let rows = nginx.wait_for_requests(900);
        let mut asked: BTreeMap<String, u64> = BTreeMap::new();
        rows.iter()
            .for_each(|row| *asked.entry(row.path.clone()).or_default() += 1);
        // Each journey asks for its two paths, one of them twice, as one user.
        let user = |path: &str| path.rsplit('.').next().map(str::to_owned);
        let twice = asked.iter().filter(|(_, times)| **times == 2);
        assert_eq!(
            (rows.len(), asked.len(), twice.count()),
            (900, 600, 300),
            "{server:?}"
        );
        for seq in 0..300 {
            let of = |step: char| {
                asked
                    .keys()
                    .find(|it| it.starts_with(&format!("/?{step}{seq}.")))
            };
            let (a, b) = (of('a').expect("a"), of('b').expect("b"));
            assert_eq!(user(a), user(b));
        }
        let document = finished.document();
        assert_eq!(
            document.measured.connections.opened,
            nginx.status().accepted
        );
        if server == NginxServer::Http2Limited {
            assert!(document.measured.http2.go_aways >= 1, "{finished}");
        } else {
            assert_eq!(nginx.status().accepted, 2, "{finished}");
        }
    }
}
