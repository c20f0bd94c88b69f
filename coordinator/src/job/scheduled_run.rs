//! The runs of a campaign in order: what each does, and the names of the run, its folder and its
//! steps.

use super::job_message::SearchName;
use plan::{Campaign, Plan, Run};

/// One run of a campaign; one search, if the file asks for a search.
#[derive(Debug)]
pub(crate) struct ScheduledRun<'c> {
    /// Which variant, and which repeat of it.
    pub(crate) run: Run,
    /// The variant's plan.
    pub(crate) plan: &'c Plan,
    /// The number that the names of the run's folders begin with.
    pub(crate) prefix: String,
    /// Name of its folder.
    pub(crate) folder: String,
    /// For example `run 2 of 6: http, repeat 1 of 3`.
    pub(crate) title: String,
    /// Precedes the name of a step; empty if there is only one search.
    pub(crate) step_prefix: String,
}

impl ScheduledRun<'_> {
    /// The folder of the search that is made in place of the run.
    pub(super) fn search_name(&self) -> SearchName {
        SearchName {
            prefix: self.prefix.clone(),
            folder: self.folder.clone(),
        }
    }
}

/// All runs that a file asks for, in the order in which they are made.
pub(crate) fn schedule_runs(campaign: &Campaign) -> Vec<ScheduledRun<'_>> {
    (1..)
        .zip(campaign.runs())
        .map(|(number, run)| schedule_run(campaign, number, *run))
        .collect()
}

fn schedule_run(campaign: &Campaign, number: usize, run: Run) -> ScheduledRun<'_> {
    let variant = campaign.variant(run);
    let name = &variant.name;
    let total = campaign.runs().len();
    let prefix = prefix(number, total);
    ScheduledRun {
        run,
        plan: &variant.plan,
        folder: format!("{prefix}{name}-{}", run.repeat + 1),
        prefix,
        title: title(campaign, number, run),
        step_prefix: if total == 1 {
            String::new()
        } else {
            format!("{name}: ")
        },
    }
}

/// Pads the number with zeros, so that names sort.
fn prefix(number: usize, total: usize) -> String {
    let width = total.to_string().len().max(2);
    format!("{number:0width$}-")
}

fn title(campaign: &Campaign, number: usize, run: Run) -> String {
    let what = match campaign.search() {
        Some(_) => "search",
        None => "run",
    };
    let total = campaign.runs().len();
    let variant = &campaign.variant(run).name;
    let times = campaign.repeat().times;
    let repeat = if times == 1 {
        String::new()
    } else {
        format!(", repeat {} of {times}", run.repeat + 1)
    };
    format!("{what} {number} of {total}: {variant}{repeat}")
}

/// The number that the name of a hold's folder begins with.
pub(crate) fn hold_prefix(step: u32) -> String {
    format!("{step:02}-")
}

/// Name of the folder of a run with `agents` agents.
pub(crate) fn agents_folder(agents: u32) -> String {
    format!("{agents:02}-agents")
}

/// For example `1 agent`.
pub(crate) fn agents_in_words(agents: u32) -> String {
    if agents == 1 {
        "1 agent".to_owned()
    } else {
        format!("{agents} agents")
    }
}
