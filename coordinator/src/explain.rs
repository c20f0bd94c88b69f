//! `coordinator explain`: what each rule of a saved run's verdict looked at.

use crate::exit::Exit;
use crate::saved_result::{self, ResultError, SavedResult};
use crate::terminal;
use analysis::CampaignDocument;
use clap::Args;
use std::path::PathBuf;

/// `coordinator explain`, as typed.
#[derive(Debug, Args)]
#[command(after_help = "\
Each line begins with how much of the rule's bound the run reached. Only rules marked SPEAKS are
part of the verdict. For a folder of several runs each run is explained, under its name.

Exit code: 0 if the rules could be printed, whatever the run's own result was.")]
pub struct ExplainArgs {
    /// Folder of the run, or of several, such as runs/20260101T120000Z-plan
    #[arg(value_name = "RUN_FOLDER")]
    pub run: PathBuf,
}

/// Prints the rules of a saved run's verdict, or those of every run of a campaign.
///
/// # Errors
/// Standard output cannot be written.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let campaign = match saved_result::campaign(&args.run) {
        Ok(campaign) => campaign,
        Err(error) => return Ok(refuse(error)),
    };
    let Some(campaign) = campaign else {
        return one(saved_result::read(&args.run), None);
    };
    let mut worst = Exit::Passed;
    for (index, folder) in folders(&campaign).into_iter().enumerate() {
        if index > 0 {
            terminal::print("\n")?;
        }
        let saved = saved_result::read_part(&args.run, folder);
        worst = worst.max(one(saved, Some(folder))?);
    }
    Ok(worst)
}

/// The folders of all runs of a campaign, in the order in which they were made.
fn folders(campaign: &CampaignDocument) -> Vec<&str> {
    let runs = campaign.runs.iter().map(|run| &run.folder);
    let searches = campaign.searches.iter();
    let holds = searches.flat_map(|it| it.search.steps.iter().map(|step| &step.result.run));
    let scalings = campaign.scalings.iter();
    let agents = scalings.flat_map(|it| it.scaling.rows.iter().map(|row| &row.run));
    let all = runs.chain(holds).chain(agents);
    all.map(String::as_str).collect()
}

/// Explains one run; `part` is its folder within that of a campaign.
fn one(saved: Result<SavedResult, ResultError>, part: Option<&str>) -> anyhow::Result<Exit> {
    let saved = match saved {
        Ok(saved) => saved,
        Err(error) => return Ok(refuse(error)),
    };
    saved.remark.into_iter().for_each(terminal::say);
    let style = terminal::output_style();
    terminal::print(&report::explain(&saved.document, part, style))?;
    Ok(Exit::Passed)
}

fn refuse(error: ResultError) -> Exit {
    terminal::say(error);
    Exit::Usage
}
