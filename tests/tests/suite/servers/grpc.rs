//! gRPC calls to a server made with tonic: by status, the result has what the server answered.

mod example;
mod greeter;
mod reflection;

use analysis::Document;
use greeter::{Greeter, Transport, descriptors};
use interop::{CoordinatorCommand, Finished, Pki};
use measure::GrpcStatus;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

fn start(agents: u32, plan: &str, pki: &Pki) -> Finished {
    CoordinatorCommand::local(agents, plan)
        .file("api.binpb", &descriptors())
        .file("ca.pem", &std::fs::read(pki.ca()).unwrap())
        .run()
}

fn run(agents: u32, plan: &str, pki: &Pki) -> Document {
    let finished = start(agents, plan, pki).expect(0);
    finished.whole_document(agents as usize)
}

/// The statuses of all calls, by name.
fn statuses(document: &Document) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (name, number) in document.grpc.iter().flat_map(|figures| &figures.statuses) {
        *all.entry(name.clone()).or_default() += number;
    }
    all
}

fn head(server: &Greeter, streams: u32) -> String {
    format!(
        "target.url = \"{}\"\nconnection = {{ http = \"2\", streams = {streams} }}\n{}",
        server.url(),
        match server.transport() {
            Transport::Tls => "tls.ca = \"ca.pem\"\n",
            Transport::Plain => "",
        }
    )
}

/// A call that is answered with a stream of messages, as `message` asks for.
fn stream(more: &str, message: &str) -> String {
    format!(
        "[[request]]\n{more}\ngrpc = {{ method = \"greet.Greeter/Repeat\", descriptors = \
         \"api.binpb\", message = {message} }}\n"
    )
}

fn call(more: &str) -> String {
    format!(
        "[[request]]\n{more}\ngrpc = {{ method = \"greet.Greeter/SayHello\", descriptors = \
         \"api.binpb\", message = MESSAGE }}\n"
    )
}

#[test]
fn every_call_is_answered_once_and_has_its_own_message() {
    let pki = Pki::new();
    let loads = [
        "load = { connections = 4, requests = 200 }\n",
        "load = { rate = \"400/s\", max_connections = 4, requests = 200 }\n",
    ];
    for transport in [Transport::Plain, Transport::Tls] {
        for (load, (agents, streams)) in loads.into_iter().zip([(2, 1), (1, 5)]) {
            let server = Greeter::start(transport, &pki, LONG);
            let call = call("").replace(
                "MESSAGE",
                "{ name = \"{seq}\", more = [{ name = \"ü-{seq}\" }] }",
            );
            let document = run(
                agents,
                &format!("{load}{}{call}", head(&server, streams)),
                &pki,
            );
            let case = format!("{transport:?}, {agents} agents: {load}");
            assert!(
                document.measured.errors.is_empty(),
                "{case}: {:?}",
                document.measured.errors
            );
            let expected = BTreeMap::from([("ok".to_owned(), 200)]);
            assert_eq!(statuses(&document), expected, "{case}");
            let seen = server.seen();
            assert_eq!(seen.by_status, BTreeMap::from([(0, 200)]), "{case}");
            let names = (0..200).map(|seq| (format!("{seq} ü-{seq}"), 1)).collect();
            assert_eq!(seen.by_name, names, "{case}");
        }
    }
}

