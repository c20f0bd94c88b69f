//! Whose limit it was: each rule below, at and above its bound; contradicting rules; and staged
//! cases, with figures like those of real runs.

use crate::scene::{CLOSED, MS, OPEN, QUIET, SECOND, Second, cpu, document};
use analysis::{
    Backlog, Column, Document, GroupRow, InterfaceRow, LimitOf, MachineResult, MachineRole,
    MachineRow, PercentileFigure, ProcessRow, QueueRow, RuleId, RuleReading, TcpRow, TimeFigure,
    Verdict, VerdictRecord, WebSocketFigures, exit_code, explain,
};

/// A machine with room for everything.
pub fn idle() -> MachineRow {
    MachineRow {
        seconds: 1,
        elapsed_ns: SECOND,
        cpu_busy: 0.2,
        cpus: 2,
        busiest_cpu: 0.3,
        cpu_stall: Some(0.0),
        memory_stall: Some(0.0),
        group: Some(GroupRow {
            quota: Some(0.5),
            ..GroupRow::default()
        }),
        interfaces: vec![InterfaceRow {
            name: "eth0".to_owned(),
            received_bytes: 1_000_000,
            sent_bytes: 1_000_000,
            drops: 0,
            speed_mbit: Some(1000),
        }],
        tcp: TcpRow {
            segments_sent: 10_000,
            ..TcpRow::default()
        },
        accept_queue: Some(QueueRow {
            address: "0.0.0.0:443".to_owned(),
            most: 8,
            dropped: Some(0),
            is_of_load: true,
            is_watched: true,
            ..QueueRow::default()
        }),
        conntrack: Some(0.1),
        processes: vec![ProcessRow {
            name: "process".to_owned(),
            cpus: 0.1,
            busiest_thread: "thread".to_owned(),
            busiest_thread_share: 0.1,
            busiest_thread_cpus: 2,
            descriptors: 20,
            descriptors_limit: Some(1000),
            ..ProcessRow::default()
        }],
        ..MachineRow::default()
    }
}

pub fn changed(change: impl Fn(&mut MachineRow)) -> MachineRow {
    let mut row = idle();
    change(&mut row);
    row
}

fn machine(role: MachineRole, name: &str, row: &MachineRow) -> MachineResult {
    let rows = (0..6).map(|second| MachineRow {
        second,
        ..row.clone()
    });
    MachineResult {
        name: name.to_owned(),
        role,
        rows: rows.collect(),
        ..MachineResult::default()
    }
}

/// A run of the scene with agents that have room.
pub fn run(load: &str, content: Second) -> Document {
    let mut document = document(load, content, cpu(0.3, 0.3));
    for name in ["one", "two"] {
        let machine = machine(MachineRole::Agent, name, &idle());
        document.machines.push(machine);
    }
    document
}

pub fn with_agent(mut document: Document, row: &MachineRow) -> Document {
    document.machines[0] = machine(MachineRole::Agent, "one", row);
    document
}

pub fn with_monitor(mut document: Document, row: &MachineRow) -> Document {
    let monitor = machine(MachineRole::Monitor, "db", row);
    document.machines.push(monitor);
    document
}

/// Sets means and percentiles of a phase, the same for every outcome, from the fastest answer, the
/// median, and the 90th percentile. The other answers lie near the median.
pub fn phase(document: &mut Document, name: &str, min_ms: u64, p50_ms: u64, p90_ms: u64) {
    let near = (p50_ms * 9 / 10).max(min_ms);
    let times = (0..1000).map(|nth: u64| match nth {
        0 => min_ms,
        1..500 => near + (p50_ms - near) * nth / 499,
        _ => p50_ms + (p90_ms - p50_ms) * (nth.min(899) - 500) / 399,
    });
    answers(document, name, times.map(|ms| ms * MS).collect());
    let of_ok = document.measured.times_by_outcome.get_mut("ok").unwrap();
    let figures = [of_ok, &mut document.measured.times];
    for times in figures {
        times.get_mut(name).unwrap().mean_ns = (p50_ms * MS) as f64;
    }
}

/// Sets a phase to these times, the same for every outcome.
pub fn answers(document: &mut Document, name: &str, mut times: Vec<u64>) {
    times.sort_unstable();
    let count = times.len();
    let (min_ns, max_ns) = (times[0], times[count - 1]);
    let at = |percentile: f64| PercentileFigure {
        percentile,
        value_ns: times[(percentile / 100.0 * count as f64).ceil() as usize - 1],
        at_least: false,
    };
    let growth = (max_ns as f64 / min_ns as f64).powf(1.0 / 60.0);
    let columns = (1..=60).scan(0, |before, nth| {
        let to_ns = match nth {
            60 => max_ns,
            _ => (min_ns as f64 * growth.powi(nth)) as u64,
        };
        let up_to = times.partition_point(|&time| time <= to_ns) as u64;
        let count = up_to - *before;
        *before = up_to;
        Some(Column { to_ns, count })
    });
    let figure = TimeFigure {
        count: count as u64,
        mean_ns: times.iter().sum::<u64>() as f64 / count as f64,
        min_ns,
        max_ns,
        percentiles: [50.0, 90.0].map(at).to_vec(),
        histogram: columns.collect(),
        ..TimeFigure::default()
    };
    let times = &mut document.measured.times;
    times.insert(name.to_owned(), figure.clone());
    let of_ok = &mut document.measured.times_by_outcome;
    let of_ok = of_ok.entry("ok".to_owned()).or_default();
    of_ok.insert(name.to_owned(), figure);
}

