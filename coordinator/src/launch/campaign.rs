//! Several runs, one after the other, over one fleet: each in a folder of its own, and at the end
//! what came of all of them.

use super::capacity::{CapacitySearch, hold_prefix, name_of};
use super::crew::{Crew, Door, Order, Ran};
use super::outcome::Outcome;
use super::{Launch, exit};
use crate::exit::Exit;
use crate::run_folder::CampaignFolder;
use crate::signals::Signals;
use crate::terminal;
use crate::utc::Utc;
use analysis::{Document, PlanDifference, PlanRecord, RunState, SearchRecord};
use anyhow::Context as _;
use plan::{Campaign, Capacity, Plan, Run, Search};
use report::{Format, Style};
use std::path::PathBuf;

/// Makes every run of a file that asks for several, or for a search.
pub(super) async fn run(launch: &Launch, signals: Signals) -> anyhow::Result<Exit> {
    let resumed = launch
        .resume
        .as_ref()
        .map(|path| CampaignFolder::resume(path, &launch.plan_text))
        .transpose();
    let resumed = match resumed {
        Ok(resumed) => resumed,
        Err(error) => {
            terminal::say(error);
            return Ok(Exit::Usage);
        }
    };
    if let Some(problem) = resumed.as_ref().and_then(|folder| changed(launch, folder)) {
        terminal::say(problem);
        return Ok(Exit::Usage);
    }
    let door = Door::open(&launch.place).await?;
    let folder = match (resumed, &launch.output) {
        (Some(folder), _) => folder,
        (None, Some(base)) => {
            CampaignFolder::create(base, Utc::now(), launch.campaign.name(), &launch.plan_text)?
        }
        (None, None) => anyhow::bail!("several runs leave a folder; say where by --output"),
    };
    let mut crew = door.crew(launch, signals)?;
    let before = launch.resume.as_ref().and_then(|_| folder.before());
    let outcome = Outcome::new(&launch.campaign, launch.plan_text.clone(), before);
    let mut runs = Runs {
        launch,
        crew: &mut crew,
        folder,
        outcome,
        exits: Vec::new(),
    };
    let made = runs.all().await;
    let exit = runs.conclude();
    crew.dismiss().await;
    made?;
    exit
}

/// Why runs that were made before are no runs of this plan: the file is the same, but one that it
/// names may not be.
fn changed(launch: &Launch, folder: &CampaignFolder) -> Option<String> {
    let made = (1..)
        .zip(launch.campaign.runs())
        .flat_map(|(number, run)| made_before(launch, folder, number, *run));
    made.filter_map(Made::difference).next()
}

/// A run that was made before, and the one that would be made now.
struct Made {
    path: PathBuf,
    document: Document,
    plan: Plan,
    agents: u32,
}

/// What there is of one run of the campaign; of a search its first hold, or its run with each
/// number of agents.
fn made_before(launch: &Launch, folder: &CampaignFolder, number: usize, run: Run) -> Vec<Made> {
    let (campaign, all) = (&launch.campaign, launch.agents);
    let plan = &campaign.variant(run).plan;
    let prefix = prefix(campaign, number);
    let made = |folder: &CampaignFolder, prefix: &str, plan: Option<Plan>, agents| {
        let (path, document) = folder.completed(prefix)?;
        Some(Made {
            path,
            document,
            plan: plan?,
            agents,
        })
    };
    let Some(search) = campaign.search() else {
        return made(folder, &prefix, Some(plan.clone()), all)
            .into_iter()
            .collect();
    };
    let Some(part) = folder.part_named(&prefix) else {
        return Vec::new();
    };
    match search {
        Search::Capacity(capacity) => {
            let (from, _) = capacity.range.ends();
            made(
                &part,
                &hold_prefix(1),
                capacity.plan_at(plan, from).ok(),
                all,
            )
            .into_iter()
            .collect()
        }
        Search::Agents(numbers) => {
            let of = |&agents: &u32| {
                made(
                    &part,
                    &agents_prefix(agents),
                    plan.for_agents(agents).ok(),
                    agents,
                )
            };
            numbers.iter().filter_map(of).collect()
        }
    }
}