#[test]
fn statuses_of_all_kinds_are_those_that_the_server_gave() {
    let pki = Pki::new();
    for agents in [1, 2] {
        let server = Greeter::start(Transport::Plain, &pki, LONG);
        let mut plan = format!(
            "load = {{ connections = 3, requests = 340 }}\n{}",
            head(&server, 4)
        );
        for status in GrpcStatus::all() {
            let code = status.code();
            let request = call(&format!(
                "name = \"{code}\"\nexpect.grpc_status = [\"ok\", 5, 16]"
            ));
            plan += &request.replace("MESSAGE", &format!("{{ status = {code} }}"));
        }
        let _ = write!(
            plan,
            "[thresholds]\n\"errors.grpc.unavailable.count\" = \"<= 20\"\n"
        );
        let document = start(agents, &plan, &pki).whole_document(agents as usize);
        let mut expected: BTreeMap<String, u64> = GrpcStatus::all()
            .map(|status| (status.name().to_owned(), 20))
            .collect();
        assert_eq!(statuses(&document), expected);
        let seen = server.seen().by_status;
        assert_eq!(
            seen,
            GrpcStatus::all()
                .map(|status| (status.code().into(), 20))
                .collect()
        );
        for ok in ["ok", "not_found", "unauthenticated"] {
            expected.remove(ok);
        }
        let errors = document.measured.errors.iter();
        let errors: BTreeMap<String, u64> = errors
            .map(|error| (error.name.replace("grpc.", ""), error.count))
            .collect();
        assert_eq!(errors, expected);
        assert_eq!(document.measured.operations.ok, 60);
        let messages = document.grpc.iter().flat_map(|figures| &figures.messages);
        let messages: BTreeMap<String, u64> = messages
            .map(|message| {
                assert_eq!(message.text.as_deref(), Some("as asked: 100 %"));
                (message.status.clone(), message.calls)
            })
            .collect();
        assert_eq!(messages, expected);
    }
}

#[test]
fn credentials_that_a_server_sends_back_are_saved_nowhere() {
    const SECRET: &str = "s3cret-of-the-environment";
    const USERS: &str = "name,word\nann,pw-of-ann\nann,pw-of-ann\n";
    let pki = Pki::new();
    let server = Greeter::start(Transport::Plain, &pki, LONG);
    let call = call("auth = \"me\"").replace("MESSAGE", "{ name = \"credentials\", status = 16 }");
    let cases = [
        (
            "auth.me.bearer = \"{key}\"",
            "Bearer (not saved), (not saved)...; ",
        ),
        (
            "auth.me.basic = { user = \"ann\", password = \"{key}\" }",
            "Basic (not saved), (not saved)...; ann:(not saved)",
        ),
        (
            "auth.me.basic = { user = \"ann\", password = \"s3cret-of-the-environment\" }",
            "Basic (not saved), (not saved)...; ann:(not saved)",
        ),
        (
            "data.users = { file = \"users.csv\" }\n\
             auth.me.basic = { user = \"{users.name}\", password = \"{users.word}\" }",
            "Basic (not saved), (not saved)...; ann:(not saved)",
        ),
    ];
    for (auth, said) in cases {
        let load = "load = { connections = 2, requests = 9 }\nvars.key = \"env:KEY\"\n";
        let plan = format!("{load}{auth}\n{}{call}", head(&server, 1));
        let finished = CoordinatorCommand::local(1, &plan)
            .file("api.binpb", &descriptors())
            .file("users.csv", USERS.as_bytes())
            .with(|command| {
                command.env("KEY", SECRET);
            })
            .run();
        let messages = &finished.document().grpc[0].messages;
        let told = messages.iter();
        let told: Vec<_> = told
            .map(|message| (message.text.as_deref(), message.calls))
            .collect();
        let said = format!("not valid: {said}");
        assert_eq!(told, [(Some(said.as_str()), 9)], "{auth}");
        for secret in [SECRET, "pw-of-ann", "czNjcmV0", "YW5uOn"] {
            assert!(!finished.to_string().contains(secret), "{finished}");
            for file in std::fs::read_dir(finished.run_folder().unwrap()).unwrap() {
                let path = file.unwrap().path();
                let bytes = std::fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains(secret), "{secret} in {path:?}");
            }
        }
    }
}

#[test]
fn metadata_credentials_and_deadline_arrive() {
    let pki = Pki::new();
    let server = Greeter::start(Transport::Plain, &pki, LONG);
    let plan = format!(
        "load = {{ connections = 1, requests = 3 }}\n{}auth.me.bearer = \"t0ken\"\n\
         data.users = {{ file = \"users.csv\" }}\n[[request]]\nauth = \"me\"\n\
         headers = {{ x-id = \"{{users.id}}\" }}\n[request.grpc]\n\
         method = \"greet.Greeter.SayHello\"\ndescriptors = \"api.binpb\"\ntimeout = \"1500ms\"\n\
         message = '{{\"name\": \"{{users.name}}\"}}'\n",
        head(&server, 1)
    );
    let document = CoordinatorCommand::local(1, &plan)
        .file("api.binpb", &descriptors())
        .file(
            "users.csv",
            "id,name\n1,Ann\n2,\"Q\"\"uote\\\"\n3,Zoë\n".as_bytes(),
        )
        .run()
        .expect(0)
        .whole_document(1);
    assert_eq!(document.measured.operations.ok, 3);
    let seen = server.seen();
    let names = ["Ann ", "Q\"uote\\ ", "Zoë "].map(|name| (name.to_owned(), 1));
    assert_eq!(seen.by_name, names.into());
    let fields = ["1", "2", "3"].map(|id| format!("{id} Bearer t0ken 1500m"));
    assert_eq!(seen.fields, fields);
}

