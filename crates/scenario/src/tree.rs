//! The text of a scenario as a tree in which every value has its origin.
//!
//! Follows TOML 1.1, read by the toml crate with the position of each key and value.
//! Differs from `toml::Value`: values given with `--set` are in the same tree, with their origin.
//! Leaves out comments and layout.

use crate::error::quoted;
use crate::path::{KeyPath, KeyStep};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The origin of a key or value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The offset in the file at which it begins, bytes.
    File(usize),
    /// A `--set`, by its number from 0.
    Set(u32),
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TreeNode {
    pub origin: Origin,
    pub value: Value,
}

/// An entry of a table: the key's origin and the value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableEntry {
    pub origin: Origin,
    pub node: TreeNode,
}

/// A table: keys in alphabetical order.
pub(crate) type TreeTable = BTreeMap<String, TableEntry>;

/// A TOML value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    /// An integer beyond 64 bits, as text.
    HugeInteger(String),
    Float(f64),
    Boolean(bool),
    Datetime(toml::value::Datetime),
    List(Vec<TreeNode>),
    Table(TreeTable),
}

impl Value {
    /// The value as shown in error messages.
    pub fn describe(&self) -> String {
        match self {
            Value::Text(text) => format!("string {}", quoted(text)),
            Value::Integer(n) => format!("integer {n}"),
            Value::HugeInteger(text) => format!("integer {}", quoted(text).trim_matches('"')),
            Value::Float(x) => format!("number {x}"),
            Value::Boolean(b) => format!("boolean {b}"),
            Value::Datetime(t) => format!("date {t}"),
            Value::List(items) => format!("an array of {}", items.len()),
            Value::Table(_) => "a table".into(),
        }
    }
}

impl TreeNode {
    pub fn top(table: DeTable<'_>) -> Self {
        TreeNode { origin: Origin::File(0), value: Value::Table(convert_table(table, None)) }
    }

    /// A value given with `--set`: TOML if it is valid TOML, else the text itself.
    pub fn from_set(text: &str, origin: Origin) -> Self {
        match DeValue::parse(text) {
            Ok(value) => TreeNode { origin, value: convert(value.into_inner(), Some(origin)) },
            Err(_) => TreeNode { origin, value: Value::Text(text.to_owned()) },
        }
    }

    pub fn table(&self) -> Option<&TreeTable> {
        if let Value::Table(table) = &self.value { Some(table) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    pub fn child(&self, step: &KeyStep) -> Option<&TreeNode> {
        match (step, &self.value) {
            (KeyStep::Key(key), Value::Table(table)) => table.get(key).map(|entry| &entry.node),
            (KeyStep::Index(i), Value::List(items)) => items.get(*i),
            _ => None,
        }
    }

    pub fn has(&self, path: &KeyPath) -> bool {
        let mut node = Some(self);
        for step in &path.0 {
            node = node.and_then(|n| n.child(step));
        }
        node.is_some()
    }

    /// Origin of `path`, or of the nearest table above it that exists.
    pub fn locate(&self, path: &KeyPath) -> Origin {
        let mut node = self;
        for step in &path.0 {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.origin
    }

    /// As [`TreeNode::locate`], with the path as text.
    pub fn locate_text(&self, path: &str) -> Origin {
        let mut node = self;
        for part in crate::path::split(path).unwrap_or_default() {
            let index = part.parse().ok().map(KeyStep::Index);
            match node.child(&KeyStep::Key(part)).or_else(|| node.child(&index?)) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.origin
    }

    /// Removes the origins, for serde.
    pub fn into_plain(self) -> toml::Value {
        match self.value {
            Value::Text(text) | Value::HugeInteger(text) => toml::Value::String(text),
            Value::Integer(n) => toml::Value::Integer(n),
            Value::Float(x) => toml::Value::Float(x),
            Value::Boolean(b) => toml::Value::Boolean(b),
            Value::Datetime(t) => toml::Value::Datetime(t),
            Value::List(items) => toml::Value::Array(items.into_iter().map(TreeNode::into_plain).collect()),
            Value::Table(table) => toml::Value::Table(
                table.into_iter().map(|(key, entry)| (key, entry.node.into_plain())).collect(),
            ),
        }
    }
}

fn convert_table(table: DeTable<'_>, set: Option<Origin>) -> TreeTable {
    let mut out = TreeTable::new();
    for (key, value) in table {
        let origin = set.unwrap_or(Origin::File(key.span().start));
        let at = set.unwrap_or(Origin::File(value.span().start));
        let node = TreeNode { origin: at, value: convert(value.into_inner(), set) };
        out.insert(key.into_inner().into_owned(), TableEntry { origin, node });
    }
    out
}

// As deep as the toml crate allows.
fn convert(value: DeValue<'_>, set: Option<Origin>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => Value::HugeInteger(n.as_str().to_owned()),
        },
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Boolean(b),
        DeValue::Datetime(t) => Value::Datetime(t),
        DeValue::Array(items) => Value::List(
            items
                .into_iter()
                .map(|item| TreeNode {
                    origin: set.unwrap_or(Origin::File(item.span().start)),
                    value: convert(item.into_inner(), set),
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(convert_table(table, set)),
    }
}
