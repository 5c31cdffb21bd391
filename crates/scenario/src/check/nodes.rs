//! Checks of the table `nodes`: existing nodes, and valid names of devices.
//!
//! Follows Linux's dev_valid_name.
//! Leaves out whether the emulating machine has the device.

use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::model::Scenario;
use crate::path::KeyPath;
use std::collections::{BTreeMap, BTreeSet};

/// Largest length of a device's name, bytes.
const LONGEST: usize = 15;

pub fn check(scenario: &Scenario, out: &mut FindingList) {
    let at = KeyPath::default().key("nodes");
    let ends: BTreeSet<&str> = scenario
        .flows
        .iter()
        .flat_map(|flow| match &flow.path {
            Some(path) => [path.first(), path.last()].map(|end| end.map(String::as_str)),
            None => [&flow.from, &flow.to].map(|end| end.as_ref().map(|group| group.name())),
        })
        .flatten()
        .collect();
    let mut devices: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, node) in &scenario.nodes {
        out.require(
            ends.contains(name.as_str()),
            || at.key(name),
            || format!("no flow begins or ends at {}{}", quoted(name), expected(name, ends.iter().copied())),
        );
        let Some(device) = &node.device else { continue };
        let key = || at.key(name).key("device");
        let plain = |c: char| !c.is_whitespace() && !matches!(c, '/' | ':' | '\0');
        if device.is_empty()
            || device.len() > LONGEST
            || !device.chars().all(plain)
            || device.starts_with('.')
        {
            out.push(key, || {
                format!(
                    "{} cannot be a device; expected the name of one, such as \"eth1\": at most {LONGEST} bytes without spaces, \
                        \"/\" and \":\"",
                    quoted(device)
                )
            });
        } else if let Some(other) = devices.insert(device, name) {
            out.push(key, || {
                format!(
                    "{} is the device of node {} already; expected another device",
                    quoted(device),
                    quoted(other)
                )
            });
        }
    }
}
