//! The activity of machines beside the load.

use crate::scene::{CLOSED, QUIET, SECOND, collector, cpu, fire, plan};
use analysis::{
    AgentSetup, Busiest, CollectorSetup, Document, GroupRow, MachineRole, MachineRow, ProcessRow,
    QueueRow, ResultCollector, RunState, TcpRow,
};

fn row(second: u32) -> MachineRow {
    MachineRow {
        second,
        seconds: 1,
        elapsed_ns: SECOND,
        ..MachineRow::default()
    }
}

fn process(pid: u32, cpus: f64, thread_share: f64) -> ProcessRow {
    ProcessRow {
        name: "nginx".to_owned(),
        pid,
        cpus,
        busiest_thread: "worker".to_owned(),
        busiest_thread_share: thread_share,
        ..ProcessRow::default()
    }
}

/// Six seconds of two agents that end 20 operations per second, the first two seconds being the
/// warm-up; then one second of drain. `rows` gives the machine's row for each second.
fn document(rows: impl Fn(u32) -> MachineRow, role: MachineRole) -> Document {
    let mut collector: ResultCollector = collector(CLOSED, "");
    fire(&mut collector, QUIET, cpu(0.3, 0.3));
    collector.watching(AgentSetup {
        name: "edge".to_owned(),
        ..AgentSetup::default()
    });
    (0..7).for_each(|second| collector.observed(role, 0, rows(second)));
    collector.document(RunState::Complete)
}

/// Regression test: the rows of the second agent appeared under the first.
#[test]
fn agents_of_one_name_keep_their_own_rows() {
    let agent = AgentSetup {
        name: "load".to_owned(),
        ..AgentSetup::default()
    };
    let setup = CollectorSetup {
        tool_version: "0.0.0".to_owned(),
        run_id: "1".to_owned(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        plan_text: String::new(),
        agents: vec![agent.clone(), agent],
    };
    let mut collector = ResultCollector::new(setup, &plan(CLOSED, "", ""));
    collector.observed(MachineRole::Agent, 1, row(0));
    let document = collector.document(RunState::Interrupted);
    let rows: Vec<usize> = document.machines.iter().map(|one| one.rows.len()).collect();
    assert_eq!(rows, [0, 1]);
}

#[test]
fn cpu_time_of_watched_processes_is_told_for_each_operation_of_the_measured_part() {
    let rows = |second| MachineRow {
        processes: match second {
            // Neither the warm-up nor the drain counts.
            0 | 1 | 6 => vec![process(1, 50.0, 1.0)],
            // Another worker took over in the middle.
            2 | 3 => vec![process(1, 0.2, 0.2), process(2, 0.4, 0.4)],
            _ => vec![process(1, 0.2, 0.2), process(3, 0.4, 0.4)],
        },
        ..row(second)
    };
    let document = document(rows, MachineRole::Monitor);
    let rate = document.measured.rates.operations_per_second;
    assert!((rate - 20.0).abs() < 1e-9, "{rate}");
    let [nginx] = &document.server_processes[..] else {
        panic!("{:?}", document.server_processes)
    };
    assert_eq!(
        (nginx.machine.as_str(), nginx.name.as_str()),
        ("edge", "nginx")
    );
    assert_eq!(nginx.processes, 2);
    assert!((nginx.cpus - 0.6).abs() < 1e-9, "{nginx:?}");
    let each = nginx.cpu_per_operation_ns.unwrap();
    assert!((each - 30e6).abs() < 1.0, "0.6 CPUs by 20/s: {each}");
    // An agent's own process serves nothing.
    let of_agent = self::document(rows, MachineRole::Agent);
    assert!(of_agent.server_processes.is_empty());
}

#[test]
fn machine_has_means_and_extremes_of_the_measured_part() {
    let rows = |second: u32| MachineRow {
        cpu_busy: if second == 3 { 0.9 } else { 0.5 },
        busiest_cpu: if second < 2 { 1.0 } else { 0.6 },
        busiest_cpu_number: 3,
        steal: 0.25,
        group: Some(GroupRow {
            quota: Some(0.25),
            throttled: if second == 4 { 1.0 } else { 0.0 },
            ..GroupRow::default()
        }),
        tcp: TcpRow {
            segments_sent: 100,
            retransmits: 2,
            listen_overflows: 5,
            ..TcpRow::default()
        },
        accept_queue: Some(QueueRow {
            address: "[::]:443".to_owned(),
            waiting: second,
            most: 8,
            ..QueueRow::default()
        }),
        processes: vec![process(1, 0.7, 0.7)],
        ..row(second)
    };
    let document = document(rows, MachineRole::Monitor);
    let [edge] = &document.machine_figures()[..] else {
        panic!("one machine is told")
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
    near(edge.cpu_busy_mean, 0.6);
    near(edge.cpu_busy_max, 0.9);
    assert_eq!(edge.busiest, Busiest::Thread("nginx", "worker"));
    near(edge.busiest_mean, 0.7);
    near(edge.throttled.unwrap(), 0.25);
    near(edge.steal_mean, 0.25);
    near(edge.resent.unwrap(), 0.02);
    assert_eq!(edge.accept_queue.unwrap().waiting, 5);
    assert_eq!(edge.listen_overflows, 20);
}

#[test]
fn machine_of_an_agent_is_told_where_something_is_not_as_it_should_be() {
    let quiet = |second| MachineRow {
        cpu_busy: 0.5,
        ..row(second)
    };
    assert!(
        document(quiet, MachineRole::Agent)
            .machine_figures()
            .is_empty()
    );
    let throttled = |second| MachineRow {
        group: Some(GroupRow {
            quota: Some(0.25),
            throttled: 0.1,
            ..GroupRow::default()
        }),
        accept_queue: Some(QueueRow {
            address: String::new(),
            waiting: 1,
            most: 4096,
            ..QueueRow::default()
        }),
        ..quiet(second)
    };
    let document = document(throttled, MachineRole::Agent);
    let told = document.machine_figures();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].machine.role, MachineRole::Agent);
    assert_eq!(told[0].busiest, Busiest::Cpu(0));
    assert_eq!(told[0].accept_queue, None, "1 of 4096");
}
