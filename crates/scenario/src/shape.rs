//! The shape of a scenario: the JSON Schema of the model, as a tree with which a file is compared.
//!
//! Follows schemars' rendering of the model, so that the types are the only source.
//! Differs from a JSON Schema validator: it knows the few forms that the model uses, and suggests near spellings.
//! Leaves out recursion, which the model does not have.

use crate::model::Scenario;
use serde_json::Value as Json;
use skyhop_units::{Amount, Angle, Bytes, Depth, Length, Rate, Span, Speed, Time};
use std::sync::LazyLock;

/// The form of a value.
#[derive(Debug, Clone)]
pub(crate) enum ValueShape {
    /// A table with fixed keys.
    Table(Vec<Field>),
    /// A table whose `kind` determines its other keys.
    Tagged {
        noun: String,
        kinds: Vec<(String, Vec<Field>)>,
    },
    /// A table whose keys are names.
    Map(Box<ValueShape>),
    /// An array, and its length if that is fixed.
    List(Box<ValueShape>, Option<usize>),
    /// A string with a number and a unit.
    Quantity {
        expecting: String,
        parse: ReadQuantity,
    },
    /// One of several strings.
    Choice {
        noun: String,
        values: Vec<String>,
    },
    Text,
    /// A string, or an array of strings.
    Names,
    Integer {
        least: i64,
        most: i64,
    },
    /// An integer, or a word that stands for one.
    Count {
        least: i64,
        most: i64,
        word: String,
    },
    Number,
    Boolean,
    /// True, false, or one of several strings.
    Switch {
        noun: String,
        values: Vec<String>,
    },
    /// Any TOML value; it is checked where it is used.
    Any,
}

/// A key of a table.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub name: String,
    pub shape: ValueShape,
    pub required: bool,
    /// The `kind` that applies if the whole table is left out.
    pub default_kind: Option<String>,
}

/// The shape of a scenario.
pub(crate) static SCENARIO: LazyLock<ValueShape> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Scenario).to_value();
    ShapeReader { defs: &schema["$defs"] }.shape(&schema, "scenario")
});

struct ShapeReader<'a> {
    defs: &'a Json,
}

impl ShapeReader<'_> {
    // Panics on an unknown form, which is a new kind of field in the model; the tests reach it first.
    fn shape(&self, json: &Json, noun: &str) -> ValueShape {
        if json == &Json::Bool(true) {
            return ValueShape::Any;
        }
        if let Some(name) = json["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
            let def = &self.defs[name];
            return match quantity(name) {
                Some(parse) => ValueShape::Quantity {
                    expecting: def["description"].as_str().unwrap_or(name).into(),
                    parse,
                },
                None => self.shape(def, &words(name)),
            };
        }
        if let Some([one, null]) = json["anyOf"].as_array().map(Vec::as_slice) {
            assert_eq!(null["type"], "null", "not an option: {json}");
            return self.shape(one, noun);
        }
        if let Some([count, word]) = json["oneOf"].as_array().map(Vec::as_slice)
            && count["type"] == "integer"
        {
            let ValueShape::Integer { least, most } = integer(count) else { unreachable!("it is one") };
            return ValueShape::Count { least, most, word: string(&word["const"]) };
        }
        if let Some([text, list]) = json["oneOf"].as_array().map(Vec::as_slice)
            && text["type"] == "string"
            && list["type"] == "array"
        {
            return ValueShape::Names;
        }
        if let Some([switch, words]) = json["oneOf"].as_array().map(Vec::as_slice)
            && switch["type"] == "boolean"
        {
            let values = words["enum"].as_array().into_iter().flatten().map(string).collect();
            return ValueShape::Switch { noun: noun.into(), values };
        }
        if let Some(choices) = json["oneOf"].as_array() {
            return self.one_of(choices, noun);
        }
        let kind = json["type"].as_str().or(json["type"][0].as_str());
        match kind {
            Some("string") => match json["enum"].as_array() {
                Some(values) => {
                    ValueShape::Choice { noun: noun.into(), values: values.iter().map(string).collect() }
                }
                None => ValueShape::Text,
            },
            Some("boolean") => ValueShape::Boolean,
            Some("number") => ValueShape::Number,
            Some("integer") => integer(json),
            Some("array") => {
                let fixed = json["minItems"].as_u64().map(|n| n as usize);
                assert_eq!(json["minItems"], json["maxItems"], "an array is of any length or of one: {json}");
                ValueShape::List(Box::new(self.shape(&json["items"], noun)), fixed)
            }
            Some("object") if json["additionalProperties"].is_object() => {
                ValueShape::Map(Box::new(self.shape(&json["additionalProperties"], noun)))
            }
            Some("object") => ValueShape::Table(self.fields(json)),
            _ => panic!("no shape for {json}"),
        }
    }

    fn one_of(&self, choices: &[Json], noun: &str) -> ValueShape {
        if choices.iter().all(|c| c["type"] == "string") {
            // An alias of a choice is an extension of the schema, which schemars does not take from serde.
            let aliases =
                |c: &Json| c["aliases"].as_array().into_iter().flatten().map(string).collect::<Vec<_>>();
            let values = choices.iter().flat_map(|c| match c["enum"].as_array() {
                Some(values) => values.iter().map(string).collect(),
                None => [vec![string(&c["const"])], aliases(c)].concat(),
            });
            return ValueShape::Choice { noun: noun.into(), values: values.collect() };
        }
        let kinds = choices.iter().map(|c| (string(&c["properties"]["kind"]["const"]), self.fields(c)));
        ValueShape::Tagged { noun: noun.into(), kinds: kinds.collect() }
    }

    fn fields(&self, json: &Json) -> Vec<Field> {
        let required = |name: &str| json["required"].as_array().is_some_and(|r| r.iter().any(|x| x == name));
        let properties = json["properties"].as_object().into_iter().flatten();
        let mut fields = Vec::new();
        for (name, property) in properties.filter(|(_, p)| p.get("const").is_none()) {
            fields.push(Field {
                name: name.clone(),
                shape: self.shape(property, &words(name)),
                required: required(name),
                default_kind: property["default"]["kind"].as_str().map(str::to_owned),
            });
        }
        fields
    }
}

