//! Reads `[vars]`, and puts the values of variables into the other texts of a plan.
//!
//! A secret is not put in: its name stays in the text, and only a [`crate::Template`] takes its
//! value, so that whatever shows the text shows the name.

use crate::Plan;
use crate::mask::{self, MASK};
use crate::path::{join, within_plan};
use crate::read::capture;
use crate::read::context::Context;
use crate::read::data;
use crate::read::dependencies::in_order;
use crate::read::field::Field;
use crate::read::made;
use crate::read::node::{KeyedNode, Node, NodeValue, Table};
use crate::read::section::short;
use crate::read::variables::{RESERVED, VariableValue, Variables, is_fit, names_in};
use crate::template::{look_alikes, name_in_braces};
use crate::websocket::{MESSAGE_NUMBER, MESSAGE_PATH};
use secret::Secret;

/// The section of the variables.
pub(crate) const SECTION: &str = "vars";
/// Before the name of an environment variable.
const ENVIRONMENT: &str = "env:";
const MAX_VARIABLES: usize = 200;
const MAX_VALUE_BYTES: usize = 16 << 10;
/// Data files and made values that a message lists; more are hardly read.
const NAMED_MAX: usize = 5;

/// Takes the variables out of `table`, and puts their values into its texts. Returns `None` if
/// anything is wrong with them and was reported: what else is found then may only follow from it.
pub(crate) fn put_in(table: &mut Table, context: &Context<'_>) -> Option<Variables> {
    let before = context.problems();
    let section = table.remove(SECTION);
    let variables = section.map_or_else(Variables::default, |section| read(&section, context));
    for name in context.settings().set.keys() {
        if variables.get(name).is_none() {
            context.problem(SECTION, None, undeclared(name, &variables));
        }
    }
    made::check_names(table, |name| variables.get(name).is_some(), context);
    let others = DeclaredNames {
        files: data::names(table),
        made: made::names(table),
        captures: capture::names(table),
    };
    if !variables.is_empty() || !others.is_empty() {
        let mut filler = Filler {
            variables: &variables,
            others: &others,
            context,
            left: Plan::MAX_BYTES,
        };
        filler.table(table, "");
    }
    (context.problems() == before).then_some(variables)
}

fn undeclared(name: &str, variables: &Variables) -> String {
    let cure = if variables.is_empty() {
        format!("write {name} = {{}} below [vars] in the plan")
    } else {
        format!("declared are {}", variables.names())
    };
    format!("--set {name} is for a variable that the plan does not declare; {cure}")
}

fn read(section: &KeyedNode, context: &Context<'_>) -> Variables {
    let section = Field {
        context,
        path: SECTION.to_owned(),
        node: &section.node,
    };
    let mut variables = Variables::default();
    let fields = section.section().map(|section| section.all());
    let fields = fields.unwrap_or_default();
    if fields.len() > MAX_VARIABLES {
        section.problem(format_args!(
            "has {} variables; write at most {MAX_VARIABLES}",
            fields.len()
        ));
        return variables;
    }
    for (name, field) in &fields {
        variables.add(name, VariableValue::Unknown);
        if !is_fit(name) {
            field.problem(format_args!(
                "is not the name of a variable; write letters, digits, \"_\" and \"-\", beginning \
                 with a letter, and none of {}",
                RESERVED.join(", ")
            ));
        }
    }
    resolve(fields, &mut variables);
    variables
}

/// Reads the values; those that are made of others come after them.
fn resolve(left: Vec<(&str, Field<'_>)>, variables: &mut Variables) {
    let names_any = |name: &str, field: &Field<'_>, is_wanted: &dyn Fn(&str) -> bool| {
        let mut parts = own_text(name, field).into_iter().flat_map(names_in);
        parts.any(is_wanted)
    };
    let circles = in_order(left, names_any, |name, field| {
        if let Some(value) = value(name, &field, variables) {
            variables.add(name, value);
        }
    });
    for (_, field) in circles {
        field.problem("is made of itself, by way of others or not; write a value");
    }
}

/// The text that the plan has for a variable, if that is what counts.
fn own_text<'a>(name: &str, field: &Field<'a>) -> Option<&'a str> {
    let is_set = field.context.settings().set.contains_key(name);
    match &field.node.value {
        NodeValue::Text(text) if !is_set && !text.starts_with(ENVIRONMENT) => Some(text),
        _ => None,
    }
}

