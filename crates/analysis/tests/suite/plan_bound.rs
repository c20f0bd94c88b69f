//! Runs limited by what the plan allows at the same time, and their neighbours: queues, servers
//! that share a CPU, and connections of which nothing is known.

use crate::limits::{answers, changed, drop_connections, idle, run, thread, with_monitor};
use crate::scene::{CLOSED, MS, OPEN, QUIET, SECOND};
use analysis::{
    Backlog, Document, ErrorFigure, JourneyFigures, LimitOf, LoadRecord, MachineRow, Row, RuleId,
    TimeFigure, Verdict, VerdictRecord, explain,
};

/// Answer times of a thousand operations, from the first to the last.
type Times = fn(u64) -> u64;

/// `connections` connections at an idle server, with answers that take as long as `times` says, and
/// half of what is due carried.
pub fn open(connections: u32, times: Times) -> Document {
    let mut document = run(OPEN, QUIET);
    let LoadRecord::Open {
        max_connections, ..
    } = &mut document.plan.load
    else {
        panic!("no open loop");
    };
    *max_connections = connections;
    with_times(&mut document, times);
    let mean_ns = document.measured.times["service_time"].mean_ns;
    let per_second = f64::from(connections) * 1e9 / mean_ns;
    let rates = &mut document.measured.rates;
    (rates.due_per_second, rates.operations_per_second) = (2.0 * per_second, per_second);
    let waits = TimeFigure {
        count: document.measured.operations.ended,
        ..TimeFigure::default()
    };
    let waits_name = "connection_wait".to_owned();
    document.measured.times.insert(waits_name, waits);
    let (due, ended) = (4 * per_second as u64, 2 * per_second as u64);
    document.backlog = Some(Backlog {
        due,
        ended,
        at_end: due,
        noise: 5.0,
        ..Backlog::default()
    });
    for row in &mut document.series.rows {
        row.response_time_count = 2 * per_second as u64;
        row.ended = per_second as u64;
        row.in_service = f64::from(connections);
    }
    document
}

/// A closed loop of `users` users.
fn closed(users: u32, times: Times) -> Document {
    let mut document = run(CLOSED, QUIET);
    if let LoadRecord::Closed { connections, .. } = &mut document.plan.load {
        *connections = users;
    }
    with_times(&mut document, times);
    let mean_ns = document.measured.times["service_time"].mean_ns;
    let per_second = f64::from(users) * 1e9 / mean_ns;
    document.measured.rates.ok_per_second = per_second;
    for row in &mut document.series.rows {
        row.ended = per_second as u64;
        row.in_service = f64::from(users);
    }
    document
}

fn with_times(document: &mut Document, times: Times) {
    let all: Vec<u64> = (0..1000).map(times).collect();
    for name in ["service_time", "first_byte"] {
        answers(document, name, all.clone());
    }
}

fn judged(document: &Document) -> (Verdict, String) {
    let record = VerdictRecord::new(document);
    let said = record.evidence.iter().chain(&record.missing);
    let said: Vec<&str> = said.map(String::as_str).collect();
    (record.verdict, said.join("; "))
}

/// 10 to 100 ms at random.
fn mixed(nth: u64) -> u64 {
    (10_000 + (nth * 7919) % 1000 * 90) * MS / 1000
}

/// Most are short, a few long: exponential with a mean of 40 ms, plus at least 5 ms.
fn skewed(nth: u64) -> u64 {
    let at = ((nth * 7919) % 1000) as f64 / 1000.0;
    ((5.0 - 40.0 * (1.0 - at).ln()) * MS as f64) as u64
}

/// 20 ms, and up to a tenth more.
fn alike(nth: u64) -> u64 {
    (20_000 + (nth * 7919) % 1000 * 2) * MS / 1000
}

/// 30 connections in front of a lock that is held for 4 ms: the first ones find a shorter line.
fn in_line(nth: u64) -> u64 {
    (4 * (nth / 2 + 1).min(30)) * MS + nth % 7 * MS / 10
}

/// Normally distributed around 100 ms: idle, but hard to distinguish from a queue.
fn bell(nth: u64) -> u64 {
    let sum: u64 = (1..=12)
        .map(|draw| (nth * 7919 * draw + draw * 104_729) % 1000)
        .sum();
    (40_000 + sum * 10) * MS / 1000
}

