//! `--set path=value`: changes one value of a scenario.
//!
//! Follows the dotted keys of error messages; a flow is named by its number or its name.
//! Differs: text that is not valid TOML is a string, because a shell removes quotes.
//! Leaves out removing keys and adding flows.

use crate::error::{Errors, Place, expected, quoted};
use crate::path::split;
use crate::shape::{Field, ValueShape};
use crate::tree::{Origin, TableEntry, TreeNode, TreeTable, Value};

/// Splits an argument `path=value` of `--set`.
pub fn parse_set(text: &str) -> Result<(String, String), Errors> {
    let wrong = |message: String| Errors::one(Place::Set { path: String::new() }, "", message);
    let Some((path, value)) = text.split_once('=') else {
        return Err(wrong(format!(
            "{} has no \"=\"; write path=value, such as links.satellite.rate=\"1 Mbit/s\"",
            quoted(text)
        )));
    };
    if split(path).is_none() {
        return Err(wrong(format!("{} is not a dotted key, such as links.satellite.rate", quoted(path))));
    }
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}

/// Sets the value at `path`; new nodes have `origin`. The value is checked later with the rest of the tree.
pub(crate) fn apply(
    top: &mut TreeNode,
    shape: &ValueShape,
    (path, value): (&str, &str),
    origin: Origin,
) -> Result<(), Errors> {
    let wrong = |message: String| Errors::one(Place::Set { path: path.to_owned() }, path, message);
    let steps = split(path).ok_or_else(|| wrong("not a dotted key, such as links.satellite.rate".into()))?;
    let mut node = top;
    let mut shape = shape;
    for (depth, step) in steps.iter().enumerate() {
        let last = depth + 1 == steps.len();
        let below = match shape {
            ValueShape::List(item, _) => {
                node = element(node, step).map_err(&wrong)?;
                shape = item;
                continue;
            }
            ValueShape::Map(item) => Below { shape: item, default_kind: None, named: true },
            ValueShape::Table(fields) => field(fields, step, &wrong)?,
            // The kind may be set next, so a key of any kind is accepted here; the check of the tree is stricter.
            ValueShape::Tagged { kinds, .. } if step != "kind" => {
                let given = node.table().and_then(|t| t.get("kind")).and_then(|k| k.node.text());
                let own = kinds.iter().find(|(k, _)| Some(k.as_str()) == given);
                let mut all = own.into_iter().chain(kinds);
                match all.find(|(_, fields)| fields.iter().any(|f| f.name == *step)) {
                    Some((_, fields)) => field(fields, step, &wrong)?,
                    None => {
                        let names = own
                            .or(kinds.first())
                            .into_iter()
                            .flat_map(|(_, f)| f.iter().map(|f| f.name.as_str()));
                        let names = std::iter::once("kind").chain(names);
                        return Err(wrong(format!("unknown key {}{}", quoted(step), expected(step, names))));
                    }
                }
            }
            ValueShape::Tagged { .. } => Below { shape: &ValueShape::Text, default_kind: None, named: false },
            _ => {
                return Err(wrong(format!(
                    "{} has no keys, so {} is not one",
                    node.value.describe(),
                    quoted(step)
                )));
            }
        };
        let found = node.value.describe();
        let Value::Table(table) = &mut node.value else {
            return Err(wrong(format!("{found} has no keys, so {} is not one", quoted(step))));
        };
        if below.named && !last && !table.contains_key(step) {
            let names = table.keys().map(String::as_str);
            return Err(wrong(format!("unknown name {}{}", quoted(step), expected(step, names))));
        }
        let entry = table.entry(step.clone()).or_insert_with(|| fresh(below.default_kind, origin));
        node = &mut entry.node;
        shape = below.shape;
    }
    *node = TreeNode::from_set(value, origin);
    // "--set name=5" is a text if the scenario expects a text.
    let text = match shape {
        ValueShape::Text | ValueShape::Choice { .. } => true,
        ValueShape::Names => !matches!(node.value, Value::List(_)),
        _ => false,
    };
    if text && !matches!(node.value, Value::Text(_)) {
        node.value = Value::Text(value.to_owned());
    }
    // "--set record.pcap=*" is an array of one.
    if let (ValueShape::List(item, None), Value::Text(_)) = (shape, &node.value)
        && matches!(**item, ValueShape::Text)
    {
        node.value = Value::List(vec![TreeNode { origin, value: node.value.clone() }]);
    }
    Ok(())
}

struct Below<'a> {
    shape: &'a ValueShape,
    default_kind: Option<&'a str>,
    /// True if the key is a name chosen by the file, not one of the format.
    named: bool,
}

fn field<'a>(fields: &'a [Field], step: &str, wrong: &dyn Fn(String) -> Errors) -> Result<Below<'a>, Errors> {
    let names = fields.iter().map(|f| f.name.as_str());
    let found = fields.iter().find(|f| f.name == step);
    let found =
        found.ok_or_else(|| wrong(format!("unknown key {}{}", quoted(step), expected(step, names))))?;
    Ok(Below { shape: &found.shape, default_kind: found.default_kind.as_deref(), named: false })
}

/// A table that the file left out, with its default kind.
fn fresh(kind: Option<&str>, origin: Origin) -> TableEntry {
    let mut table = TreeTable::new();
    if let Some(kind) = kind {
        let node = TreeNode { origin, value: Value::Text(kind.to_owned()) };
        table.insert("kind".into(), TableEntry { origin, node });
    }
    TableEntry { origin, node: TreeNode { origin, value: Value::Table(table) } }
}

/// An array element by its number or its `name`.
fn element<'a>(node: &'a mut TreeNode, step: &str) -> Result<&'a mut TreeNode, String> {
    let found = node.value.describe();
    let Value::List(items) = &mut node.value else {
        return Err(format!("{found} has no elements, so {} is not one", quoted(step)));
    };
    let count = items.len();
    let names: Vec<String> = items.iter().enumerate().filter_map(|(i, item)| name_of(i, item)).collect();
    let by_name = items.iter().enumerate().position(|(i, item)| name_of(i, item).as_deref() == Some(step));
    match by_name.or(step.parse().ok().filter(|i| *i < count)) {
        Some(i) => Ok(&mut items[i]),
        None if count == 0 => Err(format!("there is no {}: the array is empty", quoted(step))),
        None => {
            let allowed = expected(step, names.iter().map(String::as_str));
            let allowed =
                allowed.strip_prefix("; expected ").map(|list| format!(", or {list}")).unwrap_or_default();
            let numbers = if count == 1 { "0".into() } else { format!("a number from 0 to {}", count - 1) };
            Err(format!("there is no {}; expected {numbers}{allowed}", quoted(step)))
        }
    }
}

fn name_of(index: usize, item: &TreeNode) -> Option<String> {
    let table = item.table()?;
    match table.get("name") {
        Some(name) => name.node.text().map(str::to_owned),
        None => Some(crate::flow_name(index)),
    }
}
