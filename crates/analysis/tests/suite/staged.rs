//! Cases that were staged with real servers, as documents, with the verdict each must get.

use crate::limits::{
    changed, downloading, drop_connections, group, idle, overloaded, phase, queue, run, thread,
    with_agent, with_monitor,
};
use crate::scene::{CLOSED, OPEN, QUIET, Second};
use analysis::{
    Backlog, Document, HoldOutcome, HoldResult, LimitOf, MachineRow, QueueRow, RiseLimit, Row,
    RuleId, Scaling, ScalingRow, Verdict, VerdictRecord,
};

const LATE: Second = Second {
    response_ms: 60,
    delay_ms: 40,
    ..QUIET
};

fn judged(document: &Document) -> (Verdict, String) {
    let record = VerdictRecord::new(document);
    (record.verdict, record.evidence.join("; "))
}

/// A closed loop with users that wait for first bytes.
fn waiting_users() -> Document {
    let mut document = run(CLOSED, QUIET);
    phase(&mut document, "service_time", 1, 100, 120);
    phase(&mut document, "first_byte", 1, 95, 115);
    document
}

#[test]
fn agent_on_a_quarter_of_a_core_is_client_bound_in_either_loop_and_where_its_load_is_met() {
    let throttled = changed(|row| {
        thread(row).cpus = 0.24;
        (group(row).quota, group(row).throttled) = (Some(0.25), 0.96);
    });
    let late = run(OPEN, LATE);
    for document in [run(CLOSED, QUIET), run(OPEN, QUIET), overloaded(), late] {
        let (verdict, evidence) = judged(&with_agent(document, &throttled));
        assert_eq!(verdict, Verdict::ClientBound, "{evidence}");
        assert!(evidence.contains("stopped it in 96.0 %"), "{evidence}");
    }
}

#[test]
fn server_on_a_quarter_of_a_core_is_server_bound_by_its_quota_or_by_what_clients_saw() {
    let throttled = changed(|row| {
        (group(row).quota, group(row).throttled) = (Some(0.25), 0.9);
    });
    for document in [overloaded(), waiting_users()] {
        let (verdict, evidence) = judged(&with_monitor(document, &throttled));
        assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
        assert!(
            evidence.contains("monitor db: its quota of 0.25 CPUs"),
            "{evidence}"
        );
    }
    let (verdict, evidence) = judged(&overloaded());
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("no monitor watched"), "{evidence}");
    let (verdict, evidence) = judged(&waiting_users());
    assert_eq!(verdict, Verdict::Undetermined, "{evidence}");
}

#[test]
fn one_of_two_pinned_workers_that_is_full_is_named() {
    let full = changed(|row| {
        let mut other = row.processes[0].clone();
        (other.pid, other.busiest_thread_share) = (2, 0.3);
        row.processes.push(other);
        thread(row).pid = 1;
        thread(row).busiest_thread_cpus = 1;
        thread(row).busiest_thread_share = 0.74;
        (row.busiest_cpu, row.busiest_softirq) = (1.0, 0.26);
    });
    let (verdict, evidence) = judged(&with_monitor(waiting_users(), &full));
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("(1) used 74.0 %"), "{evidence}");
}

#[test]
fn proxy_whose_backend_waits_is_server_bound_by_waiting_and_not_by_cpu() {
    let (verdict, evidence) = judged(&with_monitor(overloaded(), &idle()));
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("waits for something"), "{evidence}");
}

#[test]
fn accept_queue_of_eight_is_server_bound_by_it() {
    let full = changed(|row| {
        queue(row).waiting = 9;
        drop_connections(row, 40);
        // The client retransmits the connects that were dropped.
        row.tcp.retransmits = 300;
    });
    let (verdict, evidence) = judged(&with_monitor(waiting_users(), &full));
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(
        evidence.contains("9 connections waited at 0.0.0.0:443, where 8 may"),
        "{evidence}"
    );
}

