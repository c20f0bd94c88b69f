//! A table being read: each known key is requested, and keys that were not requested are unknown.

use crate::path::join;
use crate::read::context::Context;
use crate::read::field::Field;
use crate::read::node::{KeyedNode, NodeValue, Table};
use std::cell::RefCell;
use std::fmt::Display;

static NOTHING: Table = Table::new();

/// A table of a plan. Reading must end with [`PlanSection::finish`].
pub(crate) struct PlanSection<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) path: String,
    /// `None` if the text has no such table.
    at: Option<usize>,
    table: &'a Table,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> PlanSection<'a> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        path: String,
        at: usize,
        table: &'a Table,
    ) -> PlanSection<'a> {
        PlanSection {
            context,
            path,
            at: Some(at),
            table,
            asked: RefCell::default(),
        }
    }

    /// Creates a table that the text does not have, so that all values are defaults.
    pub(crate) fn absent(context: &'a Context<'a>, path: &str) -> PlanSection<'a> {
        PlanSection {
            context,
            path: path.to_owned(),
            at: None,
            table: &NOTHING,
            asked: RefCell::default(),
        }
    }

    /// The field `key`, if it is given.
    pub(crate) fn field(&self, key: &'static str) -> Option<Field<'a>> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
        self.table.get(key).map(|entry| self.field_of(key, entry))
    }

    /// Reads the field `key` with `read`; `None` if it is absent, or wrong and reported.
    pub(crate) fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(Field<'a>) -> Option<T>,
    ) -> Option<T> {
        self.field(key).and_then(read)
    }

    /// The table `key`, empty if it is absent; `None` if it is not a table and has been reported.
    pub(crate) fn section(&self, key: &'static str) -> Option<PlanSection<'a>> {
        match self.field(key) {
            Some(field) => field.section(),
            None => Some(PlanSection::absent(self.context, &join(&self.path, key))),
        }
    }

    /// Every field in the file's order, for tables whose keys are names.
    pub(crate) fn all(&self) -> Vec<(&'a str, Field<'a>)> {
        let mut fields: Vec<(&'a str, &'a KeyedNode)> = self
            .table
            .iter()
            .map(|(name, entry)| (name.as_str(), entry))
            .collect();
        fields.sort_by_key(|(_, entry)| entry.at);
        fields
            .into_iter()
            .map(|(name, entry)| (name, self.field_of(name, entry)))
            .collect()
    }

    /// Those of `keys` that are given.
    pub(crate) fn given(&self, keys: &[&'static str]) -> Vec<&'static str> {
        let keys = keys.iter().copied();
        keys.filter(|key| self.field(key).is_some()).collect()
    }

    /// Whether the text has this table.
    pub(crate) fn is_given(&self) -> bool {
        self.at.is_some()
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Reports a problem of the table as a whole.
    pub(crate) fn problem(&self, message: impl Display) {
        self.context
            .problem(&self.path, self.at, message.to_string());
    }

    /// Reports a problem of the key `key`, which may be absent.
    pub(crate) fn problem_at(&self, key: &str, message: impl Display) {
        // A key that is absent is missing in its table, so that is the position to show.
        let given_at = self.table.get(key).map(|entry| entry.node.at);
        let path = join(&self.path, key);
        self.context
            .problem(&path, given_at.or(self.at), message.to_string());
    }

    /// Reports each of `keys` that is given although it has no meaning here.
    pub(crate) fn refuse(&self, keys: &[&'static str], why: &str) {
        for key in keys {
            if let Some(field) = self.field(key) {
                field.problem(why);
            }
        }
    }

    /// Reports every key that was not requested.
    pub(crate) fn finish(self) {
        let asked = self.asked.borrow();
        for (name, entry) in self
            .table
            .iter()
            .filter(|(name, _)| !asked.contains(&name.as_str()))
        {
            let message = || {
                format!(
                    "unknown key; {}",
                    self.context.cure(&self.path, name, &asked)
                )
            };
            self.context
                .problem_with(&join(&self.path, &short(name)), Some(entry.at), message);
        }
    }

    fn field_of(&self, name: &str, entry: &'a KeyedNode) -> Field<'a> {
        Field {
            context: self.context,
            path: join(&self.path, &short(name)),
            node: &entry.node,
        }
    }
}

impl<'a> Field<'a> {
    /// The field as a table, whose keys can then be requested.
    pub(crate) fn section(&self) -> Option<PlanSection<'a>> {
        if let NodeValue::Table(table) = &self.node.value {
            return Some(PlanSection::new(
                self.context,
                self.path.clone(),
                self.node.at,
                table,
            ));
        }
        let name = &self.path;
        self.wrong_type(
            "a table",
            &format!("[{name}] with its fields on the lines below"),
        );
        None
    }
}

/// Renders a key for messages: no longer than a line, without control characters.
pub(crate) fn short(name: &str) -> String {
    let shown: String = name.chars().take(60).flat_map(char::escape_debug).collect();
    if name.chars().count() > 60 {
        shown + "…"
    } else {
        shown
    }
}
