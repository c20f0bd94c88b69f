//! Makes the holds of a search for capacity, and waits between them until the target is as before.
//! What is held next, and what came of it, is decided by `analysis`.

use super::crew::{Crew, Order};
use crate::exit::Exit;
use crate::run_folder::{CampaignFolder, RunFolder};
use crate::terminal;
use crate::utc::Utc;
use analysis::{
    Bounds, Document, Hold, HoldOutcome, HoldResult, LoadSearch, SearchAction, SearchRecord,
};
use anyhow::Context as _;
use plan::{Capacity, Plan, SearchRange};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// A look at whether the target is as before: at the lowest amount, so long,
const LOOK: Duration = Duration::from_secs(1);

/// and longer where fewer arrivals than these would come; of one or two a median says little.
const LOOK_ARRIVALS: f64 = 10.0;

/// A search of one plan.
pub(super) struct CapacitySearch<'s> {
    pub(super) plan: &'s Plan,
    /// The file it is from, for the record.
    pub(super) plan_text: &'s str,
    pub(super) capacity: &'s Capacity,
    pub(super) agents: u32,
    pub(super) title: String,
    /// Gets a folder for each hold.
    pub(super) folder: CampaignFolder,
    pub(super) quiet: bool,
}

/// What came of a search.
pub(super) struct Searched {
    /// Every hold, and the answer where there is one.
    pub(super) record: SearchRecord,
    /// What went wrong beside it.
    pub(super) exit: Exit,
}

