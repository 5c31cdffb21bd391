//! Checks across keys: that a link exists, that a start is before an end, that a window can be announced.
//!
//! Follows the limits of the protocols (RFC 791, RFC 7323, RFC 9293) and of the machine.
//! Differs from the shape of a file, which is checked value by value.
//! Leaves out whether a scenario makes sense.

mod angle;
mod association;
mod flows;
mod gateways;
mod links;
pub(crate) mod name;
mod nodes;
mod offered;
mod routing;
mod space;
mod splices;
mod stp;
mod sweep;
mod tcp;
mod track;
mod traps;
mod uplinks;
mod users;

use crate::finding::{Finding, FindingList};
use crate::model::{Scenario, Traffic};
use crate::path::KeyPath;
use skyhop_units::Span;

pub use traps::{about, traps};

/// All mistakes in a scenario whose keys and types are valid, and the number of those that are not listed.
pub fn check(scenario: &Scenario) -> (Vec<Finding>, usize) {
    let mut out = FindingList::default();
    let at = |key: &str| KeyPath::default().key(key);
    if let Some(name) = &scenario.name {
        name::is_plain(name, || at("name"), &mut out);
    }
    out.require(
        scenario.duration > Span::ZERO,
        || at("duration"),
        || "duration of 0 s; expected more than 0 s".into(),
    );
    out.require(
        scenario.record.sample_interval.is_none_or(|interval| interval > Span::ZERO),
        || at("record").key("sample_interval"),
        || "interval of 0 s; expected more than 0 s".into(),
    );
    links::check(scenario, &mut out);
    space::check(scenario, &mut out);
    uplinks::check(scenario, &mut out);
    routing::check(scenario, &mut out);
    sweep::check(scenario, &mut out);
    flows::check(scenario, &mut out);
    association::check(scenario, &mut out);
    nodes::check(scenario, &mut out);
    splices::check(scenario, &mut out);
    gateways::check(scenario, &mut out);
    users::check(scenario, &mut out);
    match crate::network::resolve_into(scenario, &mut out) {
        Some(network) if out.list.is_empty() => {
            links::check_fit(scenario, &network, &mut out);
            links::check_ipv6(scenario, &network, &mut out);
            splices::check_places(scenario, &network, &mut out);
            association::check_ways(scenario, &network, &mut out);
            gateways::check_ways(scenario, &network, &mut out);
            users::check_ways(scenario, &network, &mut out);
        }
        _ => {}
    }
    (out.list, out.more)
}

/// Warnings of settings that are valid but look like mistakes. `given` returns true if a key is in the file.
pub fn warnings(scenario: &Scenario, given: impl Fn(&KeyPath) -> bool) -> Vec<Finding> {
    let flows = KeyPath::default().key("flows");
    let mut out = FindingList::default();
    for (i, flow) in scenario.flows.iter().enumerate() {
        let transport = flows.index(i).key("transport");
        if matches!(flow.traffic, Traffic::Ping { .. }) && given(&transport) {
            out.push(|| transport, || "a ping has no transport; this table is not used".into());
        } else if flow.traffic.in_datagrams()
            && !matches!(flow.transport, crate::model::Transport::Udp)
            && given(&transport)
        {
            out.push(|| transport, || "datagrams go over udp; this table is not used".into());
        }
    }
    flows::warnings(scenario, &mut out);
    splices::warnings(scenario, given, &mut out);
    traps::names(scenario, &mut out);
    if let Ok(network) = crate::network::resolve(scenario) {
        links::warnings(scenario, &network, &mut out);
        offered::more_than_shared(scenario, &network, &mut out);
        out.list.extend(traps(scenario, &network, &|_, _| None));
    }
    out.list
}
