//! Writes what agents recorded into the logs of the run folder.

use measure::Snapshot;
use report::{HlogWriter, MergedHlog};
use run_folder::{Growing, RunFolder, Utc};

/// Writes `histograms.hlog`, and if asked for, a log of what each agent recorded.
#[derive(Debug)]
pub(super) struct Histograms {
    merged: MergedHlog,
    /// The header, until it is written before the first line: a start that is postponed leaves
    /// none.
    header: Option<String>,
}

impl Histograms {
    /// The logs of a run with `agents` agents.
    pub(super) fn new(started_at: Utc, agents: usize) -> Histograms {
        let writer = HlogWriter::new(&started_at.to_string(), started_at.millis());
        Histograms {
            header: Some(writer.header()),
            merged: MergedHlog::new(writer, agents),
        }
    }

    /// Takes a second that an agent delivered for the first time.
    pub(super) fn take(
        &mut self,
        folder: &mut RunFolder,
        agent: u32,
        second: u32,
        snapshot: &Snapshot,
    ) {
        // Encoding costs more than asking, and most runs do not want this log.
        if folder.has_histograms_by_agent() {
            let lines = self.merged.writer().of_agent(agent, second, snapshot);
            self.append(folder, Growing::HistogramsByAgent, &lines);
        }
        let lines = self.merged.take(agent, second, snapshot);
        self.append(folder, Growing::Histograms, &lines);
    }

    /// Skips a second that an agent delivered but that cannot be read.
    pub(super) fn skip(&mut self, folder: &mut RunFolder, agent: u32, second: u32) {
        let lines = self.merged.skip(agent, second);
        self.append(folder, Growing::Histograms, &lines);
    }

    /// Notes that an agent delivers nothing more.
    pub(super) fn agent_ended(&mut self, folder: &mut RunFolder, agent: u32) {
        let lines = self.merged.agent_ended(agent);
        self.append(folder, Growing::Histograms, &lines);
    }

    /// Writes the rest.
    pub(super) fn finish(&mut self, folder: &mut RunFolder) {
        self.write_header(folder);
        let lines = self.merged.finish();
        self.append(folder, Growing::Histograms, &lines);
    }

    fn append(&mut self, folder: &mut RunFolder, file: Growing, lines: &str) {
        if !lines.is_empty() {
            self.write_header(folder);
            folder.append(file, lines);
        }
    }

    fn write_header(&mut self, folder: &mut RunFolder) {
        if let Some(header) = self.header.take() {
            folder.append(Growing::Histograms, &header);
            folder.append(Growing::HistogramsByAgent, &header);
        }
    }
}
