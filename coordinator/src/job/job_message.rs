//! What a job asks for, and what it is told.

use super::job_standing::JobStanding;
use super::run_facts::RunFacts;
use analysis::{Document, SearchRecord};
use plan::{Plan, Run};
use std::collections::VecDeque;
use std::time::Duration;

/// A run to be made.
#[derive(Debug, Clone)]
pub(crate) struct RunOrder {
    /// The name of its folder; empty if it is the job's only run.
    pub(crate) name: String,
    pub(crate) plan: Plan,
    /// Number of agents.
    pub(crate) agents: u32,
    /// Its name in the live view.
    pub(crate) title: String,
}

/// The name of a run that was made before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunName {
    /// The beginning of its folder's name.
    Prefix(String),
    /// The whole name, but for a number that an earlier interruption added.
    Exact(String),
}

/// The folder of a search: the first whose name begins with `prefix`, else a new one of the name
/// `folder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchName {
    pub(crate) prefix: String,
    pub(crate) folder: String,
}

/// A complete run that the job's folder holds.
#[derive(Debug)]
pub(crate) struct KeptRun {
    /// The name of its folder.
    pub(crate) folder: String,
    pub(crate) document: Document,
}

/// What a job is told. Each action that awaits an event names it.
#[derive(Debug)]
pub(crate) enum JobEvent {
    /// The complete run that was looked for, if there is one.
    Found(Option<Box<KeptRun>>),
    /// An interruption left no further part of the run.
    NoPart,
    /// This part of the run never began, or is complete.
    EmptyPart,
    /// This part is of another plan, which agents may fire until their leases end.
    OtherPlan {
        /// How long a lease is.
        lease: Duration,
    },
    /// The run ended.
    Ended(Box<RunFacts>),
    /// The time has passed.
    Waited,
    /// The end was wanted before the action was complete.
    Stopped,
    /// The action failed.
    Failed,
}

/// What a job asks for.
#[derive(Debug)]
pub(crate) enum JobAction {
    /// Tell the user how far the job is.
    Say(String),
    /// Tell the user of a problem.
    Warn(String),
    /// The actions from now on are about this run, or about this search in its place.
    Enter {
        run: Run,
        search: Option<SearchName>,
    },
    /// Show this step of a search beside the runs from now on.
    ShowSearch(Option<String>),
    /// Add a result to the report.
    Report(JobResult),
    /// Save the report.
    Save,
    /// Remove runs of this name.
    Discard(String),
    /// Look for a complete run. Awaits [`JobEvent::Found`].
    Find(RunName),
    /// Resume what an interruption left of a run, in its part of this number. Awaits
    /// [`JobEvent::NoPart`], [`JobEvent::EmptyPart`], [`JobEvent::OtherPlan`] or
    /// [`JobEvent::Ended`].
    Resume(RunOrder, usize),
    /// Make a run. Awaits [`JobEvent::Ended`].
    Begin(RunOrder),
    /// Let time pass. Awaits [`JobEvent::Waited`].
    Wait(Duration),
}

/// A result for the report of all runs.
#[derive(Debug)]
pub(crate) enum JobResult {
    /// A run that is compared with the others.
    Run {
        run: Run,
        folder: String,
        document: Box<Document>,
    },
    /// A search so far.
    Search { run: Run, record: Box<SearchRecord> },
    /// The run of one number of agents.
    Agents {
        run: Run,
        folder: String,
        document: Box<Document>,
    },
}

/// What a search needs next.
pub(super) enum StepDemand {
    Find(RunName),
    /// Resume what an interruption left of the run. Answered by [`JobEvent::NoPart`] if nothing is
    /// left.
    TakeUp(RunOrder),
    /// Resume what an interruption left of the run, or begin it.
    Make(RunOrder),
    Begin(RunOrder),
    Wait(Duration),
    End(JobStanding),
}

/// What a step of a search may depend on besides the search.
pub(super) struct StepContext<'a> {
    /// Time since the job began.
    pub(super) now: Duration,
    pub(super) lacks_agents: bool,
    pub(super) actions: &'a mut VecDeque<JobAction>,
}

impl StepContext<'_> {
    pub(super) fn say(&mut self, line: String) {
        self.actions.push_back(JobAction::Say(line));
    }
}

/// Tells the user what failed in a run apart from the measurement.
pub(super) fn warn(facts: &RunFacts, actions: &mut VecDeque<JobAction>) {
    actions.extend(facts.problems.iter().cloned().map(JobAction::Warn));
}
