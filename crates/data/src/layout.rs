//! How files write rows.

/// How a file writes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFormat {
    /// Cells separated by a delimiter, quoted where they hold it (RFC 4180).
    Csv,
    /// Cells separated by tabs, without quotes.
    Tsv,
    /// A JSON object per line.
    Jsonl,
    /// A single cell per line.
    Lines,
}

/// How a file is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLayout {
    /// How it writes rows.
    pub format: DataFormat,
    /// Between the cells of CSV; a single byte of ASCII.
    pub delimiter: u8,
    /// Whether the first row of CSV or TSV has the names of the columns.
    pub header: bool,
    /// Names of the columns, in place of those that the file has; the keys that are read of JSON.
    pub columns: Option<Vec<String>>,
}
