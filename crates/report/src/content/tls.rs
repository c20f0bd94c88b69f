//! What handshakes agreed on, which key the server used, and whether sessions were resumed.

use super::tls_words::{sentences, session_matrix};
use super::{ContentBlock, Remark, Section, Table, Topic};
use crate::style::Paint;
use analysis::{Document, FigureGroup};
use measure::Period;

/// Empty for a plan without TLS, or if no handshake was completed.
pub(super) fn section(document: &Document) -> Section {
    let Some((figures, period)) = document.handshakes() else {
        return Section::new(Topic::Tls, "TLS", []);
    };
    let title = match period {
        Period::Measured => "TLS",
        Period::WarmUp => "TLS (connections were opened in the warm-up)",
    };
    let modes = document.plan.cheap_modes();
    let cheap = (!modes.is_empty()).then(|| {
        let text = format!("cheap client: {}", modes.join(", "));
        Remark::new(Paint::Doubtful, text)
    });
    let blocks = [
        ContentBlock::Items(Remark::plain(sentences(figures))),
        ContentBlock::Table(by_address(&document.by_address)),
        // With one address there is nothing to compare; a matrix of many addresses is only in
        // `result.json`.
        ContentBlock::Table(
            session_matrix(document).unwrap_or_else(|| Table::new(&[], Vec::new())),
        ),
        ContentBlock::Items(cheap.into_iter().collect()),
    ];
    Section::new(Topic::Tls, title, blocks)
}

/// By address, since servers behind several addresses need not share their ticket keys.
fn by_address(addresses: &[FigureGroup]) -> Table {
    let headings = ["", "handshakes", "full", "resumed", "offered", "refused"];
    let handshaken = addresses.iter();
    let handshaken: Vec<&FigureGroup> = handshaken
        .filter(|group| group.figures.resumption.handshakes > 0)
        .collect();
    let row = |group: &&FigureGroup| {
        let counted = &group.figures.resumption;
        let numbers = [
            counted.handshakes,
            counted.full,
            counted.resumed,
            counted.offered,
            counted.refused,
        ];
        let cells = numbers.iter().map(u64::to_string);
        std::iter::once(group.name.clone()).chain(cells).collect()
    };
    let rows = match handshaken.len() {
        0 | 1 => Vec::new(),
        _ => handshaken.iter().map(row).collect(),
    };
    Table::new(&headings, rows)
}