#[test]
fn connections_that_another_programs_queue_dropped_are_not_the_servers() {
    // The namespace's counters, with different figures, and the queue of another program.
    for (dropped, waiting, most) in [(40, 9, 8), (1617, 0, 4096), (3, 2, 1)] {
        let other = |row: &mut MachineRow| {
            (row.tcp.listen_overflows, row.tcp.listen_drops) = (dropped, dropped);
            *queue(row) = QueueRow {
                address: "[::]:9999".to_owned(),
                waiting,
                most,
                dropped: Some(dropped),
                holder: "batch".to_owned(),
                ..QueueRow::default()
            };
        };
        let row = changed(other);
        let (verdict, evidence) = judged(&with_monitor(waiting_users(), &row));
        assert_eq!(verdict, Verdict::Undetermined, "{evidence}");
        let whose = "batch listens there, where no load arrives";
        let explained = analysis::explain(&with_monitor(waiting_users(), &row));
        let mut figures = explained.iter().map(|reading| &reading.figure);
        assert!(figures.any(|figure| figure.contains(whose)), "{figures:?}");
        // A queue of the server next to it.
        let own = changed(|row| (row.tcp.listen_overflows, row.tcp.listen_drops) = (dropped, 9));
        let (verdict, evidence) = judged(&with_monitor(waiting_users(), &own));
        assert_eq!(verdict, Verdict::Undetermined, "{evidence}");
        // Both ways to know that it is the server's.
        for of_server in [
            |queue: &mut QueueRow| queue.is_watched = true,
            |queue: &mut QueueRow| queue.is_of_load = true,
        ] {
            let row = changed(|row| {
                other(row);
                of_server(queue(row));
            });
            let (verdict, evidence) = judged(&with_monitor(waiting_users(), &row));
            assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
            let were = format!("and {dropped} were dropped");
            assert!(evidence.contains(&were), "{evidence}");
        }
    }
}

#[test]
fn slow_link_and_lossy_link_are_network_bound() {
    let watched = with_monitor(downloading(CLOSED), &idle());
    assert_eq!(judged(&watched).0, Verdict::NetworkBound);
    let lossy = changed(|row| row.tcp.retransmits = 200);
    let (verdict, evidence) = judged(&with_monitor(downloading(CLOSED), &lossy));
    assert_eq!(verdict, Verdict::NetworkBound, "{evidence}");
    assert!(evidence.contains("2.00 %"), "{evidence}");
}

#[test]
fn modest_open_loop_is_met_watched_or_not() {
    assert_eq!(judged(&run(OPEN, QUIET)).0, Verdict::LoadMet);
    let watched = with_monitor(run(OPEN, QUIET), &idle());
    assert_eq!(judged(&watched).0, Verdict::LoadMet);
}

#[test]
fn agent_that_was_stopped_for_seconds_is_invalid_though_it_was_busy_after_it() {
    let mut document = run(OPEN, LATE);
    // Nothing ended in two seconds; operations due then ended in the next second.
    for (row, ended) in document.series.rows[2..].iter_mut().zip([0, 0, 300, 100]) {
        (row.response_time_count, row.ended) = (100, ended);
    }
    let rows = &mut document.machines[0].rows;
    rows.retain(|row| !(2..4).contains(&row.second));
    thread(&mut rows[2]).busiest_thread_share = 0.97;
    let (verdict, evidence) = judged(&document);
    assert_eq!(verdict, Verdict::Invalid, "{evidence}");
    assert!(evidence.contains("the schedule was missed"), "{evidence}");
}

#[test]
fn loop_that_stood_still_is_invalid_on_a_full_machine_too_unless_its_quota_stopped_it() {
    let crowded = changed(|row| {
        row.cpu_busy = 1.0;
        thread(row).longest_waiting = 0.3;
    });
    let throttled = changed(|row| group(row).throttled = 0.9);
    for (delay_ms, row, verdict) in [
        (999, &crowded, Verdict::ClientBound),
        (1000, &crowded, Verdict::Invalid),
        (2000, &crowded, Verdict::Invalid),
        (2000, &throttled, Verdict::ClientBound),
    ] {
        let content = Second { delay_ms, ..LATE };
        let (given, evidence) = judged(&with_agent(run(OPEN, content), row));
        assert_eq!(given, verdict, "{delay_ms} ms: {evidence}");
    }
    let lagging = Second {
        lag_ms: 2000,
        ..QUIET
    };
    let (verdict, evidence) = judged(&with_agent(run(CLOSED, lagging), &crowded));
    assert_eq!(verdict, Verdict::Invalid, "{evidence}");
    assert!(evidence.contains("stood still for 2.00 s"), "{evidence}");
}

