//! What became of the tokens that requests carry.

use super::{ContentBlock, Section, Table, Topic};
use analysis::human::time;
use analysis::{Document, TokenFigures};

/// No section if the plan has no tokens fetched.
pub(super) fn section(document: &Document) -> Section {
    let headings = [
        "token of",
        "fetched",
        "not fetched",
        "ran out",
        "first at",
        "requests",
        "with an expired one",
    ];
    let table = Table {
        optional: &[4],
        ..Table::new(&headings, document.tokens.iter().map(row).collect())
    };
    Section::new(Topic::Tokens, "Tokens", [ContentBlock::Table(table)])
}

fn row(token: &TokenFigures) -> Vec<String> {
    let first = token.first_ran_out_ns;
    vec![
        token.auth.clone(),
        token.fetched.to_string(),
        token.not_fetched.to_string(),
        token.ran_out.to_string(),
        first.map_or(String::new(), |at| time(at as f64)),
        token.requests.to_string(),
        token.expired_requests.to_string(),
    ]
}
