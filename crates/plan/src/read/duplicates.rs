//! Keys that TOML forbids because they stand in a table twice, with both places: the parser knows
//! the second only.

use super::node::{self, Node, NodeValue, Table, Twice, join};
use std::ops::Range;

/// More would help nobody, and their numbers have one digit.
const MAX_DUPLICATES: usize = 9;

/// The parser's words for them.
const DUPLICATE: &str = "duplicate key";

/// Every key of `text` that stands there twice, unless something else is no TOML before.
///
/// A second key is overwritten by a name that nobody has, so that the parser goes on and tells in
/// which table it stands.
pub(super) fn find(text: &str) -> Vec<Twice> {
    let mut renamed = text.to_owned();
    let mut seconds: Vec<Range<usize>> = Vec::new();
    let root = loop {
        let error = match toml_edit::Document::parse(renamed.as_str()) {
            Ok(document) => break node::tree(&document).0,
            Err(error) => error,
        };
        let span = error.span().filter(|_| error.message() == DUPLICATE);
        let Some(span) = span.filter(|span| !seconds.contains(span)) else {
            return Vec::new();
        };
        if seconds.len() == MAX_DUPLICATES {
            return Vec::new();
        }
        // As long as it was, so that all places stay.
        let (number, width) = (seconds.len(), span.len());
        renamed.replace_range(span.clone(), &format!("{number:->width$}"));
        seconds.push(span);
    };
    let twice = |second: &Range<usize>| first_of(&root, text, second);
    seconds.iter().filter_map(twice).collect()
}

/// The key beside the one at `second` that had its name.
fn first_of(root: &Node, text: &str, second: &Range<usize>) -> Option<Twice> {
    let name = text.get(second.clone())?.trim_matches(['"', '\'']);
    let NodeValue::Table(table) = &root.value else {
        return None;
    };
    let (path, table) = table_with(table, "", second.start)?;
    Some(Twice {
        path: join(&path, name),
        first: table.get(name)?.at,
        second: second.start,
    })
}

/// The table that has a key at byte `at`, with its path.
fn table_with<'t>(table: &'t Table, path: &str, at: usize) -> Option<(String, &'t Table)> {
    if table.values().any(|entry| entry.at == at) {
        return Some((path.to_owned(), table));
    }
    table.iter().find_map(|(name, entry)| {
        let path = join(path, name);
        tables(&entry.node).find_map(|inner| table_with(inner, &path, at))
    })
}

/// The tables that a value is, or is a list of.
fn tables(node: &Node) -> impl Iterator<Item = &Table> {
    let nodes = match &node.value {
        NodeValue::List(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    nodes.iter().filter_map(|node| match &node.value {
        NodeValue::Table(table) => Some(table),
        _ => None,
    })
}
