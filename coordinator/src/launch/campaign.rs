//! Several runs, one after the other, over one fleet: each in a folder of its own, and at the end
//! what came of all of them.

use super::agents_search::AgentsSearch;
use super::campaign_outcome::{self, CampaignOutcome};
use super::capacity::CapacitySearch;
use super::join_port::JoinPort;
use super::resumed;
use super::run_host::RunHost;
use super::schedule::{self, ScheduledRun};
use super::series::RunSeries;
use super::start_request::StartRequest;
use crate::exit::Exit;
use crate::run_folder::{CampaignFolder, FolderError, name_of};
use crate::signals::Signals;
use crate::terminal;
use crate::utc::Utc;
use analysis::{Document, SearchRecord, State};
use anyhow::Context as _;
use plan::{Capacity, Search};
use report::{Format, Style};

/// Makes every run of a file that asks for several, or for a search.
pub(super) async fn make(request: &StartRequest, signals: Signals) -> anyhow::Result<Exit> {
    let schedule = schedule::of_campaign(&request.campaign);
    let resumed = match resumed::folder(request, &schedule) {
        Ok(resumed) => resumed,
        Err(problem) => {
            terminal::say(problem);
            return Ok(Exit::Usage);
        }
    };
    let hosting = &request.hosting;
    let port = JoinPort::open(&hosting.source).await?;
    let is_resumed = resumed.is_some();
    let folder = match (resumed, &request.output) {
        (Some(folder), _) => folder,
        (None, Some(base)) => {
            let (name, text) = (request.campaign.name(), &request.plan_text);
            CampaignFolder::create(base, Utc::now(), name, text)?
        }
        (None, None) => anyhow::bail!("several runs leave a folder; say where by --output"),
    };
    let host = RunHost::start(port, hosting, signals)?;
    let before = if is_resumed { folder.before() } else { None };
    let plan_text = request.plan_text.clone();
    let mut runs = CampaignRuns {
        request,
        series: RunSeries {
            host,
            plan_text: plan_text.clone(),
            quiet: hosting.quiet,
        },
        folder,
        is_resumed,
        outcome: CampaignOutcome::new(&request.campaign, plan_text, before),
        exits: Vec::new(),
    };
    let made = runs.make_all(&schedule).await;
    let exit = runs.conclude();
    runs.series.host.dismiss().await;
    made?;
    exit
}

/// The runs of a campaign, and what came of them so far.
struct CampaignRuns<'r> {
    request: &'r StartRequest,
    series: RunSeries,
    folder: CampaignFolder,
    is_resumed: bool,
    outcome: CampaignOutcome<'r>,
    exits: Vec<Exit>,
}

