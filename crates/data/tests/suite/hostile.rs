//! Files that are no tables: one message each, with the place.

use crate::files::layout;
use data::{DataFormat, DataTable, FileLayout, MAX_ROW_BYTES};
use proptest::prelude::*;

fn error(content: &[u8], layout: &FileLayout) -> String {
    match DataTable::read(content.into(), layout) {
        Err(error) => error.to_string(),
        Ok(table) => panic!("{table:?}"),
    }
}

#[test]
fn each_message_has_its_place() {
    for (content, expected) in [
        (&b""[..], "has no row below its header; write at least one"),
        (b"a,b\n", "has no row below its header; write at least one"),
        (b"\n\r\n", "has no row below its header; write at least one"),
        (
            b"a,b\n1,2\n\n1,2,3\n",
            "has 3 cells in line 4, and 2 columns; give each row as many, or quote what holds the \
             delimiter",
        ),
        (
            b"a\n\"x\ny",
            "has a quoted cell at 2:1 that does not end; write \" behind it",
        ),
        (
            b"a,b\n\"x\ny\",z\"\n",
            "has a quotation mark in the middle of a cell at 3:5; put the whole cell in quotes, \
             and write \"\" for each within it (RFC 4180)",
        ),
        (
            b"a\n\"x\"y\n",
            "has a quotation mark in the middle of a cell at 2:3; put the whole cell in quotes, \
             and write \"\" for each within it (RFC 4180)",
        ),
        (b"a\n\xff\n", "is not UTF-8 at 2:1; save it as UTF-8"),
        (
            b"a\nb\0\n",
            "has a NUL character at 2:2, so it is no text; save it as UTF-8",
        ),
        (b"\xff\xfea\0", "is UTF-16; save it as UTF-8"),
        (
            b"a,a\n1,2\n",
            "has no fit name for column 2; write letters, digits, \"_\", \"-\" and \".\" in the \
             first line, each name once, or columns = […] and, if that line is a row, header = \
             false",
        ),
        (
            b"a,\n1,2\n",
            "has no fit name for column 2; write letters, digits, \"_\", \"-\" and \".\" in the \
             first line, each name once, or columns = […] and, if that line is a row, header = \
             false",
        ),
    ] {
        assert_eq!(error(content, &layout(DataFormat::Csv)), expected);
    }
    let named = FileLayout {
        columns: Some(vec!["a".to_owned()]),
        ..layout(DataFormat::Csv)
    };
    assert_eq!(
        error(b"x,y\n1,2\n", &named),
        "has 2 cells in line 1, and columns names 1; name each of them"
    );
}

#[test]
fn lines_that_are_no_objects_are_named_without_what_they_hold() {
    for (content, expected) in [
        ("{\"a\":1}\n[\"s3cret\"]\n", "it is another value"),
        ("{\"a\":1}\n\"s3cret\"\n", "it is another value"),
        (
            "{\"a\":1}\n{\"a\":\"x\\ud800y\"}\n",
            "unexpected end of hex escape (column 9)",
        ),
        (
            "{\"a\":1}\n{\"a\":\n",
            "EOF while parsing a value (column 5)",
        ),
    ] {
        assert_eq!(
            error(content.as_bytes(), &layout(DataFormat::Jsonl)),
            format!("is no JSON object in line 2: {expected}")
        );
    }
    assert_eq!(
        error(b"{\"a\":1}\n{\"b\":1}\n", &layout(DataFormat::Jsonl)),
        "has no key \"a\" in line 2; write null where there is no value"
    );
}

#[test]
fn rows_of_json_are_told_by_the_lines_of_their_file() {
    assert_eq!(
        error(
            b"{\"a\":1}\n\n\n{\"a\":\"x\\u0000\"}\n",
            &layout(DataFormat::Jsonl)
        ),
        "has a NUL character (\\u0000) in line 4, which cannot be sent; remove it"
    );
    let long = format!(
        "{{\"a\":1}}\n\n{{\"a\":\"{}\"}}\n",
        "x".repeat(MAX_ROW_BYTES)
    );
    let said = error(long.as_bytes(), &layout(DataFormat::Jsonl));
    let expected = format!("has more than {MAX_ROW_BYTES} bytes in line 3; end each row");
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn line_without_an_end_is_no_row() {
    let long = "x".repeat(MAX_ROW_BYTES + 1);
    let message =
        |line| format!("has more than {MAX_ROW_BYTES} bytes in line {line}; end each row");
    for format in [DataFormat::Csv, DataFormat::Tsv, DataFormat::Lines] {
        let text = format!("a\n{long}");
        assert!(error(text.as_bytes(), &layout(format)).starts_with(&message(2)));
    }
    let quoted = format!("a\n\"{long}\"\n");
    assert!(error(quoted.as_bytes(), &layout(DataFormat::Csv)).starts_with(&message(2)));
}

#[test]
fn broken_gzip_is_told() {
    let broken = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03xx";
    assert!(error(broken, &layout(DataFormat::Csv)).starts_with("cannot be decompressed: "));
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(content in prop::collection::vec(any::<u8>(), 0..80)) {
        for format in [DataFormat::Csv, DataFormat::Tsv, DataFormat::Jsonl, DataFormat::Lines] {
            if let Ok(table) = DataTable::read(content.clone().into(), &layout(format)) {
                crate::files::rows(&table);
            }
        }
    }

    #[test]
    fn no_text_of_quotes_breaks_the_reader(content in "[a,\"\r\n]{0,20}") {
        if let Ok(table) = DataTable::read(content.as_bytes().into(), &layout(DataFormat::Csv)) {
            crate::files::rows(&table);
        }
    }
}
