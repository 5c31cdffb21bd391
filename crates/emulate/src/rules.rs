//! Rules that direct packets arriving on a device into the network, and those left by killed runs.
//!
//! Follows ip-rule(8). They have their own protocol number, and a table whose number gives its device: a rule whose device is gone
//! belongs to no running process.
//! Differs from a file that lists them: the kernel keeps this list with the rules, and a rule's priority tells which settings to
//! restore.
//! Leaves out the table's route, which vanishes with its device.

use crate::netlink::Netlink;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::io;

/// Protocol number of these rules, shown by `ip rule` as "proto 83".
const PROTOCOL: u8 = 83;
/// Priority after the table of the machine's own addresses and before its main one.
const PRIORITY: u32 = 830;
/// Base of the table numbers, to which the index of the device is added.
const TABLES: u32 = 83_000_000;

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// The parameter that enables forwarding from a device.
    pub fn forwarding(self, device: &str) -> String {
        match self {
            IpVersion::V4 => format!("ipv4/conf/{device}/forwarding"),
            IpVersion::V6 => format!("ipv6/conf/{device}/force_forwarding"),
        }
    }
}

/// Both versions of IP.
pub const VERSIONS: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];

/// A rule: packets that arrive on `device` go to the device with index `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The version of IP to which it applies.
    pub version: IpVersion,
    /// The device of the machine.
    pub device: String,
    /// Index of the network's device.
    pub to: u32,
    /// True if forwarding of the device was enabled by this run.
    pub switched: bool,
}

/// Number of the table that leads to the device with that index.
pub fn table(to: u32) -> u32 {
    TABLES + to
}

impl Rule {
    fn message(&self) -> RuleMessage {
        let mut message = RuleMessage::default();
        message.header.family = match self.version {
            IpVersion::V4 => AddressFamily::Inet,
            IpVersion::V6 => AddressFamily::Inet6,
        };
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![
            RuleAttribute::Iifname(self.device.clone()),
            RuleAttribute::Priority(PRIORITY + u32::from(self.switched)),
            RuleAttribute::Table(table(self.to)),
            RuleAttribute::Protocol(RouteProtocol::Other(PROTOCOL)),
        ];
        message
    }

    /// Reads a rule; `None` if it is another kind of rule.
    fn of(message: &RuleMessage) -> Option<Self> {
        let version = match message.header.family {
            AddressFamily::Inet => IpVersion::V4,
            AddressFamily::Inet6 => IpVersion::V6,
            _ => return None,
        };
        let (mut device, mut to, mut switched, mut own) = (None, None, None, false);
        for attribute in &message.attributes {
            match attribute {
                RuleAttribute::Iifname(name) => device = Some(name.clone()),
                RuleAttribute::Table(table) => to = table.checked_sub(TABLES),
                RuleAttribute::Priority(priority) => {
                    switched = priority.checked_sub(PRIORITY).filter(|n| *n < 2).map(|n| n == 1);
                }
                RuleAttribute::Protocol(protocol) => own = u8::from(*protocol) == PROTOCOL,
                _ => {}
            }
        }
        own.then_some(Self { version, device: device?, to: to?, switched: switched? })
    }

    /// Adds the rule.
    pub fn add(&self, netlink: &mut Netlink) -> io::Result<()> {
        let message = RouteNetlinkMessage::NewRule(self.message());
        netlink.ask(message, NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Removes the rule.
    pub fn remove(&self, netlink: &mut Netlink) -> io::Result<()> {
        netlink.ask(RouteNetlinkMessage::DelRule(self.message()), 0).map(drop)
    }
}

/// All rules of emulations, of running and of killed ones.
pub fn rules(netlink: &mut Netlink) -> io::Result<Vec<Rule>> {
    let mut found = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut message = RuleMessage::default();
        message.header.family = family;
        match netlink.list(RouteNetlinkMessage::GetRule(message)) {
            Ok(all) => found.extend(all.iter().filter_map(|message| match message {
                RouteNetlinkMessage::NewRule(rule) => Rule::of(rule),
                _ => None,
            })),
            // A kernel without IPv6.
            Err(_) if family == AddressFamily::Inet6 => {}
            Err(why) => return Err(why),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_known_again_and_others_are_not() {
        for (version, switched) in [(IpVersion::V4, false), (IpVersion::V6, true)] {
            let rule = Rule { version, device: "eth1".into(), to: 7, switched };
            assert_eq!(Rule::of(&rule.message()), Some(rule.clone()));
            let mut other = rule.message();
            other.attributes.retain(|attribute| !matches!(attribute, RuleAttribute::Protocol(_)));
            assert_eq!(Rule::of(&other), None, "a rule of somebody else");
            let mut other = rule.message();
            other.attributes[1] = RuleAttribute::Priority(PRIORITY + 2);
            assert_eq!(Rule::of(&other), None);
        }
    }
}
