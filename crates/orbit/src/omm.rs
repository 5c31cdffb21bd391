//! Orbit mean-elements messages as JSON, the successor of TLE files.
//!
//! Follows CCSDS 502.0-B and CelesTrak's and Space-Track's JSON: an array of flat objects, or one object.
//! Differs: fields that do not enter SGP4 may be missing, numbers may be strings, the epoch may end in `Z`.
//! Left out: XML, KVN and CSV forms, and mean-element theories other than SGP4.

use serde_json::{Map, Value, json};

use crate::elements::{ElementSet, ElementsError, Place, check_file};
use crate::epoch::Epoch;

/// Reads all objects of an OMM JSON file.
pub fn parse(file: &[u8]) -> Result<Vec<ElementSet>, ElementsError> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    if file.trim_ascii().is_empty() {
        return Err(ElementsError::Empty);
    }
    let root: Value = serde_json::from_slice(file)
        .map_err(|error| ElementsError::NotJson { line: error.line(), problem: error.to_string() })?;
    let objects = match root {
        Value::Array(objects) => objects,
        object => vec![object],
    };
    let sets = (1..).zip(objects).map(|(number, object)| element_set(object, Place::Object(number)));
    check_file(sets.collect::<Result<_, _>>()?)
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
