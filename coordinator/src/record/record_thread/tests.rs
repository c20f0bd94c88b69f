//! What is acknowledged is stored, and nothing else is.

use super::*;
use crate::fleet;
use crate::record::replay;
use crate::record::storage::GivenUp;
use crate::sample_run::{folder, operation, planned, start_events};
use control::{AgentFacts, AgentId, FleetTime, RunId};
use run_folder::LOG;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PLAN: &str = "target.url = \"https://a.test/\"\nload = { connections = 2, duration = \
                    \"1h\" }\n[[request]]\nheaders.cookie = \"s3cret\"\n";
const RUN: RunId = RunId([5; 16]);
const PATIENCE: Duration = Duration::from_secs(30);

struct Recording {
    record: RecordThread,
    receipts: mpsc::Receiver<Vec<Receipt>>,
    digest: String,
    folder: PathBuf,
    _base: TempDir,
}

/// A run of two agents that has started.
async fn recording() -> Recording {
    recording_with(StorageTimes::USUAL).await
}

async fn recording_with(times: StorageTimes) -> Recording {
    let base = tempfile::tempdir().unwrap();
    let (run, folder) = (planned(PLAN, 2), folder(base.path()));
    let digest = run.plan.digest().to_string();
    let path = folder.path().to_owned();
    let (sender, receipts) = ReceiptSender::new();
    let record = RecordThread::begin(run, Some(folder), sender, None, times).unwrap();
    let agents = ["a", "b"].map(|name| AgentFacts::new(AgentId([0; 16]), name));
    for event in start_events(agents.to_vec(), FleetTime(1), Duration::ZERO) {
        record.permit().await.take(event, None);
    }
    Recording {
        record,
        receipts,
        digest,
        folder: path,
        _base: base,
    }
}

impl Recording {
    async fn interval(&self, agent: u32, interval: u32) {
        let event = RunEvent::Interval {
            agent,
            interval,
            encoded: operation(interval).encode().into(),
        };
        let receipt = Receipt::for_interval(RUN, agent, interval);
        self.record.permit().await.take(event, Some(receipt));
    }

    async fn receipts(&mut self, number: usize) -> Vec<Receipt> {
        let mut all = Vec::new();
        while all.len() < number {
            let more = tokio::time::timeout(PATIENCE, self.receipts.recv()).await;
            all.extend(more.expect("a receipt").expect("the record goes on"));
        }
        all
    }

    async fn trouble(&self) -> StorageTrouble {
        let mut trouble = self.record.disk.changes();
        let told = trouble.wait_for(Option::is_some);
        let told = tokio::time::timeout(PATIENCE, told).await;
        told.expect("trouble")
            .expect("the record goes on")
            .clone()
            .expect("waited for")
    }

    async fn finish(self) -> (FinishedRecord, PathBuf, TempDir) {
        let mut finishing = self.record.finish(rest());
        (finishing.finished().await, self.folder, self._base)
    }
}

fn rest() -> RecordRest {
    RecordRest {
        events: Vec::new(),
        notes: vec!["a note".to_owned()],
        server_cpu: None,
        state: RunState::Interrupted,
    }
}

/// Copies what is on the disk at this moment, as a kill would leave it.
fn copied(folder: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        // A draft of the result can disappear at any time.
        let _ = std::fs::copy(entry.path(), copy.path().join(entry.file_name()));
    }
    copy
}

#[tokio::test]
async fn what_is_acknowledged_is_in_the_result_that_a_kill_leaves() {
    let mut recording = recording().await;
    let mut acknowledged = 0;
    for second in 0..20 {
        recording.interval(0, second).await;
        if second % 3 == 0 {
            recording.interval(1, second).await;
        }
        if second % 5 == 4 {
            let sent = u64::from(second + 1 + second / 3 + 1);
            acknowledged += recording
                .receipts((sent - acknowledged) as usize)
                .await
                .len() as u64;
            assert_eq!(acknowledged, sent);
            let killed = copied(&recording.folder);
            let document = replay::document(killed.path()).unwrap();
            assert_eq!(document.measured.operations.ok, acknowledged, "{second}");
            assert_eq!(document.run.state, RunState::Incomplete);
            assert_eq!(document.plan.digest, recording.digest);
            assert!(document.plan.canonical_text.contains("(not saved)"));
            let log = std::fs::read(killed.path().join(LOG)).unwrap();
            assert!(!log.windows(6).any(|bytes| bytes == b"s3cret"));
        }
    }
    drop(recording.finish().await);
}