#[test]
fn machine_that_others_keep_full_is_no_limit_of_a_client_that_does_not_wait() {
    let crowded = changed(|row| {
        (row.cpu_busy, row.busiest_cpu) = (0.99, 1.0);
        thread(row).busiest_thread_share = 0.03;
        thread(row).longest_waiting = 0.04;
    });
    let (verdict, evidence) = judged(&with_agent(run(OPEN, QUIET), &crowded));
    assert_eq!(verdict, Verdict::LoadMet, "{evidence}");
}

#[test]
fn machine_that_programs_of_a_lower_priority_fill_is_no_limit_of_a_client() {
    for (niced, verdict) in [
        (0.9, Verdict::LoadMet),
        (0.06, Verdict::LoadMet),
        (0.04, Verdict::ClientBound),
        (0.0, Verdict::ClientBound),
    ] {
        let row = changed(|row| {
            (row.cpu_busy, row.cpu_niced) = (1.0, niced);
            thread(row).longest_waiting = 0.2;
        });
        let (said, evidence) = judged(&with_agent(run(OPEN, QUIET), &row));
        assert_eq!(said, verdict, "{niced}: {evidence}");
    }
}

#[test]
fn descriptors_and_ports_that_ran_out_are_client_bound() {
    for name in ["connect.files_exhausted", "connect.ports_exhausted"] {
        let mut document = overloaded();
        document.measured.errors.push(analysis::ErrorFigure {
            name: name.to_owned(),
            words: "there were no more".to_owned(),
            count: 30,
            share: 0.02,
        });
        let (verdict, evidence) = judged(&document);
        assert_eq!(verdict, Verdict::ClientBound, "{evidence}");
        assert!(evidence.contains("30 operations (2.00 %)"), "{evidence}");
        // The same if nothing succeeded.
        document.measured.operations.ok = 0;
        let (verdict, evidence) = judged(&document);
        assert_eq!(verdict, Verdict::ClientBound, "{evidence}");
    }
}

#[test]
fn quota_of_a_grpc_server_is_not_the_clients() {
    let mut document = overloaded();
    document.measured.errors.push(analysis::ErrorFigure {
        name: "grpc.resource_exhausted".to_owned(),
        words: "a quota is used up".to_owned(),
        count: 30,
        share: 0.02,
    });
    let (verdict, evidence) = judged(&document);
    assert_ne!(verdict, Verdict::ClientBound, "{evidence}");
}

#[test]
fn neighbour_that_burns_the_workers_cpu_makes_it_client_bound() {
    let beside = changed(|row| {
        thread(row).busiest_thread_share = 0.5;
        thread(row).busiest_thread_waiting = 0.48;
        row.busiest_cpu = 1.0;
    });
    for document in [run(CLOSED, QUIET), overloaded(), run(OPEN, QUIET)] {
        let (verdict, evidence) = judged(&with_agent(document, &beside));
        assert_eq!(verdict, Verdict::ClientBound, "{evidence}");
        assert!(evidence.contains("waited 48.0 %"), "{evidence}");
    }
}

/// A ramp with the last two of its four seconds not carried.
fn ramp() -> Document {
    let mut document = overloaded();
    for row in &mut document.series.rows[2..4] {
        row.response_time_count = 100;
    }
    document
}

#[test]
fn ramp_is_judged_by_the_seconds_in_which_it_was_not_carried() {
    let mut client = ramp();
    for row in client.machines[0].rows.iter_mut().skip(4) {
        thread(row).busiest_thread_share = 0.97;
    }
    let (verdict, evidence) = judged(&client);
    assert_eq!(verdict, Verdict::ClientBound, "{evidence}");
    assert!(evidence.contains("in 2 of 2 s"), "{evidence}");
    let mut server = with_monitor(ramp(), &idle());
    for row in server.machines[2].rows.iter_mut().skip(4) {
        thread(row).busiest_thread_share = 0.97;
    }
    let (verdict, evidence) = judged(&server);
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("in 2 of 2 s"), "{evidence}");
}

