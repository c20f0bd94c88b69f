//! Reads `[variants]`: names, and the changes of each to the file.

use crate::path::join;
use crate::read::field::Field;
use crate::read::is_fit;
use crate::read::node::{NodeValue, Table};
use crate::read::overlay::SHARED;
use crate::read::section::PlanSection;

const MAX_NAME_BYTES: usize = 64;

/// One line of `[variants]`.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) table: Table,
}

/// Reads all variants in the file's order; if there are none, an unnamed one that changes nothing.
pub(crate) fn read(section: &PlanSection<'_>) -> Vec<Named> {
    let fields = section.all();
    if fields.is_empty() && section.is_given() {
        section.problem(
            "has no variant; write one such as tickets = { tls.resumption = \"always\" }, or \
             remove the section",
        );
    }
    let named: Vec<Named> = fields
        .into_iter()
        .filter_map(|(name, field)| one(name, &field))
        .collect();
    if named.is_empty() {
        vec![without_changes()]
    } else {
        named
    }
}

/// The variant that changes nothing.
pub(crate) fn without_changes() -> Named {
    Named {
        name: String::new(),
        table: Table::new(),
    }
}

fn one(name: &str, field: &Field<'_>) -> Option<Named> {
    let NodeValue::Table(table) = &field.node.value else {
        field.wrong_type(
            "a table",
            "one such as { tls.resumption = \"always\" }, or {} for the file as it is",
        );
        return None;
    };
    if !is_fit(name, MAX_NAME_BYTES) {
        field.problem(format_args!(
            "is not fit for a part of a folder's name; write up to {MAX_NAME_BYTES} letters, \
             digits, \"_\" and \"-\", such as tls13"
        ));
    }
    let mut table = table.clone();
    for (key, why) in SHARED {
        if let Some(entry) = table.remove(key) {
            field
                .context
                .problem(&join(&field.path, key), Some(entry.at), why.to_owned());
        }
    }
    Some(Named {
        name: name.to_owned(),
        table,
    })
}
