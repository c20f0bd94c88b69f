//! The parts that a report is made of.

use crate::style::Paint;

/// A part of a report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    pub(crate) topic: Topic,
    pub(crate) title: String,
    /// None of them is empty.
    pub(crate) blocks: Vec<ContentBlock>,
}

/// What a section is about; formats place some sections by it, or add a picture.
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
    /// Labels, each with what it labels.
    Facts(Vec<(&'static str, String)>),
    /// Sentences that each stand for themselves.
    Items(Vec<Remark>),
    /// Sentences about the block before them.
    Remarks(Vec<Remark>),
    Table(Table),
    Thresholds(Vec<ThresholdLine>),
    Errors(Vec<ErrorLine>),
    /// How many values each column of a histogram has.
    Bars(Vec<Bar>),
}

/// A sentence, and how much it should worry its reader.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remark {
    pub(crate) paint: Paint,
    pub(crate) text: String,
}

/// A table. The first column names what its row is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) headings: Vec<String>,
    /// Each has as many cells as there are headings; a cell without a figure is empty.
    pub(crate) rows: Vec<Vec<String>>,
    /// For cells that are a part of a whole, how much of it, from 0 to 1. Empty if there is no such
    /// cell.
    pub(crate) shares: Vec<Vec<Option<f64>>>,
    /// Columns that a narrow terminal can do without.
    pub(crate) optional: &'static [usize],
    /// A terminal shows this many rows at most, and refers to `result.json` for the others.
    pub(crate) terminal_rows: usize,
}

/// A threshold with its outcome.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThresholdLine {
    pub(crate) metric: String,
    /// The comparison and its right-hand side, such as `<= 250 ms`.
    pub(crate) limit: String,
    /// What was measured, and why it does not count if it does not.
    pub(crate) measured: String,
    pub(crate) passed: bool,
}

/// A kind of error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorLine {
    /// As in `result.json`, such as `connect.refused`.
    pub(crate) name: String,
    pub(crate) count: u64,
    /// Of the operations that ended, in words.
    pub(crate) share: String,
    /// On the run clock; empty if no second is known.
    pub(crate) first_at: String,
    /// What it means.
    pub(crate) words: String,
}

/// A bar of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    /// The upper bound of its values.
    pub(crate) label: String,
    pub(crate) count: u64,
}

impl Section {
    /// A section without those of `blocks` that are empty.
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

    /// The block as a table, for formats that draw it as one; `None` for sentences.
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
