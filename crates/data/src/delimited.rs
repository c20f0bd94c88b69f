//! Rows of cells between delimiters: CSV, TSV and lines.

use crate::layout::{DataFormat, FileLayout};
use crate::row_lines::RowLines;
use crate::{DataError, MAX_LINES, MAX_ROW_BYTES};

const BOM: &[u8] = b"\xef\xbb\xbf";
/// Set in the offset of a row that has a quoted cell.
const QUOTED: u64 = 1 << 63;
const NO_DELIMITER: u8 = b'\n';

/// Where rows begin.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Offsets, with [`QUOTED`].
    begins: Vec<u64>,
    lines: RowLines,
    delimiter: u8,
}

/// The rows of `text`, and the names of its first one if that is its header. Text that was made of
/// another format comes with the lines of its rows there.
pub(crate) fn read(
    text: &[u8],
    layout: &FileLayout,
    converted: Option<RowLines>,
) -> Result<(Rows, Option<Vec<String>>), DataError> {
    check_text(text)?;
    let (delimiter, quotes) = match layout.format {
        DataFormat::Csv => (layout.delimiter, true),
        DataFormat::Jsonl => (b',', true),
        DataFormat::Tsv => (b'\t', false),
        DataFormat::Lines => (NO_DELIMITER, false),
    };
    let has_header = layout.header && matches!(layout.format, DataFormat::Csv | DataFormat::Tsv);
    let is_converted = converted.is_some();
    let mut rows = Rows {
        begins: Vec::new(),
        lines: converted.unwrap_or_default(),
        delimiter,
    };
    let mut reader = Reader {
        text,
        at: if text.starts_with(BOM) { BOM.len() } else { 0 },
        line: 1,
        delimiter,
        quotes,
    };
    let mut names = None;
    // Converted text has been checked by the one who converted it.
    let named = layout.columns.as_ref().filter(|_| !is_converted);
    let mut columns = named.map(Vec::len);
    let mut is_first = true;
    while let Some(row) = reader.row()? {
        if std::mem::take(&mut is_first) {
            check_columns(columns, &row)?;
            columns = Some(row.cells);
            if has_header {
                rows.begins.push(row.begin);
                names = Some(
                    (0..row.cells)
                        .map(|cell| rows.text(text, 0, cell))
                        .collect(),
                );
                rows.begins.clear();
                continue;
            }
        }
        if row.line > MAX_LINES {
            return Err(DataError::ManyLines);
        }
        if columns != Some(row.cells) {
            return Err(DataError::Ragged {
                line: row.line,
                found: row.cells,
                columns: columns.unwrap_or_default(),
            });
        }
        if !is_converted {
            rows.lines.push(rows.begins.len(), row.line);
        }
        rows.begins.push(row.begin);
    }
    if rows.begins.is_empty() {
        let below = if has_header { " below its header" } else { "" };
        return Err(DataError::NoRow(below));
    }
    rows.begins.shrink_to_fit();
    rows.lines.shrink();
    Ok((rows, names))
}

fn check_columns(named: Option<usize>, row: &RowSpan) -> Result<(), DataError> {
    match named {
        Some(named) if named != row.cells => Err(DataError::Columns {
            line: row.line,
            found: row.cells,
            named,
        }),
        _ => Ok(()),
    }
}

/// Refuses what is no text in UTF-8.
fn check_text(text: &[u8]) -> Result<(), DataError> {
    if text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]) {
        return Err(DataError::Utf16);
    }
    if let Some(at) = memchr::memchr(0, text) {
        let (line, column) = place(text, at);
        return Err(DataError::Nul { line, column });
    }
    std::str::from_utf8(text).map_err(|error| {
        let (line, column) = place(text, error.valid_up_to());
        DataError::NotUtf8 { line, column }
    })?;
    Ok(())
}

/// Line and byte of the line, from 1.
fn place(text: &[u8], at: usize) -> (u64, usize) {
    let before = &text[..at];
    let line_begin = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    (1 + lines(before), at - line_begin + 1)
}

fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Goes through a text row by row.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
    delimiter: u8,
    quotes: bool,
}

struct RowSpan {
    /// Offset, with [`QUOTED`].
    begin: u64,
    line: u64,
    cells: usize,
}

impl Reader<'_> {
    /// The next row that is not empty.
    fn row(&mut self) -> Result<Option<RowSpan>, DataError> {
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return Ok(None);
            }
            let (begin, line) = (self.at, self.line);
            let end = if self.quotes {
                memchr::memchr2(b'\n', b'"', rest)
            } else {
                memchr::memchr(b'\n', rest)
            };
            let length = end.unwrap_or(rest.len());
            self.check_length(length)?;
            let row = if rest.get(length) == Some(&b'"') {
                self.row_with_quotes()?
            } else {
                self.at = (begin + length + 1).min(self.text.len());
                self.line += 1;
                let row = &rest[..length];
                if row.is_empty() || row == b"\r" {
                    continue;
                }
                RowSpan {
                    begin: begin as u64,
                    line,
                    cells: self.cells(row),
                }
            };
            return Ok(Some(row));
        }
    }

    fn cells(&self, row: &[u8]) -> usize {
        match self.delimiter {
            NO_DELIMITER => 1,
            delimiter => 1 + memchr::memchr_iter(delimiter, row).count(),
        }
    }

    fn check_length(&self, length: usize) -> Result<(), DataError> {
        if length > MAX_ROW_BYTES {
            return Err(DataError::LongRow { line: self.line });
        }
        Ok(())
    }

    /// Reads a row that has a quotation mark.
    fn row_with_quotes(&mut self) -> Result<RowSpan, DataError> {
        let (begin, line) = (self.at, self.line);
        let mut cells = 0;
        loop {
            let from = self.at;
            let cell = first_cell(&self.text[from..], self.delimiter);
            let cell = cell.map_err(|wrong| {
                let (at_line, column) = place(&self.text[begin..], from - begin + wrong.at);
                // A column counts from the beginning of its line, which is this row's or a later
                // one.
                let line = line + at_line - 1;
                if wrong.is_open {
                    DataError::OpenQuote { line, column }
                } else {
                    DataError::StrayQuote { line, column }
                }
            })?;
            cells += 1;
            self.at = from + cell.next;
            self.check_length(self.at - begin)?;
            if cell.is_last {
                self.line += lines(&self.text[begin..self.at]);
                let begin = begin as u64 | QUOTED;
                return Ok(RowSpan { begin, line, cells });
            }
        }
    }
}