/// An open loop with half of its load carried, in front of a server whose answers stand in line.
pub fn overloaded() -> Document {
    let mut document = run(OPEN, QUIET);
    document.backlog = Some(Backlog {
        due: 400,
        ended: 200,
        at_end: 400,
        noise: 40.0,
        ..Backlog::default()
    });
    let rates = &mut document.measured.rates;
    (rates.due_per_second, rates.operations_per_second) = (200.0, 100.0);
    for row in &mut document.series.rows {
        (row.response_time_count, row.ended, row.in_service) = (200, 100, 100.0);
    }
    phase(&mut document, "service_time", 1, 100, 120);
    phase(&mut document, "first_byte", 1, 95, 115);
    phase(&mut document, "receive", 1, 5, 6);
    document
}

/// Users that each wait for a body.
pub fn downloading(load: &str) -> Document {
    let mut document = run(load, QUIET);
    for row in &mut document.series.rows {
        (row.in_service, row.wire_received_bytes) = (10.0, 2_500_000);
    }
    phase(&mut document, "service_time", 10, 400, 420);
    phase(&mut document, "first_byte", 1, 20, 25);
    phase(&mut document, "receive", 10, 380, 400);
    document
}

fn of_rule(document: &Document, rule: &str) -> Vec<RuleReading> {
    let readings = explain(document).into_iter();
    readings
        .filter(|reading| reading.rule.name() == rule)
        .collect()
}

pub fn speaks(document: &Document, rule: &str) -> bool {
    let readings = of_rule(document, rule);
    assert!(!readings.is_empty(), "no rule is called {rule}");
    for reading in &readings {
        assert!(
            reading.says.is_none() || reading.distance.is_some_and(|distance| distance >= 1.0),
            "{reading:?}"
        );
    }
    readings.iter().any(|reading| reading.says.is_some())
}

type Change = fn(&mut MachineRow, f64);

/// A change to a run that removes its proof.
type Spoil = fn(&mut Document);

pub fn thread(row: &mut MachineRow) -> &mut ProcessRow {
    &mut row.processes[0]
}

/// Makes the kernel report `number` connections dropped at a full queue of the server.
pub fn drop_connections(row: &mut MachineRow, number: u64) {
    queue(row).dropped = Some(number);
    row.tcp.listen_overflows = number;
}

pub fn queue(row: &mut MachineRow) -> &mut QueueRow {
    row.accept_queue.as_mut().unwrap()
}

pub fn group(row: &mut MachineRow) -> &mut GroupRow {
    row.group.as_mut().unwrap()
}

/// The rule, how a row gets its figure, and figures below, at and above the bound.
const OF_CLIENT: [(&str, Change, [f64; 3]); 9] = [
    (
        "worker",
        |row, at| thread(row).busiest_thread_share = at,
        [0.89, 0.9, 0.95],
    ),
    (
        "CPU quota's stops",
        |row, at| group(row).throttled = at,
        [0.049, 0.05, 1.0],
    ),
    (
        "CPU quota",
        |row, at| thread(row).cpus = at,
        [0.39, 0.4, 0.5],
    ),
    (
        "client's memory",
        |row, at| {
            row.memory_stall = Some(at);
            row.swapped_pages = 10;
        },
        [0.09, 0.1, 0.5],
    ),
    (
        "worker's CPU",
        |row, at| {
            thread(row).busiest_thread_share = 0.5;
            thread(row).busiest_thread_waiting = at;
        },
        [0.39, 0.4, 0.5],
    ),
    (
        "worker's CPU",
        |row, at| {
            thread(row).busiest_thread_share = 0.5;
            (row.busiest_cpu, row.busiest_softirq) = (1.0, at);
        },
        [0.39, 0.4, 0.5],
    ),
    (
        "client's machine",
        |row, at| {
            row.cpu_busy = at;
            thread(row).longest_waiting = 0.1;
        },
        [0.94, 0.95, 1.0],
    ),
    (
        "client's machine",
        |row, at| {
            row.cpu_busy = 1.0;
            thread(row).longest_waiting = at;
        },
        [0.09, 0.1, 0.5],
    ),
    ("steal", |row, at| row.worst_steal = at, [0.09, 0.1, 0.3]),
];

