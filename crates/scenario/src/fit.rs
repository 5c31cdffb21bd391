//! Compares the tree of a file with the shape of a scenario: unknown and missing keys, wrong types, wrong units.
//!
//! Follows the shape that the model's schema gives.
//! Differs from serde: it continues after a mistake, and knows the line of each.
//! Leaves out checks across keys, which are in [`crate::check`].

use crate::error::{MOST_PROBLEMS, expected, quoted};
use crate::path::KeyPath;
use crate::shape::{Field, ValueShape};
use crate::tree::{Origin, TreeNode, TreeTable, Value};
use skyhop_text::spelling::{hint, nearest};

/// The mistakes found: origin, key and message; beyond the largest number they are only counted.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    pub list: Vec<(Origin, KeyPath, String)>,
    pub more: usize,
}

impl Mistakes {
    // The message is made only if it is kept: the search for the nearest of many names takes time.
    pub fn push(&mut self, origin: Origin, path: impl FnOnce() -> KeyPath, message: impl FnOnce() -> String) {
        if self.list.len() < MOST_PROBLEMS {
            self.list.push((origin, path(), message()));
        } else {
            self.more += 1;
        }
    }
}

/// Compares `node` with `shape`.
pub(crate) fn fit(shape: &ValueShape, node: &TreeNode, path: &KeyPath, out: &mut Mistakes) {
    let mut wrong = |what: &str| {
        out.push(
            node.origin,
            || path.clone(),
            || format!("expected {what}, found {}", node.value.describe()),
        );
    };
    match (shape, &node.value) {
        (ValueShape::Table(fields), Value::Table(table)) => fit_table(fields, None, node, table, path, out),
        (ValueShape::Map(_), Value::List(items)) if items.iter().any(|item| item.table().is_some()) => {
            let named = items.iter().find_map(|item| match &item.table()?.get("name")?.node.value {
                Value::Text(name) if bare(name) => Some(name.as_str()),
                _ => None,
            });
            wrong(&format!("a table for each, headed [{path}.{}]", named.unwrap_or("NAME")));
        }
        (ValueShape::Table(_) | ValueShape::Map(_), _) if node.table().is_none() => wrong("a table"),
        (ValueShape::Tagged { noun, kinds }, Value::Table(table)) => {
            fit_tagged(noun, kinds, node, table, path, out)
        }
        (ValueShape::Tagged { kinds, .. }, value) => {
            let given = if let Value::Text(text) = value { text.as_str() } else { "" };
            let like =
                kinds.iter().find(|(k, _)| k == given).or(kinds.first()).map_or("", |(k, _)| k.as_str());
            let number = match value {
                Value::Integer(n) => number_key(kinds).map(|key| (key, n.to_string())),
                Value::Float(x) => number_key(kinds).map(|key| (key, x.to_string())),
                _ => None,
            };
            wrong(&match number {
                Some(((kind, key), number)) => {
                    format!("a table such as {{ kind = \"{kind}\", {key} = {number} }}")
                }
                None => format!("a table such as {{ kind = \"{like}\" }}"),
            });
        }
        (ValueShape::Map(item), Value::Table(table)) => {
            for (key, entry) in table {
                fit(item, &entry.node, &path.key(key), out);
            }
        }
        (ValueShape::List(item, length), Value::List(items)) => {
            if let Some(n) = length.filter(|n| *n != items.len()) {
                wrong(&format!("an array of {n}"));
            }
            for (i, entry) in items.iter().enumerate() {
                fit(item, entry, &path.index(i), out);
            }
        }
        (ValueShape::List(item, _), Value::Table(_)) if matches!(**item, ValueShape::Table(_)) => {
            wrong(&format!("an array of tables, each headed [[{path}]]"));
        }
        (ValueShape::List(..), _) => wrong("an array"),
        (ValueShape::Names, Value::Text(_)) => {}
        (ValueShape::Names, Value::List(items)) => {
            for (i, entry) in items.iter().enumerate() {
                fit(&ValueShape::Text, entry, &path.index(i), out);
            }
        }
        (ValueShape::Names, _) => wrong("a string, or an array of strings"),
        (ValueShape::Quantity { parse, .. }, Value::Text(text)) => {
            if let Err(message) = parse(text) {
                out.push(node.origin, || path.clone(), || message);
            }
        }
        (
            ValueShape::Quantity { expecting, .. },
            Value::Integer(_) | Value::HugeInteger(_) | Value::Float(_),
        ) => {
            let value = node.value.describe();
            out.push(node.origin, || path.clone(), || format!("{value} has no unit; expected {expecting}"));
        }
        (ValueShape::Quantity { expecting, .. }, _) => wrong(expecting),
        (ValueShape::Choice { noun, values }, Value::Text(text)) => {
            if !values.contains(text) {
                let names = values.iter().map(String::as_str);
                let message = || format!("unknown {noun} {}{}", quoted(text), expected(text, names));
                out.push(node.origin, || path.clone(), message);
            }
        }
        (ValueShape::Choice { values, .. }, _) => wrong(&format!("one of {}", values.join(", "))),
        (ValueShape::Switch { noun, values }, Value::Text(text)) => {
            if !values.contains(text) {
                let names = ["true", "false"].into_iter().chain(values.iter().map(String::as_str));
                let message = || format!("unknown {noun} {}{}", quoted(text), expected(text, names));
                out.push(node.origin, || path.clone(), message);
            }
        }
        (ValueShape::Text, Value::Text(_))
        | (ValueShape::Boolean | ValueShape::Switch { .. }, Value::Boolean(_)) => {}
        (ValueShape::Number, Value::Integer(_) | Value::Float(_)) => {}
        (ValueShape::Integer { least, most }, Value::Integer(n)) if (*least..=*most).contains(n) => {}
        (ValueShape::Integer { least, most }, _) => wrong(&format!("a whole number from {least} to {most}")),
        (ValueShape::Count { least, most, .. }, Value::Integer(n)) if (*least..=*most).contains(n) => {}
        (ValueShape::Count { word, .. }, Value::Text(text)) if text == word => {}
        (ValueShape::Count { least, most, word }, _) => {
            wrong(&format!("a whole number from {least} to {most}, or \"{word}\""));
        }
        (ValueShape::Text, _) => wrong("a string"),
        (ValueShape::Number, _) => wrong("a number"),
        (ValueShape::Boolean, _) => wrong("true or false"),
        (ValueShape::Switch { values, .. }, _) => wrong(&switch(values)),
        (ValueShape::Table(_) | ValueShape::Map(_) | ValueShape::Any, _) => {}
    }
}

