//! Writes, damages and reads logs.

use super::*;
use crate::run_origin::RunOrigin;
use crate::utc::Utc;
use analysis::RunState;
use control::{
    AgentFacts, AgentId, ClockReading, EndCause, FleetTime, Observer, RunEvent, RunOutcome, Skew,
    Stop,
};
use proto::Bytes;
use std::time::Duration;
use tempfile::TempDir;

const RUN: RunId = RunId([9; 16]);

/// Written by the first version of the format. Every later version that reads it must read it so.
const GOLDEN: &[u8] = include_bytes!("tests/version-1.log");

fn at(millis: u64) -> Utc {
    Utc::after_1970(Duration::from_millis(1_767_225_600_000 + millis))
}

fn event(event: RunEvent) -> LoggedFact {
    LoggedFact {
        at: at(7),
        what: FactKind::Event(event),
    }
}

fn interval(agent: u32, interval: u32) -> LoggedFact {
    event(RunEvent::Interval {
        agent,
        interval,
        encoded: Bytes::from(vec![agent as u8; 100]),
    })
}

/// One fact of each kind, and one of each event.
fn everything() -> Vec<LoggedFact> {
    let facts = AgentFacts {
        version: "0.1.0".into(),
        labels: [("city".to_owned(), "bern".to_owned())].into(),
        workers: 2,
        host: Bytes::from_static(b"\0host"),
        ..AgentFacts::new(AgentId([7; 16]), "web \"1\"")
    };
    let clock = ClockReading {
        offset_ns: -5,
        bound_ns: 7,
    };
    let bytes = Bytes::from_static(b"\xff\0bytes");
    let agents = vec![facts.clone(), facts.clone()];
    let outcomes = [
        RunOutcome::Ran,
        RunOutcome::StoppedBeforeStart(Stop::Drain),
        RunOutcome::StoppedBeforeStart(Stop::Now),
        RunOutcome::NotStarted,
        RunOutcome::TooFewAgents { have: 1, want: 3 },
        RunOutcome::Superseded,
    ];
    let causes = [
        EndCause::Plan,
        EndCause::Stopped,
        EndCause::LeaseExpired,
        EndCause::Failed("no room".into()),
    ];
    let mut events = vec![
        RunEvent::Joined {
            agent: facts.clone(),
        },
        RunEvent::Left { agent: facts },
        RunEvent::Waiting { have: 1, want: 2 },
        RunEvent::Assembled { agents },
        RunEvent::Ready {
            agent: 1,
            addresses: vec!["[::1]:443".into()],
            workers: 3,
            clock,
        },
        RunEvent::Problem {
            agent: 1,
            problem: "cannot".into(),
        },
        RunEvent::Armed {
            start_at: FleetTime(u64::MAX),
            start_in: Duration::new(1, 5),
        },
        RunEvent::Began {
            agent: 0,
            at: FleetTime(3),
            bound_ns: 4,
        },
        RunEvent::Started {
            skew: Skew {
                agents: 2,
                skew_ns: 5,
                bound_ns: 6,
            },
        },
        RunEvent::Interval {
            agent: 0,
            interval: 300,
            encoded: bytes.clone(),
        },
        RunEvent::Totals {
            agent: 0,
            intervals: 301,
            encoded: Bytes::new(),
        },
        RunEvent::Gone {
            agent: 0,
            why: "cut".into(),
        },
        RunEvent::Back { agent: 0 },
        RunEvent::Lost {
            agent: 1,
            next_interval: 2,
            fired_until: Some(FleetTime(8)),
            why: "silent".into(),
        },
        RunEvent::Postponed { agents: vec![1, 2] },
        RunEvent::Redistributed {
            agent: 1,
            to: vec![0],
            from: FleetTime(9),
        },
        RunEvent::Superseded { epoch: 2 },
        RunEvent::Note {
            agent: None,
            event: "policy".into(),
            text: "a sentence".into(),
        },
    ];
    events.extend(causes.map(|cause| RunEvent::Ended {
        agent: 0,
        cause,
        missing: vec![4, 5],
        figures: bytes.clone(),
        clock: Some(clock),
    }));
    events.extend(outcomes.map(|outcome| RunEvent::Done { outcome }));
    let others = [
        FactKind::Begun(BegunRun {
            run: RUN.0,
            epoch: 1,
            plan_digest: [3; 32],
            plan_text: "name = \"p\"".into(),
            canonical_text: "name = \"p\"\n".into(),
            title: "p".into(),
            agents: 2,
            created_ns: 1_767_225_600_000_000_000,
            clock: "boot".into(),
            origin: RunOrigin {
                plan: Some("/plans/edge.toml".into()),
                listen: Some(([127, 0, 0, 1], 7711).into()),
                state: Some("/state".into()),
            },
        }),
        FactKind::Resumed(ResumedRun {
            epoch: 2,
            clock: "another".into(),
            clock_shift_ns: -5,
        }),
        FactKind::Note("a sentence".into()),
        FactKind::ServerCpu(Duration::from_millis(1_100)),
        FactKind::Finished(RunState::Complete),
        FactKind::Finished(RunState::Interrupted),
        FactKind::Finished(RunState::Incomplete),
    ];
    let others = (0..).zip(others).map(|(millis, what)| LoggedFact {
        at: at(millis),
        what,
    });
    events.into_iter().map(event).chain(others).collect()
}