/// Idle: one answer of 200 is short, the others all take the same time.
fn with_a_fast_kind(nth: u64) -> u64 {
    if nth.is_multiple_of(200) {
        MS
    } else {
        (100 + nth % 3) * MS
    }
}

#[test]
fn connections_of_an_idle_server_are_the_plans_limit_and_the_cure_is_named() {
    for (what, connections, times) in [
        ("mixed answers", 10, mixed as Times),
        ("mixed answers, others", 8, skewed),
        ("answers alike", 4, alike),
    ] {
        let (verdict, said) = judged(&with_monitor(open(connections, times), &idle()));
        assert_eq!(verdict, Verdict::PlanBound, "{what}: {said}");
        assert!(
            said.contains("raise load.max_connections"),
            "{what}: {said}"
        );
        assert!(!said.contains("stopped following"), "{what}: {said}");
    }
    let (_, said) = judged(&with_monitor(open(10, mixed), &idle()));
    let told = "182/s is what 10 connections can carry at these answer times (mean 55.0 ms), and \
                answers took no longer for it: first bytes took 54.9 ms in the median and 10.0 ms \
                at least, and what monitors watched was nearly idle; raise load.max_connections";
    assert!(said.contains(told), "{said}");
    // Without processes, the machine shows it.
    let mut document = with_monitor(open(10, mixed), &changed(|row| row.processes.clear()));
    for (cpus, verdict) in [(3, Verdict::PlanBound), (4, Verdict::Undetermined)] {
        document.machines.last_mut().unwrap().facts.cpus = cpus;
        let (given, said) = judged(&document);
        assert_eq!(given, verdict, "{cpus}: {said}");
    }
    // Alike answers show it without a monitor: connections came into use one after the other.
    let (verdict, said) = judged(&open(4, alike));
    assert_eq!(verdict, Verdict::PlanBound, "{said}");
}

#[test]
fn connections_that_nothing_is_known_of_are_named_with_their_cure() {
    let busy = changed(|row| thread(row).cpus = 1.0);
    let mut at_once = open(4, alike);
    at_once.measured.rates.due_per_second *= 4.0;
    let cases = [
        ("mixed, nobody watched", open(10, mixed)),
        (
            "mixed, one CPU used, as behind an interpreter's lock",
            with_monitor(open(10, mixed), &busy),
        ),
        ("bell, watched", with_monitor(open(10, bell), &idle())),
        (
            "a fast kind, watched",
            with_monitor(open(10, with_a_fast_kind), &idle()),
        ),
        ("all connections at once, nobody watched", at_once),
    ];
    for (what, document) in cases {
        let (verdict, said) = judged(&document);
        assert_eq!(verdict, Verdict::Undetermined, "{what}: {said}");
        let told = "connections were in use: at these answer times (mean ";
        assert!(said.contains(told), "{what}: {said}");
        assert!(
            said.contains("raise load.max_connections"),
            "{what}: {said}"
        );
        assert!(!said.contains("a higher load"), "{what}: {said}");
    }
}

#[test]
fn line_in_front_of_a_server_is_the_servers_watched_or_not() {
    for document in [open(30, in_line), with_monitor(open(30, in_line), &idle())] {
        let (verdict, said) = judged(&document);
        assert_eq!(verdict, Verdict::ServerBound, "{said}");
    }
    // After a warm-up, none of the measured answers is fast.
    let mut document = open(30, |nth| (118 + nth % 4) * MS);
    let (verdict, said) = judged(&document);
    assert_eq!(verdict, Verdict::PlanBound, "{said}");
    let warm_up = document.warm_up.as_mut().unwrap();
    for name in ["first_byte", "connection_wait"] {
        let figure = TimeFigure {
            min_ns: 4 * MS,
            ..document.measured.times[name].clone()
        };
        warm_up.times.insert(name.to_owned(), figure);
    }
    let (verdict, said) = judged(&document);
    assert_eq!(verdict, Verdict::ServerBound, "{said}");
}

