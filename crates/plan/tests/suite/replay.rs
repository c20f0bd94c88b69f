//! Replays of logs: what is read, what is refused, and who sends what and when.

use crate::support::{again, campaign, parse};
use plan::{HandshakeFacts, Owner, Plan, Profile, Schedule};
use std::collections::BTreeSet;

const BASE: &str = "target.url = \"http://a.test/\"\n";

fn plan(text: &str) -> Plan {
    parse(&format!("{BASE}{text}")).expect("a plan")
}

fn problem(text: &str) -> String {
    parse(&format!("{BASE}{text}")).expect_err("problems")
}

fn names(plan: &Plan) -> Vec<(&str, &str)> {
    let requests = plan.requests().iter();
    requests
        .map(|request| (request.name.as_str(), request.method.as_str()))
        .collect()
}

#[test]
fn log_says_what_is_sent_and_when() {
    let plan = plan("replay = { file = \"replay.jsonl\", speed = 2, loop = 2 }\n");
    assert_eq!(names(&plan), [("GET", "GET"), ("POST", "POST")]);
    let schedule = Schedule::after_warm_up(plan.load()).expect("an open loop");
    // Four requests within 3 s: a turn takes 4 s of the log.
    let instants: Vec<_> = schedule.instants(Owner::ALONE).collect();
    let ms = 1_000_000;
    let expected = [0, 250, 500, 1500, 2000, 2250, 2500, 3500];
    assert!(
        instants
            .into_iter()
            .eq((0..).zip(expected.map(|at| at * ms)))
    );
    assert_eq!(plan.load().measured_span_ns(), Some(4000 * ms));
    assert_eq!(plan.load().arrivals_between(0, u64::MAX), Some(8.0));
    let shares = (0..2).map(|agent| plan.share(agent, 2).requests);
    // Three connections, since that of the last request is not known.
    assert_eq!(shares.flatten().collect::<Vec<_>>(), [4, 4]);
}

#[test]
fn canonical_text_reads_the_same_with_and_without_the_file() {
    let text = format!(
        "{BASE}replay = {{ file = \"replay.jsonl\", speed = 0.5, from = \"500ms\", to = \"2.5s\", \
         status = \"any\" }}\nload = {{ max_connections = 7, seed = 3 }}\n\
         request = {{ headers.x = \"{{seq}}\", expect.bytes = 3, stream.events = \"lines\" }}\n"
    );
    let plan = parse(&text).expect("a plan");
    assert_eq!(names(&plan), [("POST", "POST"), ("GET", "GET")]);
    assert!(plan.requests().iter().all(|each| each.stream.is_some()));
    let canonical = plan.canonical_text();
    let read = again(&plan).expect("the same plan");
    assert_eq!((&read, read.canonical_text()), (&plan, canonical.clone()));
    let saved = Plan::parse_saved(&canonical).expect("the same plan");
    assert_eq!(saved.canonical_text(), canonical);
    let all = |plan: &Plan| plan.load().arrivals_between(0, 2_000_000_000);
    assert_eq!(all(&saved), all(&plan));
}

#[test]
fn connections_of_a_log_have_a_last_request_in_each_turn() {
    let plan = plan(
        "replay = { file = \"replay.jsonl\", connections = \"recorded\", loop = 2 }\n\
         load.max_connections = 2\n",
    );
    let arrivals = &plan.replay().expect("a replay").arrivals;
    let connections: Vec<_> = (0..8).map(|number| arrivals.connection(number)).collect();
    // The last request has a connection of its own.
    let turn = [(0, false), (1, true), (0, true), (2, true)];
    assert_eq!(connections[..4], turn);
    assert_eq!(
        connections[4..],
        turn.map(|(number, last)| (3 + number, last))
    );
    assert_eq!((arrivals.connections(), arrivals.open_at_once()), (3, 2));
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
    let read = again(&plan).expect("the same plan");
    assert_eq!(read.canonical_text(), plan.canonical_text());
    let saved = Plan::parse_saved(&plan.canonical_text()).expect("the same plan");
    assert_eq!(saved.canonical_text(), plan.canonical_text());
    let saved = &saved.replay().expect("a replay").arrivals;
    assert!(saved.repeats_connections() && saved.connections() == 3);
}

#[test]
fn replay_of_more_connections_than_the_plan_has_says_so() {
    let recorded = "replay = { file = \"replay.jsonl\", connections = \"recorded\" }\n";
    let one = plan(&format!("{recorded}load.max_connections = 1\n"));
    assert!(
        one.notes()[0].contains("up to 2 at once"),
        "{:?}",
        one.notes()
    );
    let part = problem(&recorded.replace(" }", ", from = \"2s\" }"));
    assert!(part.contains("the log does not have them"), "{part}");
}

const HANDSHAKES: &str = "target.url = \"https://c.test/\"\nreplay = { file = \
                          \"handshakes.jsonl\", connections = \"recorded\", handshakes = \
                          \"recorded\" }\n";

