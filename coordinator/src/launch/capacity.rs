//! Makes the holds of a search for capacity, and waits between them for the target to recover.
//! `analysis` decides which hold comes next, and what its result means.

use super::campaign_report::CampaignReport;
use super::schedule::{ScheduledRun, hold_prefix};
use super::series::{LeftRun, RunSeries};
use crate::exit::Exit;
use crate::run_folder::{CampaignFolder, name_of};
use analysis::{
    Bounds, Document, Hold, HoldOutcome, HoldResult, LoadSearch, SearchAction, SearchRecord,
};
use anyhow::Context as _;
use plan::{Capacity, Plan, SearchRange};
use std::time::Duration;
use tokio::time::Instant;

/// How long a look at the target lasts. It sends the lowest load of the search.
const LOOK: Duration = Duration::from_secs(1);

/// A look lasts longer if it would bring fewer arrivals than this: a median of one or two says
/// little.
const LOOK_ARRIVALS: f64 = 10.0;

/// The folder of a look while it is under way.
const LOOK_FOLDER: &str = "look";

/// A search of one plan.
pub(super) struct CapacitySearch<'s> {
    pub(super) scheduled: &'s ScheduledRun<'s>,
    pub(super) capacity: &'s Capacity,
    pub(super) agents: u32,
    /// Each hold gets a folder in this one.
    pub(super) folder: CampaignFolder,
}