#[test]
fn users_who_wait_for_a_round_trip_only_are_the_plans_limit() {
    let far = |nth: u64| (200 + nth % 3) * MS;
    let few_wait_long: Times = |nth| if nth < 100 { 1200 * MS } else { 201 * MS };
    let connecting = |mut document: Document, ms: u64| {
        answers(&mut document, "connect", vec![ms * MS; 20]);
        document
    };
    let document = connecting(closed(10, far), 200);
    let (verdict, said) = judged(&document);
    assert_eq!(verdict, Verdict::PlanBound, "{said}");
    let told = "49.8/s is what 10 users bring at these answer times (mean 201 ms), and answers \
                took no longer for it: first bytes came after one round trip (p50 201 ms; a \
                connect took 200 ms at least); for more, write more users (load.connections)";
    assert!(said.contains(told), "{said}");
    // A full thread that no answer waited for changes nothing.
    let full = changed(|row| thread(row).busiest_thread_share = 1.0);
    let (verdict, said) = judged(&with_monitor(document.clone(), &full));
    assert_eq!(verdict, Verdict::PlanBound, "{said}");
    // Connections dropped, answers that take longer than the path, a single user, and errors.
    let full = changed(|row| drop_connections(row, 9));
    let mut failing = document.clone();
    failing.measured.errors.push(ErrorFigure {
        name: "http.status.503".to_owned(),
        words: "unavailable".to_owned(),
        count: 30,
        share: 0.3,
    });
    let (verdict, said) = judged(&with_monitor(document, &full));
    assert_eq!(verdict, Verdict::ServerBound, "{said}");
    for document in [
        connecting(closed(10, far), 160),
        connecting(closed(10, few_wait_long), 200),
        connecting(closed(1, far), 200),
        closed(10, far),
        failing,
    ] {
        let (verdict, said) = judged(&document);
        assert_eq!(verdict, Verdict::Undetermined, "{said}");
    }
    // A monitor that saw an idle server shows it as well.
    for times in [far as Times, mixed, skewed] {
        let (verdict, said) = judged(&with_monitor(closed(10, times), &idle()));
        assert_eq!(verdict, Verdict::PlanBound, "{said}");
    }
    let (verdict, said) = judged(&with_monitor(closed(30, in_line), &idle()));
    assert_eq!(verdict, Verdict::Undetermined, "{said}");
}

/// Journeys over `connections` connections, all of which are in use while others wait.
fn sharing(connections: u32, times: Times) -> Document {
    let mut document = closed(connections, times);
    document.plan.load = LoadRecord::Closed {
        connections: 10 * connections,
        max_connections: Some(connections),
        think_time: true,
        stages: 0,
    };
    document.journeys = vec![JourneyFigures::default()];
    let waits = TimeFigure {
        count: document.measured.operations.ended,
        ..TimeFigure::default()
    };
    let waits_name = "connection_wait".to_owned();
    document.measured.times.insert(waits_name, waits);
    document
}

#[test]
fn connections_that_journeys_share_can_be_the_plans_limit() {
    let far = |nth: u64| (200 + nth % 3) * MS;
    let mut document = sharing(10, far);
    answers(&mut document, "connect", vec![200 * MS; 20]);
    let (verdict, said) = judged(&document);
    assert_eq!(verdict, Verdict::PlanBound, "{said}");
    let told = "49.8/s is what 10 connections can carry at these answer times";
    assert!(said.contains(told), "{said}");
    assert!(said.contains("; raise load.max_connections"), "{said}");
    // Not if half of them are idle, if no step waits, or if each journey has a connection.
    let mut idle_ones = document.clone();
    for row in &mut idle_ones.series.rows {
        row.in_service = 5.0;
    }
    let mut found = document.clone();
    found.measured.times.remove("connection_wait");
    let mut own = document.clone();
    if let LoadRecord::Closed {
        max_connections, ..
    } = &mut own.plan.load
    {
        *max_connections = None;
    }
    for document in [idle_ones, found, own] {
        let (verdict, said) = judged(&document);
        assert_eq!(verdict, Verdict::Undetermined, "{said}");
        assert!(!said.contains("max_connections"), "{said}");
    }
    // Arrivals: that their answers are alike proves nothing, unless the server is idle.
    let mut arriving = open(10, alike);
    if let LoadRecord::Open { users, .. } = &mut arriving.plan.load {
        *users = Some(500);
    }
    arriving.journeys = vec![JourneyFigures::default()];
    let (verdict, said) = judged(&arriving);
    assert_eq!(verdict, Verdict::Undetermined, "{said}");
    let (verdict, said) = judged(&with_monitor(arriving, &idle()));
    assert_eq!(verdict, Verdict::PlanBound, "{said}");
    // Answers that may have waited for one another: more connections would tell.
    let (verdict, said) = judged(&sharing(30, in_line));
    assert_eq!(verdict, Verdict::Undetermined, "{said}");
    let next = "all 30 connections were in use: at these answer times";
    assert!(said.contains(next), "{said}");
    assert!(
        said.contains("raise load.max_connections for another run"),
        "{said}"
    );
}

