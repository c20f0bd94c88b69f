//! `coordinator report`: renders a saved run. It reads only `result.json`, so that a run renders for ever.

use crate::exit::Exit;
use crate::run_folder::RESULT;
use crate::{plan_file, terminal};
use clap::Args;
use report::{Format, Style};
use std::path::PathBuf;

/// `coordinator report`, as typed.
#[derive(Debug, Args)]
#[command(after_help = "Exits with 0 when it could render the run, whatever the run's own result was.")]
pub struct ReportArgs {
    /// What to make of it: console, json, junit, markdown or csv
    #[arg(long, value_name = "FORMAT", default_value = "console")]
    pub format: Format,
    /// Folder of the run, such as runs/20260101T120000Z-plan
    #[arg(value_name = "RUN_FOLDER")]
    pub run: PathBuf,
}

/// Prints a saved run.
///
/// # Errors
/// The result cannot be read by this version, or standard output cannot be written.
pub fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let path = if args.run.is_dir() { args.run.join(RESULT) } else { args.run.clone() };
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let why = plan_file::in_words(&error);
            terminal::say(format_args!("{}: {why}; write the folder of a run, such as runs/…-plan", path.display()));
            return Ok(Exit::Usage);
        }
    };
    let document = report::read(&bytes).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let style = if args.format == Format::Console { terminal::output_style() } else { Style::PLAIN };
    terminal::print(&args.format.render(&document, style))?;
    Ok(Exit::Passed)
}
