//! Data files: tables whose rows requests take, one after the other.

use crate::File;
use crate::words::words;
use data::{DataFormat, DataTable, Escape, FileLayout, MappedFile};
use std::fmt;
use std::sync::Arc;

/// A section `[data.NAME]`.
#[derive(Debug, Clone)]
pub struct DataFile {
    /// Its name in placeholders.
    pub name: String,
    /// The file, as it is on the disk; without its content if that is not sent.
    pub file: File,
    /// How agents get its content.
    pub place: DataPlace,
    /// How the file is read.
    pub layout: FileLayout,
    /// Its rows; none if the file is not at hand.
    pub table: DataTable,
    /// Which row an operation takes.
    pub order: RowOrder,
    /// What happens once every row has been taken.
    pub at_end: AtEnd,
    /// Columns whose cells are shown nowhere.
    pub secret: Vec<String>,
}

impl PartialEq for DataFile {
    /// The file's hash stands for its rows, whether they are at hand or not.
    fn eq(&self, other: &DataFile) -> bool {
        self.name == other.name
            && self.file.name == other.file.name
            && self.file.sha256 == other.file.sha256
            && self.place.is_sent() == other.place.is_sent()
            && self.layout.format == other.layout.format
            && self.layout.delimiter == other.layout.delimiter
            && self.layout.header == other.layout.header
            && self.table.columns() == other.table.columns()
            && (self.order, self.at_end) == (other.order, other.at_end)
            && self.secret == other.secret
    }
}

/// How agents get the content of a data file.
#[derive(Debug, Clone)]
pub enum DataPlace {
    /// It is sent to them.
    Sent,
    /// It lies on their machines already, and they know it by its hash; `None` if it is not at hand
    /// here.
    AtAgents(Option<MappedFile>),
}

impl DataPlace {
    /// Whether it is sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        matches!(self, DataPlace::Sent)
    }

    /// What is mapped, of a file that is not sent and is at hand.
    #[must_use]
    pub fn mapped(&self) -> Option<&MappedFile> {
        match self {
            DataPlace::Sent => None,
            DataPlace::AtAgents(mapped) => mapped.as_ref(),
        }
    }
}

/// Which row of a data file an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// In the file's order.
    Sequential,
    /// Each row once in a seeded order, then each once in another order.
    Shuffled,
    /// Any row, seeded.
    Random,
    /// In the file's order, and each at most once.
    Unique,
    /// Each virtual user has a row of its own.
    User,
}

words!(RowOrder {
    Sequential => "sequential",
    Shuffled => "shuffled",
    Random => "random",
    Unique => "unique",
    User => "user",
});

/// What happens once every row of a data file has been taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    /// Rows are taken from the first again.
    Again,
    /// The load ends.
    Stop,
    /// A load that needs more rows is refused.
    Fail,
}

words!(AtEnd { Again => "again", Stop => "stop", Fail => "fail" });

/// A column in a template: `{NAME.COLUMN}`.
#[derive(Debug, Clone, PartialEq)]
pub struct DataColumn {
    /// The file that has it.
    pub file: Arc<DataFile>,
    /// Its place in the table.
    pub index: usize,
    /// How its cells are written.
    pub escape: Escape,
    /// The plan asks for cells as they are: `{NAME.COLUMN|raw}`.
    pub is_raw: bool,
}

impl Eq for DataColumn {}

impl DataColumn {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.file.table.columns()[self.index]
    }

    /// The text of its cell in `row`, from 0; `None` if it is empty, or the file is not at hand.
    #[must_use]
    pub fn text(&self, row: u64) -> Option<String> {
        let mut text = Vec::new();
        let cell = self.file.table.cell(row, self.index);
        cell.put(Escape::None, &mut text);
        String::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    /// Whether its cells are shown nowhere.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.file.secret.iter().any(|secret| secret == self.name())
    }
}

impl fmt::Display for DataColumn {
    /// The placeholder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = if self.is_raw { "|raw" } else { "" };
        write!(f, "{{{}.{}{raw}}}", self.file.name, self.name())
    }
}

/// Words of a format in plans, with the ends of names of such files.
pub(crate) const FORMATS: [(DataFormat, &str, &[&str]); 4] = [
    (DataFormat::Csv, "csv", &[".csv"]),
    (DataFormat::Tsv, "tsv", &[".tsv", ".tab"]),
    (DataFormat::Jsonl, "jsonl", &[".jsonl", ".ndjson"]),
    (DataFormat::Lines, "lines", &[".txt", ".lst"]),
];

/// The word of a format.
pub(crate) fn word(format: DataFormat) -> &'static str {
    let found = FORMATS.iter().find(|(known, _, _)| *known == format);
    found.map_or("", |(_, word, _)| word)
}
