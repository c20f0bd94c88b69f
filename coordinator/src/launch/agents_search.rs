//! Runs a plan's load with 1, 2, … of the agents, to see whether the load generator was the limit.

use super::campaign_report::{self, CampaignReport};
use super::finished_run::FinishedRun;
use super::schedule::{ScheduledRun, agents_folder, agents_in_words};
use super::series::RunSeries;
use crate::exit::{Exit, ExitRules};
use crate::run_folder::{CampaignFolder, name_of};
use std::time::Duration;

/// A search over numbers of agents.
pub(super) struct AgentsSearch<'s> {
    pub(super) scheduled: &'s ScheduledRun<'s>,
    pub(super) numbers: &'s [u32],
    /// The pause between two runs.
    pub(super) pause: Duration,
    pub(super) rules: ExitRules,
    /// Each run gets a folder in this one.
    pub(super) folder: CampaignFolder,
}

impl AgentsSearch<'_> {
    /// Makes one run after the other, adds each to the report, and returns how to exit.
    pub(super) async fn run(
        &self,
        series: &mut RunSeries,
        report: &mut CampaignReport<'_>,
    ) -> anyhow::Result<Exit> {
        let mut worst = Exit::Passed;
        let mut is_first = true;
        for &agents in self.numbers {
            let title = self.title(agents);
            let (folder, document) = match self.folder.completed(&agents_folder(agents)) {
                Some((path, document)) => (name_of(&path), document),
                None => {
                    if !is_first && !series.pause(self.pause).await {
                        return Ok(Exit::Interrupted);
                    }
                    is_first = false;
                    let Some(made) = self.make(series, agents, title.clone()).await? else {
                        return Ok(Exit::Interrupted);
                    };
                    let failures = made.report_failures();
                    worst = worst.max(failures);
                    if failures > Exit::Passed || !series.is_whole() {
                        return Ok(worst);
                    }
                    (made.record.folder_name(), made.record.document)
                }
            };
            worst = worst.max(Exit::from_document(&document, self.rules));
            let line = campaign_report::line(&document);
            series.say(format_args!("{title}: {line}"));
            let folder = format!("{}/{folder}", name_of(self.folder.path()));
            report.take_agents(self.scheduled.run, folder, &document);
        }
        Ok(worst)
    }

    async fn make(
        &self,
        series: &mut RunSeries,
        agents: u32,
        title: String,
    ) -> anyhow::Result<Option<FinishedRun>> {
        let plan = self
            .scheduled
            .plan
            .for_agents(agents)
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let name = agents_folder(agents);
        series
            .make_in(&self.folder, &name, plan, agents, title)
            .await
    }

    fn title(&self, agents: u32) -> String {
        let prefix = &self.scheduled.step_prefix;
        format!("{prefix}{}", agents_in_words(agents))
    }
}
