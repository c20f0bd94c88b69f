//! What a run sent of the log that it replayed.

use super::{ContentBlock, Section, Table, Topic};
use analysis::Document;
use analysis::human::time;

/// No section if the plan replays nothing.
pub(super) fn section(document: &Document) -> Section {
    let row = |replay: &analysis::ReplayFigures| {
        let planned = replay.planned_connections;
        vec![
            replay.file.clone(),
            replay.requests.to_string(),
            time(replay.length_ns as f64),
            replay.speed.to_string(),
            replay.turns.to_string(),
            replay.sent.to_string(),
            replay.not_sent.to_string(),
            replay.other_status.to_string(),
            planned.map_or(String::new(), |planned| planned.to_string()),
            planned.map_or(String::new(), |_| replay.opened_connections.to_string()),
        ]
    };
    let headings = [
        "log",
        "requests",
        "length",
        "speed",
        "turns",
        "begun",
        "not sent",
        "other status",
        "connections",
        "opened",
    ];
    let table = Table {
        optional: &[2, 4, 8, 9],
        ..Table::new(&headings, document.replay.iter().map(row).collect())
    };
    let handshakes = document.replay.iter().filter_map(handshakes);
    let blocks = [ContentBlock::Table(table)].into_iter().chain(handshakes);
    Section::new(Topic::Replay, "Replay", blocks)
}

/// Handshakes of the log and those made in their place; `None` if they are not repeated.
fn handshakes(replay: &analysis::ReplayFigures) -> Option<ContentBlock> {
    let of = replay.handshakes.as_ref()?;
    let row = |name: &str, planned: u64, made: u64| {
        vec![name.to_owned(), planned.to_string(), made.to_string()]
    };
    let rows = vec![
        row("full", of.planned_full, of.full),
        row("resumed", of.planned_resumed, of.resumed),
        row("TLS 1.2", of.planned_tls12, of.tls12),
        row("TLS 1.3", of.planned_tls13, of.tls13),
    ];
    let mut table = Table::new(&["handshakes", "in the log", "made"], rows);
    let failed = of.none_at_hand + of.refused;
    if failed > 0 {
        let row = |name: &str, made: u64| vec![name.to_owned(), String::new(), made.to_string()];
        table.rows.push(row("asked to resume, made full", failed));
        table
            .rows
            .push(row("… since there was no session", of.none_at_hand));
        table
            .rows
            .push(row("… since the server refused it", of.refused));
    }
    Some(ContentBlock::Table(table))
}
