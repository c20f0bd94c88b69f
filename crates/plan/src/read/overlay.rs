//! Applies a variant to the file's tree: paths reach into tables, values are replaced as a whole.

use crate::path::join;
use crate::read::context::Context;
use crate::read::node::{KeyedNode, Node, NodeValue, Table};

/// Keys that are common to all variants, with the reason.
pub(crate) const SHARED: [(&str, &str); 5] = [
    (
        "name",
        "is the same for every variant, whose own name stands beside it; remove it here",
    ),
    (
        "variants",
        "stands once, at the top level; write every variant there",
    ),
    (
        "matrix",
        "stands once, at the top level, and is multiplied with every variant; remove it here",
    ),
    (
        "repeat",
        "stands once, at the top level, and holds for every variant; remove it here",
    ),
    (
        "search",
        "stands once, at the top level, and is done for every variant; remove it here",
    ),
];

/// Returns `base` overlaid with `above`. Anything that does not fit is reported.
pub(crate) fn over(base: &Table, above: &Table, context: &Context<'_>) -> Table {
    let mut table = base.clone();
    lay(&mut table, above, "", context);
    table
}

fn lay(below: &mut Table, above: &Table, path: &str, context: &Context<'_>) {
    for (name, entry) in above {
        let path = join(path, name);
        match (
            below.get_mut(name).map(|below| &mut below.node.value),
            &entry.node.value,
        ) {
            (Some(NodeValue::Table(below)), NodeValue::Table(above)) if !entry.node.braced => {
                lay(below, above, &path, context)
            }
            (Some(NodeValue::List(_)), NodeValue::Table(_)) if !entry.node.braced => {
                let cure = "is a list in the file, and no path leads into a list; write the whole \
                            list here";
                context.problem(&path, Some(entry.at), cure.to_owned());
            }
            _ => drop(below.insert(name.clone(), entry.clone())),
        }
    }
}

/// Whether `table` sets the value at `path`.
pub(crate) fn says(table: &Table, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return true;
    };
    match table.get(first).map(|entry| &entry.node.value) {
        Some(NodeValue::Table(inner)) => says(inner, rest),
        Some(_) => true,
        None => false,
    }
}

/// Puts `node`, as a single value, at `path`, which is still empty.
pub(crate) fn put(table: &mut Table, path: &[String], at: usize, node: Node) {
    match path {
        [] => {}
        [last] => drop(table.insert(
            last.clone(),
            KeyedNode {
                at,
                node: Node {
                    braced: true,
                    ..node
                },
            },
        )),
        [first, rest @ ..] => {
            let new = || KeyedNode {
                at,
                node: Node::new(at, NodeValue::Table(Table::new())),
            };
            if let NodeValue::Table(inner) =
                &mut table.entry(first.clone()).or_insert_with(new).node.value
            {
                put(inner, rest, at, node);
            }
        }
    }
}
