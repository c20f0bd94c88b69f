//! What handshakes agreed on, whose key answered, and what became of sessions.

use crate::page::Page;
use crate::style::Paint;
use crate::table::Table;
use analysis::human::{bytes, share};
use analysis::{ChainFigure, Document, Figures, Group, NegotiatedFigure, Resumption};
use measure::Period;

/// Digits of a chain's hash that are shown; all stand in `result.json`.
const HASH_DIGITS: usize = 16;

pub(crate) fn write(page: &mut Page, document: &Document) {
    let Some((figures, period)) = document.handshakes() else { return };
    page.title(match period {
        Period::Measured => "TLS",
        Period::WarmUp => "TLS (connections were opened in the warm-up)",
    });
    page.paragraph(Paint::Plain, "  · ", &handshakes(figures));
    figures.negotiated.iter().for_each(|agreed| page.paragraph(Paint::Plain, "  · ", &negotiated(agreed)));
    figures.chains.iter().for_each(|sent| page.paragraph(Paint::Plain, "  · ", &chain(sent)));
    page.paragraph(Paint::Plain, "  · ", &resumption(&figures.resumption));
    by_address(page, &document.by_address);
    let modes = document.plan.cheap_modes();
    if !modes.is_empty() {
        page.paragraph(Paint::Doubtful, "  · ", &format!("cheap client: {}", modes.join(", ")));
    }
}

fn handshakes(figures: &Figures) -> String {
    let counted = &figures.resumption;
    let retried = if counted.retried > 0 { format!(", {} after a HelloRetryRequest", counted.retried) } else { String::new() };
    let each = |total: u64| bytes(total as f64 / counted.handshakes as f64);
    let size = (each(figures.bytes.handshake_received_bytes), each(figures.bytes.handshake_sent_bytes));
    let kinds = format!("{} full, {} resumed{retried}", counted.full, counted.resumed);
    format!("{} handshakes: {kinds}; {} received and {} sent each", counted.handshakes, size.0, size.1)
}

fn negotiated(agreed: &NegotiatedFigure) -> String {
    let staple = if agreed.ocsp_staple { "OCSP staple" } else { "" };
    let alpn = if agreed.alpn.is_empty() { "no ALPN" } else { &agreed.alpn };
    let kind = agreed.handshake.replace('_', ", ");
    let parts = [&agreed.version, &agreed.suite, &agreed.group, &agreed.signature_scheme, alpn, staple, &kind];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}: {} ({})", share(agreed.share), parts.join(" · "), agreed.count)
}

fn chain(sent: &ChainFigure) -> String {
    let hash: String = sent.sha256.chars().take(HASH_DIGITS).collect();
    let certificates = super::head::counted(usize::from(sent.certificates), "certificate");
    format!("{}: key {}, {certificates}, {}, SHA-256 {hash}…", share(sent.share), sent.key, bytes(f64::from(sent.chain_bytes)))
}

fn resumption(counted: &Resumption) -> String {
    if counted.offered + counted.none_at_hand == 0 {
        return format!("resumption: none offered; {} sessions received", counted.received);
    }
    let (accepted, refused) = (counted.accepted, counted.refused);
    let outcome = format!("{accepted} accepted, {refused} refused, {} had none at hand", counted.none_at_hand);
    format!("resumption: {} offered, {outcome}; {} sessions received", counted.offered, counted.received)
}

/// Servers behind several addresses need not share their ticket keys.
fn by_address(page: &mut Page, addresses: &[Group]) {
    let handshaken: Vec<&Group> = addresses.iter().filter(|group| group.figures.resumption.handshakes > 0).collect();
    if handshaken.len() < 2 {
        return;
    }
    let mut table = Table::new(&["", "handshakes", "full", "resumed", "offered", "refused"]);
    for group in handshaken {
        let counted = &group.figures.resumption;
        let numbers = [counted.handshakes, counted.full, counted.resumed, counted.offered, counted.refused];
        table.row(std::iter::once(group.name.clone()).chain(numbers.iter().map(u64::to_string)).collect());
    }
    page.table(&table);
}