#[tokio::test]
async fn files_that_are_made_again_are_those_that_were_written() {
    let mut recording = recording().await;
    for second in 0..5 {
        recording.interval(0, second).await;
        recording.interval(1, second).await;
    }
    recording.receipts(10).await;
    let (finished, folder, _base) = recording.finish().await;
    assert_eq!(finished.unsaved, Vec::<String>::new());
    let files = ["result.json", "histograms.hlog", "events.jsonl"];
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let before = files.map(read);
    for file in files {
        std::fs::write(folder.join(file), "torn").unwrap();
    }
    assert_eq!(replay::document(&folder).unwrap(), finished.document);
    let remade = replay::remake(&folder).unwrap();
    assert_eq!(
        (remade.document, remade.unsaved),
        (finished.document, vec![])
    );
    assert_eq!(files.map(read), before);
}

#[tokio::test]
async fn nothing_is_acknowledged_while_the_folder_is_gone_and_all_is_when_it_is_back() {
    let mut recording = recording().await;
    recording.interval(0, 0).await;
    recording.receipts(1).await;
    let elsewhere = recording.folder.with_extension("elsewhere");
    std::fs::rename(&recording.folder, &elsewhere).unwrap();
    recording.interval(0, 1).await;
    let trouble = recording.trouble().await;
    assert!(
        trouble.why.ends_with("run.log: no such file or folder") && trouble.waiting == 1,
        "{trouble:?}"
    );
    recording.interval(0, 2).await;
    assert!(recording.receipts.try_recv().is_err());
    std::fs::rename(&elsewhere, &recording.folder).unwrap();
    assert_eq!(recording.receipts(2).await.len(), 2);
    assert_eq!(recording.record.trouble(), None);
    let (finished, folder, _base) = recording.finish().await;
    assert!(finished.is_stored && finished.unsaved.is_empty());
    assert_eq!(replay::document(&folder).unwrap().measured.operations.ok, 3);
}

#[tokio::test]
async fn disk_that_nobody_waits_for_any_longer_is_told_with_what_is_not_saved() {
    let mut recording = recording().await;
    recording.interval(0, 0).await;
    recording.receipts(1).await;
    std::fs::remove_dir_all(&recording.folder).unwrap();
    recording.interval(0, 1).await;
    recording.trouble().await;
    let mut finishing = recording.record.finish(rest());
    let waited = tokio::time::timeout(Duration::from_millis(1500), finishing.finished()).await;
    assert!(waited.is_err(), "it waits for the disk");
    finishing.give_up();
    let finished = finishing.finished().await;
    assert!(!finished.is_stored);
    assert!(
        finished.unsaved[0].contains("run.log: no such file or folder; 1 second of an agent"),
        "{:?}",
        finished.unsaved
    );
    assert_eq!(finished.document.measured.operations.ok, 2, "it is shown");
    assert!(recording.receipts.try_recv().is_err(), "agents keep it");
}

/// Waits for a disk for `room`, and tries often.
fn tried_often(room: Duration) -> StorageTimes {
    StorageTimes {
        room,
        folder: room,
        retry: Duration::from_millis(10),
    }
}

#[tokio::test]
async fn disk_that_is_full_for_too_long_is_given_up_and_never_said_to_store_again() {
    let mut recording = recording_with(tried_often(Duration::from_millis(50))).await;
    recording.interval(0, 0).await;
    recording.receipts(1).await;
    // Something else is in the folder's place, so that its files cannot be reached.
    let elsewhere = recording.folder.with_extension("elsewhere");
    std::fs::rename(&recording.folder, &elsewhere).unwrap();
    std::fs::write(&recording.folder, "not a folder").unwrap();
    recording.interval(0, 1).await;
    let mut changes = recording.record.disk.changes();
    let given_up = |trouble: &Option<StorageTrouble>| {
        let trouble = trouble.as_ref();
        trouble.is_some_and(|trouble| trouble.given_up == Some(GivenUp::Kept))
    };
    let told = tokio::time::timeout(PATIENCE, changes.wait_for(given_up)).await;
    let told = told.unwrap().unwrap().clone().unwrap();
    assert!(told.end().unwrap().contains("gave up storing"), "{told:?}");
    drop(changes);
    // Storing is not tried again, and what comes later is not acknowledged either.
    std::fs::remove_file(&recording.folder).unwrap();
    std::fs::rename(&elsewhere, &recording.folder).unwrap();
    recording.interval(0, 2).await;
    let mut finishing = recording.record.finish(rest());
    let finished = finishing.finished().await;
    assert!(finishing.trouble().is_some_and(|it| given_up(&Some(it))));
    assert!(recording.receipts.try_recv().is_err(), "agents keep it");
    assert!(!finished.is_stored && finished.unsaved[0].contains("run.log"));
    assert_eq!(finished.saved_in(), Some(&*recording.folder));
}

