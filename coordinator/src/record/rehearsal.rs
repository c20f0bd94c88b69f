//! A record without a fleet, for benches: what agents deliver is given to it by hand. No run uses
//! it.

use super::kept_run::KeptRun;
use crate::planned_run::PlannedRun;
use crate::sample_run::{end_of, start_events};
use analysis::{Document, RunState};
use control::{AgentFacts, AgentId, FleetTime, RunEvent, RunId};
use plan::Plan;
use proto::Bytes;
use run_folder::{FolderError, FolderName, RunFolder, Utc};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The record of a run that has started.
pub struct RecordRehearsal {
    record: KeptRun,
    folder: PathBuf,
}

impl RecordRehearsal {
    /// Starts the record of a run of `plan` by `agents` agents, with its folder in `base`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn start(plan: Plan, agents: u32, base: &Path) -> Result<RecordRehearsal, FolderError> {
        let created = Utc::now();
        let folder = RunFolder::create(
            base,
            &FolderName::Stamped(created, plan.name().to_owned()),
            "",
        )?;
        let path = folder.path().to_owned();
        let run = PlannedRun {
            id: RunId([0; 16]),
            title: plan.name().to_owned(),
            plan,
            plan_text: String::new(),
            agents,
            created,
            origin: Default::default(),
            epoch: 1,
            force: false,
        };
        let mut record = KeptRun::new(run, Some(folder));
        let agents = (0..agents).map(facts).collect();
        for event in start_events(agents, FleetTime(0), Duration::ZERO) {
            record.take_event(created, &event);
        }
        Ok(RecordRehearsal {
            record,
            folder: path,
        })
    }

    /// The run's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Delivers an interval of an agent.
    pub fn interval(&mut self, agent: u32, interval: u32, encoded: Vec<u8>) {
        self.record.take_event(
            Utc::now(),
            &RunEvent::Interval {
                agent,
                interval,
                encoded: Bytes::from(encoded),
            },
        );
    }

    /// Replaces the result in the folder, as a run does every few seconds.
    pub fn save(&mut self) {
        let document = self.record.document(RunState::Incomplete);
        self.record.save(&document);
    }

    /// Ends the run of an agent as planned.
    pub fn end(&mut self, agent: u32, intervals: u32, totals: Vec<u8>) {
        let encoded = Bytes::from(totals);
        self.record.take_event(
            Utc::now(),
            &RunEvent::Totals {
                agent,
                intervals,
                encoded,
            },
        );
        self.record.take_event(Utc::now(), &end_of(agent));
    }

    /// Ends the record.
    #[must_use]
    pub fn finish(self) -> Document {
        let finished = self.record.finish(Utc::now(), RunState::Complete, None);
        finished.document
    }
}

fn facts(agent: u32) -> AgentFacts {
    AgentFacts::new(AgentId([0; 16]), &format!("agent-{agent}"))
}
