//! What a run took of its data files, and which rows failed. Cells are shown nowhere, since they
//! can be secret, except for server names, which cannot.

use super::{ContentBlock, Remark, Section, Table, Topic};
use crate::style::Paint;
use analysis::human::{counted, one_or_many};
use analysis::{AgentResult, DataFigures, Document, FailedRowFigure};

/// Failed rows that a terminal shows.
const TERMINAL_ROWS: usize = 10;

/// No section if the plan has no data file.
pub(super) fn section(document: &Document) -> Section {
    let files = &document.data;
    let taken = Table {
        optional: &[1, 3],
        ..Table::new(
            &["", "file", "rows", "order", "taken", "distinct", "failed"],
            files.iter().map(row).collect(),
        )
    };
    let failed = files.iter().flat_map(|file| {
        let rows = file.failed_rows.iter();
        rows.map(|failed| failed_row(&file.name, failed))
    });
    let failed = Table {
        terminal_rows: TERMINAL_ROWS,
        ..Table::new(&["failed row", "line", "errors"], failed.collect())
    };
    let blocks = [
        ContentBlock::Table(taken),
        ContentBlock::Remarks(remarks(document)),
        ContentBlock::Table(failed),
    ];
    Section::new(Topic::Data, "Data files", blocks)
}

fn row(file: &DataFigures) -> Vec<String> {
    let distinct = file.distinct.map(|distinct| distinct.to_string());
    vec![
        file.name.clone(),
        file.file.clone(),
        file.rows.to_string(),
        file.order.clone(),
        file.taken.to_string(),
        distinct.unwrap_or_default(),
        file.failed.to_string(),
    ]
}

fn failed_row(name: &str, failed: &FailedRowFigure) -> Vec<String> {
    let errors = failed.failures.iter();
    let errors: Vec<String> = errors
        .map(|(error, number)| format!("{number} × {error}"))
        .collect();
    let server_name = failed.server_name.as_ref();
    let server_name = server_name.map(|name| format!(": {name}"));
    vec![
        format!("{name} {}{}", failed.row, server_name.unwrap_or_default()),
        failed.line.to_string(),
        errors.join(", "),
    ]
}

fn remarks(document: &Document) -> Vec<Remark> {
    let not_sent = document.data.iter().filter(|file| file.not_sent > 0);
    let not_sent = not_sent.map(|file| {
        let was = one_or_many(file.not_sent, "was", "were");
        let with = counted(file.not_sent, "operation");
        format!(
            "{}: {with} of those that took a row {was} never sent",
            file.name
        )
    });
    let once = document.data.iter().filter(|file| file.order == "unique");
    let unknown = once.flat_map(|file| {
        let lost = document.agents.iter();
        lost.filter_map(|agent| unknown_rows(&file.name, agent))
    });
    let sentences = not_sent.chain(unknown);
    sentences
        .map(|text| Remark::new(Paint::Faint, text))
        .collect()
}

/// What is not known of the rows that a lost agent had.
fn unknown_rows(name: &str, agent: &AgentResult) -> Option<String> {
    let unstored = agent.unstored?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let (from, to) = (seconds(unstored.from_ns), seconds(unstored.to_ns));
    let rows = match unstored.arrivals {
        Some(most) => format!("rows of up to {}", counted(most, "arrival")),
        None => "rows".to_owned(),
    };
    Some(format!(
        "{name}: {rows} may or may not have been sent, and are not counted here: those of agent {} \
         between second {from:.1} and {to:.1}",
        agent.name
    ))
}