impl Made {
    /// What is not as it would be now.
    fn difference(self) -> Option<String> {
        let (path, agents) = (self.path.display(), self.document.agents.len());
        if agents != self.agents as usize {
            return Some(format!(
                "{path}: was made with --agents {agents}; write that again"
            ));
        }
        let plan = PlanRecord::new(&self.plan, String::new());
        if plan.differs_in_secrets_alone(&self.document.plan) {
            let headers = self.plan.secret_headers().join(", ");
            return Some(format!(
                "{path}: was made with other values of {headers}, which are not saved; give the \
                 same plan, or start anew without --resume"
            ));
        }
        let difference = PlanDifference::between(&self.document.plan, &plan)
            .into_iter()
            .next()?
            .display();
        Some(format!(
            "{path}: was made by another plan ({difference}); start anew without --resume"
        ))
    }
}

/// The number that names of a run's folder begin with, with so many digits that they sort.
fn prefix(campaign: &Campaign, number: usize) -> String {
    let width = campaign.runs().len().to_string().len().max(2);
    format!("{number:0width$}-")
}

/// The runs of a campaign, and what came of them so far.
struct Runs<'r, 'l> {
    launch: &'l Launch,
    crew: &'r mut Crew<'l>,
    folder: CampaignFolder,
    outcome: Outcome<'l>,
    exits: Vec<Exit>,
}

/// Which run of how many.
#[derive(Clone, Copy)]
struct Place {
    run: Run,
    number: usize,
}

impl Runs<'_, '_> {
    /// Until all are made, somebody asks for the end, or no further one can be made.
    async fn all(&mut self) -> anyhow::Result<()> {
        let mut is_first = true;
        for (number, &run) in (1..).zip(self.launch.campaign.runs()) {
            let place = Place { run, number };
            if self.was_made_before(place) {
                continue;
            }
            if !is_first && !self.crew.pause(self.launch.campaign.repeat().pause).await {
                self.exits.push(Exit::Interrupted);
                return Ok(());
            }
            is_first = false;
            self.say(format_args!("{}", self.title(place)));
            let exit = self.part(place).await?;
            self.exits.push(exit);
            self.save();
            if exit >= Exit::Interrupted || !self.crew.is_whole() {
                break;
            }
        }
        if !self.crew.is_whole() {
            terminal::say(
                "an agent of this machine ended, and no further run can be made without it",
            );
        }
        Ok(())
    }

    /// One run of the campaign, or a search in its place.
    async fn part(&mut self, place: Place) -> anyhow::Result<Exit> {
        let launch = self.launch;
        let plan = &launch.campaign.variant(place.run).plan;
        match launch.campaign.search() {
            None => self.single(place, plan).await,
            Some(Search::Capacity(capacity)) => self.capacity(place, plan, capacity).await,
            Some(Search::Agents(numbers)) => self.agents(place, plan, numbers).await,
        }
    }

    async fn single(&mut self, place: Place, plan: &Plan) -> anyhow::Result<Exit> {
        let folder = self.folder.run(&self.name(place), &plan.masked_text())?;
        let order = Order {
            plan: plan.clone(),
            plan_text: self.launch.plan_text.clone(),
            agents: self.launch.agents,
            title: self.title(place),
            created: Utc::now(),
            folder: Some(folder),
        };
        let Some(ran) = self.crew.run(order).await? else {
            return Ok(Exit::Interrupted);
        };
        ran.report_failures();
        let (document, unsaved) = (&ran.finished.document, &ran.finished.unsaved);
        let exit = exit(
            document,
            &ran.ending,
            self.launch.strict,
            unsaved.is_empty(),
        );
        if ran.ending.has_begun {
            self.say(format_args!("  {}", super::outcome::line(document)));
            let folder = ran
                .finished
                .folder
                .as_deref()
                .map(name_of)
                .unwrap_or_default();
            self.outcome
                .take_run(place.run, folder, ran.finished.document);
        }
        Ok(exit)
    }

