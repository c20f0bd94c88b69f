//! Renders result documents, with one file per format. This crate uses no network, clock or file
//! system, and decides nothing: `analysis` makes figures and judgements.

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
pub use junit::suites as junit_suites;
pub use merged_hlog::MergedHlog;
pub use otlp::{otlp, otlp_refusal};
pub use prometheus::PrometheusFormat;
pub use style::Style;

use analysis::{CampaignDocument, Document};
use std::str::FromStr;

/// A format in which a saved run can be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The format of `result.json`.
    Json,
    /// The summary for a terminal.
    Console,
    /// The part of the summary that fits on one screen.
    Brief,
    /// Tables for a pull request or a wiki.
    Markdown,
    /// One row per second.
    Csv,
    /// Thresholds as test cases.
    Junit,
    /// A page for a browser, in a single file.
    Html,
}

/// There is no format of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no format is called `{name}`; write json, console, brief, markdown, csv, junit or html")]
pub struct UnknownFormat {
    /// The name that was given.
    pub name: String,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 7] = [
        Format::Json,
        Format::Console,
        Format::Brief,
        Format::Markdown,
        Format::Csv,
        Format::Junit,
        Format::Html,
    ];

    /// The name on the command line.
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

    /// Whether it is for terminals, and so depends on a style.
    #[must_use]
    pub fn is_for_terminal(self) -> bool {
        matches!(self, Format::Console | Format::Brief)
    }

    /// Renders the document as UTF-8 text that ends with a newline. Only formats for terminals use
    /// `style`.
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

    /// Renders a campaign, as [`Format::render`] does for a run. [`Format::Json`] gives the text of
    /// `campaign.json`.
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

/// The page of the current run, for a server; `document` is `None` before the first run. Its script
/// asks the server for `events`, a stream of server-sent events with the version of the newest
/// page, and then loads that page. `version` is the time when this one was made, in milliseconds
/// since 1970.
#[must_use]
pub fn live_page(document: Option<&Document>, version: u64) -> String {
    html::render_live(document, version)
}

/// How a run or a variant differs from its baseline, as part of a Markdown page that follows
/// [`Format::Markdown`]. `compared` has two variants, the baseline first.
#[must_use]
pub fn against_baseline(compared: &CampaignDocument) -> String {
    campaign::markdown::against_baseline(compared)
}

/// The page of a run ([`Format::Html`]) with the percentiles of an earlier run, and the
/// differences. `compared` has two variants, the earlier run first.
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