#[test]
fn wrong_messages_are_refused_before_a_run() {
    let pki = Pki::new();
    let server = Greeter::start(Transport::Plain, &pki, LONG);
    let head = head(&server, 1);
    for (message, why) in [
        (
            "{ nam = \"x\" }",
            "request[0].grpc.message: is no greet.Hello: unrecognized field name 'nam'; write name",
        ),
        (
            "{ status = \"{seq}\" }",
            "it has up to 19 digits, which int64",
        ),
    ] {
        let call = call("").replace("MESSAGE", message);
        let plan = format!("load = {{ connections = 1, requests = 1 }}\n{head}{call}");
        let finished = CoordinatorCommand::local(1, &plan)
            .file("api.binpb", &descriptors())
            .run()
            .expect(2);
        assert!(finished.stderr.contains(why), "{}", finished.stderr);
    }
    assert_eq!(server.seen().by_status, BTreeMap::new());
}

#[test]
fn connections_that_the_server_ends_cost_no_call() {
    let pki = Pki::new();
    for load in ["connections = 3", "rate = \"300/s\", max_connections = 3"] {
        let server = Greeter::start(Transport::Plain, &pki, Duration::from_millis(400));
        let call = call("").replace("MESSAGE", "{ name = \"{seq}\" }");
        let load = format!("load = {{ {load}, think_time = \"10ms\", requests = 600 }}\n");
        let load = match load.contains("rate") {
            true => load.replace("think_time = \"10ms\", ", ""),
            false => load,
        };
        let document = run(1, &format!("{load}{}{call}", head(&server, 4)), &pki);
        assert!(
            document.measured.http2.go_aways > 0,
            "{:?}",
            document.measured.http2
        );
        assert_eq!(
            statuses(&document),
            BTreeMap::from([("ok".to_owned(), 600)])
        );
        let seen = server.seen();
        assert_eq!(seen.by_status, BTreeMap::from([(0, 600)]));
        assert!(seen.by_name.values().all(|&number| number == 1));
    }
}

#[test]
fn streamed_messages_are_events_and_the_status_behind_them_counts() {
    let pki = Pki::new();
    let loads = [
        "load = { connections = 3, requests = 120 }\n",
        "load = { rate = \"400/s\", max_connections = 3, requests = 120 }\n",
    ];
    for (transport, (load, agents)) in [Transport::Plain, Transport::Tls]
        .into_iter()
        .zip(loads.into_iter().zip([2, 1]))
    {
        let server = Greeter::start(transport, &pki, LONG);
        let right = stream("name = \"right\"", "{ name = \"{seq}\", times = 50 }");
        let empty = stream("name = \"empty\"", "{ name = \"e\" }");
        let ends = stream(
            "name = \"ends\"",
            "{ name = \"x\", times = 7, status = 14 }",
        );
        let limits = "[thresholds]\n\"events.count\" = \">= 2280\"\n\
                      request.right.\"event_gap.max\" = \"< 60s\"\n";
        let plan = format!("{load}{}{right}{empty}{ends}{limits}", head(&server, 4));
        let document = start(agents, &plan, &pki).whole_document(agents as usize);
        let (seen, streams) = (server.seen(), &document.measured.streams);
        assert_eq!(seen.streamed, 40 * 50 + 40 * 7);
        assert_eq!(streams.events, seen.streamed);
        assert_eq!((streams.whole, streams.cut, streams.empty), (120, 0, 40));
        let expected = BTreeMap::from([("ok".to_owned(), 80), ("unavailable".to_owned(), 40)]);
        assert_eq!(statuses(&document), expected);
        assert_eq!(document.measured.operations.errors, 40);
        let times = &document.measured.times;
        assert_eq!(times["first_event"].count, 80);
        assert_eq!(times["event_gap"].count, seen.streamed - 80);
    }
}

