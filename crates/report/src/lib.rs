//! A result document in, bytes out: one file per format. It knows no network, no clock and no file
//! system, and decides nothing: figures and judgements are `analysis`'s.

mod campaign;
mod clock;
mod console;
mod content;
mod csv;
mod explain;
mod flame_graph;
mod headline;
mod hlog;
mod html;
mod json;
mod junit;
mod markdown;
mod merged_hlog;
mod otlp;
mod page;
mod prometheus;
mod run_metrics;
mod style;
mod table;

pub use explain::explain;
pub use flame_graph::flame_graph;
pub use headline::{campaign_headline, headline};
pub use hlog::HlogWriter;
pub use json::{ReadError, read, read_campaign};
pub use merged_hlog::MergedHlog;
pub use otlp::{otlp, otlp_refusal};
pub use prometheus::PrometheusFormat;
pub use style::Style;

use analysis::{CampaignDocument, Document};
use std::str::FromStr;

/// A format a saved run can be rendered in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As `result.json` is written.
    Json,
    /// The summary for a terminal.
    Console,
    /// What fits on one screen of it.
    Brief,
    /// Tables for a pull request or a wiki.
    Markdown,
    /// One row per second.
    Csv,
    /// Thresholds as test cases.
    Junit,
    /// A page for a browser, in one file.
    Html,
}

/// No such format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no format is called `{name}`; write json, console, brief, markdown, csv, junit or html")]
pub struct UnknownFormat {
    /// What was given.
    pub name: String,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 7] = [
        Format::Json,
        Format::Console,
        Format::Brief,
        Format::Markdown,
        Format::Csv,
        Format::Junit,
        Format::Html,
    ];

    /// Name on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Console => "console",
            Format::Brief => "brief",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::Junit => "junit",
            Format::Html => "html",
        }
    }

    /// Whether people read it on a terminal, in its style.
    #[must_use]
    pub fn is_for_terminal(self) -> bool {
        matches!(self, Format::Console | Format::Brief)
    }

    /// The document in this format, UTF-8, with a newline at the end. Only those for a terminal
    /// have a style.
    #[must_use]
    pub fn render(self, document: &Document, style: Style) -> String {
        match self {
            Format::Json => json::render(document),
            Format::Console => console::render(document, style),
            Format::Brief => console::render_brief(document, style),
            Format::Markdown => markdown::render(document),
            Format::Csv => csv::render(document),
            Format::Junit => junit::render(document),
            Format::Html => html::render(document, None),
        }
    }

    /// A campaign in this format, as [`Format::render`] does it for a run. `campaign.json` is its
    /// [`Format::Json`].
    #[must_use]
    pub fn render_campaign(self, document: &CampaignDocument, style: Style) -> String {
        match self {
            Format::Json => json::render(document),
            Format::Console | Format::Brief => campaign::console::render(document, style),
            Format::Markdown => campaign::markdown::render(document),
            Format::Csv => campaign::csv::render(document),
            Format::Junit => campaign::junit::render(document),
            Format::Html => html::render_campaign(document),
        }
    }
}

/// The page of the run that goes on, for a server: its script asks there for `events`, server-sent
/// events that tell the version of the newest page, and then for that. Before the first run there
/// is no document. The version is the time when this one was made, in milliseconds since 1970.
#[must_use]
pub fn live_page(document: Option<&Document>, version: u64) -> String {
    html::render_live(document, version)
}

/// How a run, or a variant of several, differs from its baseline: a part of a page in Markdown,
/// after [`Format::Markdown`]. `compared` has both as its variants, the baseline first.
#[must_use]
pub fn against_baseline(compared: &CampaignDocument) -> String {
    campaign::markdown::against_baseline(compared)
}

/// The page of a run ([`Format::Html`]) beside an earlier one: its percentiles, and what differs.
/// `compared` has both as its variants, the earlier run first.
#[must_use]
pub fn page_against_baseline(document: &Document, compared: &CampaignDocument) -> String {
    html::render(document, Some(compared))
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let known = Format::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or_else(|| UnknownFormat {
            name: name.to_owned(),
        })
    }
}
