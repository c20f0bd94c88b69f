//! Turns lines of JSON into CSV, so that rows are found in one way.

use crate::row_lines::RowLines;
use crate::{DataError, MAX_ROW_BYTES};
use bytes::Bytes;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Lines of JSON as CSV.
pub(crate) struct ConvertedText {
    pub(crate) csv: Bytes,
    pub(crate) columns: Vec<String>,
    /// Where its rows were.
    pub(crate) lines: RowLines,
}

type Object<'a> = BTreeMap<std::borrow::Cow<'a, str>, &'a RawValue>;

/// The objects of `text` as CSV, with these columns; without them those of the first object.
/// Strings lose their quotes, `null` is empty, and everything else stays as it is written.
pub(crate) fn to_csv(text: &[u8], columns: Option<&[String]>) -> Result<ConvertedText, DataError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut csv = Vec::with_capacity(text.len());
    let (mut lines, mut rows) = (RowLines::default(), 0);
    let mut columns = columns.map(<[String]>::to_vec);
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line_number = number as u64 + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let wrong = |error: serde_json::Error| DataError::Json {
            line: line_number,
            why: plain(&error),
        };
        let object: Object<'_> = serde_json::from_slice(line).map_err(wrong)?;
        let columns = columns.get_or_insert_with(|| keys(line, &object));
        let begin = csv.len();
        for (place, key) in columns.iter().enumerate() {
            let value = object.get(key.as_str()).ok_or_else(|| DataError::Key {
                line: line_number,
                key: key.clone(),
            })?;
            if place > 0 {
                csv.push(b',');
            }
            put_cell(value.get(), &mut csv).map_err(wrong)?;
        }
        check_row(&csv[begin..], line_number)?;
        csv.push(b'\n');
        lines.push(rows, line_number);
        rows += 1;
    }
    Ok(ConvertedText {
        csv: csv.into(),
        columns: columns.unwrap_or_default(),
        lines,
    })
}

/// What no row may be, with the line that it has in the file.
fn check_row(row: &[u8], line: u64) -> Result<(), DataError> {
    if row.len() > MAX_ROW_BYTES {
        return Err(DataError::LongRow { line });
    }
    match memchr::memchr(0, row) {
        Some(_) => Err(DataError::EscapedNul { line }),
        None => Ok(()),
    }
}

/// The keys of an object, in the order of its text.
fn keys(line: &[u8], object: &Object<'_>) -> Vec<String> {
    let at = |value: &RawValue| value.get().as_ptr() as usize - line.as_ptr() as usize;
    let mut keys: Vec<(usize, String)> = object
        .iter()
        .map(|(key, value)| (at(value), key.to_string()))
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, key)| key).collect()
}

fn put_cell(value: &str, csv: &mut Vec<u8>) -> serde_json::Result<()> {
    // An empty cell in quotes, since a row without any character would be none.
    let text = match value {
        "null" => String::new(),
        string if string.starts_with('"') => serde_json::from_str(string)?,
        other => other.to_owned(),
    };
    csv.push(b'"');
    csv.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    csv.push(b'"');
    Ok(())
}

/// The parser's message without its place, which is that of a line.
fn plain(error: &serde_json::Error) -> String {
    // The parser shows a part of a value of another type, which may be secret.
    if error.is_data() {
        return "it is another value".to_owned();
    }
    let text = error.to_string();
    let end = text.find(" at line ").unwrap_or(text.len());
    format!("{} (column {})", &text[..end], error.column())
}