impl CapacitySearch<'_> {
    /// Makes hold after hold until there is an answer or the search cannot go on, and adds each to
    /// the report. Returns how to exit, apart from what the answer asks for.
    pub(super) async fn run(
        &self,
        series: &mut RunSeries,
        report: &mut CampaignReport<'_>,
    ) -> anyhow::Result<Exit> {
        let mut search = LoadSearch::new(self.bounds()?);
        let name = name_of(self.folder.path());
        let mut exit = Exit::Passed;
        while let SearchAction::Hold(hold) = search.next() {
            if !series.is_whole() {
                break;
            }
            series
                .host
                .show_search(Some(step_in_words(search.record(), hold)));
            let (folder, document) = match self.held(series, &mut search, hold).await? {
                Ok(held) => held,
                Err(failure) => {
                    exit = failure;
                    break;
                }
            };
            search.take(HoldResult::new(&document, hold.amount, folder));
            self.tell(series, search.record());
            report.take_search(self.scheduled.run, &name, search.record());
        }
        series.host.show_search(None);
        if search.record().answer.is_some() {
            series.say(format_args!("  {}", search.record().statement));
        }
        Ok(exit)
    }

    /// Returns the hold's folder and result, or how to exit if the search cannot go on. Holds that
    /// were made before an interruption count, since the search asks for the same ones again. An
    /// interrupted hold is resumed before the target is looked at: its agents may still be firing
    /// it.
    async fn held(
        &self,
        series: &mut RunSeries,
        search: &mut LoadSearch,
        hold: Hold,
    ) -> anyhow::Result<Result<(String, Document), Exit>> {
        let name = format!("{}{}", hold_prefix(hold.step), hold.amount);
        if let Some((path, document)) = self.folder.completed_run(&name) {
            return Ok(Ok((name_of(&path), document)));
        }
        let plan = self
            .capacity
            .plan_at(self.scheduled.plan, hold.amount)
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let title = format!(
            "{}hold {} at {}",
            self.scheduled.step_prefix,
            hold.step,
            self.bounds()?.amount().display(hold.amount)
        );
        let made = match series.take_up(&self.folder, &name, &plan, &title).await? {
            LeftRun::Made(made) => Some(*made),
            LeftRun::EndAsked => None,
            LeftRun::Nothing => match self.ready(series, search).await? {
                Exit::Passed => {
                    let begun = series.begin_in(&self.folder, &name, plan, self.agents, title);
                    begun.await?
                }
                exit => return Ok(Err(exit)),
            },
        };
        let Some(made) = made else {
            return Ok(Err(Exit::Interrupted));
        };
        // Losing an agent is no failure here: the search judges the result of such a hold.
        Ok(match made.report_failures() {
            Exit::Passed => Ok((made.record.folder_name(), made.record.document)),
            failures => Err(failures),
        })
    }

    fn bounds(&self) -> anyhow::Result<Bounds> {
        Bounds::from_plan(self.capacity).context("cannot search as the plan says")
    }

    /// Before the first hold, looks at the target at rest. Before later ones, waits for it to
    /// recover.
    async fn ready(&self, series: &mut RunSeries, search: &mut LoadSearch) -> anyhow::Result<Exit> {
        if !search.record().steps.is_empty() || self.capacity.settle.is_zero() {
            return self.settle(series, search.record()).await;
        }
        let title = format!(
            "{}looking at the target at rest",
            self.scheduled.step_prefix
        );
        let looked = self.look(series, self.plan_of_look()?, title).await?;
        Ok(looked.map_or_else(
            |exit| exit,
            |document| {
                search.look_at_rest(median_ns(&document));
                Exit::Passed
            },
        ))
    }

    /// After a hold that did not pass, looks at the target until it has recovered, for as long as
    /// the plan allows. No operation is open by then, since every run drains. Returns
    /// [`Exit::Passed`] if the search can go on.
    async fn settle(&self, series: &mut RunSeries, record: &SearchRecord) -> anyhow::Result<Exit> {
        let deadline = Instant::now() + self.capacity.settle;
        let is_spent = |step: &analysis::HoldRecord| step.result.outcome != HoldOutcome::Passed;
        if !record.steps.last().is_some_and(is_spent) {
            return Ok(Exit::Passed);
        }
        let plan = self.plan_of_look()?;
        while Instant::now() < deadline {
            let title = format!(
                "{}waiting for the target to recover",
                self.scheduled.step_prefix
            );
            let document = match self.look(series, plan.clone(), title).await? {
                Ok(document) => document,
                Err(exit) => return Ok(exit),
            };
            if median_ns(&document).is_some_and(|now_ns| record.is_settled(now_ns)) {
                return Ok(Exit::Passed);
            }
        }
        if !self.capacity.settle.is_zero() {
            series.say(format_args!(
                "{}the target has not recovered after {:?}; continuing",
                self.scheduled.step_prefix, self.capacity.settle
            ));
        }
        Ok(Exit::Passed)
    }

    fn plan_of_look(&self) -> anyhow::Result<Plan> {
        self.capacity
            .plan_of_look(self.scheduled.plan, self.length_of_look())
            .map_err(|problem| anyhow::anyhow!("{problem}"))
    }

    /// At least the usual look; beyond that, no longer than a hold.
    fn length_of_look(&self) -> Duration {
        let SearchRange::Rate { from, .. } = self.capacity.range else {
            return LOOK;
        };
        let needed = Duration::try_from_secs_f64(LOOK_ARRIVALS / from.as_per_second())
            .unwrap_or(Duration::MAX);
        needed.clamp(LOOK, self.capacity.hold.max(LOOK))
    }

    /// Returns the result of a look, or how to exit if the search cannot go on after it. A look has
    /// a folder while it is under way, so that a coordinator that resumes the search finds the
    /// agents firing it.
    async fn look(
        &self,
        series: &mut RunSeries,
        plan: Plan,
        title: String,
    ) -> anyhow::Result<Result<Document, Exit>> {
        let made = series.make_in(&self.folder, LOOK_FOLDER, plan, self.agents, title);
        let Some(made) = made.await? else {
            return Ok(Err(Exit::Interrupted));
        };
        let failures = made.report_failures();
        if failures != Exit::Passed {
            return Ok(Err(failures));
        }
        self.folder.discard(LOOK_FOLDER);
        Ok(if series.is_whole() {
            Ok(made.record.document)
        } else {
            Err(Exit::Passed)
        })
    }

    fn tell(&self, series: &RunSeries, record: &SearchRecord) {
        // Before the first hold there is nothing to report.
        let Some(step) = record.steps.last() else {
            return;
        };
        let word = match &step.result.outcome {
            HoldOutcome::Passed => "passed",
            HoldOutcome::Failed { .. } => "failed",
            HoldOutcome::ClientBound { .. } => "limited by the client",
            HoldOutcome::Invalid { .. } => "not to be trusted",
        };
        let reasons = step.result.reasons();
        let colon = if reasons.is_empty() { "" } else { ": " };
        let reasons = reasons.join("; ");
        let amount = record.bounds.amount().display(step.amount);
        series.say(format_args!(
            "{}hold {}: {amount} {word}{colon}{reasons}",
            self.scheduled.step_prefix, step.step
        ));
    }
}

/// Describes the next hold, and the amounts that the answer is known to lie between.
fn step_in_words(record: &SearchRecord, hold: Hold) -> String {
    let amount = record.bounds.amount();
    let made = |outcome: fn(&HoldOutcome) -> bool| {
        let steps = record.steps.iter();
        let made = steps.filter(move |step| outcome(&step.result.outcome));
        made.map(|step| step.amount)
    };
    let passed = made(|outcome| matches!(outcome, HoldOutcome::Passed)).reduce(f64::max);
    let failed = made(|outcome| matches!(outcome, HoldOutcome::Failed { .. })).reduce(f64::min);
    let known = [(passed, "passed"), (failed, "failed")];
    let known = known.into_iter().filter_map(|(value, word)| {
        let value = amount.display(value?);
        Some(format!(", {value} {word}"))
    });
    let known: String = known.collect();
    let next = amount.display(hold.amount);
    format!("search: hold {} at {next}{known}", hold.step)
}

/// The median response time; an operation that timed out counts with the time that had passed.
fn median_ns(document: &Document) -> Option<u64> {
    Some(
        document
            .measured
            .times
            .get("response_time")?
            .percentile(50.0)?
            .value_ns,
    )
}
