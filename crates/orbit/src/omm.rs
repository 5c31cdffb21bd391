//! Orbit mean-elements messages as JSON or CSV, the successor of TLE files.
//!
//! Follows CCSDS 502.0-B and CelesTrak's and Space-Track's forms: an array of flat objects, one object, or a table.
//! Differs: fields that do not enter SGP4 may be missing, numbers may be strings, the epoch may end in `Z`.
//! Left out: XML and KVN forms, line breaks within a CSV cell, and mean-element theories other than SGP4.

use serde_json::{Map, Value, json};

use crate::elements::{ElementSet, ElementsError, MAX_OBJECTS, Place, check_file, check_size};
use crate::epoch::Epoch;

/// Reads all objects of an OMM file. A file that begins with a table's heading is CSV, any other JSON.
pub fn parse(file: &[u8]) -> Result<Vec<ElementSet>, ElementsError> {
    check_size(file)?;
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    if file.trim_ascii().is_empty() {
        return Err(ElementsError::Empty);
    }
    if file.trim_ascii_start().first().is_some_and(|first| first.is_ascii_uppercase() || *first == b'"') {
        return csv(file);
    }
    let root: Value = serde_json::from_slice(file)
        .map_err(|error| ElementsError::NotJson { line: error.line(), problem: error.to_string() })?;
    let objects = match root {
        Value::Array(objects) => objects,
        object => vec![object],
    };
    if objects.len() > MAX_OBJECTS {
        return Err(ElementsError::TooMany);
    }
    let sets = (1..).zip(objects).map(|(number, object)| element_set(object, Place::Object(number)));
    check_file(sets.collect::<Result<_, _>>()?)
}

/// A table whose first line names the fields; an empty cell is a field left out.
fn csv(file: &[u8]) -> Result<Vec<ElementSet>, ElementsError> {
    let mut heading: Vec<String> = Vec::new();
    let mut sets = Vec::new();
    for (number, bytes) in (1..).zip(file.split(|&byte| byte == b'\n')) {
        let line = std::str::from_utf8(bytes).map_err(|_| ElementsError::NotText { line: number })?.trim();
        if line.is_empty() {
            continue;
        }
        let place = Place::Line(number);
        let row = cells(line);
        if heading.is_empty() {
            heading = row;
            continue;
        }
        if row.len() != heading.len() {
            let problem = format!("{} cells; expected {} as in the heading", row.len(), heading.len());
            return Err(ElementsError::Field { place, problem });
        }
        if sets.len() == MAX_OBJECTS {
            return Err(ElementsError::TooMany);
        }
        let filled = heading.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let object = filled.map(|(field, cell)| (field.clone(), typed(field, cell))).collect();
        sets.push(element_set(Value::Object(object), place)?);
    }
    check_file(sets)
}

/// The cells of a line; one in quotes may hold commas, and a quote written twice.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let last = cells.len() - 1;
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cells[last].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells[last].push(c),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// A cell as JSON has it: some fields are numbers there, and take nothing else.
fn typed(field: &str, cell: String) -> Value {
    match field {
        "EPHEMERIS_TYPE" | "ELEMENT_SET_NO" | "REV_AT_EPOCH" => {
            cell.parse::<u64>().map_or(Value::String(cell), Value::from)
        }
        _ => Value::String(cell),
    }
}

fn element_set(object: Value, place: Place) -> Result<ElementSet, ElementsError> {
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
