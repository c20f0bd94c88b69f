//! Entry points for `fuzz` to the run log, which is private. No run uses them.

use crate::planned_run::PlannedRun;
use crate::record::replay::RehearsedReplay;
use crate::run_folder::{FactKind, LogReader, LoggedFact, log_file, sealed_log};
use crate::run_origin::RunOrigin;
use crate::utc::Utc;
use analysis::RunState;
use control::{
    AgentFacts, AgentId, ClockReading, EndCause, FleetTime, RunEvent, RunId, RunModel, Skew,
};
use measure::{CellKey, Outcome, Period, Snapshot, Totals};
use proto::Bytes;
use report::{Format, Style};
use std::time::Duration;

/// Reads a file as a run log.
///
/// # Panics
/// If a property does not hold: what is read from a damaged log precedes the damage, can be written
/// again, and makes a document.
pub fn run_log(bytes: &[u8]) {
    read(bytes);
    // Random bytes hardly ever have a valid checksum.
    read(&sealed_log(bytes));
}

fn read(bytes: &[u8]) {
    let Ok(mut log) = LogReader::from_bytes(bytes) else {
        return;
    };
    let facts: Vec<LoggedFact> = log.by_ref().map_while(Result::ok).collect();
    assert!(
        log.next().is_none(),
        "nothing comes after an error or the end"
    );
    let again: Vec<LoggedFact> = LogReader::from_bytes(&log_file(&facts))
        .and_then(Iterator::collect)
        .expect("our own log is read");
    assert!(again == facts, "they change on their way");
    let tail = log.tail();
    assert!(tail.good_bytes + tail.torn_bytes <= bytes.len() as u64);
    let good = bytes.get(..tail.good_bytes as usize).expect("it was read");
    let whole = LogReader::from_bytes(good).expect("its head was read");
    let kept: Vec<LoggedFact> = whole.map_while(Result::ok).collect();
    assert!(kept == facts, "a torn end takes nothing with it");

    let mut model = RunModel::default();
    for fact in &facts {
        if let FactKind::Event(event) = &fact.what {
            model.take(event, FleetTime(0));
        }
    }
    model.shift(1);
    model.take_up();
    if let Some(FactKind::Begun(begun)) = facts.first().map(|fact| &fact.what)
        && let Ok(run) = PlannedRun::from_log(begun)
    {
        let document = RehearsedReplay::new(run, good).document();
        let saved = Format::Json.render(&document, Style::PLAIN);
        report::read(saved.as_bytes()).expect("our own document is read");
    }
}

/// The log of a small run, as a seed.
#[must_use]
pub fn small_run_log() -> Vec<u8> {
    log_file(&small_run())
}

/// The content of the batch in such a log.
#[must_use]
pub fn small_run_batch() -> Vec<u8> {
    small_run_log().split_off(sealed_log(&[]).len())
}

fn small_run() -> Vec<LoggedFact> {
    let plan = "target.url = \"https://a.test/\"\nload = { rate = \"10/s\", max_connections = 2, \
                duration = \"2s\" }\nfleet.lost = \"redistribute\"\n";
    let mut no_files = crate::plan_file::Folder(".".into());
    let plan = plan::Plan::parse(plan, &mut no_files).expect("it is one");
    let run = PlannedRun {
        id: RunId([1; 16]),
        title: "small".to_owned(),
        plan,
        plan_text: String::new(),
        agents: 2,
        created: Utc::after_1970(Duration::from_secs(1_767_225_600)),
        origin: RunOrigin::default(),
        epoch: 1,
        force: false,
    };
    let mut begun = run.to_log();
    begun.clock = "clock".to_owned();
    let (at, start_at) = (run.created, FleetTime(1_000_000_000));
    let events = small_run_events(start_at).into_iter().map(FactKind::Event);
    [FactKind::Begun(begun)]
        .into_iter()
        .chain(events)
        .chain([FactKind::Finished(RunState::Complete)])
        .map(|what| LoggedFact { at, what })
        .collect()
}

/// One second of one agent.
fn small_second() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let key = CellKey {
        period: Period::Measured,
        request: 0,
        address: None,
    };
    let cell = snapshot.cells.entry(key).or_default();
    cell.counters.started = 1;
    cell.counters.ok = 1;
    let times = cell.response_times.entry((Outcome::Ok, 0)).or_default();
    times.record(1_000_000);
    snapshot
}

fn small_agent(name: &str) -> AgentFacts {
    AgentFacts::new(AgentId([name.len() as u8; 16]), name)
}

/// Two agents begin; one of them is lost, and the other one gets its share.
fn small_run_events(start_at: FleetTime) -> Vec<RunEvent> {
    let second = small_second();
    let mut totals = Totals::default();
    totals.add(&second);
    let clock = ClockReading {
        offset_ns: 0,
        bound_ns: 1,
    };
    let mut events = vec![RunEvent::Assembled {
        agents: ["a", "b"].map(small_agent).to_vec(),
    }];
    for agent in 0..2 {
        events.push(RunEvent::Ready {
            agent,
            addresses: Vec::new(),
            workers: 1,
            clock,
        });
    }
    events.push(RunEvent::Armed {
        start_at,
        start_in: Duration::from_secs(1),
    });
    for agent in 0..2 {
        events.push(RunEvent::Began {
            agent,
            at: start_at,
            bound_ns: 1,
        });
    }
    events.extend([
        RunEvent::Started {
            skew: Skew {
                agents: 2,
                skew_ns: 0,
                bound_ns: 2,
            },
        },
        RunEvent::Interval {
            agent: 0,
            interval: 0,
            encoded: second.encode().into(),
        },
        RunEvent::Lost {
            agent: 1,
            next_interval: 0,
            fired_until: Some(start_at.after(Duration::from_secs(1))),
            why: "gone".to_owned(),
        },
        RunEvent::Redistributed {
            agent: 1,
            to: vec![0],
            from: start_at.after(Duration::from_secs(1)),
        },
        RunEvent::Totals {
            agent: 0,
            intervals: 1,
            encoded: totals.encode().into(),
        },
        RunEvent::Ended {
            agent: 0,
            cause: EndCause::Plan,
            missing: vec![1],
            figures: Bytes::from(host::RunFigures::default().encode()),
            clock: Some(clock),
        },
    ]);
    events
}
