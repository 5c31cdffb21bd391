//! Orbit mean-elements messages as JSON or CSV, the successor of TLE files.
//!
//! Follows CCSDS 502.0-B, and CelesTrak's and Space-Track's forms: an array of flat objects, one object, or a table.
//! Differs: fields that SGP4 does not use may be missing, numbers may be strings, the epoch may end in `Z`.
//! Left out: XML and KVN forms, and mean-element theories other than SGP4.

use serde_json::{Map, Value, json};
use skyhop_text::table::{self, TableError};

use crate::elements::{ElementSet, ElementsError, ElementsPlace, MAX_OBJECTS, check_file, check_size};
use crate::epoch::Epoch;

/// Reads all objects of an OMM file. A file that begins with a table's heading is CSV; any other is JSON.
pub fn parse(file: &[u8]) -> Result<Vec<ElementSet>, ElementsError> {
    check_size(file)?;
    let text = table::text(file).map_err(told)?;
    if text.trim().is_empty() {
        return Err(ElementsError::Empty);
    }
    if text.trim_start().starts_with(|first: char| first.is_ascii_uppercase() || matches!(first, '"' | '#')) {
        return csv(file);
    }
    let root: Value = serde_json::from_str(text)
        .map_err(|error| ElementsError::NotJson { line: error.line(), problem: error.to_string() })?;
    let objects = match root {
        Value::Array(objects) => objects,
        object => vec![object],
    };
    if objects.len() > MAX_OBJECTS {
        return Err(ElementsError::TooMany);
    }
    let sets = (1..).zip(objects).map(|(number, object)| element_set(object, ElementsPlace::Object(number)));
    check_file(sets.collect::<Result<_, _>>()?)
}

/// Reads a table whose first line names the fields; an empty cell is a missing field.
fn csv(file: &[u8]) -> Result<Vec<ElementSet>, ElementsError> {
    let mut heading: Option<Vec<String>> = None;
    let mut sets = Vec::new();
    for row in table::rows(file).map_err(told)? {
        let row = row.map_err(told)?;
        let place = ElementsPlace::Line(row.line);
        let Some(heading) = &heading else {
            heading = Some(row.cells().map(str::to_owned).collect());
            continue;
        };
        let problem = |problem| ElementsError::Field { place, problem };
        if row.len() != heading.len() {
            return Err(problem(format!(
                "{} cells; expected {} as in the heading",
                row.len(),
                heading.len()
            )));
        }
        if sets.len() == MAX_OBJECTS {
            return Err(ElementsError::TooMany);
        }
        let mut object = Map::new();
        for (field, cell) in heading.iter().zip(row.cells()).filter(|(_, cell)| !cell.is_empty()) {
            if let Some(point) = table::comma(cell) {
                let cell = table::shown(cell);
                return Err(problem(format!("{field}: \"{cell}\" has a decimal comma; write {point}")));
            }
            object.insert(field.clone(), typed(field, cell));
        }
        sets.push(element_set(Value::Object(object), place)?);
    }
    check_file(sets)
}

fn told(error: TableError) -> ElementsError {
    match error.line {
        Some(line) => ElementsError::NotText { line },
        None => ElementsError::Encoding { problem: error.message },
    }
}

/// A cell as a JSON value; some fields must be numbers.
fn typed(field: &str, cell: &str) -> Value {
    match field {
        "EPHEMERIS_TYPE" | "ELEMENT_SET_NO" | "REV_AT_EPOCH" => {
            cell.parse::<u64>().map_or_else(|_| Value::from(cell), Value::from)
        }
        _ => Value::from(cell),
    }
}

fn element_set(object: Value, place: ElementsPlace) -> Result<ElementSet, ElementsError> {
    let Value::Object(mut object) = object else {
        return Err(ElementsError::Field { place, problem: "not a json object".into() });
    };
    let problem = |object: &Map<String, Value>, problem: String| {
        let name = object.get("OBJECT_NAME").and_then(Value::as_str).unwrap_or("unnamed");
        ElementsError::Field { place, problem: format!("\"{name}\": {problem}") }
    };
    if let Some(theory) = object.get("MEAN_ELEMENT_THEORY").and_then(Value::as_str)
        && !matches!(theory, "SGP4" | "SGP/SGP4" | "SDP4")
    {
        return Err(problem(&object, format!("mean element theory \"{theory}\"; expected SGP4")));
    }
    let epoch: Epoch = match object.get("EPOCH").and_then(Value::as_str) {
        Some(text) => text.parse().map_err(|error| problem(&object, format!("{error}")))?,
        None => return Err(problem(&object, "EPOCH is missing; expected a utc date and time".into())),
    };
    object.insert("EPOCH".into(), json!(epoch.utc().format("%Y-%m-%dT%H:%M:%S%.f").to_string()));
    for (key, value) in [
        ("OBJECT_NAME", Value::Null),
        ("OBJECT_ID", Value::Null),
        ("CLASSIFICATION_TYPE", json!("U")),
        ("EPHEMERIS_TYPE", json!(0)),
        ("ELEMENT_SET_NO", json!(0)),
        ("REV_AT_EPOCH", json!(0)),
        ("MEAN_MOTION_DOT", json!(0.0)),
        ("MEAN_MOTION_DDOT", json!(0.0)),
    ] {
        object.entry(key).or_insert(value);
    }
    match serde_json::from_value(Value::Object(object.clone())) {
        Ok(mean) => ElementSet::new(mean, place),
        Err(error) => Err(problem(&object, error.to_string())),
    }
}
