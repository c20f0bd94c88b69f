//! A TOML document as a tree with positions, in which `"a.b" = 1`, `a.b = 1` and `[a]` with `b = 1`
//! are the same.

use crate::path::{join, within_plan};
use std::collections::BTreeMap;
use toml_edit::{Document, Item, TableLike};

/// More segments than any path of a plan has; a longer quoted key remains whole, and is unknown.
const MAX_SEGMENTS: usize = 8;

/// A value with its position.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Byte offset in the text.
    pub(crate) at: usize,
    pub(crate) value: NodeValue,
    /// Whether it is a table written as `{ … }`, which is a single value. A table of dotted keys or
    /// under a header is several values with paths.
    pub(crate) braced: bool,
    /// The text of the variable that the value is, if it is a single one: the value is a number
    /// where the text looks like one, and may stand where a text belongs all the same.
    pub(crate) variable: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeValue {
    Text(String),
    Whole(i64),
    Decimal(f64),
    Flag(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Fields by name.
pub(crate) type Table = BTreeMap<String, KeyedNode>;

#[derive(Debug, Clone)]
pub(crate) struct KeyedNode {
    /// Byte offset of the key.
    pub(crate) at: usize,
    pub(crate) node: Node,
}

/// A path that is given twice: once quoted or dotted, once otherwise.
#[derive(Debug)]
pub(crate) struct Twice {
    pub(crate) path: String,
    pub(crate) first: usize,
    pub(crate) second: usize,
}

/// Builds the tree of `document`, and lists what it contains twice.
pub(crate) fn tree(document: &Document<&str>) -> (Node, Vec<Twice>) {
    let mut builder = Builder { twice: Vec::new() };
    let table = builder.table(document.as_table(), "", 0);
    // The root starts where the text does.
    let root = Node::new(0, NodeValue::Table(table));
    (root, builder.twice)
}

impl Node {
    pub(crate) fn new(at: usize, value: NodeValue) -> Node {
        Node {
            at,
            value,
            braced: false,
            variable: None,
        }
    }
}

impl NodeValue {
    /// A number or a flag as it is written.
    pub(crate) fn to_text(&self) -> String {
        match self {
            NodeValue::Text(text) | NodeValue::Date(text) => text.clone(),
            NodeValue::Whole(number) => number.to_string(),
            NodeValue::Decimal(number) => format!("{number:?}"),
            NodeValue::Flag(flag) => flag.to_string(),
            NodeValue::List(_) | NodeValue::Table(_) => String::new(),
        }
    }

    /// The number or flag that `text` is. One that would be written otherwise, such as `007`, is a
    /// text.
    pub(crate) fn of_text(text: &str) -> Option<NodeValue> {
        let whole = text.parse().map(NodeValue::Whole);
        let other = || text.parse().map(NodeValue::Flag).ok();
        let decimal = || text.parse().map(NodeValue::Decimal).ok();
        let value = whole.ok().or_else(other).or_else(decimal)?;
        (value.to_text() == text).then_some(value)
    }
}

/// Whether the keys of the table are names that can contain dots, not paths.
fn holds_names(path: &str) -> bool {
    matches!(
        within_plan(path),
        "thresholds" | "request.headers" | "request.form" | "request.json"
    )
}

/// Whether the table is JSON, whose inner tables are what they are.
fn is_json(path: &str) -> bool {
    within_plan(path) == "request.json"
}

/// Whether the keys of the table are whole names, whose values can be tables.
fn holds_named_tables(path: &str) -> bool {
    matches!(
        within_plan(path),
        "request.expect.headers" | "request.expect.json"
    )
}

struct Builder {
    twice: Vec<Twice>,
}

impl Builder {
    fn table(&mut self, source: &dyn TableLike, path: &str, at: usize) -> Table {
        let mut table = Table::new();
        for (name, item) in source.iter() {
            let key_span = source.get_key_value(name).and_then(|(key, _)| key.span());
            // Tables made by dotted keys have no position of their own, so that of their parent is
            // used.
            let span = key_span.or_else(|| item.span());
            let at = span.map_or(at, |span| span.start);
            let full = join(path, name);
            // A name with dots does not extend the path: its content still belongs to the table.
            let inner = if holds_names(path) { path } else { &full };
            let node = self.node(item, inner, at);
            let entry = KeyedNode { at, node };
            // A name in JSON is whole; a path that leads into JSON is not.
            if is_json(path) {
                self.merge(&mut table, path, name, entry);
            } else {
                self.insert(&mut table, path, name, entry);
            }
        }
        table
    }

    /// `at` is the position of the key, used if the item has none of its own.
    fn node(&mut self, item: &Item, path: &str, at: usize) -> Node {
        let place = item.span().map_or(at, |span| span.start);
        let value = match item {
            Item::Value(value) => return self.value(value, path, place),
            Item::Table(table) => NodeValue::Table(self.table(table, path, at)),
            Item::ArrayOfTables(tables) => NodeValue::List(
                tables
                    .iter()
                    .map(|table| self.element(table, path, place))
                    .collect(),
            ),
            Item::None => NodeValue::Table(Table::new()),
        };
        Node::new(at, value)
    }

    fn element(&mut self, table: &toml_edit::Table, path: &str, at: usize) -> Node {
        // The position of its header, so that a problem in one `[[element]]` points there.
        let at = table.span().map_or(at, |span| span.start);
        let fields = self.table(table, path, at);
        Node::new(at, NodeValue::Table(fields))
    }

    fn value(&mut self, value: &toml_edit::Value, path: &str, at: usize) -> Node {
        let at = value.span().map_or(at, |span| span.start);
        let value = match value {
            toml_edit::Value::String(text) => NodeValue::Text(text.value().clone()),
            toml_edit::Value::Integer(number) => NodeValue::Whole(*number.value()),
            toml_edit::Value::Float(number) => NodeValue::Decimal(*number.value()),
            toml_edit::Value::Boolean(flag) => NodeValue::Flag(*flag.value()),
            toml_edit::Value::Datetime(date) => NodeValue::Date(date.value().to_string()),
            toml_edit::Value::Array(array) => NodeValue::List(
                array
                    .iter()
                    .map(|item| self.value(item, path, at))
                    .collect(),
            ),
            toml_edit::Value::InlineTable(table) => {
                let value = NodeValue::Table(self.table(table, path, at));
                return Node {
                    braced: !table.is_dotted(),
                    ..Node::new(at, value)
                };
            }
        };
        Node::new(at, value)
    }

    fn insert(&mut self, table: &mut Table, path: &str, name: &str, entry: KeyedNode) {
        if holds_names(path) && !is_json(path) {
            return self.insert_named(table, path, name, entry);
        }
        if holds_named_tables(path) {
            return self.merge(table, path, name, entry);
        }
        let splits = name.matches('.').count() < MAX_SEGMENTS;
        match name.split_once('.').filter(|_| splits) {
            Some((first, rest)) => {
                let mut inner = Table::new();
                self.insert(&mut inner, &join(path, first), rest, entry.clone());
                let node = Node::new(entry.at, NodeValue::Table(inner));
                self.merge(table, path, first, KeyedNode { at: entry.at, node });
            }
            None => self.merge(table, path, name, entry),
        }
    }

    /// In a table of names, an inner table is the part of a name before a dot.
    fn insert_named(&mut self, table: &mut Table, path: &str, name: &str, entry: KeyedNode) {
        match entry.node.value {
            NodeValue::Table(inner) if !inner.is_empty() => {
                for (rest, entry) in inner {
                    self.insert_named(table, path, &join(name, &rest), entry);
                }
            }
            _ => self.merge(table, path, name, entry),
        }
    }

    fn merge(&mut self, table: &mut Table, path: &str, name: &str, entry: KeyedNode) {
        let Some(present) = table.get_mut(name) else {
            table.insert(name.to_owned(), entry);
            return;
        };
        let path = join(path, name);
        present.node.braced |= entry.node.braced;
        match (&mut present.node.value, entry.node.value) {
            (NodeValue::Table(present), NodeValue::Table(added)) => {
                for (name, entry) in added {
                    self.merge(present, &path, &name, entry);
                }
            }
            _ => self.twice.push(Twice {
                path,
                first: present.at.min(entry.at),
                second: present.at.max(entry.at),
            }),
        }
    }
}