fn fit_tagged(
    noun: &str,
    kinds: &[(String, Vec<Field>)],
    node: &TreeNode,
    table: &TreeTable,
    path: &KeyPath,
    out: &mut Mistakes,
) {
    let names = kinds.iter().map(|(kind, _)| kind.as_str());
    let Some(kind) = table.get("kind") else {
        let message = || format!("missing key \"kind\"{}", expected("", names));
        return out.push(node.origin, || path.clone(), message);
    };
    match (kind.node.text(), kinds.iter().find(|(k, _)| Some(k.as_str()) == kind.node.text())) {
        (_, Some((_, fields))) => fit_table(fields, Some(kinds), node, table, path, out),
        (Some(text), None) => {
            let message = || format!("unknown {noun} {}{}", quoted(text), expected(text, names));
            out.push(kind.node.origin, || path.key("kind"), message);
        }
        (None, None) => {
            let message =
                || format!("{} is not a kind of {noun}{}", kind.node.value.describe(), expected("", names));
            out.push(kind.node.origin, || path.key("kind"), message);
        }
    }
}

/// Compares a table with its fields. `kinds` are those of a tagged table, whose `kind` has been checked.
fn fit_table(
    fields: &[Field],
    kinds: Option<&[(String, Vec<Field>)]>,
    node: &TreeNode,
    table: &TreeTable,
    path: &KeyPath,
    out: &mut Mistakes,
) {
    for (key, entry) in table {
        if kinds.is_some() && key == "kind" {
            continue;
        }
        match fields.iter().find(|f| f.name == *key) {
            Some(field) if two_ways(fields, field, &entry.node) => {
                let message = || {
                    let found = entry.node.value.describe();
                    format!(
                        "found {found}; one direction is {key} = \"...\", the other reverse = {{ {key} = \"...\" }}"
                    )
                };
                out.push(entry.node.origin, || path.key(key), message);
            }
            Some(field) => fit(&field.shape, &entry.node, &path.key(key), out),
            None => out.push(entry.origin, || path.key(key), || unknown_key(key, fields, kinds, table)),
        }
    }
    for field in fields.iter().filter(|f| f.required && !table.contains_key(&f.name)) {
        // A misspelt key is reported once, as an unknown key.
        let misspelt = table
            .keys()
            .any(|k| !fields.iter().any(|f| f.name == *k) && nearest(k, [field.name.as_str()]).is_some());
        if !misspelt {
            let what = describe(&field.shape);
            out.push(
                node.origin,
                || path.clone(),
                || format!("missing key \"{}\"; expected {what}", field.name),
            );
        }
    }
}

