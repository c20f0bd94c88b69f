//! Several runs over one fleet, one after the other: each in its own folder, with a report of all
//! of them at the end.

use super::agents_search::AgentsSearch;
use super::campaign_report::CampaignReport;
use super::capacity::CapacitySearch;
use super::result_printer::ResultPlace;
use super::run_commands::RunVariant;
use super::run_host::RunHost;
use super::schedule::ScheduledRun;
use super::series::RunSeries;
use super::start_request::StartRequest;
use super::variant_run;
use crate::exit::Exit;
use crate::run_folder::CampaignFolder;
use crate::terminal;
use analysis::CampaignDocument;
use plan::Search;

/// Makes every run of a file that asks for several, or for a search; `before` is the document that
/// an interruption left in the folder.
pub(super) async fn make_campaign(
    request: &StartRequest,
    schedule: &[ScheduledRun<'_>],
    folder: CampaignFolder,
    before: Option<CampaignDocument>,
    host: RunHost,
) -> anyhow::Result<Exit> {
    let path = folder.path().to_owned();
    let plan_text = request.plan_text.clone();
    let mut runs = CampaignRuns {
        request,
        series: RunSeries {
            origin: host.origin(&request.origin),
            host,
            plan_text: plan_text.clone(),
            resumes: request.resume.is_some(),
            force: request.force,
            quiet: request.hosting.quiet,
        },
        has_left_runs: request.resume.is_some() && request.campaign.search().is_none(),
        report: CampaignReport::new(&request.campaign, plan_text, folder, before),
    };
    let mut exits = Vec::new();
    let made = runs.make_all(schedule, &mut exits).await;
    let concluded = runs
        .report
        .conclude(&exits, request.rules, &request.printer);
    let headline = runs.report.headline();
    let has_failed = made.is_err() || !runs.series.is_whole();
    runs.series.host.dismiss().await;
    let exit = concluded?.max(if has_failed {
        Exit::Failed
    } else {
        Exit::Passed
    });
    request
        .printer
        .close(&headline, exit, ResultPlace::of_folder(&path));
    made.map(|()| exit)
}

/// The runs of a campaign, and their results so far.
struct CampaignRuns<'r> {
    request: &'r StartRequest,
    series: RunSeries,
    /// Whether an interrupted campaign is resumed, so that some runs may be complete already.
    has_left_runs: bool,
    report: CampaignReport<'r>,
}

impl CampaignRuns<'_> {
    /// Goes on until all runs are made, the end is asked for, or no further run can be made. Adds
    /// each run's exit to `exits`.
    async fn make_all(
        &mut self,
        schedule: &[ScheduledRun<'_>],
        exits: &mut Vec<Exit>,
    ) -> anyhow::Result<()> {
        let pause = self.request.campaign.repeat().pause;
        let mut is_first = true;
        for scheduled in schedule {
            // A search itself looks for runs that were made before.
            if self.has_left_runs
                && let Some(exit) = self.report.take_left_run(scheduled, self.request.rules)
            {
                self.series
                    .say(format_args!("{}: was complete", scheduled.title));
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

    /// Makes one run of the campaign, or a search in its place.
    async fn make_scheduled(&mut self, scheduled: &ScheduledRun<'_>) -> anyhow::Result<Exit> {
        let request = self.request;
        let agents = request.hosting.agents;
        let rules = request.rules;
        let CampaignRuns { series, report, .. } = self;
        series.host.begin_variant(RunVariant {
            name: request.campaign.variant(scheduled.run).name.clone(),
            repeat: scheduled.run.repeat + 1,
        });
        let Some(search) = request.campaign.search() else {
            return variant_run::make_variant(scheduled, agents, rules, series, report).await;
        };
        let folder = report.search_folder(scheduled)?;
        match search {
            Search::Capacity(capacity) => {
                let search = CapacitySearch {
                    scheduled,
                    capacity,
                    agents,
                    folder,
                };
                search.run(series, report).await
            }
            Search::Agents(numbers) => {
                let search = AgentsSearch {
                    scheduled,
                    numbers,
                    pause: request.campaign.repeat().pause,
                    rules,
                    folder,
                };
                search.run(series, report).await
            }
        }
    }
}
