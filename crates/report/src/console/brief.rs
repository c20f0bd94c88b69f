//! The summary of `quick`: what its users look for, on a screen of 24 lines and 80 columns.

use crate::Style;
use crate::content::{
    connections, errors_in_words, handshake_kinds, journey_rates, journeys, operations,
    percentile_cell, rate, what_was_asked,
};
use crate::headline::{tone, verdict_sentence};
use crate::page::Page;
use crate::style::Paint;
use crate::table::TextTable;
use analysis::human::share;
use analysis::{Document, Figures, GrpcFigures};

/// Items shown of each list; the full summary has the rest.
const LISTED_MAX: usize = 2;

/// Status codes shown on their line.
const STATUSES_MAX: usize = 6;

/// Rows of the table of times.
const TIMES: [(&str, &str); 3] = [
    ("response time", "response_time"),
    ("connect (TCP)", "connect"),
    ("handshake, full", "handshake_full"),
];

/// Columns of the table of times.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

pub(crate) fn render(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Paint::Title, "", &document.plan.url);
    page.paragraph(Paint::Faint, "", &what_was_asked(document));
    verdict(&mut page, document);
    page.blank();
    totals(&mut page, document);
    times(&mut page, &document.measured);
    statuses(&mut page, &document.measured);
    grpc(&mut page, document);
    errors(&mut page, &document.measured);
    tls(&mut page, document);
    notes(&mut page, &document.notes);
    page.finish()
}

fn verdict(page: &mut Page, document: &Document) {
    let record = &document.verdict;
    page.paragraph(tone(record.verdict), "", &verdict_sentence(document));
    // Without a success there are no times to show, and the advice comes last.
    let has_success = document.measured.operations.ok > 0;
    let most = if has_success { LISTED_MAX } else { usize::MAX };
    let told = record.evidence.iter().take(most);
    told.for_each(|evidence| page.paragraph(Paint::Plain, "  · ", evidence));
}

fn totals(page: &mut Page, document: &Document) {
    let figures = &document.measured;
    let of_journeys = [
        ("Journeys", journeys(document)),
        ("", journey_rates(document)),
    ];
    for (label, text) in of_journeys {
        text.iter().for_each(|text| page.fact(label, text));
    }
    page.fact("Operations", &operations(figures));
    page.fact("Errors", &errors_in_words(figures));
    page.fact("Rate", &rate(document));
    page.fact("Connections", &connections(figures));
}

fn times(page: &mut Page, figures: &Figures) {
    let headings = PERCENTILES.map(|wanted| format!("{wanted} %"));
    let headings: Vec<&str> = std::iter::once("")
        .chain(headings.iter().map(String::as_str))
        .collect();
    let mut table = TextTable::new(&headings);
    for (label, metric) in TIMES {
        let Some(figure) = figures.times.get(metric) else {
            continue;
        };
        let at = |wanted| percentile_cell(figure, wanted);
        let row = std::iter::once(label.to_owned()).chain(PERCENTILES.map(at));
        table.row(row.collect());
    }
    if !table.is_empty() {
        page.blank();
        page.table(&table);
    }
}

fn statuses(page: &mut Page, figures: &Figures) {
    let counted = figures.statuses.iter().take(STATUSES_MAX);
    let counted: Vec<String> = counted
        .map(|(status, count)| format!("{count} × {status}"))
        .collect();
    if !counted.is_empty() {
        page.fact("Status", &counted.join(", "));
    }
}

fn grpc(page: &mut Page, document: &Document) {
    let together = GrpcFigures::together(&document.grpc);
    let counted = together.iter().take(STATUSES_MAX);
    let counted: Vec<String> = counted
        .map(|(status, count)| format!("{count} × {status}"))
        .collect();
    if !counted.is_empty() {
        page.fact("gRPC", &counted.join(", "));
    }
}

fn errors(page: &mut Page, figures: &Figures) {
    for error in figures.errors.iter().take(LISTED_MAX) {
        let text = format!("{}: {} [{}]", share(error.share), error.words, error.name);
        page.fact("Failed", &text);
    }
}

/// The number of handshakes, and what most of them agreed on.
fn tls(page: &mut Page, document: &Document) {
    let Some((figures, _)) = document.handshakes() else {
        return; // the plan has no TLS, or no handshake was completed
    };
    page.fact("TLS", &handshake_kinds(figures));
    let most = figures.negotiated.iter().max_by_key(|agreed| agreed.count);
    let most = most.map(|agreed| {
        let share = share(agreed.share);
        format!(
            "{} · {} · {} ({share})",
            agreed.version, agreed.suite, agreed.group
        )
    });
    most.iter().for_each(|agreed| page.fact("", agreed));
}

fn notes(page: &mut Page, notes: &[String]) {
    notes
        .iter()
        .take(LISTED_MAX)
        .for_each(|note| page.fact("Note", note));
}