/// Stages of users, each answered as `answers` says: users to answers per second.
fn stages(users: [f64; 10], answers: impl Fn(f64) -> f64) -> Document {
    let mut document = closed(10, mixed);
    if let LoadRecord::Closed { stages, .. } = &mut document.plan.load {
        *stages = 2;
    }
    document.run.duration_ns = 10 * SECOND;
    let row = document.series.rows[3].clone();
    let rows = users.into_iter().zip(2..).map(|(users, second)| Row {
        second,
        in_service: users,
        ended: answers(users) as u64,
        errors: 0,
        ..row.clone()
    });
    document.series.rows = rows.collect();
    for machine in &mut document.machines {
        let row = machine.rows[0].clone();
        let rows = (0..12).map(|second| MachineRow {
            second,
            ..row.clone()
        });
        machine.rows = rows.collect();
    }
    document
}

#[test]
fn users_in_stages_who_are_answered_as_fast_as_few_are_the_plans_limit() {
    let steps = [5.0, 5.0, 5.0, 5.0, 10.0, 10.0, 10.0, 20.0, 20.0, 20.0];
    let ramp = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0];
    let later = [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 10.0, 16.0, 20.0];
    for users in [steps, ramp, later] {
        let (verdict, said) = judged(&stages(users, |users| users * 20.0));
        assert_eq!(verdict, Verdict::PlanBound, "{said}");
        assert!(said.contains("operations under way brought"), "{said}");
        let slower = stages(users, |users| (users * 20.0).min(320.0));
        let (verdict, said) = judged(&slower);
        assert_eq!(verdict, Verdict::Undetermined, "{said}");
    }
    let even = stages([20.0; 10], |users| users * 20.0);
    assert_eq!(judged(&even).0, Verdict::Undetermined);
}

#[test]
fn limit_of_the_plan_is_explained_and_told_apart_from_the_clients() {
    let mut document = with_monitor(open(10, mixed), &idle());
    let reading = |document: &Document| {
        let mut readings = explain(document).into_iter();
        readings
            .find(|reading| reading.rule.limit_of() == LimitOf::Plan)
            .unwrap()
    };
    assert_eq!(reading(&document).rule, RuleId::PlanConnections);
    assert!(reading(&document).says.is_some());
    let met = reading(&run(OPEN, QUIET));
    assert_eq!(
        (met.says, met.figure.as_str()),
        (None, "arrivals found a connection")
    );
    // Times of the whole run do not describe what happens in a part of it.
    for row in &mut document.series.rows[2..4] {
        (row.in_service, row.ended) = (7.0, 127);
    }
    let (verdict, said) = judged(&document);
    assert_eq!(verdict, Verdict::Undetermined, "{said}");
    // A client with little room would not send more.
    let mut crowded = with_monitor(open(10, mixed), &idle());
    for agent in &mut crowded.agents {
        agent.cpu.as_mut().unwrap().busiest_worker_share_mean = 0.85;
    }
    let (verdict, said) = judged(&crowded);
    assert_eq!(verdict, Verdict::Undetermined, "{said}");
    // An HTTP/2 server that allows fewer streams is not a limit of the plan.
    let mut limited = with_monitor(open(10, mixed), &idle());
    limited.measured.http2.limited_connections = 10;
    let (verdict, said) = judged(&limited);
    assert_eq!(verdict, Verdict::Undetermined, "{said}");
}

/// An unfair lock: answers scatter from the first one on. While the connections filled, fewer of
/// them under way brought as much.
#[test]
fn more_under_way_that_bring_no_more_are_a_line_in_whatever_order_it_is_served() {
    for (first, brought, verdict) in [
        (4.0, 181, Verdict::ServerBound),
        (4.0, 90, Verdict::Undetermined),
        (8.0, 181, Verdict::Undetermined),
    ] {
        let mut document = open(10, mixed);
        let row = &mut document.series.rows[2];
        (row.in_service, row.ended) = (first, brought);
        let (said_verdict, said) = judged(&document);
        assert_eq!(said_verdict, verdict, "{first} brought {brought}: {said}");
    }
}