impl CampaignRuns<'_> {
    /// Until all are made, somebody asks for the end, or no further one can be made.
    async fn make_all(&mut self, schedule: &[ScheduledRun<'_>]) -> anyhow::Result<()> {
        let pause = self.request.campaign.repeat().pause;
        let mut is_first = true;
        for scheduled in schedule {
            if self.was_made_before(scheduled) {
                continue;
            }
            if !is_first && !self.series.pause(pause).await {
                self.exits.push(Exit::Interrupted);
                return Ok(());
            }
            is_first = false;
            self.series.say(&scheduled.title);
            let exit = self.make(scheduled).await?;
            self.exits.push(exit);
            save(&mut self.folder, &self.outcome);
            if exit >= Exit::Interrupted || !self.series.is_whole() {
                break;
            }
        }
        if !self.series.is_whole() {
            terminal::say(
                "an agent of this machine ended, and no further run can be made without it",
            );
        }
        Ok(())
    }

    /// One run of the campaign, or a search in its place.
    async fn make(&mut self, scheduled: &ScheduledRun<'_>) -> anyhow::Result<Exit> {
        match self.request.campaign.search() {
            None => self.single(scheduled).await,
            Some(Search::Capacity(capacity)) => self.capacity(scheduled, capacity).await,
            Some(Search::Agents(numbers)) => self.agents(scheduled, numbers).await,
        }
    }

    async fn single(&mut self, scheduled: &ScheduledRun<'_>) -> anyhow::Result<Exit> {
        let plan = scheduled.plan.clone();
        let folder = self.folder.run(&scheduled.folder, &plan.canonical_text())?;
        let agents = self.request.hosting.agents;
        let made = self
            .series
            .make(plan, agents, scheduled.title.clone(), Some(folder))
            .await?;
        let Some(made) = made else {
            return Ok(Exit::Interrupted);
        };
        made.report_failures();
        let exit = made.exit(self.request.strict);
        if made.ending.has_begun {
            let line = campaign_outcome::line(&made.record.document);
            self.series.say(format_args!("  {line}"));
            let folder = made.record.folder_name();
            self.outcome
                .take_run(scheduled.run, folder, made.record.document);
        }
        Ok(exit)
    }

    async fn capacity(
        &mut self,
        scheduled: &ScheduledRun<'_>,
        capacity: &Capacity,
    ) -> anyhow::Result<Exit> {
        let folder = search_folder(&self.folder, scheduled)?;
        let name = name_of(folder.path());
        let search = CapacitySearch {
            plan: scheduled.plan,
            capacity,
            agents: self.request.hosting.agents,
            title: scheduled.step_prefix.clone(),
            folder,
        };
        let keep = |record: &SearchRecord| {
            self.outcome
                .take_search(scheduled.run, in_folder(record, &name));
            save(&mut self.folder, &self.outcome);
        };
        let searched = search.run(&mut self.series, keep).await?;
        if searched.record.answer.is_some() {
            self.series
                .say(format_args!("  {}", searched.record.statement));
        }
        Ok(searched.exit)
    }

    async fn agents(
        &mut self,
        scheduled: &ScheduledRun<'_>,
        numbers: &[u32],
    ) -> anyhow::Result<Exit> {
        let folder = search_folder(&self.folder, scheduled)?;
        let name = name_of(folder.path());
        let search = AgentsSearch {
            scheduled,
            numbers,
            pause: self.request.campaign.repeat().pause,
            strict: self.request.strict,
            folder,
        };
        let keep = |run_folder: String, document: &Document| {
            let folder = format!("{name}/{run_folder}");
            self.outcome.take_agents(scheduled.run, folder, document);
            save(&mut self.folder, &self.outcome);
        };
        search.run(&mut self.series, keep).await
    }

    /// Takes what an interrupted campaign left of this run, where that is complete.
    fn was_made_before(&mut self, scheduled: &ScheduledRun<'_>) -> bool {
        // Searches look for the runs they have made themselves.
        if !self.is_resumed || self.request.campaign.search().is_some() {
            return false;
        }
        let Some((path, document)) = self.folder.completed(&scheduled.prefix) else {
            return false;
        };
        self.series
            .say(format_args!("{}: was complete", scheduled.title));
        self.exits
            .push(Exit::from_document(&document, self.request.strict));
        self.outcome
            .take_run(scheduled.run, name_of(&path), document);
        true
    }

    /// Prints what came of the runs there are, and says how to exit over all of them.
    fn conclude(&mut self) -> anyhow::Result<Exit> {
        self.outcome.end(self.state());
        save(&mut self.folder, &self.outcome);
        if !self.outcome.is_empty() {
            let style = terminal::output_style();
            terminal::print(&Format::Console.render_campaign(self.outcome.document(), style))
                .context("cannot write the result to standard output")?;
        }
        let unsaved = self.folder.unsaved();
        if let Some(what) = &unsaved {
            terminal::say(format_args!("not saved: {what}"));
        }
        self.series
            .say(format_args!("saved in {}", self.folder.path().display()));
        let failed = unsaved.is_some() || !self.series.is_whole();
        let result = Exit::from_code(self.outcome.document().exit_code(self.request.strict));
        let exits = self.exits.iter().copied();
        Ok(exits
            .chain(failed.then_some(Exit::Failed))
            .fold(result, Exit::max))
    }

    /// Of all runs together.
    fn state(&self) -> State {
        let worst = self.exits.iter().copied().max().unwrap_or(Exit::Passed);
        match worst {
            Exit::Interrupted => State::Interrupted,
            Exit::Failed | Exit::Usage => State::Incomplete,
            _ => State::Complete,
        }
    }
}

/// A folder for the runs of a search; the one that an interruption left, where there is one.
fn search_folder(
    folder: &CampaignFolder,
    scheduled: &ScheduledRun<'_>,
) -> Result<CampaignFolder, FolderError> {
    let left = folder.part_named(&scheduled.prefix);
    left.map_or_else(|| folder.part(&scheduled.folder), Ok)
}

fn save(folder: &mut CampaignFolder, outcome: &CampaignOutcome<'_>) {
    folder.replace(&Format::Json.render_campaign(outcome.document(), Style::PLAIN));
}

/// The search with the folders of its holds, as seen from the folder of all runs.
fn in_folder(record: &SearchRecord, folder: &str) -> SearchRecord {
    let mut record = record.clone();
    for step in &mut record.steps {
        step.result.run = format!("{folder}/{}", step.result.run);
    }
    record
}
