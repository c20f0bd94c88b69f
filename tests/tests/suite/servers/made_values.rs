//! Made values: nginx logs them, openssl makes the same codes, and any number of agents makes the
//! same ones.

use interop::{
    CoordinatorCommand, Nginx, NginxOptions, NginxServer, Pki, ensure, must_hold_in, plan, require,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread::{JoinHandle, spawn};

const REQUESTS: u64 = 400;
const KEY: &str = "p1anted";

/// Tries until all that was due was sent: a busy machine can leave part of an open load unsent.
const TRIES: usize = 4;

/// The paths that nginx logged, by the operation's number: id, drawn values, time and code.
fn seen(pki: &Pki, server: NginxServer, load: &str, agents: u32) -> Option<BTreeMap<u64, String>> {
    let more = format!(
        "vars.key = \"env:INTEROP_KEY\"\n{load}\n\
         let.id = \"uuid\"\n\
         let.price = {{ random = [0.5, 99.5] }}\n\
         let.color = {{ one_of = [\"red\", \"green & blue\"] }}\n\
         let.now = {{ timestamp = \"unix_ms\" }}\n\
         let.code = {{ hmac = \"sha256\", key = \"{{key}}\", of = \"{{id}}:{{now}}\" }}\n\
         request.path = \"/{{seq}}/{{id}}/{{price}}/{{color}}?{{now}}&{{code}}\"\n"
    );
    let mut paths = None;
    must_hold_in(TRIES, || {
        let Some(nginx) = Nginx::start(pki, &NginxOptions::default()) else {
            return Ok(());
        };
        let plan = plan(&nginx.url(server, "/"), pki, &more);
        let agents = format!("--agents={agents}");
        let finished = CoordinatorCommand::start(&["--local", &agents], &plan)
            .with(|command| {
                command.env("INTEROP_KEY", KEY);
            })
            .run()
            // nginx has none of these paths.
            .expect(1);
        let operations = finished.clean().document().measured.operations;
        let (started, not_sent) = (operations.started, operations.not_sent);
        assert_eq!(started + not_sent, REQUESTS, "{finished}");
        let seen = nginx.wait_for_requests(started as usize);
        assert_eq!(seen.len() as u64, started, "{finished}");
        paths = Some(seen);
        assert!(not_sent == 0 || load.contains("rate"), "{finished}");
        ensure(not_sent == 0, || finished.to_string())
    });
    let paths = paths?;
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

/// Answers the requests of one connection and returns their bytes.
fn receive(listener: TcpListener) -> JoinHandle<Vec<String>> {
    spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(stream);
        let mut requests = Vec::new();
        loop {
            let (mut text, mut body_bytes) = (String::new(), 0);
            while !text.ends_with("\r\n\r\n") {
                let begin = text.len();
                if reader.read_line(&mut text).expect("text") == 0 {
                    return requests;
                }
                if let Some(length) = text[begin..].strip_prefix("Content-Length: ") {
                    body_bytes = length.trim().parse().expect("a length");
                }
            }
            let mut body = vec![0; body_bytes];
            reader.read_exact(&mut body).expect("a body");
            requests.push(text + &String::from_utf8(body).expect("text"));
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            reader.get_mut().write_all(answer).expect("it reads");
        }
    })
}

#[test]
fn check_shows_what_is_sent_without_its_secrets() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let plan = format!(
        "target.url = \"http://{address}/\"\nload = {{ connections = 1, requests = 3 }}\n\
         vars.key = {{ secret = \"{KEY}\" }}\n\
         data.users = {{ file = \"users.csv\", secret = [\"word\"] }}\n\
         let.id = \"uuid\"\n\
         let.basic = {{ encode = \"base64\", of = \"{{users.name}}:{{users.word}}\" }}\n\
         [request]\nmethod = \"POST\"\npath = \"/{{users.name}}?key={{key}}\"\n\
         headers = {{ authorization = \"Basic {{basic}}\", x-id = \"{{id}}\" }}\n\
         body = '{{\"id\": \"{{id}}\", \"word\": \"{{users.word}}\", \"seq\": {{seq}}}}'\n"
    );
    let users = b"name,word\nann,w0rd1\nbob,w0rd-22\n";
    let check = CoordinatorCommand::new(&["check", "plan.toml"])
        .file("plan.toml", plan.as_bytes())
        .file("users.csv", users);
    let shown = check.run().expect(0).stdout;
    for secret in [KEY, "w0rd", "Basic"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    let received = receive(listener);
    let run = CoordinatorCommand::start(&["--local"], &plan).file("users.csv", users);
    let _ = run.run().expect(0);
    let received = received.join().expect("three requests");
    assert_eq!(received.len(), 3);
    for (number, request) in received.iter().enumerate() {
        let mut hidden = request.replace(KEY, "***");
        for word in ["w0rd1", "w0rd-22"] {
            hidden = hidden.replace(word, "***");
        }
        let lines = hidden.lines().map(|line| match line.split_once(": ") {
            Some(("authorization", _)) => "authorization: ***",
            _ => line,
        });
        let lines: String = lines
            .map(|line| format!("    {line}").trim_end().to_owned() + "\n")
            .collect();
        let bytes = request.len();
        let expected = format!("{number}: \"POST /{{users.name}}\", {bytes} bytes\n{lines}");
        assert!(shown.contains(&expected), "{expected}\nis not in\n{shown}");
    }
}