#[tokio::test]
async fn result_that_finds_no_room_is_saved_once_there_is_some() {
    let recording = recording_with(tried_often(PATIENCE * 10)).await;
    recording.interval(0, 0).await;
    // A folder in the draft's place stands for a disk without room.
    let draft = recording.folder.join("result.json.tmp");
    std::fs::create_dir(&draft).unwrap();
    let mut changes = recording.record.disk.changes();
    let mut finishing = recording.record.finish(rest());
    let told = tokio::time::timeout(PATIENCE, changes.wait_for(Option::is_some)).await;
    let told = told.unwrap().unwrap().clone().unwrap();
    assert!(told.why.contains("result.json"), "{told:?}");
    std::fs::remove_dir(&draft).unwrap();
    let finished = finishing.finished().await;
    assert_eq!(finishing.trouble(), None);
    assert_eq!(finished.unsaved, Vec::<String>::new());
    assert_eq!(finished.saved_in(), Some(&*recording.folder));
    let saved = std::fs::read(recording.folder.join("result.json")).unwrap();
    assert_eq!(report::read(&saved).unwrap().measured.operations.ok, 1);
}

#[tokio::test]
async fn result_that_cannot_be_saved_is_not_said_to_be_there() {
    let recording = recording_with(tried_often(Duration::from_millis(50))).await;
    recording.interval(0, 0).await;
    std::fs::create_dir(recording.folder.join("result.json.tmp")).unwrap();
    let mut finishing = recording.record.finish(rest());
    let finished = finishing.finished().await;
    let told = finishing.trouble().unwrap();
    assert_eq!(told.given_up, Some(GivenUp::Logged));
    assert!(finished.is_stored, "the log has all of it");
    assert!(finished.unsaved[0].contains("result.json"), "{finished:?}");
    assert_eq!(finished.saved_in(), None);
    let removed = recording_with(tried_often(Duration::from_millis(50))).await;
    std::fs::remove_dir_all(&removed.folder).unwrap();
    removed.interval(0, 0).await;
    let finished = removed.record.finish(rest()).finished().await;
    assert_eq!(finished.saved_in(), None);
}

#[tokio::test]
async fn run_that_is_gone_on_with_after_a_kill_is_as_one_without() {
    let mut recording = recording().await;
    let seconds = |from: u32, to: u32| (from..to).flat_map(|second| [(0, second), (1, second)]);
    for (agent, second) in seconds(0, 4) {
        recording.interval(agent, second).await;
    }
    recording.receipts(8).await;
    let killed = copied(&recording.folder);
    // Part of the next batch was written, and none of it acknowledged.
    let log = std::fs::OpenOptions::new()
        .append(true)
        .open(killed.path().join(LOG));
    std::io::Write::write_all(&mut log.unwrap(), b"\xb7B\xd1\x1etorn").unwrap();
    for (agent, second) in seconds(4, 7) {
        recording.interval(agent, second).await;
    }
    let (whole, folder, _base) = recording.finish().await;

    let (sender, receipts) = ReceiptSender::new();
    let file = killed.path().join(LOG);
    let left = LeftRecord {
        folder: killed.path().to_owned(),
        log: RunLog::reopen(&file).unwrap().0,
        resumed: ResumedRun::new(2, fleet::clock_name()),
    };
    let mut again = Recording {
        record: RecordThread::resume(left, planned(PLAN, 2), sender, None).unwrap(),
        receipts,
        digest: String::new(),
        folder: killed.path().to_owned(),
        _base: tempfile::tempdir().unwrap(),
    };
    let second = RunLog::reopen(&file).unwrap_err().to_string();
    assert!(
        second.contains("another coordinator is writing this run"),
        "{second}"
    );
    // The last second that was stored comes again, since its acknowledgement was lost.
    for (agent, second) in seconds(3, 7) {
        again.interval(agent, second).await;
    }
    again.receipts(8).await;
    let (resumed, _, _base_again) = again.finish().await;
    assert_eq!(resumed.document.measured, whole.document.measured);
    assert_eq!(resumed.document.agents, whole.document.agents);
    assert_eq!(resumed.document.unattended.len(), 1);
    assert_eq!(resumed.unsaved, Vec::<String>::new());
    let read = |folder: &Path, file| std::fs::read_to_string(folder.join(file)).unwrap();
    let lines = |text: String| text.matches("Tag=").count();
    let log = |folder: &Path| lines(read(folder, "histograms.hlog"));
    assert_eq!(log(killed.path()), log(&folder));
    let events = |folder: &Path| read(folder, "events.jsonl").lines().count();
    assert_eq!(
        events(killed.path()),
        events(&folder) + 1,
        "it says that it was gone on with"
    );
}
