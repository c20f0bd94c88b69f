//! `coordinator report`: renders a saved run, or several. It reads `result.json` or
//! `campaign.json`, so that they render for ever, and the log of a run that was not finished.

use crate::compare;
use crate::exit::Exit;
use crate::record::replay::{self, ReplayError};
use crate::saved_result::{self, ResultError};
use crate::terminal;
use clap::Args;
use report::{Format, Style};
use std::fmt::Display;
use std::path::PathBuf;

/// `coordinator report`, as typed.
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 if the run could be printed, whatever its own result was.")]
pub struct ReportArgs {
    /// Output format: console, brief, json, junit, markdown, csv or html
    #[arg(long, value_name = "FORMAT", default_value = "console")]
    pub format: Format,
    /// With --format markdown: also say how much this differs from another run, and what of that is
    /// within the noise
    #[arg(long, value_name = "RUN_FOLDER", conflicts_with = "remake")]
    pub baseline: Option<PathBuf>,
    /// Write result.json, histograms.hlog and events.jsonl again, from run.log
    #[arg(long)]
    pub remake: bool,
    /// Folder of the run or of several runs, such as runs/20260101T120000Z-plan
    #[arg(value_name = "RUN_FOLDER")]
    pub run: PathBuf,
}

/// Prints a saved run.
///
/// # Errors
/// Files cannot be made again, or standard output cannot be written.
pub fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let style = if args.format.is_for_terminal() {
        terminal::output_style()
    } else {
        Style::PLAIN
    };
    if args.baseline.is_some() && args.format != Format::Markdown {
        terminal::say("--baseline needs --format markdown; `coordinator compare` has all formats");
        return Ok(Exit::Usage);
    }
    if args.remake {
        return match replay::remake(&args.run) {
            Ok(document) => printed(&args.format.render(&document, style)),
            Err(error @ (ReplayError::Folder(_) | ReplayError::Thread(_))) => Err(error.into()),
            Err(error) => Ok(refused(error)),
        };
    }
    let mut text = match rendered(args, style) {
        Ok(text) => text,
        Err(error) => return Ok(refused(error)),
    };
    if let Some(baseline) = &args.baseline {
        match compare::against_baseline(baseline, &args.run) {
            Ok(compared) => text.extend(compared.iter().map(report::against_baseline)),
            Err(error) => return Ok(refused(error)),
        }
    }
    printed(&text)
}

fn printed(text: &str) -> anyhow::Result<Exit> {
    terminal::print(text)?;
    Ok(Exit::Passed)
}

/// What is named cannot be shown.
fn refused(error: impl Display) -> Exit {
    terminal::say(error);
    Exit::Usage
}

/// The campaign or the run in the folder that is named.
fn rendered(args: &ReportArgs, style: Style) -> Result<String, ResultError> {
    if let Some(campaign) = saved_result::campaign(&args.run)? {
        return Ok(args.format.render_campaign(&campaign, style));
    }
    let saved = saved_result::read(&args.run)?;
    saved.remark.into_iter().for_each(terminal::say);
    Ok(args.format.render(&saved.document, style))
}
