//! Checks of a sweep: lists that are not empty, zips of equal length, no path varied twice.
//!
//! Follows the model: each path has a list of values.
//! Differs from the check of single values, which are tried in the scenario when everything else is valid.
//! Leaves out the number of runs, which is for the user to judge.

use crate::finding::FindingList;
use crate::model::{Scenario, Sweep};
use crate::path::KeyPath;

pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    let Some(sweep) = &scenario.sweep else { return };
    let top = KeyPath::default().key("sweep");
    let Sweep { grid, zip, until, .. } = sweep;
    if grid.is_empty() && zip.is_empty() && sweep.seeds.is_none() && until.is_none() {
        out.push(|| top.clone(), || "varies nothing; expected grid, zip, seeds or until".into());
    }
    for (group, lists) in [("grid", grid), ("zip", zip)] {
        for (path, values) in lists {
            let at = || top.key(group).key(path);
            out.require(!values.is_empty(), at, || "no values to try; expected at least one".into());
            out.require(!path.starts_with("sweep"), at, || "a sweep cannot vary itself".into());
            let twice = group == "zip" && grid.contains_key(path);
            out.require(!twice, at, || "is in the grid too; expected in one of them".into());
        }
    }
    if let Some((first, length)) = zip.iter().next().map(|(path, values)| (path, values.len())) {
        for (path, values) in zip.iter().filter(|(_, values)| values.len() != length) {
            out.push(
                || top.key("zip").key(path),
                || format!("has {} values, and {first} has {length}; expected as many", values.len()),
            );
        }
    }
    if let Some(until) = until {
        let at = |key: &'static str| top.key("until").key(key);
        out.require(
            until.within > 0.0 && until.within < 1.0,
            || at("within"),
            || format!("{} is not between 0 and 1, such as 0.05", until.within),
        );
        let least = sweep.seeds.unwrap_or(2);
        out.require(
            until.most_seeds >= least,
            || at("most_seeds"),
            || format!("{} is less than the {least} seeds to begin with", until.most_seeds),
        );
    }
}