fn integer(json: &Json) -> ValueShape {
    let most = match json["format"].as_str() {
        Some("uint8") => i64::from(u8::MAX),
        Some("uint16") => i64::from(u16::MAX),
        Some("uint32") => i64::from(u32::MAX),
        _ => i64::MAX,
    };
    ValueShape::Integer {
        least: json["minimum"].as_i64().unwrap_or(i64::MIN),
        most: json["maximum"].as_i64().unwrap_or(i64::MAX).min(most),
    }
}

/// Parses a quantity; the error says why the text is none.
type ReadQuantity = fn(&str) -> Result<(), String>;

fn quantity(name: &str) -> Option<ReadQuantity> {
    fn read<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<(), String> {
        text.parse::<T>().map(drop).map_err(|e| e.to_string())
    }
    Some(match name {
        "Amount" => read::<Amount>,
        "Depth" => read::<Depth>,
        "Angle" => read::<Angle>,
        "Bytes" => read::<Bytes>,
        "Length" => read::<Length>,
        "Rate" => read::<Rate>,
        "Span" => read::<Span>,
        "Speed" => read::<Speed>,
        "Time" => read::<Time>,
        _ => return None,
    })
}

fn string(json: &Json) -> String {
    match json.as_str() {
        Some(text) => text.to_owned(),
        None => panic!("not a string: {json}"),
    }
}

/// Converts `DelayedAck` and `delayed_ack` to "delayed ack".
fn words(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.char_indices() {
        if c == '_' || (c.is_uppercase() && i > 0) {
            out.push(' ');
        }
        if c != '_' {
            out.extend(c.to_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_understood() {
        let ValueShape::Table(fields) = &*SCENARIO else { panic!() };
        let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
        assert!(
            names.contains(&"links") && names.contains(&"flows") && names.contains(&"record"),
            "{names:?}"
        );
        let required: Vec<&str> = fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect();
        assert_eq!(required, ["duration", "flows"]);
    }

    // A quantity is checked by its pattern in editors and by its parser here; one missing from the list above would be a plain
    // string here and fail later with a poorer message.
    #[test]
    fn every_string_with_a_pattern_is_a_quantity() {
        let schema = schemars::schema_for!(Scenario).to_value();
        for (name, def) in schema["$defs"].as_object().unwrap() {
            assert_eq!(def.get("pattern").is_some(), quantity(name).is_some(), "{name}");
            let open = def["type"] == "object" && def["additionalProperties"] != Json::Bool(false);
            assert!(!open, "{name} lets unknown keys pass");
        }
    }
}
