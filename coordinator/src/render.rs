//! `coordinator report`: renders a saved run, or several. It reads `result.json` or
//! `campaign.json`, so that they render for ever, and the log of a run that was not finished.

use crate::compare;
use crate::exit::Exit;
use crate::record::replay;
use crate::run_folder::CAMPAIGN;
use crate::saved_result::{self, ResultError};
use crate::{plan_file, terminal};
use anyhow::Context as _;
use clap::Args;
use report::{Format, Style};
use std::path::{Path, PathBuf};

/// `coordinator report`, as typed.
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 if the run could be printed, whatever its own result was.")]
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
/// The result cannot be read by this version, or standard output cannot be written.
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
        let document = replay::remake(&args.run)?;
        terminal::print(&args.format.render(&document, style))?;
        return Ok(Exit::Passed);
    }
    let baseline = args.baseline.as_deref();
    let compared = match baseline.map(|it| compare::against_baseline(it, &args.run)) {
        None => Vec::new(),
        Some(Ok(compared)) => compared,
        Some(Err(error)) => return compare::refused(error),
    };
    let campaign = args.run.join(CAMPAIGN);
    let mut text = if campaign.is_file() {
        args.format
            .render_campaign(&read_campaign(&campaign)?, style)
    } else {
        match saved_result::read(&args.run) {
            Ok(saved) => {
                saved.remark.into_iter().for_each(terminal::say);
                match (args.format, compared.first()) {
                    (Format::Html, Some(compared)) => {
                        report::page_against_baseline(&saved.document, compared)
                    }
                    _ => args.format.render(&saved.document, style),
                }
            }
            Err(error @ ResultError::Missing { .. }) => {
                terminal::say(error);
                return Ok(Exit::Usage);
            }
            Err(error) => return Err(error.into()),
        }
    };
    if args.format == Format::Markdown {
        text.extend(compared.iter().map(report::against_baseline));
    }
    terminal::print(&text)?;
    Ok(Exit::Passed)
}

/// Why there is no such report.
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

fn read_campaign(path: &Path) -> anyhow::Result<analysis::CampaignDocument> {
    let bytes = std::fs::read(path).map_err(|error| {
        let why = plan_file::in_words(&error);
        anyhow::anyhow!("{}: {why}", path.display())
    })?;
    report::read_campaign(&bytes).with_context(|| path.display().to_string())
}
