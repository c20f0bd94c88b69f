//! A run whose coordinator ended before it did: reads from its log what this coordinator needs to
//! go on with it.

use crate::fleet;
use crate::planned_run::PlannedRun;
use crate::record::LeftRecord;
use crate::record::life_sign::left_by;
use crate::record::replay::{self, ReplayError};
use crate::start_clock::StartClock;
use control::{FleetTime, LEASE_MAX, RunEvent, RunId, RunModel};
use plan::{Plan, Sha256};
use run_folder::{BegunRun, FactKind, LOG, LogError, ResumedRun, RunLog, Utc};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run that this coordinator resumes. As long as this exists, no other process can resume it.
#[derive(Debug)]
pub(super) struct InterruptedRun {
    path: PathBuf,
    log: RunLog,
    begun: BegunRun,
    model: RunModel,
    /// `None` if no start instant was announced.
    clock: Option<StartClock>,
    resumed: ResumedRun,
}

/// Which runs can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Only a run whose end was not seen.
    Unfinished,
    /// Also a run that ended without some of its agents, for what they still hold.
    Holdings,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum InterruptedRunError {
    /// The log cannot be read, or another process is writing it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log holds nothing that could go on.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Nothing is left to do.
    #[error(
        "{0}: this run is over; show it by `coordinator report {0}`, or start it anew without \
         --resume",
        path.display()
    )]
    Over {
        /// The folder's path.
        path: PathBuf,
    },
    /// The agents fire another plan than the one given.
    #[error(
        "{}: this run used plan {before}, but the plan given is {now}: the plan, a variable, or \
         a file that it names, has changed; give the same again, or start anew without --resume",
        path.display()
    )]
    OtherPlan {
        /// The folder's path.
        path: PathBuf,
        /// Digest of its plan.
        before: String,
        /// Digest of the plan given now.
        now: String,
    },
    /// The agents were processes of the coordinator that died.
    #[error(
        "{0}: was made with --local, and its agents ended with it; `coordinator report {0}` shows \
         what is stored",
        path.display()
    )]
    Local {
        /// The folder's path.
        path: PathBuf,
    },
}

impl InterruptedRunError {
    /// Whether the run can be made anew: nothing of it could go on, and no other process holds it.
    pub(super) fn leaves_nothing(&self) -> bool {
        match self {
            InterruptedRunError::Over { .. } | InterruptedRunError::Local { .. } => true,
            // Folders of earlier versions have no log.
            InterruptedRunError::Replay(ReplayError::Log(LogError::Unreadable { .. }))
            | InterruptedRunError::Replay(ReplayError::NothingBegun { .. }) => true,
            InterruptedRunError::Log(_)
            | InterruptedRunError::Replay(_)
            | InterruptedRunError::OtherPlan { .. } => false,
        }
    }
}

