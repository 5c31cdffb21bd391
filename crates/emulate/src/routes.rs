//! Destinations of a port's packets: the flow to the host with the address, or to the device in front of it.
//!
//! Follows longest-prefix matching; addresses of hosts come first.
//! Differs from a routing table: there are as many entries as flows at the port, and a few prefixes where several of them lead to
//! devices.
//! Leaves out multicast, broadcast and link-local addresses.

use std::net::{IpAddr, Ipv4Addr};

/// Addresses with the same first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressPrefix {
    bits: u8,
    v6: bool,
    /// The first bits, from the highest on; all others are 0.
    value: u128,
}

impl AddressPrefix {
    /// The prefix of all addresses that have the first `bits` bits of `address`.
    pub fn new(address: IpAddr, bits: u8) -> Self {
        let (v6, value) = number(address);
        Self { bits, v6, value: value & mask(bits) }
    }

    /// All addresses of both versions.
    pub fn all() -> [Self; 2] {
        [false, true].map(|v6| Self { bits: 0, v6, value: 0 })
    }

    fn has(&self, (v6, value): (bool, u128)) -> bool {
        self.v6 == v6 && value & mask(self.bits) == self.value
    }
}

fn number(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(v4) => (false, u128::from(u32::from(v4)) << 96),
        IpAddr::V6(v6) => (true, v6.into()),
    }
}

fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

/// A flow by its index in the scenario, and true in the direction of its `from`.
pub type FlowWay = (u32, bool);

/// The routes of a port.
#[derive(Debug, Clone, Default)]
pub struct PortRoutes {
    /// Addresses of hosts, sorted.
    hosts: Vec<(Ipv4Addr, FlowWay)>,
    /// Prefixes behind devices, the longest first.
    behind: Vec<(AddressPrefix, FlowWay)>,
}

impl PortRoutes {
    /// Adds a flow to the host with this address.
    pub fn to_host(&mut self, address: Ipv4Addr, way: FlowWay) {
        self.hosts.push((address, way));
        self.hosts.sort_unstable();
    }

    /// Adds a flow to a device with these addresses behind it.
    pub fn to_device(&mut self, prefixes: &[AddressPrefix], way: FlowWay) {
        self.behind.extend(prefixes.iter().map(|prefix| (*prefix, way)));
        self.behind.sort_by(|a, b| b.cmp(a));
    }

    /// Routes everything else to the device, if there is only one.
    pub fn complete(&mut self) {
        if let Some((_, way)) = self.behind.first().copied()
            && self.behind.iter().all(|(_, other)| *other == way)
        {
            self.behind = AddressPrefix::all().map(|prefix| (prefix, way)).to_vec();
        }
    }

    /// The flow of a packet to `destination`, as known to the network; `packet` has its bytes.
    pub fn find(&self, destination: Ipv4Addr, packet: &[u8]) -> Option<FlowWay> {
        if let Ok(place) = self.hosts.binary_search_by_key(&destination, |(address, _)| *address) {
            return Some(self.hosts[place].1);
        }
        if self.behind.is_empty() {
            return None;
        }
        let value = match packet.first()? >> 4 {
            4 => (false, u128::from(u32::from(destination)) << 96),
            _ => (true, u128::from_be_bytes(*packet.get(24..)?.first_chunk()?)),
        };
        // From 224.0.0.0 on there are groups; fe80::/10 is link-local, ff00::/8 are groups.
        let first = (value.1 >> 118) as u16;
        if (!value.0 && first >= 0x380) || (value.0 && (first == 0x3fa || first >= 0x3fc)) {
            return None;
        }
        self.behind.iter().find(|(prefix, _)| prefix.has(value)).map(|(_, way)| *way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(routes: &PortRoutes, address: &str) -> Option<FlowWay> {
        let mut packet = [0; 40];
        let destination = match address.parse().unwrap() {
            IpAddr::V4(v4) => {
                packet[0] = 0x45;
                v4
            }
            IpAddr::V6(v6) => {
                packet[0] = 0x60;
                packet[24..40].copy_from_slice(&v6.octets());
                skyhop_wire::observe(&packet).unwrap().packet.ip.destination
            }
        };
        routes.find(destination, &packet)
    }

    fn prefix(text: &str) -> AddressPrefix {
        let (address, bits) = text.split_once('/').unwrap();
        AddressPrefix::new(address.parse().unwrap(), bits.parse().unwrap())
    }

    #[test]
    fn hosts_come_first_and_then_the_longest_prefix() {
        let mut routes = PortRoutes::default();
        routes.to_host([10, 0, 0, 1].into(), (0, true));
        routes.to_device(&[prefix("192.168.0.0/16"), prefix("2001:db8:1::/48")], (1, false));
        routes.to_device(&[prefix("192.168.7.0/24"), prefix("2001:db8:1:7::/64")], (2, false));
        routes.complete();
        for (address, way) in [
            ("10.0.0.1", Some((0, true))),
            ("2001:db8::a00:1", Some((0, true))),
            ("192.168.7.255", Some((2, false))),
            ("192.168.8.0", Some((1, false))),
            ("2001:db8:1:7::1", Some((2, false))),
            ("2001:db8:1:8::1", Some((1, false))),
            ("10.0.0.2", None),
            ("2001:db8:2::1", None),
        ] {
            assert_eq!(find(&routes, address), way, "{address}");
        }
    }

    #[test]
    fn all_that_is_not_for_somebody_else_goes_to_the_only_device() {
        let mut routes = PortRoutes::default();
        assert_eq!(find(&routes, "8.8.8.8"), None);
        routes.to_host([10, 0, 0, 1].into(), (0, true));
        routes.to_device(&[prefix("192.168.7.0/24")], (3, true));
        routes.complete();
        for (address, way) in [
            ("10.0.0.1", Some((0, true))),
            ("8.8.8.8", Some((3, true))),
            ("0.0.0.0", Some((3, true))),
            ("223.255.255.255", Some((3, true))),
            ("224.0.0.1", None),
            ("255.255.255.255", None),
            ("2600::1", Some((3, true))),
            ("fe7f::1", Some((3, true))),
            ("fe80::1", None),
            ("febf::1", None),
            ("fdff::1", Some((3, true))),
            ("ff02::1", None),
        ] {
            assert_eq!(find(&routes, address), way, "{address}");
        }
    }
}
