//! Where a result goes at the end: to standard output in the format asked for, to people on
//! standard error, and to a file of the user's. `report` decides what it says.

use crate::exit::Exit;
use crate::launch::{FinalResult, JobDocument, ResultPlace};
use crate::terminal;
use anyhow::Context as _;
use report::{Format, Style};
use run_folder::{PAGE, in_words};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Prints results.
#[derive(Debug)]
pub(crate) struct ResultPrinter {
    /// The format of standard output.
    format: Format,
    /// How a terminal shows it: on standard error if `format` is one for programs.
    view: Format,
    /// Whether standard error gets problems only.
    pub(super) quiet: bool,
    summary: Option<SummaryFile>,
}

/// A file that the result is appended to as Markdown.
#[derive(Debug)]
struct SummaryFile {
    path: PathBuf,
    file: File,
}

impl ResultPrinter {
    /// Prints in `format`, or for a terminal as `view`; `summary` is a file that gets Markdown too.
    ///
    /// # Errors
    /// The summary file cannot be opened for writing. This shows before any load is sent.
    pub(crate) fn new(
        format: Option<Format>,
        view: Format,
        quiet: bool,
        summary: Option<&Path>,
    ) -> anyhow::Result<ResultPrinter> {
        let format = format.unwrap_or(view);
        Ok(ResultPrinter {
            format,
            view: if format.is_for_terminal() {
                format
            } else {
                view
            },
            quiet,
            summary: summary.map(SummaryFile::open).transpose()?,
        })
    }

    /// Prints a result, and what went wrong beside it.
    ///
    /// # Errors
    /// Standard output or the summary cannot be written.
    pub(super) fn print(&self, result: &FinalResult) -> anyhow::Result<()> {
        result.problems.iter().for_each(terminal::say);
        let document = result.document.as_ref();
        document.map_or(Ok(()), |document| self.print_document(document))?;
        result.unsaved.iter().for_each(terminal::say);
        Ok(())
    }

    fn print_document(&self, document: &JobDocument) -> anyhow::Result<()> {
        let render = |format, style| document.render(format, style);
        let is_for_people = self.format == self.view;
        if !is_for_people && !self.quiet {
            let style = terminal::live_style().unwrap_or(Style::PLAIN);
            terminal::show(&render(self.view, style));
        }
        let style = if is_for_people {
            terminal::output_style()
        } else {
            Style::PLAIN
        };
        let summary = self.summary.as_ref().map_or(Ok(()), |summary| {
            summary.append(&render(Format::Markdown, Style::PLAIN))
        });
        terminal::print(&render(self.format, style))
            .context("cannot write the result to standard output")?;
        summary
    }

    /// Repeats the outcome in the last lines, since the top of a result scrolls away.
    pub(super) fn close(&self, result: &FinalResult, exit: Exit) {
        if self.quiet {
            return;
        }
        let saved = match &result.place {
            ResultPlace::NotAsked => String::new(),
            ResultPlace::NotIn(folder) => format!(" · not saved in {}", folder.display()),
            ResultPlace::Folder(folder) => {
                let page = folder.join(PAGE);
                if page.is_file() {
                    terminal::say_wrapped(&format!("open {}", page.display()));
                }
                format!(" · saved in {}", folder.display())
            }
        };
        let headline = result.headline();
        terminal::say_wrapped(&format!("{headline} · exit {}{saved}", exit.code()));
    }
}

impl SummaryFile {
    fn open(path: &Path) -> anyhow::Result<SummaryFile> {
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(|error| {
            let why = in_words(&error);
            let path = path.display();
            anyhow::anyhow!("{path}: {why}; name a file that this user may write by --summary")
        })?;
        Ok(SummaryFile {
            path: path.to_owned(),
            file,
        })
    }

    fn append(&self, text: &str) -> anyhow::Result<()> {
        let written = (&self.file).write_all(text.as_bytes());
        written.map_err(|error| {
            anyhow::anyhow!("not saved: {}: {}", self.path.display(), in_words(&error))
        })
    }
}