impl InterruptedRun {
    /// The run's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.path
    }

    /// Opens the log in the folder at `path`, which no other process may be writing. If the run
    /// ended without some of its agents, this takes up what they still hold.
    pub(super) fn open(path: &Path) -> Result<InterruptedRun, InterruptedRunError> {
        InterruptedRun::open_within(path, Reach::Holdings)
    }

    /// Like [`InterruptedRun::open`], but only if the coordinator did not see the run's end.
    pub(super) fn open_unfinished(path: &Path) -> Result<InterruptedRun, InterruptedRunError> {
        InterruptedRun::open_within(path, Reach::Unfinished)
    }

    fn open_within(path: &Path, reach: Reach) -> Result<InterruptedRun, InterruptedRunError> {
        let begun = replay::begun(path)?;
        // Read first, since opening the log may change it.
        let left_by = left_by(&path.join(LOG));
        let (log, _) = RunLog::reopen(&path.join(LOG))?;
        let stored = log.stored()?;
        let mut run = InterruptedRun {
            path: path.to_owned(),
            log,
            model: RunModel::default(),
            clock: None,
            resumed: ResumedRun::new(begun.epoch, fleet::clock_name()),
            begun,
        };
        let mut clock = run.begun.clock.clone();
        let mut epoch = run.begun.epoch;
        let mut is_finished = false;
        for fact in stored {
            let fact = fact?;
            match fact.what {
                FactKind::Event(event) => run.take(fact.at, &event),
                FactKind::Resumed(resumed) => {
                    is_finished = false;
                    epoch = resumed.epoch.max(epoch);
                    clock = resumed.clock;
                    run.shift(resumed.clock_shift_ns);
                    run.model.take_up();
                }
                FactKind::Finished(_) => is_finished = true,
                FactKind::Begun(_) | FactKind::Note(_) | FactKind::ServerCpu(_) => {}
            }
        }
        let may_bring_more = run.model.holders() > 0 && !run.model.is_superseded();
        let may_go_on = reach == Reach::Holdings && may_bring_more;
        if is_finished && !may_go_on {
            return Err(InterruptedRunError::Over { path: run.path });
        }
        if run.begun.origin.listen.is_none() {
            return Err(InterruptedRunError::Local { path: run.path });
        }
        run.model.leave(fleet_time(left_by));
        run.resumed = ResumedRun::new(epoch.saturating_add(1), fleet::clock_name());
        // A clock without a name could be any clock.
        if run.resumed.clock != clock || clock.is_empty() {
            run.leave_clock();
        }
        run.model.take_up();
        Ok(run)
    }

    /// Returns the run with the plan given now, or why it cannot go on. If an agent was made to run
    /// it despite its preflight, it stays forced.
    pub(super) fn planned(
        &self,
        plan: Plan,
        force: bool,
    ) -> Result<PlannedRun, InterruptedRunError> {
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
            force: force || self.model.is_forced(),
        })
    }

    /// How long its agents can go on firing after their coordinator has ended.
    pub(super) fn lease(&self) -> Duration {
        let plan = Plan::parse_saved(&self.begun.canonical_text);
        plan.map_or(LEASE_MAX, |plan| plan.fleet().lease())
    }

    /// The run so far, as its log tells it.
    pub(super) fn past(&self) -> &RunModel {
        &self.model
    }

    /// The address that its agents dial, whichever coordinator has resumed it since.
    pub(super) fn known_address(&self) -> Option<SocketAddr> {
        self.begun.origin.listen
    }

    /// How many of its agents have not ended, according to the log; 0 before its start.
    pub(super) fn awaited_agents(&self) -> usize {
        self.model.holders()
    }

    /// Returns what the fleet needs to know of it, and what its record continues.
    pub(super) fn take_up(self) -> (RunModel, LeftRecord) {
        let left = LeftRecord {
            folder: self.path,
            log: self.log,
            resumed: self.resumed,
        };
        (self.model, left)
    }

    fn take(&mut self, at: Utc, event: &RunEvent) {
        if let &RunEvent::Armed { start_at, start_in } = event {
            let started_at = at.after(start_in);
            self.clock = Some(StartClock {
                start_at,
                started_at,
            });
        }
        // No instant matters before a start is announced.
        let at = self
            .clock
            .map_or(FleetTime(0), |clock| clock.fleet_time(at));
        self.model.take(event, at);
    }

    /// Leaves the log's clock, which ended with the machine's boot: its instants are found again by
    /// the calendar.
    fn leave_clock(&mut self) {
        // If there is no start instant, no instant of that clock is known.
        let Some(clock) = self.clock else {
            return;
        };
        // Negative if the start is still to come.
        let since_start_ns = Utc::now().ns_after(clock.started_at);
        let start_now = i128::from(fleet::now().0) - since_start_ns;
        let shift = start_now - i128::from(clock.start_at.0);
        let shift = i64::try_from(shift).unwrap_or(i64::MIN);
        self.resumed.clock_shift_ns = shift;
        self.shift(shift);
    }

    /// Converts all instants so far to a clock that is ahead by `by_ns`.
    fn shift(&mut self, by_ns: i64) {
        self.model.shift(by_ns);
        if let Some(clock) = &mut self.clock {
            clock.shift(by_ns);
        }
    }
}

/// Converts an instant of the calendar to the clock of this coordinator's fleet; now if it is
/// unknown or still to come.
fn fleet_time(at: Option<Utc>) -> FleetTime {
    let now = fleet::now();
    let age_ns = at.map_or(0, |at| Utc::now().ns_after(at));
    FleetTime(now.0.saturating_sub(u64::try_from(age_ns).unwrap_or(0)))
}

