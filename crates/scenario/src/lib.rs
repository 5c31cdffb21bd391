//! The scenario file: one typed model, the errors a wrong file gets, and the JSON Schema.
//!
//! Follows TOML 1.1 and JSON Schema 2020-12.
//! Differs from plain serde: an error names file, line, key, value, what is allowed and the nearest valid spelling.
//! Leaves out running anything; the model is pure data.

mod model;

pub use model::*;
