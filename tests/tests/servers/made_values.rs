//! Made values: nginx logs them, openssl makes the same codes, and any number of agents makes the
//! same ones.

use interop::{CoordinatorCommand, Nginx, NginxOptions, NginxServer, Pki, plan, require};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

const REQUESTS: u64 = 400;
const KEY: &str = "p1anted";

/// The paths that nginx logged, by the operation's number: id, drawn values, time and code.
fn seen(pki: &Pki, server: NginxServer, load: &str, agents: u32) -> Option<BTreeMap<u64, String>> {
    let nginx = Nginx::start(pki, &NginxOptions::default())?;
    let more = format!(
        "vars.key = \"env:INTEROP_KEY\"\n{load}\n\
         let.id = \"uuid\"\n\
         let.price = {{ random = [0.5, 99.5] }}\n\
         let.color = {{ one_of = [\"red\", \"green & blue\"] }}\n\
         let.now = {{ timestamp = \"unix_ms\" }}\n\
         let.code = {{ hmac = \"sha256\", key = \"{{key}}\", of = \"{{id}}:{{now}}\" }}\n\
         request.path = \"/{{seq}}/{{id}}/{{price}}/{{color}}?{{now}}&{{code}}\"\n"
    );
    let plan = plan(&nginx.url(server, "/"), pki, &more);
    let agents = format!("--agents={agents}");
    let finished = CoordinatorCommand::start(&["--local", &agents], &plan)
        .with(|command| {
            command.env("INTEROP_KEY", KEY);
        })
        .run();
    let paths = nginx.wait_for_requests(REQUESTS as usize);
    let document = finished.clean().document();
    assert_eq!(paths.len() as u64, document.measured.operations.started);
    let by_number = |path: String| {
        let number = path.split('/').nth(1).expect("the number");
        (number.parse().expect("a number"), path)
    };
    Some(paths.into_iter().map(|row| by_number(row.path)).collect())
}

/// The parts of a path: what follows from the number, the time, and the code.
fn parts(path: &str) -> (&str, &str, &str) {
    let (values, times) = path.split_once('?').expect("a query");
    let (now, code) = times.split_once('&').expect("a code");
    (values, now, code)
}

#[test]
fn agents_make_the_same_values_as_one_agent_alone() {
    let pki = Pki::new();
    let closed = format!("load = {{ connections = 4, requests = {REQUESTS} }}");
    let open = "load = { rate = \"200/s\", max_connections = 20, duration = \"2s\" }";
    let once = format!("{closed}\nconnection.requests = 1");
    let two = format!("{closed}\nconnection = {{ http = \"2\", streams = 3 }}");
    let mut first: Option<Vec<String>> = None;
    for (server, load, agents) in [
        (NginxServer::Tls13, closed.as_str(), 1),
        (NginxServer::Tls13, once.as_str(), 2),
        (NginxServer::Http2, two.as_str(), 2),
        (NginxServer::Tls13, open, 2),
    ] {
        let Some(paths) = seen(&pki, server, load, agents) else {
            return;
        };
        assert_eq!(paths.len() as u64, REQUESTS, "{load}: each number once");
        let values: Vec<String> = paths
            .values()
            .map(|path| parts(path).0.to_owned())
            .collect();
        let ids = values.iter().map(|path| path.split('/').nth(2));
        let ids: BTreeSet<_> = ids.collect();
        assert_eq!(ids.len() as u64, REQUESTS, "{load}: each id once");
        check_codes(&paths);
        match &first {
            None => first = Some(values),
            Some(first) => assert_eq!(*first, values, "{load} with {agents} agents"),
        }
    }
}

/// Compares the codes of some paths with what openssl makes.
fn check_codes(paths: &BTreeMap<u64, String>) {
    let Some(openssl) = require("openssl") else {
        return;
    };
    for path in paths.values().step_by(100) {
        let (values, now, code) = parts(path);
        let id = values.split('/').nth(2).expect("the id");
        let mut command = Command::new(&openssl);
        command.args(["dgst", "-sha256", "-r", "-hmac", KEY]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("openssl runs");
        let mut input = child.stdin.take().expect("its input");
        input
            .write_all(format!("{id}:{now}").as_bytes())
            .expect("it reads");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let made = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(made.split(' ').next(), Some(code), "{path}");
    }
}
