//! Files of every format, read as other programs read them.

use data::{DataFormat, DataTable, Escape, FileLayout, MappedFile};
use proptest::prelude::*;
use std::io::Write as _;

pub(crate) fn layout(format: DataFormat) -> FileLayout {
    FileLayout {
        format,
        delimiter: b',',
        header: true,
        columns: None,
    }
}

pub(crate) fn read(text: &str, layout: &FileLayout) -> DataTable {
    DataTable::read(text.as_bytes().into(), layout).expect("a table")
}

pub(crate) fn rows(table: &DataTable) -> Vec<Vec<String>> {
    let cell = |row, column| {
        let (mut out, cell) = (Vec::new(), table.cell(row, column));
        cell.put(Escape::None, &mut out);
        assert_eq!(out.len(), cell.length(Escape::None));
        String::from_utf8(out).expect("text")
    };
    let columns = table.columns().len();
    let row = |row| (0..columns).map(|column| cell(row, column)).collect();
    (0..table.rows()).map(row).collect()
}

#[test]
fn csv_has_quotes_line_ends_and_a_byte_order_mark() {
    let text = "\u{feff}login,password\r\nann,\"a,\"\"b\"\"\r\nc\"\r\n\r\nbob,x\r\n\"\",é";
    let table = read(text, &layout(DataFormat::Csv));
    assert_eq!(table.columns(), ["login", "password"]);
    assert_eq!(
        rows(&table),
        [["ann", "a,\"b\"\r\nc"], ["bob", "x"], ["", "é"]]
    );
    assert_eq!(table.column("password"), Some(1));
    // The first row takes two lines, and an empty line follows it.
    assert_eq!(table.find_wrong(0, |cell| cell != b"bob"), Some((1, 5)));
}

/// The table of a file on the disk that is mapped.
fn mapped(content: &[u8], format: DataFormat) -> Result<DataTable, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(content).expect("its content");
    let opened = std::fs::File::open(file.path()).expect("the file");
    let mapped = MappedFile::map(opened, u64::MAX).expect("a map");
    DataTable::read_mapped(&mapped, &layout(format)).map_err(|error| error.to_string())
}

#[test]
fn mapped_file_has_the_rows_of_one_that_is_read() {
    let text = "login,password\nann,\"a,\"\"b\"\"\nc\"\n\nbob,x";
    for format in [DataFormat::Csv, DataFormat::Lines] {
        let table = mapped(text.as_bytes(), format).expect("a table");
        assert_eq!(rows(&table), rows(&read(text, &layout(format))));
    }
    for (content, format, why) in [
        (&b"\x1f\x8b\x08"[..], DataFormat::Csv, "is gzip"),
        (b"{\"a\": 1}\n", DataFormat::Jsonl, "has lines of JSON"),
        (b"a,b\n1\n", DataFormat::Csv, "has 1 cells in line 2"),
        (b"", DataFormat::Csv, "has no row"),
    ] {
        let error = mapped(content, format).expect_err("no table");
        assert!(error.starts_with(why), "{error}");
    }
}

#[test]
fn columns_take_the_place_of_a_header() {
    let columns = Some(vec!["a".to_owned(), "b".to_owned()]);
    let with = FileLayout {
        columns: columns.clone(),
        ..layout(DataFormat::Csv)
    };
    assert_eq!(rows(&read("x,y\n1,2\n", &with)), [["1", "2"]]);
    let without = FileLayout {
        header: false,
        delimiter: b';',
        columns,
        ..layout(DataFormat::Csv)
    };
    let table = read("1;2\n3;4", &without);
    assert_eq!(table.columns(), ["a", "b"]);
    assert_eq!(rows(&table), [["1", "2"], ["3", "4"]]);
}