/// Writes a log with a batch for each of these.
fn written(batches: &[Vec<LoggedFact>]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.log");
    let mut log = RunLog::create(&path, RUN).unwrap();
    for batch in batches {
        batch.iter().for_each(|fact| log.stage(fact));
        log.commit().unwrap();
    }
    (folder, path)
}

fn read(path: &Path) -> Result<(Vec<LoggedFact>, u64), LogError> {
    let mut reader = LogReader::open(path)?;
    assert_eq!(reader.run(), RUN);
    let facts = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
    Ok((facts, reader.tail().torn_bytes))
}

#[test]
fn log_gives_back_what_it_was_given() {
    let (_folder, path) = written(&[everything(), vec![interval(0, 1)], everything()]);
    let mut expected = everything();
    expected.push(interval(0, 1));
    expected.extend(everything());
    assert_eq!(read(&path).unwrap(), (expected, 0));
}

/// `UPDATE_GOLDEN=1` writes it anew, which is only for a new version.
#[test]
fn first_version_of_the_format_is_read_for_ever() {
    let (folder, path) = written(&[everything()]);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/run_log/tests/version-1.log"
        );
        std::fs::copy(&path, golden).unwrap();
    }
    assert_eq!(std::fs::read(&path).unwrap(), GOLDEN, "the format changed");
    let golden = folder.path().join("golden");
    std::fs::write(&golden, GOLDEN).unwrap();
    assert_eq!(read(&golden).unwrap(), (everything(), 0));
}

/// Events that were added later come after the others, whose numbers do not change.
#[test]
fn later_events_of_the_format_are_read_too() {
    let answers = [None, Some(FleetTime(10))].map(|from| {
        let (agent, by) = (1, 0);
        event(RunEvent::TakenOver { agent, by, from })
    });
    let monitor = AgentFacts {
        version: "1".into(),
        labels: [("role".into(), "server".into())].into(),
        workers: 0,
        host: Bytes::from_static(b"host"),
        role: control::Role::Monitor,
        ..AgentFacts::new(AgentId([9; 16]), "server")
    };
    let observed = [Observer::Agent(1), Observer::Monitor(0)].map(|by| {
        event(RunEvent::Observed {
            by,
            second: 7,
            encoded: Bytes::from_static(b"busy"),
        })
    });
    let later: Vec<LoggedFact> = [event(RunEvent::Watching { monitor })]
        .into_iter()
        .chain(answers)
        .chain(observed)
        .chain([event(RunEvent::ProfilePart {
            monitor: 0,
            part: 1,
            parts: 2,
            content: Bytes::from_static(b"stacks"),
        })])
        .chain([true, false].map(|came| event(RunEvent::TokenAsked { place: 2, came })))
        .collect();
    let (_folder, path) = written(&[everything(), later.clone()]);
    let mut expected = everything();
    expected.extend(later);
    assert_eq!(read(&path).unwrap(), (expected, 0));
}

#[test]
fn batch_that_is_torn_anywhere_is_cut_off_and_the_log_goes_on() {
    let (_folder, path) = written(&[vec![interval(0, 0)], vec![interval(1, 0), interval(2, 0)]]);
    let whole = std::fs::read(&path).unwrap();
    let first_ends = {
        let (_folder, path) = written(&[vec![interval(0, 0)]]);
        std::fs::metadata(path).unwrap().len() as usize
    };
    for end in first_ends..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let torn = (end - first_ends) as u64;
        assert_eq!(read(&path).unwrap(), (vec![interval(0, 0)], torn), "{end}");
        let (mut log, cut) = RunLog::reopen(&path).unwrap();
        assert_eq!(cut, torn);
        log.stage(&interval(3, 0));
        log.commit().unwrap();
        let facts = vec![interval(0, 0), interval(3, 0)];
        assert_eq!(read(&path).unwrap(), (facts, 0), "{end}");
    }
}