#[test]
fn request_that_hangs_at_the_end_hides_neither_a_full_client_nor_a_full_server() {
    let hung = |mut document: Document| {
        let seconds = 14;
        document.run.duration_ns = 12 * crate::scene::SECOND;
        let row = document.series.rows[2].clone();
        let rows = (0..seconds).map(|second| Row {
            second,
            warm_up: second < 2,
            in_service: if second < 6 { 20.0 } else { 1.0 },
            ..row.clone()
        });
        document.series.rows = rows.collect();
        for machine in &mut document.machines {
            let after = (6..seconds).map(|second| analysis::MachineRow { second, ..idle() });
            machine.rows.extend(after);
        }
        judged(&document)
    };
    let full = changed(|row| thread(row).busiest_thread_share = 0.97);
    let (verdict, evidence) = hung(with_agent(run(CLOSED, QUIET), &full));
    assert_eq!(verdict, Verdict::ClientBound, "{evidence}");
    let (verdict, evidence) = hung(with_monitor(run(CLOSED, QUIET), &full));
    assert_eq!(verdict, Verdict::ServerBound, "{evidence}");
    assert!(evidence.contains("in 4 of 4 s"), "{evidence}");
}

#[test]
fn server_and_agent_on_one_full_machine_are_told_apart_by_nothing() {
    let full = changed(|row| {
        row.cpu_busy = 1.0;
        thread(row).busiest_thread_share = 0.6;
        thread(row).busiest_thread_waiting = 0.4;
    });
    for mut document in [waiting_users(), overloaded()] {
        document
            .agents
            .iter_mut()
            .for_each(|agent| agent.target_is_local = true);
        let (verdict, evidence) = judged(&with_agent(document, &full));
        assert_eq!(verdict, Verdict::Undetermined, "{evidence}");
        assert!(
            evidence.contains("client and server shared its CPUs"),
            "{evidence}"
        );
    }
    // A worker without room is the limit there, too.
    let worker = changed(|row| {
        row.cpu_busy = 1.0;
        thread(row).busiest_thread_share = 0.95;
    });
    let mut document = waiting_users();
    document.plan.builtin_target = true;
    assert_eq!(
        judged(&with_agent(document, &worker)).0,
        Verdict::ClientBound
    );
}

#[test]
fn hold_that_fails_names_the_resource_that_failed_it() {
    let full = changed(|row| row.accept_queue.as_mut().unwrap().waiting = 9);
    let mut document = with_monitor(overloaded(), &full);
    document.verdict = VerdictRecord::new(&document);
    let result = HoldResult::new(&document, 20.0, "run-1".to_owned());
    assert!(
        matches!(result.outcome, HoldOutcome::Failed { .. }),
        "{result:?}"
    );
    let reasons = result.reasons();
    let is_named = |reason: &String| reason.starts_with("monitor db: 9 connections waited");
    assert!(reasons.iter().any(is_named), "{reasons:?}");
}

#[test]
fn run_with_more_agents_names_what_its_verdict_names() {
    let row = |mut document: Document, agents: u32, ok_per_second: f64| {
        document.verdict = VerdictRecord::new(&document);
        let row = ScalingRow::new(&document, String::new());
        ScalingRow {
            agents,
            ok_per_second,
            ..row
        }
    };
    let client = changed(|row| {
        (group(row).quota, group(row).throttled) = (Some(0.25), 0.96);
    });
    let server = changed(|row| thread(row).busiest_thread_share = 0.97);
    let one = row(with_agent(waiting_users(), &client), 1, 400.0);
    let whose = one.limits.iter().map(|limit| limit.limit_of);
    assert!(whose.eq([LimitOf::Client]), "{:?}", one.limits);
    let two = row(with_monitor(waiting_users(), &server), 2, 700.0);
    let three = row(with_monitor(waiting_users(), &server), 3, 710.0);
    assert!(one.limits.len() == 1 && two.is_watched && !one.is_watched);
    let scaling = Scaling::new(vec![one, two, three]);
    assert_eq!(
        (scaling.stops_at, scaling.limit),
        (Some(2), RiseLimit::Server)
    );
    let why = "ended by the server: its thread (monitor db: thread thread of process (0) used \
               97.0 % of a CPU";
    assert!(scaling.statement.contains(why), "{}", scaling.statement);
    // A machine that both sides fill proves nothing about the server.
    let full = changed(|row| row.cpu_busy = 1.0);
    let mut shared = with_monitor(waiting_users(), &server);
    let agents = shared.agents.iter_mut();
    agents.for_each(|agent| agent.target_is_local = true);
    let shared = row(with_agent(shared, &full), 3, 710.0);
    assert_eq!(shared.verdict, Verdict::Undetermined);
    let whose = shared.limits.iter().map(|limit| limit.limit_of);
    assert!(whose.eq([LimitOf::Client]), "{:?}", shared.limits);
}