/// Reads the value of the variable `name`, which may be made of `others`.
fn value(name: &str, field: &Field<'_>, others: &Variables) -> Option<VariableValue> {
    let set = field.context.settings().set.get(name);
    let value = match (&field.node.value, set) {
        (NodeValue::Table(table), _) if !table.is_empty() => secret(field, table, set)?,
        (NodeValue::Text(text), _) if text.starts_with(ENVIRONMENT) => match set {
            Some(set) => secret_of(set),
            None => from_environment(name, field, text)?,
        },
        (_, Some(set)) => VariableValue::Text(set.clone()),
        (NodeValue::Table(_), None) => {
            field.problem(format_args!(
                "has no value; give it with --set {name}=VALUE"
            ));
            return None;
        }
        (NodeValue::Text(text), None) => {
            let names = DeclaredNames::default();
            refuse_strangers(
                text,
                &field.path,
                field.node.at,
                (others, &names),
                field.context,
            );
            let Some(text) = others.put_into(text, MAX_VALUE_BYTES) else {
                field.problem(format_args!(
                    "has more than {MAX_VALUE_BYTES} bytes with the variables in it; write less"
                ));
                return None;
            };
            VariableValue::Text(text)
        }
        (NodeValue::List(_), None) => {
            field.wrong_type("a text, a number or a flag", "one of these");
            return None;
        }
        (scalar, None) => VariableValue::Text(scalar.to_text()),
    };
    let bytes = match &value {
        VariableValue::Text(text) => text.len(),
        VariableValue::Secret(text) => text.reveal().len(),
        VariableValue::Unknown => 0,
    };
    if bytes > MAX_VALUE_BYTES {
        field.problem(format_args!(
            "has {bytes} bytes; write at most {MAX_VALUE_BYTES}"
        ));
        return None;
    }
    Some(value)
}

/// Reports what `above`, a variant, sets and must not: what `--set` would replace in all variants,
/// and plain values for what is secret in the file.
pub(crate) fn check_overlay(base: &Table, above: &Table, context: &Context<'_>) {
    let base = declared(base);
    for (name, entry) in declared(above).into_iter().flatten() {
        let problem = |message: String| {
            context.problem(&join(SECTION, &short(name)), Some(entry.at), message);
        };
        if context.settings().set.contains_key(name) {
            problem(format!(
                "is set by a variant or an axis, and --set {name} would replace that in each; \
                 leave out one of the two"
            ));
        }
        let before = base.and_then(|base| base.get(name));
        if before.is_some_and(is_secret) && !is_secret(entry) {
            problem(format!(
                "is secret in the file, and would be plain here; write \"{ENVIRONMENT}NAME\" or \
                 {{ secret = \"…\" }}"
            ));
        }
    }
}

/// Names of the variables that a file declares.
pub(crate) fn names(base: &Table) -> Vec<String> {
    let section = declared(base).into_iter().flatten();
    section.map(|(name, _)| name.clone()).collect()
}

fn declared(table: &Table) -> Option<&Table> {
    match &table.get(SECTION)?.node.value {
        NodeValue::Table(section) => Some(section),
        _ => None,
    }
}

fn is_secret(entry: &KeyedNode) -> bool {
    match &entry.node.value {
        NodeValue::Text(text) => text.starts_with(ENVIRONMENT),
        NodeValue::Table(table) => !table.is_empty(),
        _ => false,
    }
}

fn secret_of(text: &str) -> VariableValue {
    VariableValue::Secret(Secret::new(text.into()))
}

/// Reads `{ secret = "…" }`.
fn secret(field: &Field<'_>, table: &Table, set: Option<&String>) -> Option<VariableValue> {
    let section = field.section()?;
    let given = section.field("secret").filter(|_| table.len() == 1);
    section.finish();
    let given = given?.text("the value in quotes")?;
    match set {
        Some(set) => Some(secret_of(set)),
        None if given == MASK && field.context.is_to_run() => {
            field.problem(format_args!(
                "{MASK:?} stands for the value, which saved plans leave out; give it with --set"
            ));
            None
        }
        // Any text that could stand anywhere will do for a plan that is not run.
        None if given == MASK => Some(secret_of("/")),
        None => Some(secret_of(given)),
    }
}

fn from_environment(name: &str, field: &Field<'_>, text: &str) -> Option<VariableValue> {
    let of = &text[ENVIRONMENT.len()..];
    match (field.context.settings().environment)(of) {
        Ok(value) => Some(secret_of(&value)),
        Err(why) => {
            field.problem(format_args!(
                "{text:?} cannot be had: {why}; export {of}, or give it with --set {name}=VALUE"
            ));
            None
        }
    }
}

/// Names that a plan declares beside its variables.
#[derive(Default)]
struct DeclaredNames {
    /// Those of data files.
    files: Vec<String>,
    /// Those of made values.
    made: Vec<String>,
    /// Those of captured texts.
    captures: Vec<String>,
}

impl DeclaredNames {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.made.is_empty() && self.captures.is_empty()
    }
}

