//! The layout of a document: indented, but with each table row on a single line. Indentation used
//! to take up half of a long run's result.

use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use std::io::{self, Write};

/// An object nested this deep is written on one line: a row of the series or of a machine, the
/// figures of a group, or a time with its percentiles.
const LINE_WITHIN: usize = 3;

/// Indented outside, compact inside.
#[derive(Default)]
pub(super) struct JsonLayout {
    pretty: PrettyFormatter<'static>,
    /// Depth of open objects and arrays.
    open: usize,
    /// The depth at which the current single line began; `None` outside of one.
    line_from: Option<usize>,
}

impl JsonLayout {
    fn begin(&mut self) {
        self.open += 1;
    }

    /// Returns whether the value that ends is part of a single line.
    fn end(&mut self) -> bool {
        self.open -= 1;
        let is_in_line = self.line_from.is_some();
        self.line_from = self.line_from.filter(|&from| from < self.open);
        is_in_line
    }

    fn is_in_line(&self) -> bool {
        self.line_from.is_some()
    }
}

impl Formatter for JsonLayout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin();
        match self.is_in_line() {
            true => CompactFormatter.begin_array(writer),
            false => self.pretty.begin_array(writer),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.end() {
            true => CompactFormatter.end_array(writer),
            false => self.pretty.end_array(writer),
        }
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match self.is_in_line() {
            true => CompactFormatter.begin_array_value(writer, first),
            false => self.pretty.begin_array_value(writer, first),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_in_line() {
            true => CompactFormatter.end_array_value(writer),
            false => self.pretty.end_array_value(writer),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.open >= LINE_WITHIN && !self.is_in_line() {
            self.line_from = Some(self.open);
        }
        self.begin();
        match self.is_in_line() {
            true => CompactFormatter.begin_object(writer),
            false => self.pretty.begin_object(writer),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.end() {
            true => CompactFormatter.end_object(writer),
            false => self.pretty.end_object(writer),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match self.is_in_line() {
            true => CompactFormatter.begin_object_key(writer, first),
            false => self.pretty.begin_object_key(writer, first),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_in_line() {
            true => CompactFormatter.begin_object_value(writer),
            false => self.pretty.begin_object_value(writer),
        }
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_in_line() {
            true => CompactFormatter.end_object_value(writer),
            false => self.pretty.end_object_value(writer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn each_row_of_a_table_is_a_line_and_what_stands_around_it_is_pretty() {
        let document = json!({
            "empty": { "none": [], "nothing": {} },
            "series": { "rows": [{ "at": 0, "kinds": { "x": [1, {}] } }, {}], "row_seconds": 1 },
            "tags": ["a", "b"],
        });
        let text = super::super::render(&document);
        let lines = [
            "{",
            "  \"empty\": {",
            "    \"none\": [],",
            "    \"nothing\": {}",
            "  },",
            "  \"series\": {",
            "    \"row_seconds\": 1,",
            "    \"rows\": [",
            "      {\"at\":0,\"kinds\":{\"x\":[1,{}]}},",
            "      {}",
            "    ]",
            "  },",
            "  \"tags\": [",
            "    \"a\",",
            "    \"b\"",
            "  ]",
            "}",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }
}