#[test]
fn stream_of_messages_is_cut_after_those_that_are_wanted() {
    let pki = Pki::new();
    let server = Greeter::start(Transport::Plain, &pki, LONG);
    let endless = "{ name = \"{seq}\", times = 1000000, every_ms = 1 }";
    let plan = format!(
        "load = {{ connections = 2, requests = 40 }}\n{}{}",
        head(&server, 5),
        stream("stream.cut_after = 10", endless)
    );
    let document = run(1, &plan, &pki);
    let streams = &document.measured.streams;
    assert_eq!((streams.events, streams.cut), (400, 40));
    // Each stream is reset, and its connection goes on.
    assert_eq!(document.measured.connections.opened, 2);
    assert_eq!(statuses(&document), BTreeMap::new());
    assert_eq!(server.seen().by_status, BTreeMap::from([(0, 40)]));
}

#[test]
fn gaps_between_messages_are_those_of_the_server() {
    let pki = Pki::new();
    let server = Greeter::start(Transport::Tls, &pki, LONG);
    let message = "{ name = \"n\", times = 8, every_ms = 30 }";
    let load = "load = { connections = 2, requests = 4 }\n";
    let document = run(
        1,
        &format!("{load}{}{}", head(&server, 1), stream("", message)),
        &pki,
    );
    let times = &document.measured.times;
    assert_eq!(times["event_gap"].count, 4 * 7);
    // The server sleeps before each message, which cannot come before it is sent.
    let mean_ms = |name: &str| times[name].mean_ns / 1e6;
    let (first, gap, whole) = (
        mean_ms("first_event"),
        mean_ms("event_gap"),
        mean_ms("service_time"),
    );
    assert!(first >= 30.0 && whole >= 240.0, "{first} {whole}");
    assert!(first + 7.0 * gap >= 240.0, "{first} {gap}");
}

#[test]
fn texts_of_messages_are_taken_for_later_calls() {
    let pki = Pki::new();
    let loads = [
        "load = { connections = 3, journeys = 60 }\n",
        "load = { rate = \"200/s\", max_connections = 60, journeys = 60 }\n",
    ];
    for (load, agents) in loads.into_iter().zip([2, 1]) {
        let server = Greeter::start(Transport::Tls, &pki, LONG);
        let login = call(
            "name = \"login\"\nexpect.json = { \"/more/1/times\" = 7, \"/status\" = 0 }\n\
             capture.token = { json = \"/name\" }\n\
             capture.item = { json = \"/more/*/name\", pick = \"last\" }\n\
             capture.number = { json = \"/more/1/times\" }",
        );
        let login = login.replace(
            "MESSAGE",
            "{ name = \"t-{random}\", more = [{ name = \"a\" }, { name = \"ü{seq}\", \
             times = 7 }] }",
        );
        let order = call("name = \"order\"\nheaders.x-id = \"{token}\"");
        let message = "{ name = \"order {token}\", more = [{ name = \"{item}/{number}\" }] }";
        let order = order.replace("MESSAGE", message);
        let journey = "[[journey]]\nsteps = [\"login\", \"order\"]\n";
        let plan = format!("{load}{}{login}{order}{journey}", head(&server, 1));
        let document = run(agents, &plan, &pki);
        assert!(
            document.measured.errors.is_empty(),
            "{:?}",
            document.measured.errors
        );
        assert_eq!(
            statuses(&document),
            BTreeMap::from([("ok".to_owned(), 120)])
        );
        let seen = server.seen();
        assert_eq!(seen.by_status, BTreeMap::from([(0, 120)]));
        // Each name was handed out once, and came back once with what belongs to it.
        let given = seen.by_name.keys().filter(|name| name.starts_with("t-"));
        let mut orders = 0;
        for name in given {
            let (token, item) = name.split_once(" a ").unwrap();
            let order = format!("order {token} {item}/7");
            assert_eq!(seen.by_name.get(&order), Some(&1), "{order}");
            assert!(seen.fields.iter().any(|field| field.starts_with(token)));
            orders += 1;
        }
        assert_eq!(orders, 60);
    }
}

