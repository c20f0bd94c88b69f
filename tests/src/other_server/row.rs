//! A request in a server's log.

use std::str::SplitWhitespace;

/// A request in a server's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRow {
    /// What distinguishes connections, usually the client's port.
    pub connection: u64,
    /// Whether its session was resumed; `None` if the server does not say.
    pub resumed: Option<bool>,
    /// Version of HTTP: `1.1` or `2`.
    pub http: String,
    /// Status of the answer; `None` if the server does not say.
    pub status: Option<u16>,
    /// The path as received.
    pub path: String,
}

/// Reads rows such as `row CONNECTION RESUMED HTTP STATUS PATH`.
pub(super) fn rows(text: &str) -> Vec<OtherRow> {
    text.lines()
        .filter_map(|line| line.strip_prefix("row "))
        .map(row)
        .collect()
}

fn row(line: &str) -> OtherRow {
    let mut fields = line.split_whitespace();
    let mut next = |_: &str| {
        SplitWhitespace::next(&mut fields).unwrap_or_else(|| panic!("not a row: {line:?}"))
    };
    OtherRow {
        connection: next("connection").parse().unwrap(),
        resumed: resumed(next("resumed")),
        http: http(next("http")),
        status: next("status").parse().ok(),
        path: next("path").to_owned(),
    }
}

/// Every server has its own word for it.
fn resumed(word: &str) -> Option<bool> {
    match word {
        "Resumed" | "true" | "1" => Some(true),
        "Initial" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// `HTTP/2.0`, `HTTP/2` and `2.0` all mean 2.
pub(super) fn http(word: &str) -> String {
    let number = word.trim_start_matches("HTTP/");
    if number.starts_with('2') {
        "2".to_owned()
    } else {
        number.to_owned()
    }
}
