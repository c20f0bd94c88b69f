//! `coordinator report`: renders a saved run, or several. It reads only `result.json` or
//! `campaign.json`, so that they render for ever.

use crate::exit::Exit;
use crate::run_folder::{CAMPAIGN, RESULT};
use crate::{plan_file, terminal};
use clap::Args;
use report::{Format, ReadError, Style};
use std::path::PathBuf;

/// `coordinator report`, as typed.
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 if the run could be printed, whatever its own result was.")]
pub struct ReportArgs {
    /// Output format: console, json, junit, markdown or csv
    #[arg(long, value_name = "FORMAT", default_value = "console")]
    pub format: Format,
    /// Folder of the run or of several runs, such as runs/20260101T120000Z-plan
    #[arg(value_name = "RUN_FOLDER")]
    pub run: PathBuf,
}

/// Prints a saved run.
///
/// # Errors
/// The result cannot be read by this version, or standard output cannot be written.
pub fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let folder = args.run.is_dir().then_some(&args.run);
    let campaign = folder
        .map(|folder| folder.join(CAMPAIGN))
        .filter(|path| path.is_file());
    let path = campaign
        .clone()
        .or_else(|| Some(folder?.join(RESULT)))
        .unwrap_or_else(|| args.run.clone());
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let why = plan_file::in_words(&error);
            terminal::say(format_args!(
                "{}: {why}; write the folder of a run, such as runs/…-plan",
                path.display()
            ));
            return Ok(Exit::Usage);
        }
    };
    let in_words = |error: ReadError| anyhow::anyhow!("{}: {error}", path.display());
    let style = if args.format == Format::Console {
        terminal::output_style()
    } else {
        Style::PLAIN
    };
    let text = match campaign {
        Some(_) => args
            .format
            .render_campaign(&report::read_campaign(&bytes).map_err(in_words)?, style),
        None => args
            .format
            .render(&report::read(&bytes).map_err(in_words)?, style),
    };
    terminal::print(&text)?;
    Ok(Exit::Passed)
}
