//! Several runs, one after the other, over one fleet: each in a folder of its own, and at the end
//! what came of all of them.

use super::agents_search::AgentsSearch;
use super::campaign_report::CampaignReport;
use super::capacity::CapacitySearch;
use super::join_port::JoinPort;
use super::run_host::RunHost;
use super::schedule::{self, ScheduledRun};
use super::series::RunSeries;
use super::start_request::StartRequest;
use super::{resumed, variant_run};
use crate::exit::Exit;
use crate::run_folder::{CampaignFolder, name_of};
use crate::signals::Signals;
use crate::terminal;
use crate::utc::Utc;
use plan::{Capacity, Search};

/// Makes every run of a file that asks for several, or for a search.
pub(super) async fn make_campaign(
    request: &StartRequest,
    signals: Signals,
) -> anyhow::Result<Exit> {
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
    let path = folder.path().to_owned();
    let plan_text = request.plan_text.clone();
    let mut runs = CampaignRuns {
        request,
        series: RunSeries {
            host,
            plan_text: plan_text.clone(),
            quiet: hosting.quiet,
        },
        is_resumed,
        report: CampaignReport::new(&request.campaign, plan_text, folder, before),
    };
    let mut exits = Vec::new();
    let made = runs.make_all(&schedule, &mut exits).await;
    let exit = runs.report.conclude(&exits, request.strict);
    if exit.is_ok() {
        runs.series.say(format_args!("saved in {}", path.display()));
    }
    let short = (!runs.series.is_whole()).then_some(Exit::Failed);
    runs.series.host.dismiss().await;
    made?;
    Ok(exit?.max(short.unwrap_or(Exit::Passed)))
}

/// The runs of a campaign, and what came of them so far.
struct CampaignRuns<'r> {
    request: &'r StartRequest,
    series: RunSeries,
    is_resumed: bool,
    report: CampaignReport<'r>,
}

impl CampaignRuns<'_> {
    /// Until all are made, somebody asks for the end, or no further one can be made. How to exit
    /// for each goes to `exits`.
    async fn make_all(
        &mut self,
        schedule: &[ScheduledRun<'_>],
        exits: &mut Vec<Exit>,
    ) -> anyhow::Result<()> {
        let pause = self.request.campaign.repeat().pause;
        let mut is_first = true;
        for scheduled in schedule {
            if let Some(exit) = self.was_made_before(scheduled) {
                exits.push(exit);
                continue;
            }
            if !is_first && !self.series.pause(pause).await {
                exits.push(Exit::Interrupted);
                return Ok(());
            }
            is_first = false;
            self.series.say(&scheduled.title);
            let exit = self.make_scheduled(scheduled).await?;
            exits.push(exit);
            self.report.save();
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

    /// Takes what an interrupted campaign left of this run, where that is complete; how to exit for
    /// it.
    fn was_made_before(&mut self, scheduled: &ScheduledRun<'_>) -> Option<Exit> {
        // Searches look for the runs they have made themselves.
        if !self.is_resumed || self.request.campaign.search().is_some() {
            return None;
        }
        let (path, document) = self.report.made_before(scheduled)?;
        self.series
            .say(format_args!("{}: was complete", scheduled.title));
        let exit = Exit::from_document(&document, self.request.strict);
        self.report
            .take_run(scheduled.run, name_of(&path), document);
        Some(exit)
    }

    /// One run of the campaign, or a search in its place.
    async fn make_scheduled(&mut self, scheduled: &ScheduledRun<'_>) -> anyhow::Result<Exit> {
        let (agents, strict) = (self.request.hosting.agents, self.request.strict);
        let CampaignRuns { series, report, .. } = self;
        match self.request.campaign.search() {
            None => variant_run::make_variant(scheduled, agents, strict, series, report).await,
            Some(Search::Capacity(capacity)) => self.search_capacity(scheduled, capacity).await,
            Some(Search::Agents(numbers)) => self.search_agents(scheduled, numbers).await,
        }
    }

    async fn search_capacity(
        &mut self,
        scheduled: &ScheduledRun<'_>,
        capacity: &Capacity,
    ) -> anyhow::Result<Exit> {
        let search = CapacitySearch {
            scheduled,
            capacity,
            agents: self.request.hosting.agents,
            folder: self.report.search_folder(scheduled)?,
        };
        search.run(&mut self.series, &mut self.report).await
    }

    async fn search_agents(
        &mut self,
        scheduled: &ScheduledRun<'_>,
        numbers: &[u32],
    ) -> anyhow::Result<Exit> {
        let search = AgentsSearch {
            scheduled,
            numbers,
            pause: self.request.campaign.repeat().pause,
            strict: self.request.strict,
            folder: self.report.search_folder(scheduled)?,
        };
        search.run(&mut self.series, &mut self.report).await
    }
}
