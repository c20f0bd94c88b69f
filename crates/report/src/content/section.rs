//! The building blocks of a report.

use crate::style::Paint;

/// A section of a report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    pub(crate) topic: Topic,
    pub(crate) title: String,
    /// No block is empty.
    pub(crate) blocks: Vec<ContentBlock>,
}

/// What a section is about. Some formats order sections by topic, or add a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Totals,
    Thresholds,
    Times,
    Phases,
    Percentiles,
    Histogram,
    Statuses,
    Errors,
    Data,
    /// What was sent of a log.
    Replay,
    /// What became of the tokens that requests carry.
    Tokens,
    /// Journeys and their funnels.
    Journeys,
    Requests,
    Addresses,
    Labels,
    Tls,
    Agents,
    Machines,
    Notes,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContentBlock {
    /// Labels and their texts.
    Facts(Vec<(&'static str, String)>),
    /// Sentences that are independent of each other.
    Items(Vec<Remark>),
    /// Sentences about the preceding block.
    Remarks(Vec<Remark>),
    Table(Table),
    Thresholds(Vec<ThresholdLine>),
    Errors(Vec<ErrorLine>),
    /// The bars of a histogram, with the number of values in each.
    Bars(Vec<Bar>),
}

/// A sentence and its severity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remark {
    pub(crate) paint: Paint,
    pub(crate) text: String,
}

/// A table. The first column names the subject of each row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) headings: Vec<String>,
    /// Each row has one cell per heading; a cell without a figure is empty.
    pub(crate) rows: Vec<Vec<String>>,
    /// For cells that show a part of a whole: its share, from 0 to 1. Empty if there are no such
    /// cells.
    pub(crate) shares: Vec<Vec<Option<f64>>>,
    /// Columns that are left out on a narrow terminal.
    pub(crate) optional: &'static [usize],
    /// A terminal shows at most this many rows, and refers to `result.json` for the rest.
    pub(crate) terminal_rows: usize,
}

/// A threshold and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThresholdLine {
    pub(crate) metric: String,
    /// The comparison and the limit, such as `<= 250 ms`.
    pub(crate) limit: String,
    /// The measured value, and the reason if it does not count.
    pub(crate) measured: String,
    pub(crate) passed: bool,
}

/// A kind of error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorLine {
    /// Its name in `result.json`, such as `connect.refused`.
    pub(crate) name: String,
    pub(crate) count: u64,
    /// Its share of the operations that ended, such as `1.2 %`.
    pub(crate) share: String,
    /// When it first occurred, on the run clock; empty if that is not known.
    pub(crate) first_at: String,
    /// Explanation of the error.
    pub(crate) words: String,
}

/// A bar of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    /// The upper bound of the values in the bar.
    pub(crate) label: String,
    pub(crate) count: u64,
}

impl Section {
    /// A section with those of `blocks` that are not empty.
    pub(crate) fn new(
        topic: Topic,
        title: impl Into<String>,
        blocks: impl IntoIterator<Item = ContentBlock>,
    ) -> Section {
        let blocks = blocks.into_iter();
        Section {
            topic,
            title: title.into(),
            blocks: blocks.filter(|block| !block.is_empty()).collect(),
        }
    }
}

impl ContentBlock {
    fn is_empty(&self) -> bool {
        match self {
            ContentBlock::Facts(facts) => facts.is_empty(),
            ContentBlock::Items(remarks) | ContentBlock::Remarks(remarks) => remarks.is_empty(),
            ContentBlock::Table(table) => table.rows.is_empty(),
            ContentBlock::Thresholds(lines) => lines.is_empty(),
            ContentBlock::Errors(lines) => lines.is_empty(),
            ContentBlock::Bars(bars) => bars.is_empty(),
        }
    }

    /// The block as a table, for formats that draw tables; `None` if it consists of sentences.
    pub(crate) fn to_table(&self) -> Option<Table> {
        match self {
            ContentBlock::Facts(facts) => {
                let row = |(label, text): &(&str, String)| vec![(*label).to_owned(), text.clone()];
                Some(Table::new(&["", ""], facts.iter().map(row).collect()))
            }
            ContentBlock::Items(_) | ContentBlock::Remarks(_) => None,
            ContentBlock::Table(table) => Some(table.clone()),
            ContentBlock::Thresholds(lines) => {
                let headings = ["figure", "limit", "measured", ""];
                let rows = lines.iter().map(ThresholdLine::cells).collect();
                Some(Table::new(&headings, rows))
            }
            ContentBlock::Errors(lines) => {
                let headings = ["kind", "count", "of ended", "first at", "in words"];
                let rows = lines.iter().map(ErrorLine::cells).collect();
                Some(Table::new(&headings, rows))
            }
            ContentBlock::Bars(bars) => Some(bars_table(bars)),
        }
    }
}

impl Remark {
    pub(crate) fn new(paint: Paint, text: impl Into<String>) -> Remark {
        Remark {
            paint,
            text: text.into(),
        }
    }

    pub(crate) fn plain(sentences: Vec<String>) -> Vec<Remark> {
        let sentences = sentences.into_iter();
        sentences
            .map(|text| Remark::new(Paint::Plain, text))
            .collect()
    }
}

impl Table {
    pub(crate) fn new(headings: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table {
            headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
            rows,
            shares: Vec::new(),
            optional: &[],
            terminal_rows: usize::MAX,
        }
    }
}

impl ThresholdLine {
    fn cells(&self) -> Vec<String> {
        let outcome = if self.passed { "✓" } else { "✗ failed" };
        vec![
            self.metric.clone(),
            self.limit.clone(),
            self.measured.clone(),
            outcome.to_owned(),
        ]
    }
}

impl ErrorLine {
    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.count.to_string(),
            self.share.clone(),
            self.first_at.clone(),
            self.words.clone(),
        ]
    }
}

fn bars_table(bars: &[Bar]) -> Table {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1) as f64;
    let rows = bars
        .iter()
        .map(|bar| vec![bar.label.clone(), bar.count.to_string()]);
    let shares = bars
        .iter()
        .map(|bar| vec![None, Some(bar.count as f64 / most)]);
    Table {
        shares: shares.collect(),
        ..Table::new(&["", ""], rows.collect())
    }
}