/// A cell of a row that may have quotes.
struct QuotedCell<'a> {
    text: &'a [u8],
    doubles_quotes: bool,
    /// Where the next cell, or the next row, begins.
    next: usize,
    is_last: bool,
}

/// A quotation mark where it must not be, or that nothing ends.
struct WrongQuote {
    at: usize,
    is_open: bool,
}

/// The cell at the beginning of `text`.
fn first_cell(text: &[u8], delimiter: u8) -> Result<QuotedCell<'_>, WrongQuote> {
    if !text.starts_with(b"\"") {
        let end = memchr::memchr2(delimiter, b'\n', text).unwrap_or(text.len());
        let cell = &text[..end];
        return match memchr::memchr(b'"', cell) {
            Some(at) => Err(WrongQuote { at, is_open: false }),
            None => Ok(cell_until(text, trim_last(text, cell, end), false, end)),
        };
    }
    let (mut at, mut doubles_quotes) = (1, false);
    loop {
        let quote = memchr::memchr(b'"', &text[at..]).ok_or(WrongQuote {
            at: 0,
            is_open: true,
        })?;
        at += quote + 1;
        if text.get(at) != Some(&b'"') {
            break;
        }
        doubles_quotes = true;
        at += 1;
    }
    let cell = &text[1..at - 1];
    let behind = &text[at..];
    let is_end = behind.is_empty()
        || behind[0] == delimiter
        || behind.starts_with(b"\n")
        || behind.starts_with(b"\r\n")
        || behind == b"\r";
    if !is_end {
        return Err(WrongQuote {
            at: at - 1,
            is_open: false,
        });
    }
    let return_bytes = usize::from(behind.starts_with(b"\r"));
    Ok(cell_until(text, cell, doubles_quotes, at + return_bytes))
}

/// The cell that ends with the delimiter, line feed or end of the text at `end`.
fn cell_until<'a>(text: &[u8], cell: &'a [u8], doubles_quotes: bool, end: usize) -> QuotedCell<'a> {
    QuotedCell {
        text: cell,
        doubles_quotes,
        next: (end + 1).min(text.len()),
        is_last: is_end_of_row(text, end),
    }
}

fn is_end_of_row(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), None | Some(b'\n'))
}

/// The unquoted `cell`, which ends at `end` in `text`, without the carriage return of a line's end.
fn trim_last<'a>(text: &[u8], cell: &'a [u8], end: usize) -> &'a [u8] {
    match cell.strip_suffix(b"\r") {
        Some(trimmed) if is_end_of_row(text, end) => trimmed,
        _ => cell,
    }
}

impl Rows {
    pub(crate) fn number(&self) -> usize {
        self.begins.len()
    }

    /// The text of a cell, and whether each of its quotation marks is written twice.
    #[inline]
    pub(crate) fn cell<'a>(&self, text: &'a [u8], row: usize, column: usize) -> (&'a [u8], bool) {
        let Some(&begin) = self.begins.get(row) else {
            return (&[], false);
        };
        let row = &text[(begin & !QUOTED) as usize..];
        if begin & QUOTED != 0 {
            return self.cell_of_quoted(row, column);
        }
        let mut rest = row;
        for _ in 0..column {
            match memchr::memchr(self.delimiter, rest) {
                Some(at) => rest = &rest[at + 1..],
                None => return (&[], false),
            }
        }
        let end = memchr::memchr2(self.delimiter, b'\n', rest).unwrap_or(rest.len());
        (trim_last(rest, &rest[..end], end), false)
    }

    fn cell_of_quoted<'a>(&self, row: &'a [u8], column: usize) -> (&'a [u8], bool) {
        let mut rest = row;
        for place in 0.. {
            match first_cell(rest, self.delimiter) {
                Ok(cell) if place == column => return (cell.text, cell.doubles_quotes),
                Ok(cell) if !cell.is_last => rest = &rest[cell.next..],
                _ => break,
            }
        }
        (&[], false)
    }

    /// The line in which a row begins, from 1.
    pub(crate) fn line(&self, row: u64) -> u64 {
        self.lines.line(row)
    }

    fn text(&self, text: &[u8], row: usize, column: usize) -> String {
        let (cell, _) = self.cell(text, row, column);
        String::from_utf8_lossy(cell).trim().to_owned()
    }
}
