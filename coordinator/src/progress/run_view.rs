//! A run as a watcher sees it at a moment. It decides nothing.

use crate::planned_run::PlannedRun;
use analysis::Live;
use control::RunModel;
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
    pub(crate) run: RunModel,
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
    pub(crate) fn new(planned: &PlannedRun, search: Option<String>) -> RunView {
        let load = planned.plan.load();
        RunView {
            title: planned.title.clone(),
            warm_up: load.warm_up,
            end: load.end,
            agents_wanted: planned.agents,
            run: RunModel::default(),
            live: None,
            is_stopping: false,
            search,
            storage: None,
        }
    }

    /// The same run at a later moment.
    pub(crate) fn at(
        &self,
        run: &RunModel,
        live: Option<Live>,
        is_stopping: bool,
        storage: Option<String>,
    ) -> RunView {
        RunView {
            run: run.clone(),
            live,
            is_stopping,
            storage,
            ..self.clone()
        }
    }
}
