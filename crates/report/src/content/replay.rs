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
    Section::new(Topic::Replay, "Replay", [ContentBlock::Table(table)])
}
