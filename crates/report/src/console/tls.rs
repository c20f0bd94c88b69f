//! What handshakes agreed on, whose key answered, and what became of sessions.

use crate::page::Page;
use crate::style::Paint;
use crate::table::TextTable;
use crate::tls_words::{sentences, session_matrix};
use analysis::{Document, FigureGroup};
use measure::Period;

pub(crate) fn write(page: &mut Page, document: &Document) {
    let Some((figures, period)) = document.handshakes() else {
        return; // a plan without TLS, or no handshake was completed
    };
    page.title(match period {
        Period::Measured => "TLS",
        Period::WarmUp => "TLS (connections were opened in the warm-up)",
    });
    sentences(figures)
        .iter()
        .for_each(|sentence| page.paragraph(Paint::Plain, "  · ", sentence));
    by_address(page, &document.by_address);
    by_issuer(page, document);
    let modes = document.plan.cheap_modes();
    if !modes.is_empty() {
        page.paragraph(
            Paint::Doubtful,
            "  · ",
            &format!("cheap client: {}", modes.join(", ")),
        );
    }
}

/// Servers behind several addresses need not share their ticket keys.
fn by_address(page: &mut Page, addresses: &[FigureGroup]) {
    let handshaken: Vec<&FigureGroup> = addresses
        .iter()
        .filter(|group| group.figures.resumption.handshakes > 0)
        .collect();
    if handshaken.len() < 2 {
        return;
    }
    let mut table = TextTable::new(&["", "handshakes", "full", "resumed", "offered", "refused"]);
    for group in handshaken {
        let counted = &group.figures.resumption;
        let numbers = [
            counted.handshakes,
            counted.full,
            counted.resumed,
            counted.offered,
            counted.refused,
        ];
        table.row(
            std::iter::once(group.name.clone())
                .chain(numbers.iter().map(u64::to_string))
                .collect(),
        );
    }
    page.table(&table);
}

/// Which address took the sessions that which had issued.
fn by_issuer(page: &mut Page, document: &Document) {
    let Some(matrix) = session_matrix(document) else {
        return; // one address takes its own, and more than a page holds stand in the file
    };
    let headings: Vec<&str> = matrix.headings.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&headings);
    matrix.rows.into_iter().for_each(|row| table.row(row));
    page.table(&table);
}