/// The first digits of a digest: enough to tell two plans apart.
fn short(digest: [u8; 32]) -> String {
    Sha256(digest).to_string().chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run;
    use run_folder::{LoggedFact, RunOrigin};

    const PLAN: &str = "target.url = \"https://a.test/\"\nload = { connections = 2, duration = \
                        \"1h\" }\n";

    fn planned() -> PlannedRun {
        let origin = RunOrigin {
            listen: Some(([127, 0, 0, 1], 7711).into()),
            ..RunOrigin::default()
        };
        PlannedRun {
            origin,
            ..sample_run::planned(PLAN, 2)
        }
    }

    /// Makes the folder of a run by another clock that was to begin `start_in_seconds` from now.
    fn left(base: &Path, start_in_seconds: i64) -> PathBuf {
        let folder = sample_run::folder(base);
        let run = planned();
        let begun = BegunRun {
            clock: "another".to_owned(),
            ..run.to_log()
        };
        let age = Duration::from_secs(start_in_seconds.min(0).unsigned_abs());
        let armed_at = Utc::after_1970(Utc::now().since_1970() - age);
        let armed = RunEvent::Armed {
            start_at: FleetTime(1_000_000_000),
            start_in: Duration::from_secs(start_in_seconds.max(0).unsigned_abs()),
        };
        let mut log = folder.begin_log(run.id).unwrap();
        for (at, what) in [
            (armed_at, FactKind::Begun(begun)),
            (armed_at, FactKind::Event(armed)),
        ] {
            log.stage(&LoggedFact { at, what });
        }
        log.commit().unwrap();
        folder.path().to_owned()
    }

    #[test]
    fn nobody_comes_between_looking_at_a_log_and_going_on_with_it() {
        let base = tempfile::tempdir().unwrap();
        let path = left(base.path(), -1);
        let run = InterruptedRun::open(&path).unwrap();
        let is_taken = || matches!(RunLog::reopen(&path.join(LOG)), Err(LogError::Taken { .. }));
        assert!(is_taken());
        let (_, left) = run.take_up();
        assert!(is_taken());
        drop(left);
        assert!(!is_taken());
    }

    /// A busy machine may take a while between two looks at a clock.
    const SLACK_NS: i128 = 20_000_000_000;

    #[test]
    fn coordinator_before_is_known_to_have_ended_soon_after_its_last_sign_of_life() {
        let base = tempfile::tempdir().unwrap();
        let path = left(base.path(), -100);
        let log = std::fs::File::options()
            .write(true)
            .open(path.join(LOG))
            .unwrap();
        for (age_s, expected_s) in [(60, 57), (0, 0), (1, 0)] {
            let then = std::time::SystemTime::now() - Duration::from_secs(age_s);
            log.set_modified(then).unwrap();
            let left_at = fleet_time(left_by(&path.join(LOG)));
            let ago_ns = fleet::now().0 - left_at.0;
            let off_ns = i128::from(ago_ns) - expected_s * 1_000_000_000;
            assert!((0..SLACK_NS).contains(&off_ns), "{age_s}: {ago_ns}");
        }
        assert!(fleet_time(None) <= fleet::now());
    }

    #[test]
    fn start_is_found_again_by_the_calendar_also_before_the_boot_and_in_the_future() {
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: i64 = uptime.split('.').next().unwrap().parse().unwrap();
        for start_in_seconds in [-5, -uptime - 86_400, 3_600] {
            let base = tempfile::tempdir().unwrap();
            let path = left(base.path(), start_in_seconds);
            let run = InterruptedRun::open(&path).unwrap();
            let start_at = run.clock.unwrap().start_at;
            let start_in_ns = i128::from(start_at.0) - i128::from(fleet::now().0);
            let off_ns = i128::from(start_in_seconds) * 1_000_000_000 - start_in_ns;
            assert!(
                (0..SLACK_NS).contains(&off_ns),
                "{start_in_seconds} {off_ns}"
            );
            let shift = i128::from(run.resumed.clock_shift_ns);
            assert_eq!(shift, i128::from(start_at.0) - 1_000_000_000);
        }
    }

    #[test]
    fn run_that_was_forced_stays_forced() {
        for (forced, typed, expected) in [
            (None, false, false),
            (Some(false), false, false),
            (Some(false), true, true),
            (Some(true), false, true),
        ] {
            let base = tempfile::tempdir().unwrap();
            let path = left(base.path(), -1);
            if let Some(is_forced) = forced {
                let text = "too few ports".to_owned();
                let findings = vec![control::Finding { text, is_forced }];
                let event = RunEvent::Preflight { agent: 0, findings };
                let (mut log, _) = RunLog::reopen(&path.join(LOG)).unwrap();
                log.stage(&LoggedFact {
                    at: Utc::now(),
                    what: FactKind::Event(event),
                });
                log.commit().unwrap();
            }
            let run = InterruptedRun::open(&path).unwrap();
            let run = run.planned(planned().plan, typed).unwrap();
            assert_eq!(run.force, expected, "{forced:?} {typed}");
        }
    }
}
