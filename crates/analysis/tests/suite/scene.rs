//! A run of two agents in which every operation is written by hand.

use analysis::{
    AgentEnd, AgentEndCause, AgentSetup, CollectorSetup, CpuFigures, Document, MachineFacts,
    ResultCollector, RunState,
};
use measure::{
    Cell, CellKey, Client, Distribution, Failure, FailureStage, Kind, Metric, Outcome, Period,
    Snapshot, Totals,
};
use plan::{NoFiles, Plan};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

pub const CLOSED: &str = "connections = 10\nduration = \"4s\"\nwarm_up = \"2s\"\n";
pub const OPEN: &str =
    "rate = \"10/s\"\nmax_connections = 10\nduration = \"4s\"\nwarm_up = \"2s\"\n";

pub fn plan(load: &str, thresholds: &str, fleet: &str) -> Plan {
    let head = "name = \"scene\"\n[target]\nurl = \
                \"http://example.test:8080/\"\n[[request]]\nname = \"a\"\n[[request]]\nname = \
                \"b\"\n";
    Plan::parse(
        &format!("{head}[load]\n{load}[thresholds]\n{thresholds}{fleet}"),
        &mut NoFiles,
    )
    .unwrap()
}

pub fn collector(load: &str, thresholds: &str) -> ResultCollector {
    collector_of(2, load, thresholds, "")
}

/// A run of `agents` agents, the first three with names of their own.
pub fn collector_of(agents: usize, load: &str, thresholds: &str, fleet: &str) -> ResultCollector {
    collector_with(agents, &plan(load, thresholds, fleet))
}