#[test]
fn messages_that_are_not_as_expected_fail() {
    let pki = Pki::new();
    let server = Greeter::start(Transport::Plain, &pki, LONG);
    let call = call("expect.json = { \"/more/0/name\" = \"right\" }")
        .replace("MESSAGE", "{ more = [{ name = \"{word}\" }] }");
    let plan = format!(
        "load = {{ connections = 2, requests = 30 }}\n{}\
         data.words.file = \"words.csv\"\n{}",
        head(&server, 2),
        call.replace("{word}", "{words.word}")
    );
    let document = CoordinatorCommand::local(1, &plan)
        .file("api.binpb", &descriptors())
        .file("words.csv", b"word\nright\nwrong\nright\n")
        .run()
        .whole_document(1);
    assert_eq!(document.measured.operations.ok, 20);
    let errors = document.measured.errors.iter();
    let errors: Vec<(&str, u64)> = errors
        .map(|error| (error.name.as_str(), error.count))
        .collect();
    assert_eq!(errors, [("http.check.1", 10)]);
    assert_eq!(server.seen().by_status, BTreeMap::from([(0, 30)]));
}

#[test]
fn numbers_of_messages_are_those_of_their_placeholders() {
    let pki = Pki::new();
    let server = Greeter::start(Transport::Plain, &pki, LONG);
    let message = "{ number = \"{ids.id}\", more = [{ numbers = [-7, \"{ids.id}\", \"{seq}\"], \
                   share = \"{ids.share}\" }] }";
    let plan = format!(
        "load = {{ rate = \"200/s\", max_connections = 4, requests = 100 }}\n{}\
         data.ids = {{ file = \"ids.csv\", order = \"unique\" }}\n{}",
        head(&server, 5),
        call("").replace("MESSAGE", message)
    );
    let rows = (0..100).map(|row| (i64::MAX - row * 1_000_000_007_000_000, row as f64 / 8.0));
    let rows: Vec<(i64, f64)> = rows.collect();
    let lines = rows.iter().map(|(id, share)| format!("{id},{share}\n"));
    let document = CoordinatorCommand::local(2, &plan)
        .file("api.binpb", &descriptors())
        .file(
            "ids.csv",
            format!("id,share\n{}", lines.collect::<String>()).as_bytes(),
        )
        .run()
        .expect(0)
        .whole_document(2);
    assert_eq!(document.measured.operations.ok, 100);
    let by_numbers = server.seen().by_numbers;
    let expected = (0..).zip(&rows);
    let expected =
        expected.map(|(seq, (id, share))| ((*id, vec![-7, *id, seq], share.to_string()), 1));
    assert_eq!(by_numbers, expected.collect());
}

#[test]
fn captured_numbers_stand_in_later_messages() {
    let pki = Pki::new();
    let server = Greeter::start(Transport::Plain, &pki, LONG);
    // The name of the first answer is a number in two of three journeys.
    let login = call("name = \"login\"\ncapture.id = { json = \"/name\" }")
        .replace("MESSAGE", "{ name = \"{ids.id}\" }");
    let order = call("name = \"order\"").replace(
        "MESSAGE",
        "'{\"number\": {id}, \"more\": [{\"share\": 0.5}]}'",
    );
    let plan = format!(
        "load = {{ connections = 2, journeys = 30 }}\n{}data.ids.file = \"ids.csv\"\n{login}{order}\
         [[journey]]\nsteps = [\"login\", \"order\"]\n",
        head(&server, 1)
    );
    let document = CoordinatorCommand::local(1, &plan)
        .file("api.binpb", &descriptors())
        .file("ids.csv", b"id\n-12\nx7\n9000000000\n")
        .run()
        .whole_document(1);
    let errors = document.measured.errors.iter();
    let errors: Vec<(&str, u64)> = errors
        .map(|error| (error.name.as_str(), error.count))
        .collect();
    assert_eq!(
        errors,
        [("http.check.1", 10)],
        "a text that is no number is not taken"
    );
    let numbers = [-12, 9_000_000_000].map(|number| ((number, vec![], "0.5".to_owned()), 10));
    assert_eq!(server.seen().by_numbers, numbers.into());
}