#[test]
fn flipped_bit_is_never_read_as_something_else() {
    let batches: Vec<Vec<LoggedFact>> = (0..3).map(|second| vec![interval(0, second)]).collect();
    let (_folder, path) = written(&batches);
    let whole = std::fs::read(&path).unwrap();
    let last = whole.len() - (whole.len() - HEAD_BYTES) / 3;
    for place in HEAD_BYTES..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        std::fs::write(&path, &bytes).unwrap();
        if place < last {
            let error = read(&path).unwrap_err();
            assert!(matches!(error, LogError::Damaged { .. }), "{place} {error}");
            assert!(RunLog::reopen(&path).is_err(), "{place}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing is cut off");
        } else {
            let kept = vec![interval(0, 0), interval(0, 1)];
            assert_eq!(read(&path).unwrap().0, kept, "{place}");
        }
    }
}

#[test]
fn length_that_was_damaged_asks_for_no_memory() {
    let (_folder, path) = written(&[vec![interval(0, 0)]]);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[HEAD_BYTES + 12..HEAD_BYTES + 16].copy_from_slice(&u32::MAX.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path).unwrap().0, vec![]);
}

#[test]
fn other_versions_and_other_files_are_told_apart() {
    let (_folder, path) = written(&[]);
    let whole = std::fs::read(&path).unwrap();
    let mut newer = whole.clone();
    newer[8] = 2;
    for (bytes, told) in [
        (&newer[..], "has log version 2, and version "),
        (&newer[..], "reads log version 1"),
        (&whole[..31], "is no run log"),
        (b"{}", "is no run log"),
        (b"", "is no run log"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = LogReader::open(&path).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let none = LogReader::open(&path.with_extension("none")).unwrap_err();
    assert!(none.to_string().contains("no such file"), "{none}");
}

#[test]
fn fact_of_a_newer_program_is_refused_with_both_versions() {
    let (_folder, path) = written(&[]);
    let (mut log, _) = RunLog::reopen(&path).unwrap();
    log.stage(&interval(0, 0));
    log.staged[BATCH_HEAD_BYTES] = 77;
    log.commit().unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("kind 77") && error.contains("kinds up to 6"),
        "{error}"
    );
}

#[test]
fn second_coordinator_is_kept_out_and_told_of_the_first() {
    let (_folder, path) = written(&[]);
    let (log, _) = RunLog::reopen(&path).unwrap();
    let error = RunLog::reopen(&path).unwrap_err().to_string();
    let pid = format!(
        "another coordinator is writing this run (pid {})",
        std::process::id()
    );
    assert!(error.contains(&pid), "{error}");
    drop(log);
    assert!(RunLog::reopen(&path).is_ok());
}

#[test]
fn batch_that_found_no_room_is_written_when_there_is_some() {
    let (_folder, path) = written(&[vec![interval(0, 0)]]);
    let (mut log, _) = RunLog::reopen(&path).unwrap();
    log.stage(&interval(0, 1));
    let file = std::mem::replace(
        &mut log.file,
        File::options().write(true).open("/dev/full").unwrap(),
    );
    for _ in 0..2 {
        let error = log.commit().unwrap_err();
        // The second try cannot cut off what may be torn either: /dev/full has no length.
        assert!(error.raw_os_error().is_some(), "{error}");
    }
    // Half of it was written, as on a disk that fills up.
    file.write_all_at(&log.staged[..40], log.good_bytes)
        .unwrap();
    log.file = file;
    log.commit().unwrap();
    log.commit().unwrap();
    assert_eq!(
        read(&path).unwrap(),
        (vec![interval(0, 0), interval(0, 1)], 0)
    );
}

#[test]
fn removed_log_is_noticed() {
    let (_folder, path) = written(&[]);
    let (log, _) = RunLog::reopen(&path).unwrap();
    log.check_place().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        log.check_place().unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    std::fs::write(&path, "another").unwrap();
    assert_eq!(
        log.check_place().unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
}

#[test]
fn what_is_stored_later_is_not_read_with_what_is_stored_now() {
    let (_folder, path) = written(&[vec![interval(0, 0)], vec![interval(0, 1)]]);
    let (mut log, _) = RunLog::reopen(&path).unwrap();
    let stored = log.stored().unwrap();
    log.stage(&interval(0, 2));
    log.commit().unwrap();
    let facts: Vec<LoggedFact> = stored.map(Result::unwrap).collect();
    assert_eq!(facts, [interval(0, 0), interval(0, 1)]);
    assert_eq!(log.stored().unwrap().count(), 3);
}