#[test]
fn each_rule_of_the_client_speaks_from_its_bound_on_whatever_became_of_the_load() {
    for (rule, change, figures) in OF_CLIENT {
        for (figure, is_over) in figures.into_iter().zip([false, true, true]) {
            let row = changed(|row| change(row, figure));
            for met in [run(OPEN, QUIET), run(CLOSED, QUIET), overloaded()] {
                let document = with_agent(met, &row);
                assert_eq!(speaks(&document, rule), is_over, "{rule} at {figure}");
                let record = VerdictRecord::new(&document);
                assert_eq!(
                    record.verdict == Verdict::ClientBound,
                    is_over,
                    "{rule} at {figure}: {record:?}"
                );
            }
        }
    }
}

#[test]
fn what_the_hypervisor_takes_of_a_workers_cpu_counts_as_what_others_take() {
    for (taken, is_over) in [(0.39, false), (0.4, true)] {
        let row = changed(|row| {
            thread(row).busiest_thread_share = 0.5;
            (row.busiest_cpu, row.worst_steal) = (1.0, taken);
        });
        let document = with_agent(run(CLOSED, QUIET), &row);
        assert_eq!(speaks(&document, "worker's CPU"), is_over, "{taken}");
    }
}

#[test]
fn limit_of_the_client_counts_from_a_twentieth_of_the_seconds_on() {
    let full = |seconds: u32, of: u32| {
        let mut document = run(OPEN, QUIET);
        document.run.duration_ns = u64::from(of) * SECOND;
        let row = document.series.rows[3].clone();
        document.series.rows = (0..of + 2)
            .map(|second| analysis::Row {
                second,
                warm_up: second < 2,
                ..row.clone()
            })
            .collect();
        document.machines[0].rows = (0..of + 2)
            .map(|second| MachineRow {
                second,
                ..changed(|row| {
                    let is_full = second >= of + 2 - seconds;
                    thread(row).busiest_thread_share = if is_full { 0.95 } else { 0.1 };
                })
            })
            .collect();
        VerdictRecord::new(&document).verdict
    };
    for (seconds, of, verdict) in [
        (0, 40, Verdict::LoadMet),
        (1, 40, Verdict::LoadMet),
        (2, 40, Verdict::ClientBound),
        (1, 20, Verdict::ClientBound),
        (1, 21, Verdict::LoadMet),
        (1, 4, Verdict::ClientBound),
    ] {
        assert_eq!(full(seconds, of), verdict, "{seconds} of {of} s");
    }
}

#[test]
fn rows_of_the_warm_up_and_of_parts_of_a_second_do_not_count() {
    let mut document = run(OPEN, QUIET);
    let full = changed(|row| thread(row).busiest_thread_share = 1.0);
    for second in [0, 1, 6] {
        document.machines[0].rows.retain(|row| row.second != second);
        let row = MachineRow {
            second,
            ..full.clone()
        };
        document.machines[0].rows.push(row);
    }
    let short = MachineRow {
        second: 5,
        elapsed_ns: SECOND / 3,
        ..full
    };
    document.machines[0].rows.push(short);
    assert_eq!(VerdictRecord::new(&document).verdict, Verdict::LoadMet);
}

#[test]
fn at_most_is_what_the_fullest_second_that_counts_came_to() {
    let mut document = run(OPEN, QUIET);
    for (second, busy) in [(1, 1.0), (3, 0.99), (4, 0.6)] {
        let row = &mut document.machines[0].rows[second];
        row.cpu_busy = busy;
        thread(row).busiest_thread_share = busy / 2.0;
    }
    let evidence = VerdictRecord::new(&document).evidence.join("; ");
    let said =
        "workers were at most 49.5 % busy (mean 30.0 %), machines' CPUs together at most 99.0 %";
    assert!(evidence.contains(said), "{evidence}");
    document.machines.clear();
    let cpu = document.agents[1].cpu.as_mut().unwrap();
    (cpu.busiest_worker_share_max, cpu.machine_busy_share_max) = (0.7, 0.8);
    let evidence = VerdictRecord::new(&document).evidence.join("; ");
    let said =
        "workers were at most 70.0 % busy (mean 30.0 %), machines' CPUs together at most 80.0 %";
    assert!(evidence.contains(said), "{evidence}");
}

#[test]
fn quota_that_stops_a_client_in_a_few_seconds_explains_its_lag_beside_the_server() {
    let lagging = Second {
        lag_ms: 40,
        ..QUIET
    };
    let mut document = run(CLOSED, lagging);
    document.plan.builtin_target = true;
    assert!(
        !speaks(&document, "loop lag"),
        "server and client share CPUs"
    );
    group(&mut document.machines[0].rows[3]).throttled = 0.5;
    assert!(speaks(&document, "loop lag"), "its quota stopped it");
}

#[test]
fn shared_machine_that_is_full_is_not_asked_to_carry_more() {
    let mut document = run(CLOSED, QUIET);
    document.plan.builtin_target = true;
    let full = changed(|row| row.cpu_busy = 0.995);
    for (row, is_full) in [(idle(), false), (full, true)] {
        let document = with_agent(document.clone(), &row);
        let record = VerdictRecord::new(&document);
        assert_eq!(record.verdict, Verdict::Undetermined);
        assert_eq!(analysis::shares_full_machine(&document), is_full);
        let missing = record.missing.join("; ");
        assert_eq!(missing.contains("a higher load"), !is_full, "{missing}");
    }
}

