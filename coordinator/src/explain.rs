//! `coordinator explain`: what each rule of a saved run's verdict looked at.

use crate::exit::Exit;
use crate::saved_result::{self, ResultError};
use crate::terminal;
use clap::Args;
use std::path::PathBuf;

/// `coordinator explain`, as typed.
#[derive(Debug, Args)]
#[command(after_help = "\
Before each rule stands how much of its bound the run reached. A rule that is not marked with SPEAKS
was not part of the verdict.

Exit code: 0 if the rules could be printed, whatever the run's own result was.")]
pub struct ExplainArgs {
    /// Folder of the run, such as runs/20260101T120000Z-plan
    #[arg(value_name = "RUN_FOLDER")]
    pub run: PathBuf,
}

/// Prints the rules of a saved run's verdict.
///
/// # Errors
/// The result cannot be read by this version, or standard output cannot be written.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let saved = match saved_result::read(&args.run) {
        Ok(saved) => saved,
        Err(error @ ResultError::Missing { .. }) => {
            terminal::say(error);
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.into()),
    };
    saved.remark.into_iter().for_each(terminal::say);
    terminal::print(&report::explain(&saved.document, terminal::output_style()))?;
    Ok(Exit::Passed)
}
