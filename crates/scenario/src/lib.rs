//! The scenario file: one typed model, error messages, and the JSON Schema.
//!
//! Follows TOML 1.1 and JSON Schema 2020-12.
//! Differs from plain serde: an error names file, line, key, value, what is allowed and the nearest valid spelling.
//! Leaves out running; the model is pure data.
//!
//! ```
//! let text = br#"
//! duration = "120 s"
//! [links.satellite]
//! rate = "1.5 mbps"
//! delay = "300 ms"
//! [[flows]]
//! path = ["server", "satellite", "user"]
//! traffic = { kind = "bulk", size = "10 MB" }
//! "#;
//! let error = skyhop_scenario::parse(text, "geo.toml", &[]).unwrap_err().to_string();
//! assert!(error.starts_with("geo.toml:4: links.satellite.rate: unit \"mbps\" is ambiguous"));
//!
//! let rate = ("links.satellite.rate".to_string(), "1.5 Mbit/s".to_string());
//! let loaded = skyhop_scenario::parse(text, "geo.toml", &[rate]).unwrap();
//! assert_eq!(loaded.scenario.links["satellite"].rate.as_bps(), 1_500_000);
//! ```

pub mod check;
mod error;
mod expand;
mod files;
mod finding;
mod fit;
mod fleets;
mod model;
pub mod network;
mod path;
pub mod rates;
mod read;
mod set;
mod shape;
mod tree;

pub use error::{Errors, Place, Problem};
pub use files::{Files, LARGEST_FILE};
pub use finding::Finding;
pub use fleets::PlacedFleet;
pub use model::*;
pub use path::{KeyPath, KeyStep};
pub use read::{Given, LARGEST_SCENARIO, Loaded, load, load_given, load_stdin, parse, parse_with};
pub use set::parse_set;

/// The JSON Schema of a scenario, for editors and other programs.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    join_lines(&mut schema);
    // A value of strings and numbers can always be printed.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

// A comment in the model may have several lines; its description in the schema has one, which editors wrap.
fn join_lines(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(keys) => {
            for (key, value) in keys {
                match value {
                    serde_json::Value::String(text) if key == "description" => {
                        *text = text.replace('\n', " ")
                    }
                    value => join_lines(value),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(join_lines),
        _ => {}
    }
}

/// Default name of the flow at `index`: the first is "flow-1".
pub(crate) fn flow_name(index: usize) -> String {
    format!("flow-{}", index + 1)
}

impl Constellation {
    /// A `[constellation]` without keys, which is incomplete until one of them defines the satellites.
    pub fn bare() -> Self {
        // Every key of the table is optional, which a test checks.
        serde_json::from_str("{}").expect("each key has a default")
    }
}

impl Scenario {
    /// A scenario with satellites only, for questions that need no packets. It would not pass [`check::check`], since it has no
    /// flows.
    pub fn of_satellites(constellation: Constellation) -> Self {
        Self {
            name: None,
            description: None,
            duration: skyhop_units::Span::from_secs(1),
            seed: 1,
            host: Host::default(),
            ip: Ip::default(),
            links: Default::default(),
            uplinks: Default::default(),
            constellation: Some(constellation),
            constellations: Default::default(),
            terminals: Default::default(),
            populations: Default::default(),
            nodes: Default::default(),
            routing: Routing::default(),
            failures: Vec::new(),
            random_failures: None,
            flows: Vec::new(),
            members: Vec::new(),
            splices: Default::default(),
            record: Record::default(),
            sweep: None,
        }
    }

    /// Name of the flow at `index` in results.
    pub fn flow_name(&self, index: usize) -> String {
        self.flows.get(index).and_then(|f| f.name.clone()).unwrap_or_else(|| flow_name(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_a_constellation_may_be_left_out() {
        let bare = Constellation::bare();
        assert_eq!(
            (bare.preset, bare.isls, bare.update_interval),
            (None, None, skyhop_units::Span::from_secs(10))
        );
        assert_eq!(Scenario::of_satellites(bare.clone()).constellation, Some(bare));
    }
}