#[test]
fn results_without_seconds_are_judged_by_their_means() {
    for (worker, machine, verdict) in [
        (0.89, 0.94, Verdict::LoadMet),
        (0.9, 0.5, Verdict::ClientBound),
        (0.5, 0.95, Verdict::ClientBound),
    ] {
        let document = document(OPEN, QUIET, cpu(worker, machine));
        assert!(document.machines.is_empty());
        assert_eq!(document.verdict.verdict, verdict, "{:?}", document.verdict);
    }
}

/// The rule, how a monitor's row gets its figure, and figures below, at and above the bound.
const OF_SERVER: [(&str, Change, [f64; 3]); 15] = [
    (
        "server's CPUs",
        |row, at| {
            row.cpu_busy = at;
            row.cpu_stall = Some(0.5);
            row.processes.clear();
        },
        [0.94, 0.95, 1.0],
    ),
    (
        "server's CPUs",
        |row, at| {
            row.cpu_busy = 1.0;
            thread(row).longest_waiting = at;
        },
        [0.09, 0.1, 0.5],
    ),
    (
        "server's thread",
        |row, at| thread(row).busiest_thread_share = at,
        [0.94, 0.95, 1.0],
    ),
    (
        "server's thread",
        |row, at| {
            thread(row).busiest_thread_cpus = 1;
            thread(row).busiest_thread_share = 0.7;
            (row.busiest_cpu, row.busiest_softirq) = (at, 0.3);
        },
        [0.94, 0.95, 1.0],
    ),
    (
        "server's process",
        |row, at| {
            thread(row).busiest_thread_cpus = 1;
            (thread(row).cpus, row.busiest_cpu) = (at, 1.0);
        },
        [0.94, 0.95, 1.0],
    ),
    (
        "server's process",
        |row, at| {
            thread(row).busiest_thread_cpus = 1;
            (thread(row).cpus, row.busiest_softirq, row.busiest_cpu) = (0.8, 0.2, at);
        },
        [0.94, 0.95, 1.0],
    ),
    (
        "server's process",
        |row, at| thread(row).cpus = at,
        [1.89, 1.9, 2.0],
    ),
    (
        "server's CPU quota",
        |row, at| group(row).throttled = at,
        [0.09, 0.1, 1.0],
    ),
    (
        "accept queue",
        |row, at| queue(row).waiting = at as u32,
        [7.0, 8.0, 9.0],
    ),
    (
        "accept queue",
        |row, at| drop_connections(row, at as u64),
        [0.0, 1.0, 100.0],
    ),
    (
        "server's descriptors",
        |row, at| {
            queue(row).waited = 1.0;
            thread(row).descriptors = at as u64;
        },
        [989.0, 990.0, 1000.0],
    ),
    (
        "server's memory",
        |row, at| {
            group(row).memory_limit_hits = 3;
            row.memory_stall = Some(at);
        },
        [0.09, 0.1, 0.5],
    ),
    (
        "server's memory",
        |row, at| {
            (group(row).refaults, row.io_stall) = (100, Some(0.7));
            thread(row).blocked = at;
        },
        [0.09, 0.1, 0.9],
    ),
    (
        "server's disk",
        |row, at| {
            row.io_stall = Some(0.7);
            thread(row).blocked = at;
        },
        [0.39, 0.4, 0.9],
    ),
    (
        "connection tracking",
        |row, at| row.conntrack = Some(at),
        [0.94, 0.95, 1.0],
    ),
];

#[test]
fn each_rule_of_the_server_speaks_from_its_bound_on_and_names_the_monitor() {
    for (rule, change, figures) in OF_SERVER {
        for (figure, is_over) in figures.into_iter().zip([false, true, true]) {
            let row = changed(|row| change(row, figure));
            let document = with_monitor(run(CLOSED, QUIET), &row);
            assert_eq!(speaks(&document, rule), is_over, "{rule} at {figure}");
            let record = VerdictRecord::new(&document);
            let verdict = if is_over {
                Verdict::ServerBound
            } else {
                Verdict::Undetermined
            };
            assert_eq!(record.verdict, verdict, "{rule} at {figure}: {record:?}");
            let mut evidence = record.evidence.iter();
            let is_named = evidence.any(|line| line.starts_with("monitor db: "));
            assert_eq!(is_named, is_over, "{record:?}");
            // A load that is carried counts as carried, however full the server is.
            let met = VerdictRecord::new(&with_monitor(run(OPEN, QUIET), &row));
            assert_eq!(met.verdict, Verdict::LoadMet, "{rule}: {met:?}");
        }
    }
}

#[test]
fn what_is_used_up_and_not_waited_for_is_no_limit_of_the_server() {
    let busy = changed(|row| row.cpu_busy = 1.0);
    let swapping = changed(|row| (row.swapped_pages, row.major_faults) = (1000, 1000));
    for row in [busy, swapping] {
        let record = VerdictRecord::new(&with_monitor(run(CLOSED, QUIET), &row));
        assert_eq!(record.verdict, Verdict::Undetermined, "{record:?}");
    }
}

