//! A table over the bytes of a file.

use crate::delimited::{self, Rows};
use crate::json_lines::{self, ConvertedText};
use crate::layout::{DataFormat, FileLayout};
use crate::row_lines::RowLines;
use crate::{DataError, Escape, MAX_COLUMNS, MappedFile, gzip};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A file's rows. Clones share them.
#[derive(Clone)]
pub struct DataTable {
    text: Bytes,
    rows: Arc<Rows>,
    number: u64,
    columns: Arc<[String]>,
}

/// What stands in one row and column.
#[derive(Debug, Clone, Copy)]
pub struct TableCell<'a> {
    text: &'a [u8],
    /// Each quotation mark is written twice.
    doubles_quotes: bool,
}

impl DataTable {
    /// Reads a file, which may be gzip.
    ///
    /// # Errors
    /// Why it is no table, with the place.
    pub fn read(content: Arc<[u8]>, layout: &FileLayout) -> Result<DataTable, DataError> {
        let text = gzip::decompress(content)?;
        if layout.format != DataFormat::Jsonl {
            return DataTable::over(text, layout, None);
        }
        let ConvertedText {
            csv,
            columns,
            lines,
        } = json_lines::to_csv(&text, layout.columns.as_deref())?;
        DataTable::over(csv, layout, Some((columns, lines)))
    }

    /// Reads a mapped file, whose bytes stay where they are.
    ///
    /// # Errors
    /// As [`DataTable::read`]; gzip and lines of JSON would have to be written anew in memory.
    pub fn read_mapped(file: &MappedFile, layout: &FileLayout) -> Result<DataTable, DataError> {
        if layout.format == DataFormat::Jsonl {
            return Err(DataError::MappedJson);
        }
        if file.text().starts_with(&gzip::MAGIC) {
            return Err(DataError::MappedGzip);
        }
        DataTable::over(file.text().clone(), layout, None)
    }

    /// The table of `text`; one that was made of another format has its columns and the lines of
    /// its rows.
    fn over(
        text: Bytes,
        layout: &FileLayout,
        converted: Option<(Vec<String>, RowLines)>,
    ) -> Result<DataTable, DataError> {
        let (keys, lines) = converted.unzip();
        let (rows, names) = delimited::read(&text, layout, lines)?;
        let columns = keys
            .or_else(|| layout.columns.clone())
            .or(names)
            .unwrap_or_else(|| vec![LINE.to_owned()]);
        check_names(&columns)?;
        Ok(DataTable {
            text,
            number: rows.number() as u64,
            rows: Arc::new(rows),
            columns: columns.into(),
        })
    }

    /// A table whose file is not here: of its `number` rows all cells are empty.
    #[must_use]
    pub fn elsewhere(columns: Vec<String>, number: u64) -> DataTable {
        DataTable {
            text: Bytes::new(),
            rows: Arc::default(),
            number,
            columns: columns.into(),
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.number
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The place of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The cell of `row` (from 0) and `column`; an empty one if there is no such row or column.
    #[inline]
    #[must_use]
    pub fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let (text, doubles_quotes) = self.rows.cell(&self.text, row as usize, column);
        TableCell {
            text,
            doubles_quotes,
        }
    }

    /// The line of the file in which `row` (from 0) begins, from 1.
    #[must_use]
    pub fn line(&self, row: u64) -> u64 {
        self.rows.line(row)
    }

    /// The first row whose cell in `column` does not do as `is_right` asks: its number and
    /// [line](DataTable::line).
    pub fn find_wrong(
        &self,
        column: usize,
        mut is_right: impl FnMut(&[u8]) -> bool,
    ) -> Option<(u64, u64)> {
        let mut text = Vec::new();
        let row = (0..self.rows()).find(|&row| {
            text.clear();
            self.cell(row, column).put(Escape::None, &mut text);
            !is_right(&text)
        })?;
        Some((row, self.line(row)))
    }
}

/// The name of the column of a file without columns.
const LINE: &str = "line";

const MAX_NAME_BYTES: usize = 40;

/// Names stand in placeholders, so they have no braces, bars or spaces.
fn check_names(columns: &[String]) -> Result<(), DataError> {
    if columns.len() > MAX_COLUMNS {
        return Err(DataError::ManyColumns(columns.len()));
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let mut seen = BTreeSet::new();
    for (place, name) in columns.iter().enumerate() {
        let is_fit = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_of_name);
        if !is_fit || !seen.insert(name) {
            return Err(DataError::ColumnName(place + 1));
        }
    }
    Ok(())
}

impl fmt::Debug for DataTable {
    /// Without the content, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("DataTable");
        debug.field("columns", &self.columns);
        debug.field("rows", &self.rows()).finish_non_exhaustive()
    }
}

impl<'a> TableCell<'a> {
    /// Bytes of the cell once it is escaped.
    #[inline]
    #[must_use]
    pub fn length(&self, escape: Escape) -> usize {
        self.parts().map(|part| escape.length(part)).sum()
    }

    /// Appends the cell to `out`, escaped.
    #[inline]
    pub fn put(&self, escape: Escape, out: &mut Vec<u8>) {
        self.parts().for_each(|part| escape.put(part, out));
    }

    /// The cell in parts, without the second one of two quotation marks.
    fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (mut rest, doubles_quotes) = (Some(self.text), self.doubles_quotes);
        std::iter::from_fn(move || {
            let text = rest?;
            let quote = if doubles_quotes {
                memchr::memchr(b'"', text)
            } else {
                None
            };
            match quote {
                None => rest.take(),
                Some(at) => {
                    rest = Some(text.get(at + 2..).unwrap_or_default());
                    Some(&text[..=at])
                }
            }
        })
    }
}