/// Puts variables into the texts of a tree.
struct Filler<'a> {
    variables: &'a Variables,
    others: &'a DeclaredNames,
    context: &'a Context<'a>,
    /// Bytes that all texts together may still have.
    left: usize,
}

impl Filler<'_> {
    fn table(&mut self, table: &mut Table, path: &str) {
        for (name, entry) in table {
            self.node(&mut entry.node, &join(path, &short(name)));
        }
    }

    fn node(&mut self, node: &mut Node, path: &str) {
        match &mut node.value {
            NodeValue::Text(text) if text.contains('{') => {
                let text = std::mem::take(text);
                self.text(node, text, path);
            }
            NodeValue::List(nodes) => {
                for (index, node) in nodes.iter_mut().enumerate() {
                    self.node(node, &format!("{path}[{index}]"));
                }
            }
            NodeValue::Table(table) => self.table(table, path),
            _ => {}
        }
    }

    /// Makes `text`, which stands at `node`, the node's value.
    fn text(&mut self, node: &mut Node, text: String, path: &str) {
        let variables = self.variables;
        refuse_strangers(&text, path, node.at, (variables, self.others), self.context);
        self.refuse_plain(&text, path, node.at);
        let Some(put) = variables.put_into(&text, self.left) else {
            return self.refuse_length(path, node.at);
        };
        self.left -= put.len();
        let value = only_name(&text).and_then(|name| variables.get(name));
        node.value = match value {
            Some(VariableValue::Text(_)) => {
                node.variable = Some(put.clone());
                NodeValue::of_text(&put).unwrap_or(NodeValue::Text(put))
            }
            _ => NodeValue::Text(put),
        };
    }

    /// The value of a secret header is saved nowhere, and that of a plain variable is.
    fn refuse_plain(&self, text: &str, path: &str, at: usize) {
        if mask::is_secret_place(path, true)
            && let Some(name) = self.variables.plain_in(text)
        {
            let message = format!(
                "has the variable {{{name}}}, whose value is saved, and this value must not be; \
                 write {name} = \"{ENVIRONMENT}NAME\" or {{ secret = \"…\" }} below [vars]"
            );
            self.context.problem(path, Some(at), message);
        }
    }

    fn refuse_length(&self, path: &str, at: usize) {
        let most = Plan::MAX_BYTES;
        let message = format!(
            "texts with variables come to more than {most} bytes here; put bodies into files"
        );
        self.context.problem(path, Some(at), message);
    }
}

/// What a plan declares, before the names that every plan has.
fn names_of(variables: &Variables, others: &DeclaredNames) -> String {
    let mut names = String::new();
    if !variables.is_empty() {
        names = format!("the variables {}, ", variables.names());
    }
    for file in others.files.iter().take(NAMED_MAX) {
        names += &format!("{{{file}.COLUMN}}, ");
    }
    for name in others.made.iter().chain(&others.captures).take(NAMED_MAX) {
        names += &format!("{{{name}}}, ");
    }
    names
}

/// The name in braces that `text` consists of.
fn only_name(text: &str) -> Option<&str> {
    name_in_braces(text).filter(|name| name.len() + 2 == text.len())
}

/// Reports what looks like a variable and is none. Canonical text was searched before values, which
/// may have such words, were put in.
fn refuse_strangers(
    text: &str,
    path: &str,
    at: usize,
    (variables, others): (&Variables, &DeclaredNames),
    context: &Context<'_>,
) {
    if context.is_canonical() {
        return;
    }
    // Whether a file has the column is seen where the text is read.
    let is_column = |name: &str| {
        let file = name.split_once('.').map(|(file, _)| file);
        file.is_some_and(|file| others.files.iter().any(|known| known == file))
    };
    let is_number = |part: &str| part == MESSAGE_NUMBER && path.contains(MESSAGE_PATH);
    let is_known = |part: &&str| {
        is_number(part)
            || only_name(part).is_some_and(|name| {
                let mut texts = others.made.iter().chain(&others.captures);
                variables.get(name).is_some() || is_column(name) || texts.any(|known| known == name)
            })
    };
    let Some(stranger) = look_alikes(text).into_iter().find(|part| !is_known(part)) else {
        return;
    };
    context.problem_with(path, Some(at), || {
        // Part of a secret is secret too.
        let shown = if mask::is_secret_place(path, true) {
            "it has what looks like a variable and"
        } else {
            stranger
        };
        let names = names_of(variables, others);
        if within_plan(path).starts_with(SECTION) {
            return format!(
                "{shown} is none of {names}{{user}}, {{seq}}, {{random}}; declare it below [vars] \
                 too, or write a column or a made value where it is to be sent"
            );
        }
        format!(
            "{shown} is none of {names}{{user}}, {{seq}}, {{random}}; declare it below [vars], \
             [data.NAME] or [let], or write a space behind its brace to send it as it is"
        )
    });
}