    async fn capacity(
        &mut self,
        place: Place,
        plan: &Plan,
        capacity: &Capacity,
    ) -> anyhow::Result<Exit> {
        let folder = self.search_folder(place)?;
        let name = name_of(folder.path());
        let (title, plan_text) = (self.prefix(place), self.launch.plan_text.as_str());
        let (agents, quiet) = (self.launch.agents, self.launch.quiet);
        let search = CapacitySearch {
            plan,
            plan_text,
            capacity,
            agents,
            title,
            folder,
            quiet,
        };
        let Runs {
            crew,
            folder,
            outcome,
            ..
        } = self;
        let searched = search
            .run(crew, |record| {
                outcome.take_search(place.run, in_folder(record, &name));
                folder.replace(&json(outcome));
            })
            .await?;
        if searched.record.answer.is_some() {
            self.say(format_args!("  {}", searched.record.statement));
        }
        Ok(searched.exit)
    }

    /// The plan's load for each of 1, 2, … of the agents.
    async fn agents(&mut self, place: Place, plan: &Plan, numbers: &[u32]) -> anyhow::Result<Exit> {
        let folder = self.search_folder(place)?;
        let mut worst = Exit::Passed;
        let mut is_first = true;
        for &agents in numbers {
            let (path, document) = match folder.completed(&agents_prefix(agents)) {
                Some(made) => made,
                None => {
                    if !is_first && !self.crew.pause(self.launch.campaign.repeat().pause).await {
                        return Ok(Exit::Interrupted);
                    }
                    is_first = false;
                    let Some(ran) = self.of_agents(place, plan, agents, &folder).await? else {
                        return Ok(Exit::Interrupted);
                    };
                    let failures = ran.report_failures();
                    worst = worst.max(failures);
                    if failures > Exit::Passed || !self.crew.is_whole() {
                        return Ok(worst);
                    }
                    (
                        ran.finished.folder.unwrap_or_default(),
                        ran.finished.document,
                    )
                }
            };
            worst = worst.max(Exit::of(&document, self.launch.strict));
            self.say(format_args!(
                "{}{}: {}",
                self.prefix(place),
                number_of(agents),
                super::outcome::line(&document)
            ));
            let folder = format!("{}/{}", name_of(folder.path()), name_of(&path));
            self.outcome.take_agents(place.run, folder, &document);
            self.save();
        }
        Ok(worst)
    }

    async fn of_agents(
        &mut self,
        place: Place,
        plan: &Plan,
        agents: u32,
        folder: &CampaignFolder,
    ) -> anyhow::Result<Option<Ran>> {
        let plan = plan
            .for_agents(agents)
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let folder = folder.run(&agents_prefix(agents), &plan.masked_text())?;
        let (title, plan_text) = (
            format!("{}{}", self.prefix(place), number_of(agents)),
            self.launch.plan_text.clone(),
        );
        self.crew
            .run(Order {
                plan,
                plan_text,
                agents,
                title,
                created: Utc::now(),
                folder: Some(folder),
            })
            .await
    }
}

fn json(outcome: &Outcome<'_>) -> String {
    Format::Json.render_campaign(outcome.document(), Style::PLAIN)
}

/// The search with the folders of its holds, as seen from the folder of all runs.
fn in_folder(record: &SearchRecord, folder: &str) -> SearchRecord {
    let mut record = record.clone();
    record
        .steps
        .iter_mut()
        .for_each(|step| step.result.run = format!("{folder}/{}", step.result.run));
    record
}

/// Of the folder of a run with so many agents.
fn agents_prefix(agents: u32) -> String {
    format!("{agents:02}-agents")
}

