//! Quantities in files: read from and written as strings, described in the JSON Schema by a pattern.
//!
//! Follows the rule of the crate: a bare number is an error that shows how to write it.
//! Differs from serde's derive: one macro for all quantities, because all of them behave the same.
//! Leaves out binary formats.

macro_rules! text_quantity {
    ($type:ty, $name:literal, $example:literal, $pattern:literal) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct TextVisitor;
                impl serde::de::Visitor<'_> for TextVisitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!($name, " with its unit, such as ", $example))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$type, E> {
                        Err(E::custom(bare(value, $name, $example)))
                    }
                    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$type, E> {
                        Err(E::custom(bare(value, $name, $example)))
                    }
                    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<$type, E> {
                        Err(E::custom(bare(value, $name, $example)))
                    }
                }
                fn bare(value: impl std::fmt::Display, name: &str, example: &str) -> String {
                    let rates = if name == "a rate" { " or \"1 MB/s\"" } else { "" };
                    format!("bare number {value} has no unit; write {name} as {example}{rates}")
                }
                deserializer.deserialize_any(TextVisitor)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": concat!($name, " with its unit, such as ", $example),
                    "pattern": $pattern,
                })
            }
        }
    };
}
pub(crate) use text_quantity;
