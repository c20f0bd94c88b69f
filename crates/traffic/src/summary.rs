//! What an import read, wrote and left out, in numbers and in words.

use crate::format::TrafficFormat;
use crate::skip::{LineError, SkipReason};
use std::collections::BTreeMap;
use std::fmt;

/// Lines that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLines {
    /// How many.
    pub count: u64,
    /// The first one, from 1.
    pub first: u64,
    /// What is wrong with the first one, if it cannot be parsed.
    pub error: Option<LineError>,
}

/// What an import read, wrote and left out. A place is a line, or an entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSummary {
    /// The format of the input.
    pub format: TrafficFormat,
    /// Lines, entries or records that were read.
    pub read: u64,
    /// Requests that were written.
    pub written: u64,
    /// What was left out, by reason.
    pub skipped: BTreeMap<SkipReason, SkippedLines>,
    /// Time from the first request to the last one.
    pub length_ns: u64,
    /// Requests that are written without the body that they had.
    pub emptied: u64,
    /// Requests whose stamp was a whole second, and which were spread within it.
    pub spread: u64,
    /// Header fields that no request can have, and which were left out.
    pub dropped_headers: u64,
    /// Requests with header fields that may be secrets.
    pub with_secrets: u64,
}

impl ImportSummary {
    pub(crate) fn new(format: TrafficFormat) -> ImportSummary {
        ImportSummary {
            format,
            read: 0,
            written: 0,
            skipped: BTreeMap::new(),
            length_ns: 0,
            emptied: 0,
            spread: 0,
            dropped_headers: 0,
            with_secrets: 0,
        }
    }

    pub(crate) fn skip(&mut self, place: u64, reason: SkipReason, error: Option<LineError>) {
        let skipped = self.skipped.entry(reason).or_insert(SkippedLines {
            count: 0,
            first: place,
            error: None,
        });
        skipped.count += 1;
        // Lines that wait are left out later than they came.
        if skipped.count == 1 || place < skipped.first {
            (skipped.first, skipped.error) = (place, error);
        }
    }
}

/// What a place in a log of this format is called.
pub(crate) fn place_word(format: TrafficFormat) -> &'static str {
    if format == TrafficFormat::Har {
        "entry"
    } else {
        "line"
    }
}

/// `1 request`, `2 requests`.
fn count(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

impl fmt::Display for ImportSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = place_word(self.format);
        let places = match self.format {
            TrafficFormat::Har => count(self.read, "entry", "entries"),
            TrafficFormat::Goreplay => count(self.read, "request record", "request records"),
            _ => count(self.read, "line", "lines"),
        };
        let seconds = self.length_ns as f64 / 1e9;
        let requests = count(self.written, "request", "requests");
        let format = self.format;
        write!(
            f,
            "{format}: read {places}, wrote {requests} over {seconds:.3} s"
        )?;
        for (reason, skipped) in &self.skipped {
            let (number, first) = (skipped.count, skipped.first);
            write!(
                f,
                "\nskipped {number}, first {place} {first}: {}",
                reason.text()
            )?;
            if let Some(error) = &skipped.error {
                write!(f, " (column {}: {})", error.column, error.why)?;
            }
        }
        if self.emptied > 0 {
            let requests = count(self.emptied, "request has", "requests have");
            write!(
                f,
                "\nnote: {requests} no body, because the log does not have it"
            )?;
        }
        if self.spread > 0 {
            let requests = count(self.spread, "request has", "requests have");
            write!(
                f,
                "\nnote: the log stamps whole seconds: {requests} a random instant within theirs"
            )?;
        }
        if self.dropped_headers > 0 {
            let fields = count(self.dropped_headers, "header field", "header fields");
            write!(
                f,
                "\nnote: {fields} left out that cannot be sent (control characters, not UTF-8)"
            )?;
        }
        if self.with_secrets > 0 {
            let requests = count(self.with_secrets, "request has", "requests have");
            write!(
                f,
                "\nnote: {requests} cookies or credentials, as the log has them; keep the file safe"
            )?;
        }
        Ok(())
    }
}
