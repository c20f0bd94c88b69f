//! The run of a file that asks for a single one.

use super::finished_run::FinishedRun;
use super::not_made::NotMade;
use super::run_beginning::RunBeginning;
use super::run_host::RunHost;
use crate::machine_name::public_address;
use crate::planned_run::PlannedRun;
use analysis::human;
use run_folder::{LatestLink, Utc};

/// The run of a file that asks for a single one.
pub(super) struct SingleRun {
    pub(super) created: Utc,
    /// `None` once it was begun.
    pub(super) beginning: Option<RunBeginning>,
    /// The run as another coordinator began it, if one did.
    pub(super) interrupted: Option<Box<PlannedRun>>,
    /// `None` if it could not be made, or leads elsewhere.
    pub(super) latest: Option<Box<LatestLink>>,
    /// The run, once it was made.
    pub(super) made: Option<FinishedRun>,
}

impl SingleRun {
    /// Makes the run, as `planned` unless another coordinator began it.
    pub(super) async fn make(
        &mut self,
        planned: PlannedRun,
        host: &mut RunHost<'_>,
    ) -> Result<&FinishedRun, NotMade> {
        let Some(beginning) = self.beginning.take() else {
            return Err(anyhow::anyhow!("a single run is made once").into());
        };
        let planned = match self.interrupted.take() {
            Some(interrupted) => *interrupted,
            None => PlannedRun {
                created: self.created,
                ..planned
            },
        };
        let made = host.make(planned, beginning).await;
        // `latest` is to lead to the last run that measured anything.
        let has_begun = matches!(&made, Ok(made) if made.ending.has_begun);
        if let Some(latest) = self.latest.take().filter(|_| !has_begun) {
            latest.put_back();
        }
        Ok(self.made.insert(made?))
    }

    /// Says which agents are waited for, and what they do meanwhile, if another coordinator began
    /// the run.
    pub(super) fn whom_it_awaits(&self) -> Option<String> {
        let run = self.interrupted.as_ref()?;
        let Some(RunBeginning::Interrupted(interrupted)) = &self.beginning else {
            return None;
        };
        let address = interrupted.known_address()?;
        let number = interrupted.awaited_agents();
        (number > 0).then(|| {
            format!(
                "{} of this run {} not ended; each dials {} by itself, fires until {} s after it \
                 last heard of a coordinator, and keeps what is not stored",
                human::counted(number as u64, "agent"),
                human::one_or_many(number as u64, "has", "have"),
                public_address(address),
                run.plan.fleet().lease().as_secs_f64(),
            )
        })
    }
}