fn number_of(agents: u32) -> String {
    if agents == 1 {
        "1 agent".to_owned()
    } else {
        format!("{agents} agents")
    }
}

impl Runs<'_, '_> {
    /// Takes what an interrupted campaign left of this run, where that is complete.
    fn was_made_before(&mut self, place: Place) -> bool {
        // Searches look for the runs they have made themselves.
        if self.launch.resume.is_none() || self.launch.campaign.search().is_some() {
            return false;
        }
        let known = self
            .folder
            .completed(&prefix(&self.launch.campaign, place.number));
        let Some((path, document)) = known else {
            return false;
        };
        self.say(format_args!("{}: was complete", self.title(place)));
        self.exits.push(Exit::of(&document, self.launch.strict));
        self.outcome.take_run(place.run, name_of(&path), document);
        true
    }

    /// Prints what came of the runs there are, and says how to exit over all of them.
    fn conclude(&mut self) -> anyhow::Result<Exit> {
        self.outcome.end(self.state());
        self.save();
        if !self.outcome.is_empty() {
            let style = terminal::output_style();
            terminal::print(&Format::Console.render_campaign(self.outcome.document(), style))
                .context("cannot write the result to standard output")?;
        }
        let unsaved = self.folder.unsaved();
        if let Some(what) = &unsaved {
            terminal::say(format_args!("not saved: {what}"));
        }
        self.say(format_args!("saved in {}", self.folder.path().display()));
        let failed = (unsaved.is_some() || !self.crew.is_whole()).then_some(Exit::Failed);
        let result = Exit::of_code(self.outcome.document().exit_code(self.launch.strict));
        Ok(self
            .exits
            .iter()
            .copied()
            .chain(failed)
            .fold(result, Exit::max))
    }

    /// Of all runs together.
    fn state(&self) -> RunState {
        let worst = self.exits.iter().copied().max().unwrap_or(Exit::Passed);
        match worst {
            Exit::Interrupted => RunState::Interrupted,
            Exit::Failed | Exit::Usage => RunState::Incomplete,
            _ => RunState::Complete,
        }
    }

    /// A folder for the runs of a search; the one that an interruption left, where there is one.
    fn search_folder(&self, place: Place) -> anyhow::Result<CampaignFolder> {
        let left = self
            .folder
            .part_named(&prefix(&self.launch.campaign, place.number));
        Ok(left.map_or_else(|| self.folder.part(&self.name(place)), Ok)?)
    }

    fn save(&mut self) {
        self.folder.replace(&json(&self.outcome));
    }

    /// Of the run's folder.
    fn name(&self, place: Place) -> String {
        let variant = &self.launch.campaign.variant(place.run).name;
        format!(
            "{}{variant}-{}",
            prefix(&self.launch.campaign, place.number),
            place.run.repeat + 1
        )
    }

    /// As in `run 2 of 6: http, repeat 1 of 3`.
    fn title(&self, place: Place) -> String {
        let campaign = &self.launch.campaign;
        let (variant, times) = (&campaign.variant(place.run).name, campaign.repeat().times);
        let repeat = if times == 1 {
            String::new()
        } else {
            format!(", repeat {} of {times}", place.run.repeat + 1)
        };
        let what = if campaign.search().is_some() {
            "search"
        } else {
            "run"
        };
        format!(
            "{what} {} of {}: {variant}{repeat}",
            place.number,
            campaign.runs().len()
        )
    }

    /// Before the name of a step; nothing where there is one search only.
    fn prefix(&self, place: Place) -> String {
        let only = self.launch.campaign.runs().len() == 1;
        if only {
            String::new()
        } else {
            format!("{}: ", self.launch.campaign.variant(place.run).name)
        }
    }

    fn say(&self, line: impl std::fmt::Display) {
        if !self.launch.quiet {
            terminal::say(line);
        }
    }
}
