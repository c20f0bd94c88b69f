//! The variables of a plan and their values.

use crate::template::{NAME_MAX_BYTES, Placeholders, name_in_braces};
use crate::{Piece, Plan};
use data::Escape;
use secret::Secret;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names that mean something else, where they stand in braces or as keys of a plan.
pub(crate) const RESERVED: [&str; 4] = ["user", "seq", "random", "secret"];

/// Names that a message lists; more are hardly read.
const NAMED_MAX: usize = 10;

/// The variables that a plan declares, by name.
#[derive(Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, VariableValue>);

#[derive(Debug)]
pub(crate) enum VariableValue {
    Text(String),
    Secret(Secret<Arc<str>>),
    /// It is wrong and has been reported, or is still to be read.
    Unknown,
}

/// Those of a plan that declares none.
pub(crate) static NO_VARIABLES: Variables = Variables(BTreeMap::new());

impl Variables {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&VariableValue> {
        self.0.get(name)
    }

    /// The first secret that `text` names.
    pub(crate) fn secret_in(&self, text: &str) -> Option<&str> {
        self.find_in(text, |value| matches!(value, VariableValue::Secret(_)))
    }

    /// The first variable that `text` names and that is not secret.
    pub(crate) fn plain_in(&self, text: &str) -> Option<&str> {
        self.find_in(text, |value| matches!(value, VariableValue::Text(_)))
    }

    fn find_in(&self, text: &str, is_wanted: impl Fn(&VariableValue) -> bool) -> Option<&str> {
        let mut known = names_in(text).filter_map(|name| self.0.get_key_value(name));
        let found = known.find(|(_, value)| is_wanted(value));
        found.map(|(name, _)| name.as_str())
    }

    /// Puts the values of secrets into `text` too, to be examined and not to be kept; `None` if it
    /// becomes too long for a plan.
    pub(crate) fn reveal(&self, text: &str) -> Option<Secret<String>> {
        let revealed = self.replace(text, Plan::MAX_BYTES, |value| match value {
            VariableValue::Secret(value) => Some(value.reveal()),
            VariableValue::Text(_) | VariableValue::Unknown => None,
        });
        revealed.map(Secret::new)
    }

    /// Puts the values that are not secret into `text`; `None` if it then has more than `most`
    /// bytes.
    pub(crate) fn put_into(&self, text: &str, most: usize) -> Option<String> {
        self.replace(text, most, |value| match value {
            VariableValue::Text(value) => Some(value),
            VariableValue::Secret(_) | VariableValue::Unknown => None,
        })
    }

    fn replace<'s>(
        &'s self,
        text: &str,
        most: usize,
        by: impl Fn(&'s VariableValue) -> Option<&'s str>,
    ) -> Option<String> {
        let (mut replaced, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find('{') {
            let name = name_in_braces(&rest[at..]);
            let value = name.and_then(|name| self.get(name)).and_then(&by);
            let (value, length) = match (value, name) {
                (Some(value), Some(name)) => (value, name.len() + 2),
                _ => ("{", 1),
            };
            replaced.push_str(&rest[..at]);
            replaced.push_str(value);
            rest = &rest[at + length..];
            // A short plan could otherwise fill the memory.
            if replaced.len() > most {
                return None;
            }
        }
        replaced.push_str(rest);
        (replaced.len() <= most).then_some(replaced)
    }

    /// Adds a variable, or gives one its value.
    pub(crate) fn add(&mut self, name: &str, value: VariableValue) {
        self.0.insert(name.to_owned(), value);
    }

    /// The names in a sentence.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let (shown, more) = names.split_at(names.len().min(NAMED_MAX));
        let more = if more.is_empty() {
            String::new()
        } else {
            format!(" and {} more", more.len())
        };
        format!("{}{more}", shown.join(", "))
    }
}

/// Whether a plan may give a variable or another text this name.
pub(crate) fn is_fit(name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.len() <= NAME_MAX_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_of_name)
        && !RESERVED.contains(&name)
}

/// What stands in braces in `text`.
pub(crate) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let braces = text.match_indices('{');
    braces.filter_map(|(at, _)| name_in_braces(&text[at..]))
}

impl Placeholders for Variables {
    fn piece(&self, name: &str) -> Option<Piece> {
        match self.get(name)? {
            VariableValue::Secret(value) => Some(Piece::Secret {
                name: name.into(),
                value: value.clone(),
                escape: Escape::None,
            }),
            VariableValue::Text(_) | VariableValue::Unknown => None,
        }
    }
}
