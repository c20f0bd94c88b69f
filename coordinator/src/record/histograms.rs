//! What agents recorded on its way into the logs of the run folder.

use crate::run_folder::{Growing, RunFolder};
use crate::utc::Utc;
use measure::Snapshot;
use report::{HlogWriter, MergedHlog};

/// Writes `histograms.hlog`, and where it was asked for what each agent recorded.
#[derive(Debug)]
pub(super) struct Histograms {
    merged: MergedHlog,
}

impl Histograms {
    /// Begins the logs of a run of so many agents.
    pub(super) fn begin(folder: &mut RunFolder, started_at: Utc, agents: usize) -> Histograms {
        let writer = HlogWriter::new(&started_at.to_string(), started_at.millis());
        folder.append(Growing::Histograms, &writer.header());
        folder.append(Growing::HistogramsByAgent, &writer.header());
        Histograms {
            merged: MergedHlog::new(writer, agents),
        }
    }

    /// An agent delivered a second, which had not come before.
    pub(super) fn take(
        &mut self,
        folder: &mut RunFolder,
        agent: u32,
        second: u32,
        snapshot: &Snapshot,
    ) {
        // Encoding costs more than asking, and most runs do not want this log.
        if folder.has_histograms_by_agent() {
            folder.append(
                Growing::HistogramsByAgent,
                &self.merged.writer().of_agent(agent, second, snapshot),
            );
        }
        folder.append(
            Growing::Histograms,
            &self.merged.take(agent, second, snapshot),
        );
    }

    /// An agent delivered a second that cannot be read.
    pub(super) fn skip(&mut self, folder: &mut RunFolder, agent: u32, second: u32) {
        folder.append(Growing::Histograms, &self.merged.skip(agent, second));
    }

    /// An agent delivers nothing any more.
    pub(super) fn agent_ended(&mut self, folder: &mut RunFolder, agent: u32) {
        folder.append(Growing::Histograms, &self.merged.agent_ended(agent));
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self, folder: &mut RunFolder) {
        folder.append(Growing::Histograms, &self.merged.finish());
    }
}