#[test]
fn page_faults_of_a_row_of_several_seconds_are_counted_by_second() {
    for (seconds, is_short) in [(1, true), (5, false)] {
        let row = changed(|row| {
            (row.memory_stall, row.major_faults) = (None, 250);
            row.elapsed_ns = seconds * 1_000_000_000;
        });
        let readings = analysis::explain(&with_monitor(run(CLOSED, QUIET), &row));
        let memory = readings.iter().find(|it| it.rule == RuleId::ServerMemory);
        let reached = memory.and_then(|it| it.distance).unwrap();
        assert_eq!(reached >= 1.0, is_short, "{seconds} s: {reached}");
    }
}

#[test]
fn limit_of_the_server_counts_from_half_of_the_seconds_under_load_on() {
    for (full, verdict) in [
        (1, Verdict::Undetermined),
        (2, Verdict::ServerBound),
        (4, Verdict::ServerBound),
    ] {
        let mut document = with_monitor(run(CLOSED, QUIET), &idle());
        document
            .series
            .rows
            .iter_mut()
            .for_each(|row| row.in_service = 10.0);
        for row in document.machines[2].rows.iter_mut().skip(2).take(full) {
            thread(row).busiest_thread_share = 1.0;
        }
        let record = VerdictRecord::new(&document);
        assert_eq!(record.verdict, verdict, "{full}: {record:?}");
    }
}

#[test]
fn throughput_that_follows_no_more_is_the_servers_and_says_who_saw_it() {
    let record = VerdictRecord::new(&overloaded());
    let evidence = record.evidence.join("; ");
    assert_eq!(record.verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("no monitor watched"), "{evidence}");
    let watched = VerdictRecord::new(&with_monitor(overloaded(), &idle()));
    let evidence = watched.evidence.join("; ");
    assert_eq!(watched.verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("waits for something"), "{evidence}");
}

#[test]
fn throughput_is_no_proof_below_its_bounds_nor_where_something_else_may_hold_it() {
    let spoil: [(&str, Spoil); 7] = [
        ("just beyond", |document| {
            document.backlog.as_mut().unwrap().due = 219;
        }),
        // By more than the square root of 2, the factor by which the load is beyond it.
        ("still rising", |document| {
            let rows = &mut document.series.rows;
            rows.last_mut().unwrap().ended = 142;
        }),
        ("still rising near the capacity", |document| {
            document.backlog.as_mut().unwrap().due = 220;
            document.backlog.as_mut().unwrap().noise = 19.0;
            document.series.rows.last_mut().unwrap().ended = 111;
        }),
        ("cut short", |document| document.backlog = None),
        ("in handshakes of TCP", |document| {
            phase(document, "first_byte", 1, 49, 60);
        }),
        ("few connections", |document| {
            document.measured.operations.not_sent = 100;
            phase(document, "first_byte", 60, 100, 120);
        }),
        ("in moving bytes", |document| {
            phase(document, "receive", 50, 50, 50);
        }),
    ];
    for (what, spoil) in spoil {
        let mut document = overloaded();
        document.measured.operations.not_sent = 1;
        assert!(speaks(&document, "throughput follows load"), "{what}");
        spoil(&mut document);
        assert!(!speaks(&document, "throughput follows load"), "{what}");
        let record = VerdictRecord::new(&document);
        assert_eq!(record.verdict, Verdict::Undetermined, "{what}: {record:?}");
    }
    // At the bound the rule fires.
    let mut document = overloaded();
    document.backlog.as_mut().unwrap().due = 220;
    document.backlog.as_mut().unwrap().noise = 19.0;
    document.series.rows.last_mut().unwrap().ended = 110;
    assert!(speaks(&document, "throughput follows load"));
}

#[test]
fn link_at_its_speed_is_the_networks_at_either_end() {
    for (bytes, is_over) in [
        (112_400_000, false),
        (112_500_000, true),
        (125_000_000, true),
        // A virtual link that carries more than its speed reports a wrong speed.
        (250_000_000, false),
    ] {
        let full = changed(|row| row.interfaces[0].received_bytes = bytes);
        for document in [
            with_agent(downloading(CLOSED), &full),
            with_monitor(downloading(CLOSED), &full),
        ] {
            assert_eq!(speaks(&document, "link"), is_over, "{bytes}");
            let record = VerdictRecord::new(&document);
            if is_over {
                assert_eq!(record.verdict, Verdict::NetworkBound, "{record:?}");
            }
        }
    }
}

#[test]
fn lost_segments_are_the_networks_where_moving_bytes_takes_the_time() {
    for (lost, is_over) in [(99, false), (100, true), (300, true)] {
        let lossy = changed(|row| row.tcp.retransmits = lost);
        let document = with_monitor(downloading(CLOSED), &lossy);
        assert_eq!(speaks(&document, "retransmits"), is_over, "{lost}");
        // If answers are slow to begin, the losses may be connects at a full queue.
        let mut slow = with_monitor(run(CLOSED, QUIET), &lossy);
        phase(&mut slow, "service_time", 1, 100, 120);
        phase(&mut slow, "receive", 1, 49, 60);
        assert!(!speaks(&slow, "retransmits"), "{lost}");
        let record = VerdictRecord::new(&slow);
        assert_eq!(record.verdict, Verdict::Undetermined, "{record:?}");
        let evidence = record.evidence.join("; ");
        assert!(evidence.contains("segments were sent again"), "{evidence}");
    }
}