/// Returns true if the quantity of a link has a value for each direction, which has a table of its own.
fn two_ways(fields: &[Field], field: &Field, node: &TreeNode) -> bool {
    let quantity = matches!(field.shape, ValueShape::Quantity { .. });
    let reverse = |f: &Field| f.name == "reverse" && matches!(f.shape, ValueShape::Table(_));
    quantity && matches!(&node.value, Value::List(both) if both.len() == 2) && fields.iter().any(reverse)
}

fn unknown_key(
    key: &str,
    fields: &[Field],
    kinds: Option<&[(String, Vec<Field>)]>,
    table: &TreeTable,
) -> String {
    let elsewhere = kinds.into_iter().flatten().find(|(_, other)| other.iter().any(|f| f.name == *key));
    let given = table.get("kind").and_then(|k| k.node.text());
    let names = fields.iter().map(|f| f.name.as_str());
    match (elsewhere, given) {
        (Some((kind, _)), Some(given)) => {
            format!("unknown key {} for kind \"{given}\"; it belongs to kind \"{kind}\"", quoted(key))
        }
        _ if fields.is_empty() && kinds.is_some() => {
            let all =
                kinds.into_iter().flatten().flat_map(|(_, other)| other.iter().map(|f| f.name.as_str()));
            format!("unknown key {}; this kind has no other keys{}", quoted(key), hint(key, all))
        }
        _ if key == "dscp" && fields.iter().any(|f| f.name == "udp") => {
            format!("unknown key {}: a gateway's table is not simulated, as no queue reads DSCP", quoted(key))
        }
        _ if key.starts_with("quota") && fields.iter().any(|f| f.name == "hosts") => {
            format!(
                "unknown key {}: a gateway's quotas are not simulated{}",
                quoted(key),
                expected("", names)
            )
        }
        _ => {
            let free = names.clone().filter(|n| !table.contains_key(*n));
            let near = hint(key, free);
            format!("unknown key {}{}{near}", quoted(key), expected("", names))
        }
    }
}

/// A kind whose only key is a number, and that key: a probability if there is one.
fn number_key(kinds: &[(String, Vec<Field>)]) -> Option<(&str, &str)> {
    let numbers = kinds.iter().filter_map(|(kind, fields)| match fields.as_slice() {
        [field] if matches!(field.shape, ValueShape::Number) => Some((kind.as_str(), field.name.as_str())),
        _ => None,
    });
    numbers.min_by_key(|(_, key)| *key != "probability")
}

/// Returns true if a key is written without quotes.
fn bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The expected value of a missing key.
fn describe(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Table(_) | ValueShape::Map(_) => "a table".into(),
        ValueShape::Tagged { kinds, .. } => {
            format!("a table such as {{ kind = \"{}\" }}", kinds.first().map_or("", |(k, _)| k.as_str()))
        }
        ValueShape::List(..) => "an array".into(),
        ValueShape::Quantity { expecting, .. } => expecting.clone(),
        ValueShape::Choice { values, .. } => format!("one of {}", values.join(", ")),
        ValueShape::Text => "a string".into(),
        ValueShape::Names => "a string, or an array of strings".into(),
        ValueShape::Integer { .. } | ValueShape::Count { .. } => "a whole number".into(),
        ValueShape::Number => "a number".into(),
        ValueShape::Boolean => "true or false".into(),
        ValueShape::Switch { values, .. } => switch(values),
        ValueShape::Any => "a value".into(),
    }
}

/// The values of a switch that also has words.
fn switch(values: &[String]) -> String {
    format!("true, false, or one of {}", values.join(", "))
}
