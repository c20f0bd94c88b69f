//! A run as a watcher sees it at a moment. It decides nothing.

use crate::planned_run::PlannedRun;
use crate::roster::Roster;
use analysis::Live;
use plan::End;
use std::time::Duration;

/// A run as a watcher sees it at a moment.
#[derive(Debug, Clone)]
pub(crate) struct RunView {
    /// The run's title.
    pub(super) title: String,
    pub(super) warm_up: Duration,
    pub(super) end: End,
    /// Number of agents asked for.
    pub(super) agents_wanted: u32,
    pub(super) roster: Roster,
    /// Figures of the latest second.
    pub(super) live: Option<Live>,
    /// Whether the run is ending early.
    pub(super) is_stopping: bool,
    /// The step of a search that the run makes, with the search's state.
    pub(super) search: Option<String>,
    /// Why what agents deliver cannot be stored, while that lasts.
    pub(super) storage: Option<String>,
}

impl RunView {
    /// The view before anything has happened.
    pub(crate) fn new(run: &PlannedRun, search: Option<String>) -> RunView {
        let load = run.plan.load();
        RunView {
            title: run.title.clone(),
            warm_up: load.warm_up,
            end: load.end,
            agents_wanted: run.agents,
            roster: Roster::new(),
            live: None,
            is_stopping: false,
            search,
            storage: None,
        }
    }

    /// The same run at a later moment.
    pub(crate) fn at(
        &self,
        roster: &Roster,
        live: Option<Live>,
        is_stopping: bool,
        storage: Option<String>,
    ) -> RunView {
        RunView {
            roster: roster.clone(),
            live,
            is_stopping,
            storage,
            ..self.clone()
        }
    }
}
