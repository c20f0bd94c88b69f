//! One run of a campaign that compares variants.

use super::campaign_report::{self, CampaignReport};
use super::schedule::ScheduledRun;
use super::series::RunSeries;
use crate::exit::{Exit, ExitRules};

/// Makes a run with `agents` agents, and returns how to exit for it.
pub(super) async fn make_variant(
    scheduled: &ScheduledRun<'_>,
    agents: u32,
    rules: ExitRules,
    series: &mut RunSeries,
    report: &mut CampaignReport<'_>,
) -> anyhow::Result<Exit> {
    let plan = scheduled.plan.clone();
    let title = scheduled.title.clone();
    let folder = report.folder();
    let made = series.make_in(folder, &scheduled.folder, plan, agents, title);
    let Some(made) = made.await? else {
        return Ok(Exit::Interrupted);
    };
    made.report_failures();
    let exit = made.exit(rules);
    if made.ending.has_begun {
        let line = campaign_report::line(&made.record.document);
        series.say(format_args!("  {line}"));
        let folder = made.record.folder_name();
        report.take_run(scheduled.run, folder, made.record.document);
    }
    Ok(exit)
}
