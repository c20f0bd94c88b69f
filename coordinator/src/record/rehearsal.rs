//! A record without a fleet, for benches: what agents deliver is given to it by hand. No run uses
//! it.

use super::recorded_run::RecordedRun;
use crate::planned_run::PlannedRun;
use crate::run_folder::{FolderError, FolderName, RunFolder};
use crate::utc::Utc;
use analysis::{Document, RunState};
use control::{AgentFacts, AgentId, ClockReading, EndCause, FleetTime, RunEvent, RunId};
use plan::Plan;
use proto::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The record of a run that has started.
pub struct RecordRehearsal {
    record: RecordedRun,
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
        let mut record = RecordedRun::new(run, Some(folder));
        record.take(
            created,
            &RunEvent::Assembled {
                agents: (0..agents).map(facts).collect(),
            },
        );
        let clock = ClockReading {
            offset_ns: 0,
            bound_ns: 0,
        };
        for agent in 0..agents {
            record.take(
                created,
                &RunEvent::Ready {
                    agent,
                    addresses: Vec::new(),
                    workers: 1,
                    clock,
                },
            );
        }
        record.take(
            created,
            &RunEvent::Armed {
                start_at: FleetTime(0),
                start_in: Duration::ZERO,
            },
        );
        for agent in 0..agents {
            record.take(
                created,
                &RunEvent::Began {
                    agent,
                    at: FleetTime(0),
                    bound_ns: 0,
                },
            );
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
        self.record.take(
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
        self.record.save(RunState::Incomplete);
    }

    /// Ends the run of an agent as planned.
    pub fn end(&mut self, agent: u32, intervals: u32, totals: Vec<u8>) {
        let encoded = Bytes::from(totals);
        self.record.take(
            Utc::now(),
            &RunEvent::Totals {
                agent,
                intervals,
                encoded,
            },
        );
        let missing = Vec::new();
        let figures = Bytes::from(host::RunFigures::default().encode());
        let ended = RunEvent::Ended {
            agent,
            cause: EndCause::Plan,
            missing,
            figures,
            clock: None,
        };
        self.record.take(Utc::now(), &ended);
    }

    /// Ends the record.
    #[must_use]
    pub fn finish(self) -> Document {
        self.record.finish(Utc::now(), RunState::Complete).document
    }
}

fn facts(agent: u32) -> AgentFacts {
    let name = format!("agent-{agent}");
    let version = String::new();
    let labels = BTreeMap::new();
    AgentFacts {
        version,
        labels,
        ..AgentFacts::new(AgentId([0; 16]), &name)
    }
}
