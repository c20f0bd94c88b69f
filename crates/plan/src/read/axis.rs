//! Reads `[matrix]`: paths, each with the values that it takes.

use crate::mask::{is_secret_key, is_secret_path};
use crate::read::field::Field;
use crate::read::node::{KeyedNode, Node, NodeValue};
use crate::read::overlay::SHARED;
use crate::read::section::PlanSection;
use std::collections::{HashMap, HashSet};

/// Longest part of a variant's name that comes from one value, in characters.
const MAX_LABEL_CHARS: usize = 24;

/// Replaces a secret in a label, since labels become part of folder names.
const SECRET: &str = "secret";

/// A path with the values that it takes.
pub(crate) struct Axis<'a> {
    pub(crate) field: Field<'a>,
    /// The path that its values replace.
    pub(crate) path: Vec<String>,
    /// Contains at least one.
    pub(crate) values: Vec<AxisValue>,
}

/// One value of an axis.
pub(crate) struct AxisValue {
    /// For example `tls.versions=1.2`.
    pub(crate) label: String,
    pub(crate) node: Node,
}

/// Reads every axis, in the file's order.
pub(crate) fn read<'a>(section: &PlanSection<'a>) -> Vec<Axis<'a>> {
    let mut axes = Vec::new();
    gather(section, &mut Vec::new(), &mut axes);
    if axes.is_empty() && section.is_given() && section.all().is_empty() {
        section.problem(
            "has no axis; write one such as \"tls.versions\" = [[\"1.2\"], [\"1.3\"]], or remove \
             the section",
        );
    }
    axes
}

fn gather<'a>(section: &PlanSection<'a>, path: &mut Vec<String>, axes: &mut Vec<Axis<'a>>) {
    for (name, field) in section.all() {
        path.push(name.to_owned());
        match &field.node.value {
            NodeValue::Table(table) if !table.is_empty() => {
                if let Some(inner) = field.section() {
                    gather(&inner, path, axes);
                }
            }
            _ => axes.extend(one(field, path)),
        }
        path.pop();
    }
}

fn one<'a>(field: Field<'a>, path: &[String]) -> Option<Axis<'a>> {
    if let Some((_, why)) = SHARED
        .iter()
        .find(|(key, _)| path.first().is_some_and(|first| first == key))
    {
        field.problem(why);
        return None;
    }
    let values = field
        .list("all values that the path takes, as in \"tls.versions\" = [[\"1.2\"], [\"1.3\"]]")?;
    if values.is_empty() {
        field.problem(
            "[] takes no value, so that there would be no run; write at least one, or remove the \
             axis",
        );
        return None;
    }
    let values = label_values(&values, &path.join("."));
    Some(Axis {
        field,
        path: path.to_vec(),
        values,
    })
}

fn label_values(fields: &[Field<'_>], path: &str) -> Vec<AxisValue> {
    // The table of a single variable can only be a secret, if its key is misspelled too.
    let of_variable = path.starts_with("vars.");
    let is_secret =
        |key: &str| of_variable || is_secret_key(key) || is_secret_path(&format!("{path}.{key}"));
    let mut written = HashMap::new();
    let mut labels = HashSet::new();
    let mut value = |(index, field): (usize, &Field<'_>)| {
        // Values are compared with their secrets, and shown without them.
        let text = content(&field.node.value, &reveal);
        let shown = content(&field.node.value, &is_secret);
        let shown = if field.is_secret() {
            SECRET.to_owned()
        } else {
            shown
        };
        if let Some(first) = written.get(&text) {
            field.problem(format_args!(
                "is the value [{first}] once more; remove one of the two (repeats stand in \
                 [repeat])"
            ));
        }
        let mut label = format!("{}={}", fit(path, usize::MAX), fit(&shown, MAX_LABEL_CHARS));
        // Labels are cut and stripped of special characters, so different values may share one.
        if !labels.insert(label.clone()) {
            label += &format!("~{}", index + 1);
        }
        written.entry(text).or_insert(index);
        AxisValue {
            label,
            node: field.node.clone(),
        }
    };
    fields.iter().enumerate().map(&mut value).collect()
}

/// Hides no values.
fn reveal(_: &str) -> bool {
    false
}

/// Renders a value regardless of its position, without the values of keys that are secret.
fn content(value: &NodeValue, is_secret: &dyn Fn(&str) -> bool) -> String {
    let joined = |parts: Vec<String>| parts.join(" + ");
    match value {
        NodeValue::Text(text) => format!("{text:?}"),
        NodeValue::Whole(number) => number.to_string(),
        NodeValue::Decimal(number) => format!("{number:?}"),
        NodeValue::Flag(flag) => flag.to_string(),
        NodeValue::Date(date) => date.clone(),
        NodeValue::List(nodes) => format!(
            "[{}]",
            joined(
                nodes
                    .iter()
                    .map(|node| content(&node.value, is_secret))
                    .collect()
            )
        ),
        NodeValue::Table(table) => {
            let entry = |(key, entry): (&String, &KeyedNode)| {
                let inner = content(&entry.node.value, is_secret);
                let inner = if is_secret(key) { SECRET } else { &inner };
                format!("{key} {inner}")
            };
            format!("{{{}}}", joined(table.iter().map(entry).collect()))
        }
    }
}

/// Converts `text` to part of a folder's name.
fn fit(text: &str, most: usize) -> String {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    let words: Vec<&str> = text
        .split(|c| !is_fit(c))
        .filter(|word| !word.is_empty())
        .collect();
    let fit: String = words
        .join("-")
        .replace("-+-", "+")
        .chars()
        .take(most)
        .collect();
    let fit = fit.trim_matches(['-', '+', '.']);
    if fit.is_empty() {
        "none".to_owned()
    } else {
        fit.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn values_become_parts_of_names() {
        let cases = [
            ("[\"1.2\" + \"1.3\"]", "1.2+1.3"),
            ("\"https://edge.test:8080/a?b\"", "https-edge.test-8080-a-b"),
            ("{kind \"any\" + share 0.8}", "kind-any+share-0.8"),
            ("[]", "none"),
            ("\"../..\"", "none"),
            ("true", "true"),
        ];
        for (text, name) in cases {
            assert_eq!(fit(text, 24), name, "{text}");
        }
    }
}
