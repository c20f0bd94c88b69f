//! Why a file is no table, with the place.

/// Why a file is no table. The messages continue a sentence that begins with the file's name, and
/// show none of its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// There is no row.
    #[error("has no row{0}; write at least one")]
    NoRow(&'static str),
    /// A row is longer than [`crate::MAX_ROW_BYTES`].
    #[error(
        "has more than {max} bytes in line {line}; end each row with a line feed",
        max = crate::MAX_ROW_BYTES
    )]
    LongRow {
        /// Line from 1.
        line: u64,
    },
    /// A row has more or fewer cells than there are columns.
    #[error(
        "has {found} cells in line {line}, and {columns} columns; give each row as many, or quote \
         what holds the delimiter"
    )]
    Ragged {
        /// Line from 1.
        line: u64,
        /// Cells of the row.
        found: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// A quoted cell does not end.
    #[error("has a quoted cell at {line}:{column} that does not end; write \" behind it")]
    OpenQuote {
        /// Line from 1.
        line: u64,
        /// Byte of the line, from 1.
        column: usize,
    },
    /// A quotation mark stands in the middle of a cell.
    #[error(
        "has a quotation mark in the middle of a cell at {line}:{column}; put the whole cell in \
         quotes, and write \"\" for each within it (RFC 4180)"
    )]
    StrayQuote {
        /// Line from 1.
        line: u64,
        /// Byte of the line, from 1.
        column: usize,
    },
    /// A byte is not UTF-8.
    #[error("is not UTF-8 at {line}:{column}; save it as UTF-8")]
    NotUtf8 {
        /// Line from 1.
        line: u64,
        /// Byte of the line, from 1.
        column: usize,
    },
    /// It has a NUL character.
    #[error("has a NUL character at {line}:{column}, so it is no text; save it as UTF-8")]
    Nul {
        /// Line from 1.
        line: u64,
        /// Byte of the line, from 1.
        column: usize,
    },
    /// A string of JSON has a NUL character.
    #[error("has a NUL character (\\u0000) in line {line}, which cannot be sent; remove it")]
    EscapedNul {
        /// Line from 1.
        line: u64,
    },
    /// It is UTF-16.
    #[error("is UTF-16; save it as UTF-8")]
    Utf16,
    /// A name of a column is missing, unfit or there twice.
    #[error(
        "has no fit name for column {0}; write letters, digits, \"_\", \"-\" and \".\" in the \
         first line, each name once, or columns = […] and, if that line is a row, header = false"
    )]
    ColumnName(usize),
    /// More columns than [`crate::MAX_COLUMNS`].
    #[error("has {0} columns; use at most {max}", max = crate::MAX_COLUMNS)]
    ManyColumns(usize),
    /// The plan names more or fewer columns than the file has.
    #[error("has {found} cells in line {line}, and columns names {named}; name each of them")]
    Columns {
        /// Line from 1.
        line: u64,
        /// Cells of the file's first row.
        found: usize,
        /// Names that the plan gives.
        named: usize,
    },
    /// A line is no JSON object.
    #[error("is no JSON object in line {line}: {why}")]
    Json {
        /// Line from 1.
        line: u64,
        /// The parser's words.
        why: String,
    },
    /// An object lacks a key.
    #[error("has no key {key:?} in line {line}; write null where there is no value")]
    Key {
        /// Line from 1.
        line: u64,
        /// Name of the column.
        key: String,
    },
    /// The gzip stream is broken.
    #[error("cannot be decompressed: {0}")]
    Gzip(String),
    /// A mapped file is gzip.
    #[error("is gzip, which cannot be mapped; decompress it")]
    MappedGzip,
    /// A mapped file has lines of JSON.
    #[error("has lines of JSON, which cannot be mapped; write its rows as CSV")]
    MappedJson,
    /// More lines than [`crate::MAX_LINES`].
    #[error("has more than {max} lines; use several files", max = crate::MAX_LINES)]
    ManyLines,
    /// It is too large once decompressed.
    #[error("has more than {max} bytes once it is decompressed", max = crate::MAX_BYTES)]
    Large,
}
