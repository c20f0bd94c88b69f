//! The record of a run with the files that follow it. Each stored fact comes by here, whether it
//! happens now or is read from a log.

#[cfg(test)]
mod tests;

use super::event_line;
use super::finished_record::FinishedRecord;
use super::record_files::RecordFiles;
use super::recorded_run::{RecordChange, RecordedRun};
use super::storage::DiskWait;
use super::stored_fact::{FactContent, StoredFact};
use crate::planned_run::PlannedRun;
use analysis::{Document, Live, RunState};
use control::RunEvent;
use run_folder::{FactKind, RunFolder, Utc};

/// The record of a run, with its files.
#[derive(Debug)]
pub(super) struct KeptRun {
    record: RecordedRun,
    /// `None` without a folder.
    files: Option<RecordFiles>,
}

impl KeptRun {
    /// Begins a record with an incomplete result in the folder, so that there is always one.
    pub(super) fn new(run: PlannedRun, folder: Option<RunFolder>) -> KeptRun {
        let mut kept = KeptRun {
            record: RecordedRun::new(run),
            files: folder.map(RecordFiles::new),
        };
        kept.save_incomplete();
        kept
    }

    /// Takes a stored fact. Returns the end of the run, if the fact states it.
    pub(super) fn take(&mut self, fact: StoredFact) -> Option<(Utc, RunState)> {
        let at = fact.at;
        let what = match fact.what {
            FactContent::Second {
                agent,
                interval,
                decoded,
                ..
            } => {
                let change = self.record.interval(at, agent, interval, decoded.wait());
                self.follow(change);
                return None;
            }
            FactContent::Whole(what) => *what,
        };
        match what {
            FactKind::Begun(_) => {}
            FactKind::Resumed(resumed) => {
                let change = self.record.resume(at, &resumed);
                self.follow(Some(change));
            }
            FactKind::Event(event) => self.take_event(at, &event),
            FactKind::Note(sentence) => self.record.note(sentence),
            FactKind::ServerCpu(used) => self.record.server_cpu(used),
            FactKind::Finished(state) => return Some((at, state)),
        }
        None
    }

    /// Takes an event that came at `at`.
    pub(super) fn take_event(&mut self, at: Utc, event: &RunEvent) {
        if let Some(files) = &mut self.files {
            let name_of = |agent| self.record.agent_name(agent);
            let line = event_line::from_event(at, event, name_of);
            line.iter().for_each(|line| files.add_line(line));
        }
        let change = self.record.take(at, event);
        self.follow(change);
    }

    /// Adds a sentence that the reader of the result should know.
    pub(super) fn note(&mut self, sentence: String) {
        self.record.note(sentence);
    }

    /// Sets the digest of the plan with its secrets, since it was read without them.
    pub(super) fn set_digest(&mut self, digest: String) {
        self.record.set_digest(digest);
    }

    /// Whether there are files to save a document in.
    pub(super) fn has_files(&self) -> bool {
        self.files.is_some()
    }

    /// Figures of the latest second.
    pub(super) fn live(&self) -> Option<Live> {
        self.record.live()
    }

    /// The result as it is known now.
    pub(super) fn document(&self, state: RunState) -> Document {
        self.record.document(state)
    }

    /// Replaces the result in the folder, if there is one.
    pub(super) fn save(&mut self, document: &Document) {
        let files = self.files.iter_mut();
        files.for_each(|files| files.save(document));
    }

    /// Saves what there is when the record is no longer wanted.
    pub(super) fn abandon(mut self) {
        let files = self.files.iter_mut();
        files.for_each(RecordFiles::finish_histograms);
        self.save_incomplete();
    }

    /// Saves the last document, and returns it with what could not be saved. If there is a `disk`
    /// to wait for, waits while it takes nothing.
    pub(super) fn finish(
        self,
        at: Utc,
        state: RunState,
        disk: Option<&DiskWait>,
    ) -> FinishedRecord {
        let document = self.record.document(state);
        let unstored = disk.and_then(DiskWait::unstored);
        let mut finished = FinishedRecord {
            document,
            is_stored: unstored.is_none(),
            unsaved: unstored.into_iter().collect(),
            folder: None,
            has_result: false,
        };
        if let Some(mut files) = self.files {
            // If the log was given up, the disk was waited for already.
            let disk = disk.filter(|_| finished.is_stored);
            files.finish(at, &finished.document, disk);
            finished.unsaved.extend(files.unsaved());
            finished.has_result = files.has_result();
            finished.folder = Some(files.path().to_owned());
        }
        finished
    }

    fn save_incomplete(&mut self) {
        if self.has_files() {
            let document = self.document(RunState::Incomplete);
            self.save(&document);
        }
    }

    fn follow(&mut self, change: Option<RecordChange>) {
        if let Some((files, change)) = self.files.as_mut().zip(change) {
            files.follow(&change);
        }
    }
}