#[test]
fn tabs_and_lines_know_no_quotes() {
    let table = read("a\tb\n\"1\t2,3\n", &layout(DataFormat::Tsv));
    assert_eq!(rows(&table), [["\"1", "2,3"]]);
    let table = read("one, \"two\"\r\n\nthree\n", &layout(DataFormat::Lines));
    assert_eq!(table.columns(), ["line"]);
    assert_eq!(rows(&table), [["one, \"two\""], ["three"]]);
}

#[test]
fn json_keeps_numbers_and_objects_as_they_are_written() {
    let text = "{\"id\": 1.50, \"name\": \"a\\n\\\"b\\\"\", \"tags\": [1, \"x\"]}\n\n\
                {\"name\": null, \"more\": 0, \"tags\": {}, \"id\": true}\n";
    let table = read(text, &layout(DataFormat::Jsonl));
    assert_eq!(table.columns(), ["id", "name", "tags"]);
    assert_eq!(
        rows(&table),
        [["1.50", "a\n\"b\"", "[1, \"x\"]"], ["true", "", "{}"]]
    );
    let only = FileLayout {
        columns: Some(vec!["name".to_owned()]),
        ..layout(DataFormat::Jsonl)
    };
    assert_eq!(rows(&read(text, &only)), [["a\n\"b\""], [""]]);
}

#[test]
fn gzip_is_recognised_and_members_follow_each_other() {
    let mut file = Vec::new();
    for part in ["a,b\n1,2\n", "3,4\n"] {
        let mut encoder = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
        encoder.write_all(part.as_bytes()).unwrap();
        encoder.finish().unwrap();
    }
    let table = DataTable::read(file.into(), &layout(DataFormat::Csv)).unwrap();
    assert_eq!(rows(&table), [["1", "2"], ["3", "4"]]);
}

#[test]
fn cell_is_escaped_across_its_quotes() {
    let table = read("a\n\"x\"\" y\"\n", &layout(DataFormat::Csv));
    for (escape, expected) in [(Escape::Json, "x\\\" y"), (Escape::Query, "x%22%20y")] {
        let (mut out, cell) = (Vec::new(), table.cell(0, 0));
        cell.put(escape, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(cell.length(escape), expected.len());
    }
    assert_eq!(table.cell(1, 0).length(Escape::None), 0, "no such row");
    assert_eq!(table.cell(0, 1).length(Escape::None), 0, "no such column");
}

proptest! {
    #[test]
    fn csv_is_read_as_it_was_written(
        cells in prop::collection::vec(prop::collection::vec("[a-z,\"\r\n é]{0,6}", 3), 1..8),
        every_one in any::<bool>(),
        end in "\r?\n",
    ) {
        let quote = |cell: &String| {
            let needs = cell.contains([',', '"', '\r', '\n']) || cell.is_empty();
            if needs || every_one {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let line = |row: &Vec<String>| row.iter().map(quote).collect::<Vec<_>>().join(",");
        let text: String = cells.iter().map(|row| line(row) + &end).collect();
        let layout = FileLayout {
            header: false,
            columns: Some(["a", "b", "c"].map(str::to_owned).to_vec()),
            ..layout(DataFormat::Csv)
        };
        prop_assert_eq!(rows(&read(&text, &layout)), cells.clone());
        // Without the last line end too.
        prop_assert_eq!(rows(&read(text.trim_end_matches(end.as_str()), &layout)), cells);
    }
}

#[test]
fn rows_know_their_lines() {
    let csv = "a,b\n1,2\n\n\"x\ny\",3\n4,5\n";
    let table = read(csv, &layout(DataFormat::Csv));
    let lines =
        |table: &DataTable| -> Vec<u64> { (0..table.rows()).map(|row| table.line(row)).collect() };
    assert_eq!(lines(&table), [2, 4, 6]);
    let json = "\n{\"a\": \"x\\ny\"}\n{\"a\": 1}\n\n{\"a\": 2}\n";
    assert_eq!(lines(&read(json, &layout(DataFormat::Jsonl))), [2, 3, 5]);
}