impl CapacitySearch<'_> {
    /// Hold after hold, until there is an answer or it cannot go on; `save` is called after each.
    /// Says how to exit beside what the answer asks for.
    pub(super) async fn run(
        &self,
        crew: &mut Crew<'_>,
        mut save: impl FnMut(&SearchRecord),
    ) -> anyhow::Result<Searched> {
        let mut search = LoadSearch::new(self.bounds()?);
        while let SearchAction::Hold(hold) = search.next() {
            // Holds that were made before an interruption count; the search asks for the same ones
            // again.
            let made = match self.folder.completed(&hold_prefix(hold.step)) {
                Some((path, document)) => Ok((name_of(&path), document)),
                None => match self.ready(crew, &mut search).await? {
                    Exit::Passed => self.hold(crew, hold).await?,
                    exit => Err(exit),
                },
            };
            match made {
                Ok((folder, document)) => {
                    search.take(HoldResult::new(&document, hold.amount, folder))
                }
                Err(exit) => {
                    return Ok(Searched {
                        record: search.record().clone(),
                        exit,
                    });
                }
            }
            self.tell(search.record());
            save(search.record());
        }
        Ok(Searched {
            record: search.record().clone(),
            exit: Exit::Passed,
        })
    }

    fn bounds(&self) -> anyhow::Result<Bounds> {
        Bounds::from_plan(self.capacity).context("cannot search as the plan says")
    }

    /// The hold's folder and result, or how to exit where the search cannot go on.
    async fn hold(
        &self,
        crew: &mut Crew<'_>,
        hold: Hold,
    ) -> anyhow::Result<Result<(String, Document), Exit>> {
        let plan = self
            .capacity
            .plan_at(self.plan, hold.amount)
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let folder = self.folder.run(
            &format!("{}{}", hold_prefix(hold.step), hold.amount),
            &plan.masked_text(),
        )?;
        let name = name_of(folder.path());
        let title = format!(
            "{}hold {} at {}",
            self.title,
            hold.step,
            self.bounds()?.amount().display(hold.amount)
        );
        let made = self.make(crew, plan, title, Some(folder)).await?;
        Ok(made.map(|document| (name, document)))
    }

    /// Before the first hold: sees what the target is like at rest; before others waits until it is
    /// so again.
    async fn ready(&self, crew: &mut Crew<'_>, search: &mut LoadSearch) -> anyhow::Result<Exit> {
        if !search.record().steps.is_empty() || self.capacity.settle.is_zero() {
            return self.settle(crew, search.record()).await;
        }
        let title = format!("{}looking at the target at rest", self.title);
        let looked = self.make(crew, self.plan_of_look()?, title, None).await?;
        Ok(looked.map_or_else(
            |exit| exit,
            |document| {
                search.look_at_rest(median_ns(&document));
                Exit::Passed
            },
        ))
    }

    /// After a hold that failed: looks at the target until it answers as before, for as long as the
    /// plan allows. Nothing is open then, since every run drains. [`Exit::Passed`] where the search
    /// can go on.
    async fn settle(&self, crew: &mut Crew<'_>, record: &SearchRecord) -> anyhow::Result<Exit> {
        let deadline = Instant::now() + self.capacity.settle;
        let is_spent = |step: &analysis::HoldRecord| step.result.outcome != HoldOutcome::Passed;
        if !record.steps.last().is_some_and(is_spent) {
            return Ok(Exit::Passed);
        }
        let plan = self.plan_of_look()?;
        while Instant::now() < deadline {
            let title = format!("{}waiting for the target to be as before", self.title);
            let document = match self.make(crew, plan.clone(), title, None).await? {
                Ok(document) => document,
                Err(exit) => return Ok(exit),
            };
            if median_ns(&document).is_some_and(|now_ns| record.is_settled(now_ns)) {
                return Ok(Exit::Passed);
            }
        }
        if !self.capacity.settle.is_zero() {
            self.say(format_args!(
                "{}the target is not as before after {:?}; going on",
                self.title, self.capacity.settle
            ));
        }
        Ok(Exit::Passed)
    }

    fn plan_of_look(&self) -> anyhow::Result<Plan> {
        self.capacity
            .plan_of_look(self.plan, self.look())
            .map_err(|problem| anyhow::anyhow!("{problem}"))
    }

    /// Never longer than a hold where that is longer than the usual look.
    fn look(&self) -> Duration {
        let SearchRange::Rate { from, .. } = self.capacity.range else {
            return LOOK;
        };
        let needed = Duration::try_from_secs_f64(LOOK_ARRIVALS / from.as_per_second())
            .unwrap_or(Duration::MAX);
        needed.clamp(LOOK, self.capacity.hold.max(LOOK))
    }

    async fn make(
        &self,
        crew: &mut Crew<'_>,
        plan: Plan,
        title: String,
        folder: Option<RunFolder>,
    ) -> anyhow::Result<Result<Document, Exit>> {
        let (plan_text, agents, created) = (self.plan_text.to_owned(), self.agents, Utc::now());
        let Some(ran) = crew
            .run(Order {
                plan,
                plan_text,
                agents,
                title,
                created,
                folder,
            })
            .await?
        else {
            return Ok(Err(Exit::Interrupted));
        };
        let failures = ran.report_failures();
        let can_go_on = failures == Exit::Passed && crew.is_whole();
        Ok(if can_go_on {
            Ok(ran.finished.document)
        } else {
            Err(failures)
        })
    }

    fn tell(&self, record: &SearchRecord) {
        let Some(step) = record.steps.last() else {
            return;
        };
        let (word, reasons) = match &step.result.outcome {
            HoldOutcome::Passed => ("passed", String::new()),
            HoldOutcome::Failed { reasons } => ("failed", format!(": {}", reasons.join("; "))),
            HoldOutcome::ClientBound { reasons, .. } => {
                ("limited by the client", format!(": {}", reasons.join("; ")))
            }
            HoldOutcome::Invalid { reasons } => {
                ("not to be trusted", format!(": {}", reasons.join("; ")))
            }
        };
        let amount = record.bounds.amount().display(step.amount);
        self.say(format_args!(
            "{}hold {}: {amount} {word}{reasons}",
            self.title, step.step
        ));
    }

    fn say(&self, line: impl std::fmt::Display) {
        if !self.quiet {
            terminal::say(line);
        }
    }
}

/// The number that the name of a hold's folder begins with.
pub(super) fn hold_prefix(step: u32) -> String {
    format!("{step:02}-")
}

/// Of a folder.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Of response times; what timed out counts with the time that had passed.
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