#[test]
fn handshakes_of_a_log_are_those_of_its_connections() {
    let plan = parse(HANDSHAKES).expect("a plan");
    let arrivals = &plan.replay().expect("a replay").arrivals;
    let facts = HandshakeFacts {
        full: 2,
        resumed: 1,
        names: 2,
        tls12: 1,
        tls13: 2,
    };
    assert_eq!(arrivals.handshake_facts(), Some(facts));
    let kinds: Vec<_> = (0..4).map(|number| arrivals.handshake(number)).collect();
    assert_eq!(kinds, [Some(0), Some(1), Some(2), Some(0)]);
    // The connection that resumes goes where the first one goes.
    let shares = (0..3).map(|agent| plan.share(agent, 3).requests);
    assert_eq!(shares.flatten().collect::<BTreeSet<_>>(), [0, 1, 3].into());
    let read = again(&plan).expect("the same plan");
    assert_eq!(
        (&read, read.canonical_text()),
        (&plan, plan.canonical_text())
    );
    let saved = Plan::parse_saved(&plan.canonical_text()).expect("the same plan");
    let saved = &saved.replay().expect("a replay").arrivals;
    assert_eq!(saved.handshake_facts(), Some(facts));
    let demand = plan.demand(&Owner::ALONE.into());
    assert_eq!(demand.connections_in_all, Some(3));
    let each = |share: f64| demand.operations_per_s.map(|all| all * share);
    assert_eq!(demand.connections_per_s, each(0.75));
    let full = demand.full_handshakes_per_s.expect("handshakes");
    assert!((full - each(0.5).expect("a rate")).abs() < 1e-9, "{full}");
    // GET, two bytes of path, and 30 bytes around them.
    assert_eq!(demand.sent_bytes_per_s, each(35.0));
}

#[test]
fn what_contradicts_the_handshakes_of_a_log_is_refused() {
    let with = |more: &str| parse(&format!("{HANDSHAKES}{more}")).expect_err("problems");
    let cases = [
        ("tls.resumption = \"always\"\n", "the log does; remove one"),
        ("tls.server_name = \"a.test\"\n", "(2 of them)"),
        (
            "tls.versions = [\"1.3\"]\n",
            "1 connections of the log use it",
        ),
        (
            "tls.cipher_suites = [\"TLS_AES_128_GCM_SHA256\"]\n",
            "add \"1.2\"",
        ),
    ];
    for (more, expected) in cases {
        let problem = with(more);
        assert!(problem.contains(expected), "{more}: {problem}");
        assert_eq!(problem.lines().count(), 1, "{more}: {problem}");
    }
    let instead =
        |from: &str, to: &str| parse(&HANDSHAKES.replace(from, to)).expect_err("problems");
    let cases = [
        ("https://", "http://", "the target is plain http"),
        (
            "handshakes.jsonl",
            "replay.jsonl",
            "the log does not have them; log",
        ),
        (
            "handshakes.jsonl",
            "names.jsonl",
            "no ClientHello can have it",
        ),
        (
            "connections = \"recorded\"",
            "connections = \"pooled\"",
            "belongs to a connection",
        ),
    ];
    for (from, to, expected) in cases {
        let problem = instead(from, to);
        assert!(problem.contains(expected), "{to}: {problem}");
        assert_eq!(problem.lines().count(), 1, "{to}: {problem}");
    }
    let column = HANDSHAKES.replace("handshakes.jsonl", "unnamed.jsonl")
        + "data.d = { file = \"sites.csv\", order = \"user\" }\ntls.server_name = \"{d.host}\"\n";
    let problem = parse(&column).expect_err("problems");
    assert!(problem.contains("is a column"), "{problem}");
    // The plan's name is for a log without names, and its early data for sessions of the log.
    let names = HANDSHAKES.replace("handshakes.jsonl", "unnamed.jsonl");
    parse(&format!(
        "{names}tls = {{ server_name = \"a.test\", early_data = true }}\n"
    ))
    .expect("a plan");
}

#[test]
fn plan_without_a_replay_does_not_mention_it() {
    let plan = plan("load = { rate = \"1/s\", duration = \"1s\" }\n");
    assert!(!plan.canonical_text().contains("replay"));
}

#[test]
fn entries_add_to_the_requests_of_their_method() {
    let log = "replay.file = \"replay.jsonl\"\n";
    let one = plan(&format!(
        "{log}request = {{ name = \"all\", headers.x = \"1\" }}\n"
    ));
    assert_eq!(names(&one), [("all GET", "GET"), ("all POST", "POST")]);
    let two = plan(&format!(
        "{log}[[request]]\nmethod = \"POST\"\nname = \"order\"\n[[request]]\nheaders.x = \"1\"\n"
    ));
    assert_eq!(names(&two), [("GET", "GET"), ("order", "POST")]);
    assert!(two.requests()[1].headers.is_empty());
    let twice = format!("{log}[[request]]\nmethod = \"GET\"\n[[request]]\nmethod = \"GET\"\n");
    assert!(problem(&twice).contains("write one entry for each method"));
}