#[test]
fn load_that_ends_in_errors_at_a_full_server_is_server_bound() {
    let failing = Second {
        timed_out: 1,
        ..QUIET
    };
    let mut document = run(OPEN, failing);
    document.backlog = Some(Backlog::default());
    assert_eq!(judged(&document).0, Verdict::Undetermined);
    let full = changed(|row| drop_connections(row, 9));
    assert_eq!(
        judged(&with_monitor(document, &full)).0,
        Verdict::ServerBound
    );
}

/// 1, 12 or 13 of 1,290 arrivals waited for a connection, and the client was late for 1 % of them.
#[test]
fn connections_are_not_said_to_make_late_what_never_waited_for_them() {
    for (waited, is_blamed) in [(1, false), (12, false), (13, true)] {
        let mut document = run(OPEN, LATE);
        document.measured.operations.ended = 1290;
        let waits = analysis::TimeFigure {
            count: waited,
            ..analysis::TimeFigure::default()
        };
        let times = &mut document.measured.times;
        times.insert("connection_wait".to_owned(), waits);
        let readings = analysis::explain(&document);
        let lateness = readings
            .iter()
            .find(|reading| reading.rule == RuleId::Lateness);
        assert_eq!(lateness.unwrap().says.is_some(), is_blamed, "{waited}");
    }
}

/// Each waits for 50 ms.
#[test]
fn load_that_waits_for_what_journeys_share_is_to_have_more_of_it() {
    for (sharing, waited_for, wanted) in [
        (
            None,
            "arrivals waited for one of 100 connections, all in use",
            "a higher load",
        ),
        (
            Some(3),
            "steps waited for one of 3 users or 100 connections, all in use",
            "more load.users or load.max_connections",
        ),
    ] {
        let waiting = Second {
            wait_ms: 50,
            response_ms: 70,
            ..QUIET
        };
        let mut document = run(OPEN, waiting);
        let analysis::LoadRecord::Open {
            users,
            max_connections,
            ..
        } = &mut document.plan.load
        else {
            panic!("no open loop");
        };
        (*users, *max_connections) = (sharing, 100);
        document.journeys = vec![analysis::JourneyFigures {
            begun: document.measured.operations.started,
            ..analysis::JourneyFigures::default()
        }];
        document.backlog = Some(Backlog::default());
        let record = VerdictRecord::new(&document);
        let said = record.evidence.join(" ");
        assert_eq!(record.verdict, Verdict::Undetermined, "{said}");
        assert!(said.contains(waited_for), "{said}");
        let missing = record.missing.join(" ");
        assert!(
            missing.contains(&format!("a run with {wanted}")),
            "{missing}"
        );
    }
}

/// 2/s on a server of 1/s: the bound for chance is above any growth that this few operations reach.
#[test]
fn backlog_that_grew_too_evenly_for_chance_says_so() {
    let mut document = run(OPEN, QUIET);
    let part = analysis::LoadPart {
        to_ns: 8_000_000_000,
        due: 16,
        growth: 9.0,
        chance: 15.0,
        slowing: Some(0.5),
        outcome: analysis::LoadOutcome::PiledUp,
        ..analysis::LoadPart::default()
    };
    document.backlog = Some(Backlog {
        parts: vec![part],
        ..Backlog::default()
    });
    let (verdict, evidence) = judged(&document);
    assert_ne!(verdict, Verdict::LoadMet, "{evidence}");
    let wanted = "from second 0 to 8.00 16 operations were due and 7 ended, so that the backlog \
                  grew by 9 (evenly, and answers took 0.50 s longer with each second)";
    assert!(evidence.contains(wanted), "{evidence}");
}

/// A link of 20 Mbit/s whose agent retransmitted parts of handshakes: the listener's count rose,
/// but no queue had been full.
#[test]
fn segments_that_belong_to_no_connection_are_none_that_a_queue_dropped() {
    for (dropped, overflows, is_blamed) in [(1, 0, false), (30, 0, false), (1, 1, true)] {
        let row = changed(|row| {
            queue(row).dropped = Some(dropped);
            row.tcp.listen_overflows = overflows;
        });
        let readings = analysis::explain(&with_monitor(waiting_users(), &row));
        let mut readings = readings.iter().filter(|it| it.rule == RuleId::AcceptQueue);
        let speaks = readings.any(|reading| reading.says.is_some());
        assert_eq!(speaks, is_blamed, "{dropped} and {overflows}");
    }
}