#[test]
fn process_that_has_threads_on_other_cpus_is_not_measured_by_those_of_one_thread() {
    let rule = "server's process";
    for (cpus, allowed, busiest_cpu) in [(1.06, 1, 1.0), (1.0, 1, 0.6), (0.9, 0, 1.0)] {
        let row = changed(|row| {
            thread(row).busiest_thread_cpus = allowed;
            (thread(row).cpus, row.busiest_cpu) = (cpus, busiest_cpu);
        });
        let document = with_monitor(run(CLOSED, QUIET), &row);
        assert!(!speaks(&document, rule), "{cpus} of {allowed}");
    }
    // A process that nearly fills its only CPU has no room, so the network is not to blame.
    for (cpus, verdict) in [(0.79, Verdict::NetworkBound), (0.8, Verdict::Undetermined)] {
        let row = changed(|row| {
            thread(row).busiest_thread_cpus = 1;
            (thread(row).cpus, row.busiest_cpu) = (cpus, 1.0);
        });
        let record = VerdictRecord::new(&with_monitor(downloading(CLOSED), &row));
        assert_eq!(record.verdict, verdict, "{cpus}: {record:?}");
    }
}

/// A closed loop with stages, of ten seconds: operations under way, answers per second, and how
/// long each took.
pub fn ramp_of_users(second: impl Fn(u32) -> (f64, u64, f64)) -> Document {
    let mut document = run(CLOSED, QUIET);
    phase(&mut document, "service_time", 1, 100, 120);
    phase(&mut document, "first_byte", 1, 95, 115);
    phase(&mut document, "receive", 1, 5, 6);
    if let analysis::LoadRecord::Closed { stages, .. } = &mut document.plan.load {
        *stages = 1;
    }
    document.run.duration_ns = 10 * SECOND;
    let row = document.series.rows[3].clone();
    let rows = (2..12).map(|at| {
        let (in_service, ended, response_ms) = second(at - 2);
        analysis::Row {
            second: at,
            in_service,
            ended,
            errors: 0,
            response_time_mean_ns: response_ms * 1e6,
            ..row.clone()
        }
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

/// Ten more users each second; the server can serve 40 of them.
fn knee_at_forty(second: u32) -> (f64, u64, f64) {
    let users = 10.0 * f64::from(second + 1);
    let answers = (10.0 * users).min(400.0);
    (users, answers as u64, 1000.0 * users / answers)
}

#[test]
fn knee_inside_a_closed_loop_is_the_servers_and_named() {
    let document = ramp_of_users(knee_at_forty);
    let record = VerdictRecord::new(&document);
    assert_eq!(record.verdict, Verdict::ServerBound, "{record:?}");
    let told = record.evidence.join("; ");
    // The first three seconds with a mean above 10/11 of 400/s are those of 30, 40 and 50 users.
    let knee = "(no monitor watched): 40.0 operations under way brought 367/s, and 90.0 brought \
                400/s and took 2.08 times as long; 95.0 % of the service time";
    assert!(told.contains(knee), "{told}");
    // If a monitor saw room, the server waits for something.
    let mut watched = with_monitor(document, &idle());
    let rows = watched.machines[0].rows.clone();
    watched.machines[2].rows = rows;
    let record = VerdictRecord::new(&watched);
    assert_eq!(record.verdict, Verdict::ServerBound, "{record:?}");
    assert!(
        record.evidence[0].contains("waits for something"),
        "{record:?}"
    );
}

#[test]
fn closed_loop_without_a_knee_of_the_server_is_not_the_servers() {
    let rule = "throughput follows load";
    let without_stages = |document: &mut Document| {
        if let analysis::LoadRecord::Closed { stages, .. } = &mut document.plan.load {
            *stages = 0;
        }
    };
    let moving_bytes = |document: &mut Document| {
        phase(document, "first_byte", 1, 20, 25);
        phase(document, "receive", 1, 80, 100);
    };
    let with_errors = |document: &mut Document| {
        // Operations that fail fast make room for more of them, and none waits.
        for row in &mut document.series.rows {
            row.response_time_mean_ns = 100e6;
        }
    };
    let spoils: [Spoil; 3] = [without_stages, moving_bytes, with_errors];
    for spoil in spoils {
        let mut document = ramp_of_users(knee_at_forty);
        assert!(speaks(&document, rule));
        spoil(&mut document);
        assert!(!speaks(&document, rule));
        let record = VerdictRecord::new(&document);
        assert_eq!(record.verdict, Verdict::Undetermined, "{record:?}");
    }
    type Seconds = fn(u32) -> (f64, u64, f64);
    let follows: [(&str, Seconds); 4] = [
        ("to the end", |second| {
            let users = 10 * u64::from(second + 1);
            (users as f64, 10 * users, 100.0)
        }),
        ("until the last two seconds", |second| {
            let users = 10 * u64::from(second + 1).min(8);
            (users as f64 + f64::from(second), 10 * users, 100.0)
        }),
        ("as users leave, whose answers come late", |second| {
            let users = 100.0 - 8.0 * f64::from(second);
            (users, 95, 1000.0)
        }),
        ("of one load", |second| {
            (40.0 + f64::from(second % 2), 400, 100.0)
        }),
    ];
    for (what, second) in follows {
        assert!(!speaks(&ramp_of_users(second), rule), "{what}");
    }
}

#[test]
fn losses_that_rise_with_the_load_are_the_networks_where_both_ends_have_room() {
    let rule = "losses rise with load";
    // `low` of 10,000 segments in each second of the lower half of the load, `high` in the higher
    // half.
    let lossy = |low: u64, high: u64| {
        let users = |second: u32| {
            let users = 10 * u64::from(second + 1);
            (users as f64, 10 * users, 100.0)
        };
        let mut document = with_monitor(ramp_of_users(users), &idle());
        let monitor = document.machines.last_mut().unwrap();
        let rows = (0..12).map(|second| MachineRow {
            second,
            ..changed(|row| row.tcp.retransmits = if second < 7 { low } else { high })
        });
        monitor.rows = rows.collect();
        document
    };
    for (low, high, is_over) in [
        (0, 99, false),
        (0, 100, true),
        (50, 100, true),
        (51, 100, false),
        (300, 300, false),
        (300, 50, false),
    ] {
        let document = lossy(low, high);
        assert_eq!(speaks(&document, rule), is_over, "{low} {high}");
        let record = VerdictRecord::new(&document);
        let is_named = record.verdict == Verdict::NetworkBound;
        assert_eq!(is_named, is_over, "{low} {high}: {record:?}");
    }
    let told = VerdictRecord::new(&lossy(10, 200)).evidence.join("; ");
    let saw = "monitor db: 1000 of 50000 segments were sent again or dropped (2.00 %)";
    assert!(told.contains(saw), "{told}");
    // Packets dropped by a link count as well.
    let mut dropping = lossy(0, 0);
    for row in &mut dropping.machines.last_mut().unwrap().rows[7..] {
        row.interfaces[0].drops = 150;
    }
    assert!(speaks(&dropping, rule));
    // A server without room may be dropping the connections. Without a look at the server, or with
    // the same load throughout, nothing shows it.
    let mut full = lossy(10, 200);
    for row in &mut full.machines.last_mut().unwrap().rows {
        drop_connections(row, 9);
    }
    assert!(!speaks(&full, rule));
    assert_eq!(VerdictRecord::new(&full).verdict, Verdict::ServerBound);
    let mut unwatched = lossy(10, 200);
    let seen_by_agent = unwatched.machines.pop().unwrap().rows;
    unwatched.machines[0].rows = seen_by_agent;
    assert!(!speaks(&unwatched, rule));
    let mut even = lossy(10, 200);
    for row in &mut even.series.rows {
        row.in_service = 10.0;
    }
    assert!(!speaks(&even, rule));
}

#[test]
fn silent_rule_of_two_ends_names_the_end() {
    let unknown = changed(|row| row.interfaces[0].speed_mbit = None);
    let document = with_monitor(with_agent(run(CLOSED, QUIET), &unknown), &unknown);
    let mut one_agent = document.clone();
    one_agent.agents.truncate(1);
    for (document, agents) in [(one_agent, "agent one: "), (document, "agent ")] {
        let links = of_rule(&document, "link");
        assert!(links.len() == 2, "{links:?}");
        assert!(links[0].figure.starts_with(agents), "{links:?}");
        assert_eq!(links[1].figure, "monitor db: not known");
    }
    // If the server is not watched, nothing is listed for it.
    assert_eq!(of_rule(&run(CLOSED, QUIET), "link").len(), 1);
}

#[test]
fn bytes_at_one_pace_are_the_networks_only_if_the_server_was_seen_to_have_room() {
    let seen = with_monitor(downloading(CLOSED), &idle());
    let record = VerdictRecord::new(&seen);
    assert_eq!(record.verdict, Verdict::NetworkBound, "{record:?}");
    let unseen = downloading(CLOSED);
    let record = VerdictRecord::new(&unseen);
    assert_eq!(record.verdict, Verdict::Undetermined, "{record:?}");
    assert!(
        record.evidence.join("; ").contains("pace of bytes"),
        "{record:?}"
    );
    let spoil: [(&str, Spoil); 4] = [
        ("not in a queue", |document| {
            phase(document, "receive", 300, 380, 400);
            phase(document, "first_byte", 15, 20, 25);
        }),
        ("not at one pace", |document| {
            document.series.rows[4].wire_received_bytes = 3_000_000;
        }),
        ("not in moving bytes", |document| {
            phase(document, "receive", 10, 190, 200);
        }),
        ("held sockets", |document| {
            document.websockets.push(WebSocketFigures {
                opened: 1,
                ..WebSocketFigures::default()
            });
        }),
    ];
    let mut queue = with_monitor(downloading(CLOSED), &idle());
    phase(&mut queue, "receive", 300, 380, 400);
    assert!(speaks(&queue, "pace of bytes"), "first bytes wait too");
    for (what, spoil) in spoil {
        let mut document = with_monitor(downloading(CLOSED), &idle());
        spoil(&mut document);
        assert!(!speaks(&document, "pace of bytes"), "{what}");
    }
}

#[test]
fn busy_server_of_which_nothing_tells_who_waits_proves_neither_limit_nor_room() {
    for (busy, has_room) in [(0.79, true), (0.8, false), (0.99, false)] {
        let row = changed(|row| (row.cpu_busy, row.cpu_stall) = (busy, None));
        let record = VerdictRecord::new(&with_monitor(downloading(CLOSED), &row));
        assert_eq!(
            record.verdict == Verdict::NetworkBound,
            has_room,
            "{record:?}"
        );
        let record = VerdictRecord::new(&with_monitor(overloaded(), &row));
        let evidence = record.evidence.join("; ");
        assert_eq!(
            evidence.contains("waits for something"),
            has_room,
            "{evidence}"
        );
    }
}

#[test]
fn contradiction_is_undetermined_and_says_both_sides() {
    let both = changed(|row| {
        thread(row).busiest_thread_share = 1.0;
        row.interfaces[0].sent_bytes = 125_000_000;
    });
    let record = VerdictRecord::new(&with_monitor(downloading(CLOSED), &both));
    let evidence = record.evidence.join("; ");
    assert_eq!(record.verdict, Verdict::Undetermined, "{evidence}");
    assert!(
        evidence.contains("used 100 % of a CPU") && evidence.contains("of its 1000 Mbit/s"),
        "{evidence}"
    );
    let missing = record.missing.join("; ");
    assert!(missing.contains("a faster link"), "{missing}");
    // A full machine shared by client and server.
    let full = changed(|row| row.cpu_busy = 1.0);
    let mut document = with_monitor(with_agent(overloaded(), &full), &both);
    document.plan.builtin_target = true;
    let record = VerdictRecord::new(&document);
    let evidence = record.evidence.join("; ");
    assert_eq!(record.verdict, Verdict::Undetermined, "{evidence}");
    assert!(
        evidence.contains("used 100 % of a CPU") && evidence.contains("agent one: its machine's"),
        "{evidence}"
    );
}

#[test]
fn client_without_room_is_the_limit_whoever_else_is_and_wins_over_a_threshold() {
    let full = changed(|row| thread(row).busiest_thread_share = 0.95);
    let server = changed(|row| row.accept_queue.as_mut().unwrap().waiting = 9);
    let mut document = with_monitor(with_agent(overloaded(), &full), &server);
    document.verdict = VerdictRecord::new(&document);
    assert_eq!(document.verdict.verdict, Verdict::ClientBound);
    document.thresholds = vec![analysis::Judgement {
        metric: "response_time.p99".to_owned(),
        comparison: "<=".to_owned(),
        limit: 1e6,
        actual: Some(2e6),
        at_least: false,
        unit: analysis::Unit::Ns,
        passed: false,
        reason: None,
    }];
    assert_eq!(exit_code(&document, false), 3);
    // The same with a load that was met.
    let mut met = with_agent(run(OPEN, QUIET), &full);
    (met.thresholds, met.verdict) = (document.thresholds, VerdictRecord::new(&met));
    assert_eq!(
        (met.verdict.verdict, exit_code(&met, false)),
        (Verdict::ClientBound, 3)
    );
}

#[test]
fn nothing_false_is_said_of_the_client_or_of_connections() {
    for document in [overloaded(), with_monitor(overloaded(), &idle())] {
        let evidence = VerdictRecord::new(&document).evidence.join("; ");
        assert!(!evidence.contains("the client had time"), "{evidence}");
        assert!(!evidence.contains("were seen in use"), "{evidence}");
    }
}

#[test]
fn every_rule_is_explained_whether_it_speaks_or_not() {
    let document = run(OPEN, QUIET);
    let readings = explain(&document);
    for limit_of in [
        LimitOf::Trust,
        LimitOf::Client,
        LimitOf::Load,
        LimitOf::Server,
        LimitOf::Network,
    ] {
        let mut of = readings
            .iter()
            .filter(|reading| reading.rule.limit_of() == limit_of);
        assert!(of.next().is_some(), "{limit_of:?}");
    }
    for reading in &readings {
        assert!(reading.says.is_none(), "{reading:?}");
        assert!(
            !reading.figure.is_empty() && !reading.bound.to_string().is_empty(),
            "{reading:?}"
        );
    }
    let unknown = readings.iter().filter(|reading| reading.distance.is_none());
    let names: Vec<&str> = unknown.map(|reading| reading.rule.name()).collect();
    assert!(
        names.contains(&"server's CPUs"),
        "no monitor watched: {names:?}"
    );
}
