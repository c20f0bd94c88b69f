//! Sentences about a run's TLS, for every format that people read.

use super::Table;
use analysis::human::{self, age, bytes, number, share};
use analysis::{
    ChainFigure, Document, EarlyDataFigures, Figures, NegotiatedFigure, RatioFigure,
    ResumptionFigures, SessionOffers, StapleFigure,
};
use std::collections::BTreeSet;

/// Digits shown of a chain's hash; `result.json` has all of them.
const HASH_DIGITS: usize = 16;

/// Sentences about handshakes, what they agreed on, the server's chain and OCSP staple, and resumed
/// sessions.
pub(crate) fn sentences(figures: &Figures) -> Vec<String> {
    let mut sentences = vec![handshakes(figures)];
    sentences.extend(
        figures
            .handshake_in_connects
            .iter()
            .map(|(kind, ratio)| in_connects(kind, ratio)),
    );
    sentences.extend(figures.negotiated.iter().map(agreement));
    sentences.extend(figures.chains.iter().map(chain));
    sentences.extend(figures.ocsp_staples.iter().map(staple));
    sentences.push(resumption(&figures.resumption));
    sentences.extend(early_data(&figures.early_data));
    sentences
}

fn handshakes(figures: &Figures) -> String {
    let counted = &figures.resumption;
    let each = |total: u64| bytes(total as f64 / counted.handshakes as f64);
    format!(
        "{}; {} received and {} sent each",
        handshake_kinds(figures),
        each(figures.bytes.handshake_received_bytes),
        each(figures.bytes.handshake_sent_bytes)
    )
}

/// The number of handshakes, by kind.
pub(crate) fn handshake_kinds(figures: &Figures) -> String {
    let counted = &figures.resumption;
    let retried = if counted.retried > 0 {
        format!(", {} after a HelloRetryRequest", counted.retried)
    } else {
        String::new()
    };
    format!(
        "{}: {} full, {} resumed{retried}",
        human::counted(counted.handshakes, "handshake"),
        counted.full,
        counted.resumed
    )
}

fn in_connects(kind: &str, ratio: &RatioFigure) -> String {
    let RatioFigure { p50, p99, max, .. } = *ratio;
    format!(
        "{kind} handshakes took {} times their TCP connect (p50; p99 {}, max {})",
        number(p50),
        number(p99),
        number(max)
    )
}

fn agreement(agreed: &NegotiatedFigure) -> String {
    let staple = if agreed.ocsp_staple {
        "OCSP staple"
    } else {
        ""
    };
    let alpn = if agreed.alpn.is_empty() {
        "no ALPN"
    } else {
        &agreed.alpn
    };
    let kind = agreed.handshake.replace('_', ", ");
    let parts = [
        &agreed.version,
        &agreed.suite,
        &agreed.group,
        &agreed.signature_scheme,
        alpn,
        staple,
        &kind,
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!(
        "{}: {} ({})",
        share(agreed.share),
        parts.join(" · "),
        agreed.count
    )
}

fn chain(sent: &ChainFigure) -> String {
    let hash: String = sent.sha256.chars().take(HASH_DIGITS).collect();
    let certificates = human::counted(u64::from(sent.certificates), "certificate");
    format!(
        "{}: key {}, {certificates}, {}, SHA-256 {hash}…",
        share(sent.share),
        sent.key,
        bytes(f64::from(sent.chain_bytes))
    )
}

fn staple(sent: &StapleFigure) -> String {
    let old = match sent.age_at_start_s {
        Some(seconds @ 0..) => format!(" {} old when the run began", age(seconds as f64)),
        Some(seconds) => format!(
            " issued {} after the run began",
            age(seconds.unsigned_abs() as f64)
        ),
        None => " whose times cannot be read".to_owned(),
    };
    let until = sent
        .next_update
        .as_ref()
        .map(|until| format!(", to be renewed by {until}"));
    format!(
        "{}: OCSP staple{old}{} ({})",
        share(sent.share),
        until.unwrap_or_default(),
        sent.count
    )
}

fn resumption(counted: &ResumptionFigures) -> String {
    if counted.offered + counted.none_at_hand == 0 {
        return format!(
            "resumption: none offered; {} received",
            human::counted(counted.received, "session")
        );
    }
    let (accepted, refused) = (counted.accepted, counted.refused);
    let outcome = format!(
        "{accepted} accepted, {refused} refused, {} had none at hand",
        counted.none_at_hand
    );
    format!(
        "resumption: {} offered, {outcome}; {} received",
        counted.offered,
        human::counted(counted.received, "session")
    )
}

fn early_data(counted: &EarlyDataFigures) -> Option<String> {
    let EarlyDataFigures {
        offered,
        accepted,
        rejected,
        too_early,
    } = *counted;
    let again = if too_early > 0 {
        format!(" ({too_early} answered 425 and sent again)")
    } else {
        String::new()
    };
    (offered > 0).then(|| {
        format!(
            "early data: {}, {accepted} accepted{again}, {rejected} rejected and sent again",
            human::counted(offered, "request")
        )
    })
}

/// A matrix with more addresses is not shown as text.
const MATRIX_MAX: usize = 8;

/// Which address accepted the sessions of which: one row per issuer, `accepted / offered` for each
/// address. `None` if there is a single address, or more than a page can hold.
pub(crate) fn session_matrix(document: &Document) -> Option<Table> {
    let offers = &document.session_offers;
    // Rows are issuers, columns are addresses that were offered a session; the two sets may differ.
    let issuers: BTreeSet<&String> = offers.iter().map(|offers| &offers.issued_by).collect();
    let acceptors: BTreeSet<&String> = offers.iter().map(|offers| &offers.offered_to).collect();
    if offers.is_empty() || issuers.len().max(acceptors.len()) > MATRIX_MAX {
        return None;
    }
    let first = std::iter::once("sessions issued by".to_owned());
    let headings = first.chain(acceptors.iter().map(|to| format!("taken by {to}")));
    let rows = issuers.iter().map(|by| matrix_row(offers, by, &acceptors));
    let (rows, shares) = rows.unzip();
    Some(Table {
        headings: headings.collect(),
        shares,
        ..Table::new(&[], rows)
    })
}

/// The cells of an issuer's row, and the share that each of them stands for.
fn matrix_row(
    offers: &[SessionOffers],
    by: &str,
    acceptors: &BTreeSet<&String>,
) -> (Vec<String>, Vec<Option<f64>>) {
    let is_it = |found: &&SessionOffers, to: &str| found.issued_by == by && found.offered_to == to;
    let cells = acceptors.iter();
    let cells = cells.map(|to| offers.iter().find(|found| is_it(found, to)));
    let first = std::iter::once((by.to_owned(), None));
    let cells = cells.map(|found| (acceptance(found), found.and_then(share_taken)));
    first.chain(cells).unzip()
}

fn acceptance(found: Option<&SessionOffers>) -> String {
    match found {
        Some(found) => format!("{} / {}", found.accepted, found.offered),
        None => "-".to_owned(),
    }
}

fn share_taken(found: &SessionOffers) -> Option<f64> {
    (found.offered > 0).then(|| found.accepted as f64 / found.offered as f64)
}