/// The same of any plan.
pub fn collector_with(agents: usize, plan: &Plan) -> ResultCollector {
    let agent = |index: usize| {
        let names = [("one", "Berlin"), ("two", "Oslo"), ("three", "Rome")];
        let numbered = format!("agent-{index}");
        let &(name, city) = names
            .get(index)
            .unwrap_or(&(numbered.as_str(), "elsewhere"));
        AgentSetup {
            name: name.to_owned(),
            labels: [("city".to_owned(), city.to_owned())].into(),
            workers: 2,
            facts: MachineFacts {
                hostname: name.to_owned(),
                ..MachineFacts::default()
            },
            addresses: vec![[192, 0, 2, index as u8 + 1].into()],
        }
    };
    let setup = CollectorSetup {
        tool_version: "0.0.0".to_owned(),
        run_id: "1".to_owned(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        plan_text: String::new(),
        agents: (0..agents).map(agent).collect(),
    };
    let mut collector = ResultCollector::new(setup, plan);
    collector.began(0, 0, 1_000_000);
    (1..agents as u32).for_each(|agent| collector.began(agent, 2_000_000, 500_000));
    collector
}

/// Adds arrivals that were due for ten seconds while the loop did not look at its clock.
pub fn not_sent_unnoticed(snapshot: &mut Snapshot, number: u64) {
    let cell = snapshot.cells.values_mut().next().unwrap();
    cell.counters.started += number;
    cell.counters.failed += number;
    let failure = Failure {
        stage: FailureStage::Load,
        kind: Kind::NoLease,
    };
    cell.counters.failures.insert(failure, number);
    let mut delays = Distribution::default();
    (0..number).for_each(|nth| delays.record(nth * 10_000 * MS / number));
    cell.times
        .insert((Outcome::NotSent, Metric::ScheduleDelay), delays);
}

/// One second of one agent.
#[derive(Debug, Clone, Copy)]
pub struct Second {
    pub ok: u64,
    pub timed_out: u64,
    pub not_sent: u64,
    pub response_ms: u64,
    pub service_ms: u64,
    /// From the due instant until the loop noticed it.
    pub delay_ms: u64,
    /// Waiting for a connection after that.
    pub wait_ms: u64,
    /// From a ready socket until it was handled.
    pub lag_ms: u64,
}

pub const QUIET: Second = Second {
    ok: 5,
    timed_out: 0,
    not_sent: 0,
    response_ms: 20,
    service_ms: 20,
    delay_ms: 0,
    wait_ms: 0,
    lag_ms: 0,
};

pub fn key(period: Period, request: u16, address: &str) -> CellKey {
    CellKey {
        period,
        request,
        address: address.parse().ok(),
    }
}

pub fn cell(second: u32, content: Second) -> Cell {
    let mut cell = Cell::default();
    let counters = &mut cell.counters;
    counters.started = content.ok + content.timed_out + content.not_sent;
    (counters.ok, counters.timed_out, counters.failed) =
        (content.ok, content.timed_out, content.not_sent);
    counters.payload_bytes = 100 * content.ok;
    counters.last_done_at_ns = u64::from(second + 1) * SECOND;
    count_within(counters, second);
    if content.timed_out > 0 {
        counters.failures.insert(
            Failure {
                stage: FailureStage::Http,
                kind: Kind::TimeOut,
            },
            content.timed_out,
        );
    }
    if content.not_sent > 0 {
        counters.failures.insert(
            Failure {
                stage: FailureStage::Load,
                kind: Kind::NotSent,
            },
            content.not_sent,
        );
    }
    for (outcome, number) in [
        (Outcome::Ok, content.ok),
        (Outcome::TimedOut, content.timed_out),
    ] {
        if number > 0 {
            cell.response_times
                .insert((outcome, second), repeated(number, content.response_ms));
            cell.times.insert(
                (outcome, Metric::ServiceTime),
                repeated(number, content.service_ms),
            );
            cell.times.insert(
                (outcome, Metric::Lateness),
                repeated(number, content.delay_ms + content.wait_ms),
            );
            cell.times.insert(
                (outcome, Metric::ScheduleDelay),
                repeated(number, content.delay_ms),
            );
            if content.wait_ms > 0 {
                cell.times.insert(
                    (outcome, Metric::ConnectionWait),
                    repeated(number, content.wait_ms),
                );
            }
        }
    }
    if content.not_sent > 0 {
        cell.response_times
            .insert((Outcome::NotSent, second), repeated(content.not_sent, 500));
        cell.times.insert(
            (Outcome::NotSent, Metric::Lateness),
            repeated(content.not_sent, 500),
        );
        cell.times.insert(
            (Outcome::NotSent, Metric::ScheduleDelay),
            repeated(content.not_sent, 0),
        );
        cell.times.insert(
            (Outcome::NotSent, Metric::ConnectionWait),
            repeated(content.not_sent, 500),
        );
    }
    cell
}

/// The measured part is seconds 2 to 5, and its second half 4 and 5. Every operation ends in the
/// second in which it is due.
fn count_within(counters: &mut measure::Counters, second: u32) {
    let (sent, is_late) = (counters.ok + counters.timed_out, (4..6).contains(&second));
    if (2..6).contains(&second) {
        let within = &mut counters.within;
        (within.ended, within.ok, within.payload_bytes) =
            (sent, counters.ok, counters.payload_bytes);
        within.due_late = if is_late { counters.started } else { 0 };
        within.ended_late = if is_late { sent } else { 0 };
    }
}

fn repeated(number: u64, ms: u64) -> Distribution {
    let mut distribution = Distribution::default();
    (0..number).for_each(|_| distribution.record(ms * MS));
    distribution
}

/// Request 0 to one address and request 1 to another, with the same content.
pub fn snapshot(second: u32, content: Second) -> Snapshot {
    let period = if second < 2 {
        Period::WarmUp
    } else {
        Period::Measured
    };
    let cell = cell(second, content);
    let client = Client {
        loop_lag: repeated(10, content.lag_ms),
        ..Client::default()
    };
    Snapshot {
        cells: [
            (key(period, 0, "10.0.0.1:80"), cell.clone()),
            (key(period, 1, "10.0.0.2:80"), cell),
        ]
        .into(),
        client,
        ..Snapshot::default()
    }
}

pub fn cpu(worker: f64, machine: f64) -> CpuFigures {
    CpuFigures {
        samples: 4,
        busiest_worker_share_mean: worker,
        busiest_worker_share_max: worker,
        machine_busy_share_mean: machine,
        machine_busy_share_max: machine,
        ..CpuFigures::default()
    }
}

/// Delivers seconds 0 to 5 of both agents, 0 and 1 being the warm-up, with correct totals.
pub fn fire(collector: &mut ResultCollector, content: Second, cpu: CpuFigures) {
    for agent in 0..2 {
        let mut totals = Snapshot::default();
        for second in 0..6 {
            totals.merge(&snapshot(second, content));
            collector.add(agent, second, &snapshot(second, content));
        }
        collector.ended(agent, end(totals, cpu));
    }
}

pub fn end(sum: Snapshot, cpu: CpuFigures) -> AgentEnd {
    let mut totals = Totals::default();
    totals.add(&sum);
    AgentEnd {
        cause: Some(AgentEndCause::Plan),
        intervals: Some(6),
        totals: Some(totals),
        cpu: Some(cpu),
        ..AgentEnd::default()
    }
}

pub fn document(load: &str, content: Second, cpu: CpuFigures) -> Document {
    let mut collector = collector(load, "");
    fire(&mut collector, content, cpu);
    collector.document(RunState::Complete)
}