#[test]
fn entry_that_names_two_requests_alike_is_refused() {
    let log = "replay.file = \"replay.jsonl\"\n";
    let derived = problem(&format!(
        "{log}request = {{ method = \"GET\", name = \"POST\" }}\n"
    ));
    assert!(derived.contains("GET and POST the same name"), "{derived}");
    let written = problem(&format!(
        "{log}[[request]]\nmethod = \"GET\"\nname = \"a\"\n\
         [[request]]\nmethod = \"POST\"\nname = \"a\"\n"
    ));
    assert!(written.contains("of request[0]"), "{written}");
    assert_eq!(written.lines().count(), 1, "{written}");
    let long = problem(&format!("{log}request.name = \"{}\"\n", "n".repeat(98)));
    assert!(long.contains("write a shorter name"), "{long}");
}

#[test]
fn answers_to_head_are_expected_without_a_body() {
    let plan = plan(
        "replay = { file = \"heads.jsonl\", speed = 1000 , to = \"2400h\" }\n\
         request.expect = { status = [200], bytes = 356, contains = \"a\" }\n",
    );
    let head = &plan.requests()[0];
    assert_eq!(head.method, "HEAD");
    assert!(head.expect.bytes.is_none() && head.expect.checks.is_empty());
    assert_eq!(again(&plan).as_ref(), Ok(&plan));
}

#[test]
fn what_the_log_says_is_refused_elsewhere() {
    let log = "replay.file = \"replay.jsonl\"\n";
    let cases = [
        ("load.rate = \"1/s\"\n", "with [replay] the log does"),
        ("load.warm_up = \"1s\"\n", "with [replay] the log does"),
        ("request.path = \"/\"\n", "comes from the log"),
        ("request.weight = 2\n", "comes from the log"),
        ("connection.requests = 0\n", "which sends none"),
        (
            "replay.connections = \"recorded\"\nconnection.requests = 2\n",
            "the log says how many",
        ),
        (
            "replay.connections = \"own\"\n",
            "\"pooled\" or \"recorded\"",
        ),
        ("replay.speed = 0\n", "from 0.001 to 1000"),
        ("replay.loop = 1001\n", "from 1 to 1000"),
        ("replay.from = \"1h\"\n", "has no request"),
        (
            "request = { method = \"PSOT\", headers.x = \"1\" }\n",
            "write one of its methods (GET, POST)",
        ),
        (
            "replay = { from = \"2s\", to = \"1s\" }\n",
            "write a later time",
        ),
        (
            "replay.status = \"right\"\n",
            "\"recorded\", \"expected\" or \"any\"",
        ),
        (
            "data.d = { file = \"words.txt\", order = \"unique\" }\nrequest.headers.x = \
             \"{d.line}\"\n",
            "sends 4 requests, and data.d has 3 rows",
        ),
    ];
    for (more, expected) in cases {
        let text = if more.starts_with("replay =") {
            more.replace("{ ", "{ file = \"replay.jsonl\", ")
        } else {
            format!("{log}{more}")
        };
        let problem = problem(&text);
        assert!(problem.contains(expected), "{more}: {problem}");
        assert_eq!(problem.lines().count(), 1, "{more}: {problem}");
    }
    let long = problem("replay = { file = \"heads.jsonl\", speed = 10 }\n");
    assert!(long.contains("at most 2400h"), "{long}");
    let missing = problem("replay.speed = 2\n");
    assert!(missing.contains("names no file"), "{missing}");
    let wrong = problem("replay.file = \"coupons.jsonl\"\n");
    assert!(
        wrong.contains("has a wrong line 1: missing field"),
        "{wrong}"
    );
    let search = format!(
        "{BASE}{log}[search]\nrate = {{ from = \"1/s\", to = \"9/s\" }}\n\
         [thresholds]\n\"errors.share\" = \"< 1%\"\n"
    );
    let problem = campaign(&search).expect_err("a search");
    assert!(problem.contains("remove one of them"), "{problem}");
    let agents = format!("{BASE}{log}search.agents = [1, 2]\n");
    let problem = campaign(&agents).expect_err("a search");
    assert!(problem.contains("remove one of them"), "{problem}");
}

#[test]
fn every_request_may_take_a_row() {
    let plan = plan(
        "replay.file = \"replay.jsonl\"\ndata.d.file = \"words.txt\"\n\
         request = { method = \"POST\", headers.x = \"{d.line}\" }\n",
    );
    let source = &plan.row_sources()["d"];
    let rows: Vec<u64> = (0..4).map(|seq| source.row(seq, 0)).collect();
    assert_eq!(rows, [0, 1, 2, 0], "whatever the methods before it");
}

#[test]
fn rate_over_time_counts_every_request() {
    for turns in [1u32, 2, 100, 1000] {
        let text = format!("replay = {{ file = \"replay.jsonl\", loop = {turns} }}\n");
        let plan = plan(&text);
        let profile = Profile::after_warm_up(plan.load());
        let turn_ns = 4_000_000_000;
        let until = |at_ns| profile.integral_at(at_ns);
        let all = 4.0 * f64::from(turns);
        assert!((until(u64::MAX) - all).abs() < 1e-6, "{turns}");
        assert!((until(turn_ns) - 4.0).abs() < 1e-6, "{turns}");
        assert_eq!(profile.amount_at(turn_ns * u64::from(turns)), 0.0);
    }
}
