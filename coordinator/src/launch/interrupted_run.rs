//! A run whose coordinator ended before it did: what its log says, so that this one goes on with
//! it.

use crate::planned_run::PlannedRun;
use crate::record::replay::{self, ReplayError};
use crate::run_folder::{BegunRun, FactKind, LOG, LogError, LogReader, ResumedRun, RunLog};
use crate::utc::Utc;
use control::{FleetTime, RunEvent, RunHistory, RunId};
use plan::{Plan, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run that this coordinator goes on with.
#[derive(Debug)]
pub(super) struct InterruptedRun {
    path: PathBuf,
    begun: BegunRun,
    history: RunHistory,
    /// What the display knows a run by.
    past: Vec<(Utc, RunEvent)>,
    /// The start instant by the latest clock, and by the calendar.
    start: Option<(FleetTime, Utc)>,
    resumed: ResumedRun,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum InterruptedRunError {
    /// The log cannot be read, or somebody else writes it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It holds nothing that could go on.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Nothing is left to do.
    #[error(
        "{0}: this run is over; show it by `coordinator report {0}`, or start it anew without \
         --resume",
        path.display()
    )]
    Over {
        /// Of the folder.
        path: PathBuf,
    },
    /// The agents fire another plan than the one that is given.
    #[error(
        "{}: was made with plan {before}, and the one that is given is {now}: the plan, or a file \
         that it names, has changed; give the same again, or start anew without --resume",
        path.display()
    )]
    OtherPlan {
        /// Of the folder.
        path: PathBuf,
        /// Digest of its plan.
        before: String,
        /// Digest of the one that is given.
        now: String,
    },
    /// Its agents were processes of the coordinator that died.
    #[error(
        "{0}: was made with --local, and its agents ended with it; `coordinator report {0}` shows \
         what is stored",
        path.display()
    )]
    Local {
        /// Of the folder.
        path: PathBuf,
    },
}

impl InterruptedRunError {
    /// Whether the run may be made anew: nothing of it could go on, and nobody else does.
    pub(super) fn leaves_nothing(&self) -> bool {
        match self {
            InterruptedRunError::Over { .. } | InterruptedRunError::Local { .. } => true,
            // A folder without a log is of an earlier version.
            InterruptedRunError::Replay(ReplayError::Log(LogError::Unreadable { .. }))
            | InterruptedRunError::Replay(ReplayError::NothingBegun { .. }) => true,
            InterruptedRunError::Log(_)
            | InterruptedRunError::Replay(_)
            | InterruptedRunError::OtherPlan { .. } => false,
        }
    }
}

impl InterruptedRun {
    /// Reads the log in the folder at `path`, which nobody else may be writing.
    pub(super) fn open(path: &Path) -> Result<InterruptedRun, InterruptedRunError> {
        let begun = replay::begun(path)?;
        let file = path.join(LOG);
        // Taken again by the record; here it tells who else has it.
        drop(RunLog::reopen(&file)?);
        let mut run = InterruptedRun {
            path: path.to_owned(),
            history: RunHistory::default(),
            past: Vec::new(),
            start: None,
            resumed: ResumedRun::new(begun.epoch),
            begun,
        };
        let mut boot_id = run.begun.boot_id.clone();
        let mut epoch = run.begun.epoch;
        for fact in LogReader::open(&file)? {
            let fact = fact?;
            match fact.what {
                FactKind::Event(event) => run.take(fact.at, event),
                FactKind::Resumed(resumed) => {
                    epoch = resumed.epoch.max(epoch);
                    boot_id = resumed.boot_id;
                    run.shift(resumed.clock_shift_ns);
                }
                FactKind::Finished(_) => {
                    return Err(InterruptedRunError::Over { path: run.path });
                }
                FactKind::Begun(_) | FactKind::Note(_) | FactKind::ServerCpu(_) => {}
            }
        }
        if run.begun.origin.listen.is_none() {
            return Err(InterruptedRunError::Local { path: run.path });
        }
        run.resumed = ResumedRun::new(epoch.saturating_add(1));
        if run.resumed.boot_id != boot_id {
            run.leave_clock();
        }
        Ok(run)
    }

    /// As the plan that is given makes it; or why that cannot be.
    pub(super) fn planned(&self, plan: Plan) -> Result<PlannedRun, InterruptedRunError> {
        let begun = &self.begun;
        if plan.digest().0 != begun.plan_digest {
            return Err(InterruptedRunError::OtherPlan {
                path: self.path.clone(),
                before: short(begun.plan_digest),
                now: short(plan.digest().0),
            });
        }
        Ok(PlannedRun {
            id: RunId(begun.run),
            plan,
            plan_text: begun.plan_text.clone(),
            agents: begun.agents,
            title: begun.title.clone(),
            created: Utc::after_1970(Duration::from_nanos(begun.created_ns)),
            origin: begun.origin.clone(),
            epoch: self.resumed.epoch,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the fleet is to know of it.
    pub(super) fn history(&self) -> RunHistory {
        self.history.clone()
    }

    /// What this coordinator writes into the log.
    pub(super) fn resumed(&self) -> ResumedRun {
        self.resumed.clone()
    }

    /// What happened so far, but for what agents recorded; and when.
    pub(super) fn past(&self) -> &[(Utc, RunEvent)] {
        &self.past
    }

    fn take(&mut self, at: Utc, event: RunEvent) {
        self.history.take(&event);
        if let RunEvent::Armed { start_at, start_in } = &event {
            self.start = Some((*start_at, at.after(*start_in)));
        }
        match event {
            RunEvent::Interval { .. } | RunEvent::Totals { .. } | RunEvent::Note { .. } => {}
            event => self.past.push((at, event)),
        }
    }

    /// The clock of the log ended with the machine's boot: its instants are found again by the
    /// calendar.
    fn leave_clock(&mut self) {
        // Nothing was named by that clock.
        let Some((start_at, started_at)) = self.start else {
            return;
        };
        let since_start = Utc::now()
            .since_1970()
            .saturating_sub(started_at.since_1970());
        let since_start_ns = i128::try_from(since_start.as_nanos()).unwrap_or(i128::MAX);
        let start_now = i128::from(crate::fleet::now().0) - since_start_ns;
        let shift = start_now - i128::from(start_at.0);
        let shift = i64::try_from(shift).unwrap_or(i64::MIN);
        self.resumed.clock_shift_ns = shift;
        self.shift(shift);
    }

    /// Tells all instants so far by a clock that is so far ahead.
    fn shift(&mut self, by_ns: i64) {
        if by_ns == 0 {
            return;
        }
        let shifted = |at: FleetTime| FleetTime(at.0.saturating_add_signed(by_ns));
        self.history.shift(shifted);
        self.start = self.start.map(|(at, day)| (shifted(at), day));
    }
}

/// The first digits of a digest: enough to tell two plans apart.
fn short(digest: [u8; 32]) -> String {
    Sha256(digest).to_string().chars().take(12).collect()
}
