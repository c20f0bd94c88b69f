//! A table of each agent's exact share of the load.

use plan::{Plan, Rate, Share};

/// Most agents that are listed; if there are more, the first and the last ones are.
const LISTED_MAX: u32 = 40;

/// A column: its heading, and the cell of a share, if it has one.
type Column = (&'static str, fn(&Share) -> Option<String>);

/// Heading of the number of what the load is made of, if that is requests.
const COUNTED: &str = "requests";

const COLUMNS: [Column; 7] = [
    ("rate", |share| share.rate.map(rate_text)),
    ("at most", |share| {
        share
            .peak_rate
            .filter(|&peak| Some(peak) != share.rate)
            .map(rate_text)
    }),
    ("connections", |share| {
        let own = share
            .connections
            .filter(|_| share.max_connections.is_none());
        own.map(|connections| connections.to_string())
    }),
    ("users", |share| {
        let sharing = share
            .connections
            .filter(|_| share.max_connections.is_some());
        sharing.map(|users| users.to_string())
    }),
    ("at most", |share| {
        share
            .peak_connections
            .filter(|&peak| Some(peak) != share.connections)
            .map(|peak| peak.to_string())
    }),
    ("connections", |share| {
        share
            .max_connections
            .map(|connections| format!("up to {connections}"))
    }),
    (COUNTED, |share| {
        share.requests.map(|requests| requests.to_string())
    }),
];

/// A rate as the plan would write it, to a thousandth: that of a log has any number of decimals.
fn rate_text(rate: Rate) -> String {
    let rounded = Rate::per_second((rate.as_per_second() * 1e3).round() / 1e3);
    rounded
        .filter(|rate| rate.as_per_second() > 0.0)
        .unwrap_or(rate)
        .to_string()
}

/// A line for each agent, and one for all; columns that say nothing are left out.
pub(super) fn table(plan: &Plan, agents: u32) -> String {
    let rows = rows(plan, agents);
    // A closed loop has no rate, an open one no virtual users, and many loads no peak of their own.
    let says_something = |(_, cell): &&Column| rows.iter().any(|(_, share)| cell(share).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(says_something).collect();
    let mut headings = vec!["agent".to_owned()];
    let heading = |heading: &str| match heading {
        COUNTED => plan.unit().key().to_owned(),
        other => other.to_owned(),
    };
    headings.extend(columns.iter().map(|&&(name, _)| heading(name)));
    let mut lines = vec![headings];
    for (name, share) in &rows {
        let mut line = vec![name.clone()];
        line.extend(columns.iter().map(|column| cell_of(column, share)));
        lines.push(line);
    }
    align(&lines)
}

/// One row for each agent that is listed, counted from 1 as people do, and one for the whole load.
fn rows(plan: &Plan, agents: u32) -> Vec<(String, Share)> {
    let share = |agent: u32| ((agent + 1).to_string(), plan.share(agent, agents));
    let mut rows: Vec<(String, Share)> = agents_to_list(agents).into_iter().map(share).collect();
    // A single agent has the whole load.
    rows.push(("all".to_owned(), plan.share(0, 1)));
    rows
}

fn cell_of((_, cell): &Column, share: &Share) -> String {
    cell(share).unwrap_or_else(|| "-".to_owned())
}

fn agents_to_list(agents: u32) -> Vec<u32> {
    if agents <= LISTED_MAX {
        return (0..agents).collect();
    }
    (0..LISTED_MAX / 2)
        .chain(agents - LISTED_MAX / 2..agents)
        .collect()
}

fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:>width$}"))
            .collect();
        text.push_str(&cells.join("  "));
        text.push('\n');
    }
    text
}
