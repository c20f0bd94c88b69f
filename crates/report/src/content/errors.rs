//! Status codes of HTTP and gRPC, and errors in plain words.

use super::{ContentBlock, ErrorLine, Section, Table, Topic};
use crate::clock::clock;
use analysis::human::share;
use analysis::{Document, Figures, GrpcFigures};

pub(super) fn statuses(figures: &Figures) -> Section {
    let statuses = figures.statuses.iter();
    let rows = statuses.map(|(status, count)| vec![status.to_string(), count.to_string()]);
    let table = Table::new(&["", ""], rows.collect());
    Section::new(
        Topic::Statuses,
        "Status codes",
        [ContentBlock::Table(table)],
    )
}

/// Statuses of gRPC calls, by request if there are several.
pub(super) fn grpc(document: &Document) -> Section {
    let all = &document.grpc;
    let table = match all.as_slice() {
        [] => return Section::new(Topic::Statuses, "gRPC statuses", []),
        [one] => {
            let statuses = one.statuses.iter();
            let rows = statuses.map(|(status, count)| vec![status.clone(), count.to_string()]);
            Table::new(&["", ""], rows.collect())
        }
        _ => {
            let statuses: Vec<&str> = GrpcFigures::together(all).into_keys().collect();
            let headings: Vec<&str> = std::iter::once("").chain(statuses.clone()).collect();
            let cell = |figures: &GrpcFigures, status: &&str| {
                let count = figures.statuses.get(*status);
                count.map_or_else(String::new, ToString::to_string)
            };
            let row = |figures: &GrpcFigures| {
                let cells = statuses.iter().map(|status| cell(figures, status));
                std::iter::once(figures.request.clone())
                    .chain(cells)
                    .collect()
            };
            Table::new(&headings, all.iter().map(row).collect())
        }
    };
    Section::new(
        Topic::Statuses,
        "gRPC statuses",
        [ContentBlock::Table(table)],
    )
}

/// What servers said of gRPC calls that failed, with the request if there are several. Shares are
/// of the request's calls that ended with a status.
pub(super) fn grpc_messages(document: &Document) -> Section {
    let all = &document.grpc;
    let lines = all.iter().flat_map(|figures| {
        let messages = figures.messages.iter();
        messages.map(|message| ErrorLine {
            name: match all.len() {
                1 => message.status.clone(),
                _ => format!("{} {}", figures.request, message.status),
            },
            count: message.calls,
            share: share(message.calls as f64 / figures.answered.max(1) as f64),
            first_at: String::new(),
            words: match message.text.as_deref() {
                Some("") => "(no text)".to_owned(),
                Some(text) => text.to_owned(),
                None => "(other texts)".to_owned(),
            },
        })
    });
    let lines = ContentBlock::Errors(lines.collect());
    Section::new(Topic::Errors, "gRPC messages", [lines])
}

/// The kinds of errors, most frequent first.
pub(super) fn section(document: &Document) -> Section {
    let errors = document.measured.errors.iter();
    let lines = errors.map(|error| ErrorLine {
        name: error.name.clone(),
        count: error.count,
        share: share(error.share),
        first_at: first_second(document, &error.name),
        words: error.words.clone(),
    });
    Section::new(
        Topic::Errors,
        "Errors",
        [ContentBlock::Errors(lines.collect())],
    )
}

/// When a kind of error first occurred, including in the warm-up; empty if it is not known.
fn first_second(document: &Document, kind: &str) -> String {
    let mut rows = document.series.rows.iter();
    let first = rows.find(|row| row.errors_by_kind.contains_key(kind));
    first.map_or_else(String::new, |row| clock(f64::from(row.second)))
}
