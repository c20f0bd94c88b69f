//! Runs whose load has ended. They are kept until their coordinator has everything and says so, or
//! for as long as the agent was told.

use super::{Link, Session};
use crate::local_run::LocalRun;
use crate::{Mono, News, Order, RunId, SessionAction};
use std::time::Duration;

impl Session {
    /// Keeps the run, whose load has ended. Returns its id.
    pub(super) fn keep_run(&mut self, now: Mono) -> Option<RunId> {
        let mut run = self.run.take()?;
        run.set_ended_at(now);
        let id = run.id();
        self.kept.push(run);
        Some(id)
    }

    /// Reports data that is kept for another coordinator, to the user and to the current
    /// coordinator.
    pub(super) fn tell_kept(&mut self, now: Mono) {
        let Some(coordinator) = self.coordinator() else {
            return;
        };
        let mut told = Vec::new();
        for run in self.kept.iter_mut() {
            if run.tell_kept(coordinator) {
                let left = self.keep.saturating_sub(now.since(run.ended_at()));
                told.push((run.name().to_owned(), run.backlog(), left));
            }
        }
        for (run_name, intervals, left) in told {
            let text = describe(&run_name, intervals, left);
            self.out.push(SessionAction::Say(News::Holding {
                run_name,
                intervals,
                left,
            }));
            self.note(None, "held", text);
        }
    }

    /// When data is next dropped because it was kept for long enough.
    pub(super) fn next_drop_at(&self) -> Option<Mono> {
        let drop_at = |run: &LocalRun| run.ended_at().after(self.keep);
        self.kept.iter().map(drop_at).min()
    }

    pub(super) fn drop_overdue(&mut self, now: Mono) {
        let keep = self.keep;
        let is_overdue = |run: &LocalRun| now >= run.ended_at().after(keep);
        while let Some(place) = self.kept.iter().position(is_overdue) {
            let run = self.kept.remove(place);
            self.drop_undelivered(run, now);
        }
    }

    /// Drops everything, because the agent ends.
    pub(super) fn drop_all(&mut self, now: Mono) {
        self.run.iter_mut().for_each(|run| run.set_ended_at(now));
        let runs: Vec<LocalRun> = self
            .run
            .take()
            .into_iter()
            .chain(self.kept.drain(..))
            .collect();
        for run in runs {
            self.drop_undelivered(run, now);
        }
    }

    /// Whether an agent that is told to quit has something to wait for: a load that is to end, or
    /// data that the coordinator may still take.
    pub(super) fn has_farewell(&self) -> bool {
        let here = |run: &LocalRun| {
            self.link != Link::Joined || self.coordinator().is_some_and(|from| run.obeys(from))
        };
        self.run.as_ref().is_some_and(LocalRun::is_begun) || self.kept.iter().any(here)
    }

    /// Forgets the run that is being prepared.
    pub(super) fn forget(&mut self) {
        if let Some(run) = self.run.take() {
            self.drop_run(run);
        }
    }

    pub(super) fn local_run(&self, run: RunId) -> Option<&LocalRun> {
        let mut runs = self.run.iter().chain(&self.kept);
        runs.find(|held| held.id() == run)
    }

    pub(super) fn take(&mut self, run: RunId) -> Option<LocalRun> {
        if self.has(run) {
            return self.run.take();
        }
        let place = self.kept.iter().position(|held| held.id() == run)?;
        Some(self.kept.remove(place))
    }

    pub(super) fn drop_run(&mut self, mut run: LocalRun) {
        run.outbox().clear(&mut self.stash);
        self.window.forget(run.id());
        self.out
            .push(SessionAction::Order(Order::Forget { run: run.id() }));
    }

    fn drop_undelivered(&mut self, run: LocalRun, now: Mono) {
        if run.has_data() {
            self.out.push(SessionAction::Say(News::Dropped {
                run_name: run.name().to_owned(),
                intervals: run.backlog(),
                kept: now.since(run.ended_at()),
            }));
        }
        self.drop_run(run);
    }
}

fn describe(run_name: &str, intervals: usize, left: Duration) -> String {
    format!(
        "this agent keeps {intervals} seconds of run {run_name} of another coordinator, for {} s \
         more; start that one with --resume to take them",
        left.as_secs()
    )
}
