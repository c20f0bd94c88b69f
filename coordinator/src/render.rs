//! `coordinator report`: renders a saved run, or several. Reads `result.json` or `campaign.json`,
//! so that they can be rendered for ever, and the log of a run that was not finished.

use crate::compare;
use crate::exit::Exit;
use crate::record::replay::{self, ReplayError};
use crate::saved_result::{self, ResultError};
use crate::terminal;
use analysis::CampaignDocument;
use clap::Args;
use report::{Format, Style};
use run_folder::CAMPAIGN;
use std::fmt::Display;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit code: 0 if the run could be printed, whatever its own result was; 4 if
--remake could not save a file.";

/// `coordinator report`, as typed.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct ReportArgs {
    /// Output format: console, brief, json, junit, markdown, csv or html
    #[arg(long, value_name = "FORMAT", default_value = "console")]
    pub format: Format,
    /// With --format markdown or html: also say how much this differs from another run, and what of
    /// that is within the noise
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
    if let Some(refusal) = refusal(args) {
        terminal::say(refusal);
        return Ok(Exit::Usage);
    }
    if args.remake {
        return remake(args, style);
    }
    let baseline = args.baseline.as_deref();
    let compared = match baseline.map(|it| compare::against_baseline(it, &args.run)) {
        None => Vec::new(),
        Some(Ok(compared)) => compared,
        Some(Err(error)) => return Ok(refuse(error)),
    };
    match render_folder(args, style, &compared) {
        Ok(text) => print_text(&text),
        Err(error) => Ok(refuse(error)),
    }
}

/// Makes the files of a run again, and prints it.
fn remake(args: &ReportArgs, style: Style) -> anyhow::Result<Exit> {
    let remade = match replay::remake(&args.run) {
        Ok(remade) => remade,
        Err(error @ (ReplayError::Folder(_) | ReplayError::Thread(_))) => return Err(error.into()),
        Err(error) => return Ok(refuse(error)),
    };
    for why in &remade.unsaved {
        terminal::say(format_args!("not saved: {why}"));
    }
    let printed = print_text(&args.format.render(&remade.document, style))?;
    Ok(match remade.unsaved.is_empty() {
        true => printed,
        false => Exit::Failed,
    })
}

fn print_text(text: &str) -> anyhow::Result<Exit> {
    terminal::print(text)?;
    Ok(Exit::Passed)
}

/// Says why there is no such report.
fn refusal(args: &ReportArgs) -> Option<&'static str> {
    args.baseline.as_ref()?;
    match args.format {
        Format::Markdown => None,
        Format::Html if args.run.join(CAMPAIGN).is_file() => Some(
            "--baseline with --format html needs a single run; `coordinator compare --format \
             html` has a page of several",
        ),
        Format::Html => None,
        _ => Some(
            "--baseline needs --format markdown or html; `coordinator compare` has all formats",
        ),
    }
}

/// Reports that what was named cannot be shown.
fn refuse(error: impl Display) -> Exit {
    terminal::say(error);
    Exit::Usage
}

/// Renders the campaign or the run in the named folder, and how it compares with a baseline.
fn render_folder(
    args: &ReportArgs,
    style: Style,
    compared: &[CampaignDocument],
) -> Result<String, ResultError> {
    let mut text = if let Some(campaign) = saved_result::campaign(&args.run)? {
        args.format.render_campaign(&campaign, style)
    } else {
        let saved = saved_result::read(&args.run)?;
        saved.remark.into_iter().for_each(terminal::say);
        match (args.format, compared.first()) {
            (Format::Html, Some(compared)) => {
                report::page_against_baseline(&saved.document, compared)
            }
            _ => args.format.render(&saved.document, style),
        }
    };
    if args.format == Format::Markdown {
        text.extend(compared.iter().map(report::against_baseline));
    }
    Ok(text)
}
