//! The files of a run besides its log: follows the facts that are stored, and writes a document
//! that it is given. It knows formats and the folder, and nothing of how a record is made.

use super::event_line;
use super::histograms::Histograms;
use super::recorded_run::RecordChange;
use super::storage::{DiskFailure, DiskWait, DiskWaited, GivenUp};
use analysis::Document;
use host::CpuProfile;
use report::{Format, Style};
use run_folder::{Growing, RunFolder, Utc};
use std::path::Path;
use std::time::Instant;

/// The files of a run besides its log.
#[derive(Debug)]
pub(super) struct RecordFiles {
    folder: RunFolder,
    /// `None` until a start instant is named.
    histograms: Option<Histograms>,
    /// Files of profiles that could not be written, and why.
    unsaved_profiles: Vec<String>,
}

impl RecordFiles {
    pub(super) fn new(folder: RunFolder) -> RecordFiles {
        RecordFiles {
            folder,
            histograms: None,
            unsaved_profiles: Vec::new(),
        }
    }

    /// The run's folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a line to `events.jsonl`.
    pub(super) fn add_line(&mut self, line: &str) {
        self.folder.append(Growing::Events, &format!("{line}\n"));
    }

    /// Follows a change of the record.
    pub(super) fn follow(&mut self, change: &RecordChange) {
        match change {
            RecordChange::Start { at, agents, ended } => {
                self.histograms = Some(Histograms::new(*at, *agents));
                // Agents that were lost before the start deliver nothing.
                ended.iter().for_each(|agent| self.end_agent(*agent));
            }
            RecordChange::Counted {
                agent,
                interval,
                snapshot,
            } => self.histograms(|histograms, folder| {
                histograms.take(folder, *agent, *interval, snapshot);
            }),
            RecordChange::Unreadable { agent, interval } => {
                self.histograms(|histograms, folder| histograms.skip(folder, *agent, *interval));
            }
            RecordChange::AgentEnd(agent) => self.end_agent(*agent),
            RecordChange::Resumption { at, epoch, away } => {
                self.add_line(&event_line::from_resumption(*at, *epoch, *away));
            }
            RecordChange::Profile {
                profile,
                folded,
                svg,
            } => self.write_profile(profile, folded, svg),
        }
    }

    /// Replaces the result.
    pub(super) fn save(&mut self, document: &Document) {
        let text = Format::Json.render(document, Style::PLAIN);
        self.folder.replace_result(&text);
    }

    /// Writes the rest of the logs of figures.
    pub(super) fn finish_histograms(&mut self) {
        self.histograms(|histograms, folder| histograms.finish(folder));
    }

    /// Writes all that is still to be written of a run that ended at `at`. If there is a `disk` to
    /// wait for, tries again while it takes nothing.
    pub(super) fn finish(&mut self, at: Utc, document: &Document, disk: Option<&DiskWait>) {
        self.finish_histograms();
        let lines = event_line::from_result(at, document);
        lines.iter().for_each(|line| self.add_line(line));
        let page = Format::Html.render(document, Style::PLAIN);
        let result = Format::Json.render(document, Style::PLAIN);
        let since = Instant::now();
        loop {
            self.folder.finish();
            self.folder.replace_result(&result);
            self.folder.replace_page(&page);
            let Some(disk) = disk else {
                return; // it is tried once
            };
            let Some(why) = self.folder.unsaved().into_iter().next() else {
                return disk.goes_on();
            };
            let failure = DiskFailure {
                why,
                is_folder_gone: !self.path().is_dir(),
            };
            match disk.wait(since, &failure, 0) {
                DiskWaited::Again => {}
                DiskWaited::OutOfTime if failure.is_folder_gone => {
                    return disk.give_up(GivenUp::Released);
                }
                DiskWaited::OutOfTime => return disk.give_up(GivenUp::Logged),
                DiskWaited::NotWanted => return,
            }
        }
    }

    /// Failures to save, each with its reason.
    pub(super) fn unsaved(&self) -> Vec<String> {
        let mut unsaved = self.folder.unsaved();
        unsaved.extend(self.unsaved_profiles.iter().cloned());
        unsaved
    }

    /// Whether the folder has the document that was saved last.
    pub(super) fn has_result(&self) -> bool {
        self.folder.has_result()
    }

    fn end_agent(&mut self, agent: u32) {
        self.histograms(|histograms, folder| histograms.agent_ended(folder, agent));
    }

    /// Calls `write` if a start instant is named.
    fn histograms(&mut self, write: impl FnOnce(&mut Histograms, &mut RunFolder)) {
        if let Some(histograms) = &mut self.histograms {
            write(histograms, &mut self.folder);
        }
    }

    fn write_profile(&mut self, profile: &CpuProfile, folded: &str, svg: &str) {
        let text = profile.folded();
        let (process, samples) = (&profile.process, profile.samples());
        let seconds = profile.duration.as_secs_f64();
        let title = format!("{process}: {samples} samples in {seconds:.0} s");
        let picture = report::flame_graph(&title, &text);
        let picture = picture.map_err(|error| format!("{svg}: {error}"));
        let saved = [
            self.folder.write_beside(folded, &text),
            picture.and_then(|picture| self.folder.write_beside(svg, &picture)),
        ];
        let failures = saved.into_iter().filter_map(Result::err);
        self.unsaved_profiles.extend(failures);
    }
}
