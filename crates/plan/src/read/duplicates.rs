//! Keys that TOML forbids because they occur twice in a table, with both places: the parser only
//! reports the second.

use super::node::{self, Node, NodeValue, Table, Twice};
use crate::path::join;
use std::ops::Range;

/// Further ones would not help the user, and this way their numbers have one digit.
const MAX_DUPLICATES: usize = 9;

/// The parser's message for them.
const DUPLICATE: &str = "duplicate key";

/// Finds every key of `text` that occurs twice in a table, unless something else before is not
/// TOML.
///
/// A second key is overwritten by a name that cannot occur, so that the parser continues and shows
/// in which table it is.
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
        // It keeps its length, so that all positions remain valid.
        let (number, width) = (seconds.len(), span.len());
        renamed.replace_range(span.clone(), &format!("{number:->width$}"));
        seconds.push(span);
    };
    let twice = |second: &Range<usize>| first_of(&root, text, second);
    seconds.iter().filter_map(twice).collect()
}

/// The first key with the same name as the one at `second`, in the same table.
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

/// The tables in a value, which can be one or a list of them.
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
