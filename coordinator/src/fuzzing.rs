//! Entry points for `fuzz` to the run log, which is private. No run uses them.

use crate::planned_run::PlannedRun;
use crate::record::replay::RehearsedReplay;
use crate::sample_run::{CLOCK, loss_of, operation, start_events};
use analysis::RunState;
use control::{AgentFacts, AgentId, EndCause, FleetTime, RunEvent, RunId, RunModel, Skew};
use measure::Totals;
use proto::Bytes;
use report::{Format, Style};
use run_folder::{FactKind, LogReader, LoggedFact, RunOrigin, Utc, log_file, sealed_log};
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

fn small_agent(name: &str) -> AgentFacts {
    AgentFacts::new(AgentId([name.len() as u8; 16]), name)
}

/// Two agents begin; one of them is lost, and the other one gets its share.
fn small_run_events(start_at: FleetTime) -> Vec<RunEvent> {
    let second = operation(0);
    let mut totals = Totals::default();
    totals.add(&second);
    let agents = ["a", "b"].map(small_agent).to_vec();
    let mut events = start_events(agents, start_at, Duration::from_secs(1));
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
        loss_of(1, Some(start_at.after(Duration::from_secs(1)))),
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
            clock: Some(CLOCK),
        },
    ]);
    events
}
