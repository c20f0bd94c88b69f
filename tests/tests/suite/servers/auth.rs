//! Credentials: nginx lets their users in, and what a run leaves behind has no secret.

use crate::servers::variables::assert_unseen;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interop::{
    CoordinatorCommand, Nginx, NginxOptions, NginxServer, Pki, PythonServer, TOKEN, Tried, ensure,
    must_hold_in, plan, users,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

const REQUESTS: u64 = 120;

/// The users of nginx as a data file.
fn rows() -> String {
    let mut rows = "login,password\n".to_owned();
    for (user, password) in users() {
        let _ = writeln!(rows, "{user},{password}");
    }
    rows
}

#[test]
fn nginx_lets_each_row_of_users_in_and_the_token_of_a_variable() {
    let pki = Pki::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users.csv");
    std::fs::write(&file, rows()).unwrap();
    let closed = format!("load = {{ connections = 4, requests = {REQUESTS} }}");
    let open = "load = { rate = \"60/s\", max_connections = 20, requests = 120 }";
    let two = format!("{closed}\nconnection = {{ http = \"2\", streams = 3 }}");
    let once = format!("{closed}\nconnection.requests = 1");
    for (server, load, agents) in [
        (NginxServer::Tls13, closed.as_str(), 2),
        (NginxServer::Plain, once.as_str(), 1),
        (NginxServer::Http2, two.as_str(), 2),
        (NginxServer::Tls13, open, 2),
    ] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let more = format!(
            "vars.token = \"env:INTEROP_TOKEN\"\n{load}\n\
             data.users = {{ file = {file:?}, secret = [\"password\"] }}\n\
             auth.shop.basic.user = \"{{users.login}}\"\n\
             auth.shop.basic.password = \"{{users.password}}\"\n\
             auth.api.bearer = \"{{token}}\"\n\
             [[request]]\nname = \"shop\"\npath = \"/private\"\nauth = \"shop\"\n\
             [[request]]\nname = \"api\"\npath = \"/bearer\"\nauth = \"api\"\n"
        );
        let agents = format!("--agents={agents}");
        let plan = plan(&nginx.url(server, "/"), &pki, &more);
        let finished = CoordinatorCommand::start(&["--local", &agents], &plan)
            .with(|command| {
                command.env("INTEROP_TOKEN", TOKEN);
            })
            .run()
            .expect(0);
        let seen = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(seen.len() as u64, REQUESTS, "{load}");
        let document = finished.clean().document();
        assert_eq!(document.measured.operations.ok, REQUESTS, "{finished}");
        let mut came = BTreeMap::new();
        for request in seen.iter().filter(|request| request.path == "/private") {
            *came.entry(request.user.as_str()).or_insert(0) += 1;
        }
        // Half of the requests, in the order of the rows.
        let each = REQUESTS / 2 / users().count() as u64;
        let expected: Vec<(String, u64)> = users().map(|(user, _)| (user, each)).collect();
        let came: Vec<(String, u64)> = came
            .into_iter()
            .map(|(user, n)| (user.to_owned(), n))
            .collect();
        assert_eq!(came, expected, "{load}");
        assert_unseen(&finished, TOKEN);
    }
}

#[test]
fn wrong_password_is_an_error_of_status_401() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let more = "load = { connections = 1, requests = 5 }\n\
                auth.shop.basic = { user = \"user-1\", password = \"p1anted\" }\n\
                request = { path = \"/private\", auth = \"shop\" }\n";
    let plan = plan(&nginx.url(NginxServer::Tls13, "/"), &pki, more);
    let finished = CoordinatorCommand::local(1, &plan).run();
    let seen = nginx.wait_for_requests(5);
    assert!(seen.iter().all(|request| request.status == 401), "{seen:?}");
    let document = finished.document();
    assert_eq!(document.measured.operations.ok, 0, "{finished}");
    assert_unseen(&finished, "p1anted");
    assert_unseen(&finished, &STANDARD.encode("user-1:p1anted"));
}

#[test]
fn requests_behind_the_end_of_a_token_are_counted_by_their_status() {
    // A client that waits for its CPU may not send every arrival, and says so.
    must_hold_in(3, token_runs_out);
}

fn token_runs_out() -> Tried {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let good = 70;
    let Some(server) = PythonServer::expiring(Ipv4Addr::LOCALHOST.into(), &seen, good) else {
        return Ok(());
    };
    let more = "vars.token = \"env:INTEROP_TOKEN\"\nauth.api.bearer = \"{token}\"\n\
                request.auth = \"api\"\nload = { rate = \"100/s\", requests = 100 }\n";
    let plan = plan(&server.url(), &Pki::new(), more);
    let finished = CoordinatorCommand::local(2, &plan)
        .with(|command| {
            command.env("INTEROP_TOKEN", TOKEN);
        })
        .run();
    let seen = std::fs::read_to_string(&seen).unwrap();
    let mut answers = BTreeMap::new();
    for status in seen.lines() {
        *answers.entry(status.parse().unwrap()).or_insert(0) += 1;
    }
    let measured = &finished.document().measured;
    assert_eq!(measured.operations.ok, good, "{finished}");
    assert_eq!(
        measured
            .statuses
            .clone()
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        answers,
        "{finished}"
    );
    let unsent = measured.operations.not_sent;
    let expected = BTreeMap::from([(200, good), (401, 100 - good - unsent)]);
    assert_eq!(answers, expected, "{finished}");
    assert_unseen(&finished, TOKEN);
    ensure(unsent == 0, || finished.to_string())
}
