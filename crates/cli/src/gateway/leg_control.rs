//! The legs of a split path as one emulation to `skyhop emulate set` and `watch`.
//!
//! Follows [`skyhop_emulate::control`], whose sockets only processes of the same network namespace see: each leg's is in its own.
//! Leaves out changes of several legs at once, which could not be made all or none.

use serde_json::{Map, Value, json};
use skyhop_emulate::control;
use skyhop_emulate::namespace::Namespace;
use std::collections::BTreeSet;

/// The legs of a path.
pub struct LegControl(Vec<ControlledLeg>);

/// A leg's namespace and process, and its nodes, that towards the opener of connections first.
type ControlledLeg = (Namespace, u32, [String; 2]);

impl LegControl {
    /// The legs in the order of the hosts.
    pub fn of(legs: Vec<ControlledLeg>) -> Self {
        Self(legs)
    }

    /// Answers a request as one emulation does.
    pub fn answer(&mut self, asked: &Value) -> Value {
        let Self(legs) = self;
        let states: Vec<Value> = legs.iter().map(|leg| ask(leg, &json!({}))).collect();
        let Some(sets) = asked["set"].as_array() else { return together(legs, &states) };
        let link = |set: &Value| {
            let path = set.as_str()?.strip_prefix("links.")?;
            Some(path.split(['.', '=']).next()?.trim().trim_matches('"').to_owned())
        };
        let has = |state: &Value, link: &String| !state["links"][link].is_null();
        let place =
            |set: &Value| link(set).and_then(|link| states.iter().position(|state| has(state, &link)));
        let places: BTreeSet<Option<usize>> = sets.iter().map(place).collect();
        match places.into_iter().collect::<Vec<_>>()[..] {
            [Some(one)] => ask(&legs[one], asked),
            [_, _, ..] => {
                json!({ "error": "links of several legs between gateways; expected one leg's at a time" })
            }
            _ => {
                let names = states.iter().filter_map(|state| state["links"].as_object()).flat_map(Map::keys);
                let names: Vec<&str> = names.map(String::as_str).collect();
                let sets: Vec<&str> = sets.iter().filter_map(Value::as_str).collect();
                json!({ "error": format!("{}: expected a link of {}", sets.join(", "), names.join(", ")) })
            }
        }
    }
}

/// The answer of a leg, which is in the leg's namespace.
fn ask((namespace, process, _): &ControlledLeg, question: &Value) -> Value {
    let failed = |why: String| json!({ "error": why });
    match namespace.within(|| control::ask(*process, question)) {
        Ok(answer) => answer.unwrap_or_else(|why| failed(why.to_string())),
        Err(why) => failed(why.to_string()),
    }
}

/// The state of all legs: the hosts at both ends of the path, a flow for each leg, and all links.
fn together(legs: &[ControlledLeg], states: &[Value]) -> Value {
    let (mut hosts, mut flows, mut links) = (Map::new(), Map::new(), Map::new());
    for (place, ((_, _, [near, far]), state)) in legs.iter().zip(states).enumerate() {
        let last = place + 1 == legs.len();
        for (name, here) in [(near, place == 0), (far, last)] {
            if here {
                hosts.insert(name.clone(), state["hosts"][name].clone());
            }
        }
        for (name, flow) in state["flows"].as_object().into_iter().flatten() {
            flows.insert(format!("{name}, {near} to {far}"), flow.clone());
        }
        links.extend(
            state["links"].as_object().into_iter().flatten().map(|(name, link)| (name.clone(), link.clone())),
        );
    }
    let most = |key: &str| states.iter().filter_map(|state| state[key].as_f64()).reduce(f64::max);
    json!({ "now_s": most("now_s"), "late_p99_s": most("late_p99_s"), "hosts": hosts, "flows": flows, "links": links })
}
